#include "common/emulator/pass/ended_locals.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/unset_values.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr const char* kBegins = "__warpbook_local_begins";
constexpr const char* kEnds = "__warpbook_local_ends";
constexpr const char* kReads = "__warpbook_local_read";
constexpr const char* kWrites = "__warpbook_local_write";
constexpr unsigned kDeepest = 3;  // memory that holds the address of memory that holds an address

/// What becomes of an address in a function. Its level is 0; that of memory which holds it is 1, and so on.
struct Fate {
  bool kept = false;                             ///< In memory that nobody knows.
  std::set<unsigned> returned;                   ///< At these levels.
  std::set<std::pair<unsigned, unsigned>> into;  ///< By argument and level: stored where that leads.
  std::vector<Instruction*> readers;             ///< What reads it from memory, and calls that may.
  SmallPtrSet<const Instruction*, 4> stores;     ///< Of it.

  bool leaves() const { return kept || !returned.empty() || !into.empty(); }
};

/// The fates of functions' arguments.
class Fates {
public:
  const Fate& of(Argument& argument, unsigned level);

private:
  std::map<std::pair<const Argument*, unsigned>, Fate> known_;
};

bool is_start_or_end(const User* user) {
  const auto* intrinsic = dyn_cast<IntrinsicInst>(user);
  return intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd();
}

/// Follows an address through one function.
class Flow {
public:
  Flow(Fates& fates, Value& start, unsigned level) : fates_(fates), start_(start) {
    add(start, level);
    while (!open_.empty()) {
      const auto [value, at] = open_.pop_back_val();
      for (Use& use : value->uses()) take(use, at);
    }
  }

  Fate fate;

private:
  void add(Value& value, unsigned level) {
    if (level <= kDeepest && seen_.insert({&value, level}).second) open_.emplace_back(&value, level);
  }

  void take(Use& use, unsigned level) {
    auto* user = dyn_cast<Instruction>(use.getUser());
    if (user == nullptr || is_start_or_end(user)) return;
    if (isa<LoadInst>(user)) {
      if (level == 1) fate.readers.push_back(user);
      if (level > 0) add(*user, level - 1);
    } else if (auto* store = dyn_cast<StoreInst>(user)) {
      if (use.getOperandNo() != 0) return;
      fate.stores.insert(store);
      put(*store->getPointerOperand(), level);
    } else if (auto* copy = dyn_cast<MemTransferInst>(user)) {
      if (level == 0 || copy->getRawSource() != use.get()) return;
      if (level == 1) fate.readers.push_back(user);
      put(*copy->getRawDest(), level - 1);
    } else if (isa<ReturnInst>(user)) {
      fate.returned.insert(level);
    } else if (auto* call = dyn_cast<CallBase>(user)) {
      take_call(*call, use, level);
    } else if (isa<GetElementPtrInst, CastInst, PHINode, SelectInst, FreezeInst, InsertValueInst, ExtractValueInst>(
                   user)) {
      add(*user, level);
    }
  }

  void take_call(CallBase& call, Use& use, unsigned level) {
    Function* callee = call.getCalledFunction();
    if (callee == nullptr || callee->isDeclaration() || callee->isIntrinsic() || !call.isArgOperand(&use)) return;
    const unsigned number = call.getArgOperandNo(&use);
    if (number >= callee->arg_size()) return;
    if (level > 0) fate.readers.push_back(&call);
    const Fate& there = fates_.of(*callee->getArg(number), level);
    fate.kept |= there.kept;
    for (const unsigned returned : there.returned) add(call, returned);
    for (const auto& [argument, stored] : there.into) put(*call.getArgOperand(argument), stored);
  }

  /// Something of this level is stored there.
  void put(Value& address, unsigned level) {
    Value* place = place_of(address);
    if (place == &start_) return;  // Its own memory lives as long as it does.
    if (auto* argument = dyn_cast_or_null<Argument>(place))
      fate.into.insert({argument->getArgNo(), level});
    else if (isa_and_nonnull<AllocaInst>(place))
      add(*place, level + 1);
    else
      fate.kept = true;
  }

  /// The variable, or the argument, that an address leads to; nullptr where it is something else.
  static Value* place_of(Value& address) {
    Value* at = &address;
    while (true) {
      if (auto* step = dyn_cast<GEPOperator>(at)) {
        at = step->getPointerOperand();
        continue;
      }
      auto* load = dyn_cast<LoadInst>(at);
      auto* slot = load == nullptr ? nullptr : dyn_cast<AllocaInst>(load->getPointerOperand());
      if (slot == nullptr) return isa<AllocaInst, Argument>(at) ? at : nullptr;
      at = only_value(*slot);
      if (at == nullptr) return nullptr;
    }
  }

  /// What a pointer variable is set to, where that happens once.
  static Value* only_value(AllocaInst& slot) {
    Value* value = nullptr;
    for (User* user : slot.users()) {
      if (isa<LoadInst>(user) || is_start_or_end(user)) continue;
      auto* store = dyn_cast<StoreInst>(user);
      if (store == nullptr || store->getPointerOperand() != &slot || value != nullptr) return nullptr;
      value = store->getValueOperand();
    }
    return value;
  }

  Fates& fates_;
  Value& start_;
  std::set<std::pair<const Value*, unsigned>> seen_;
  SmallVector<std::pair<Value*, unsigned>, 16> open_;
};

const Fate& Fates::of(Argument& argument, unsigned level) {
  const auto [place, fresh] = known_.try_emplace({&argument, level});  // A recursive function finds it as it is.
  if (fresh) place->second = Flow(*this, argument, level).fate;
  return place->second;
}

/// Where a variable begins and ends.
struct Life {
  std::vector<Instruction*> begins;
  std::vector<Instruction*> ends;

  Life() = default;
  explicit Life(const AllocaInst& variable) {
    for (const User* user : variable.users()) {
      if (!is_start_or_end(user)) continue;
      auto* mark = const_cast<IntrinsicInst*>(cast<IntrinsicInst>(user));
      (mark->getIntrinsicID() == Intrinsic::lifetime_start ? begins : ends).push_back(mark);
    }
  }
};

/// Whether the instruction may come behind the variable's end: on the way, it meets none of `stops`.
bool comes_after(const Instruction& instruction, ArrayRef<Instruction*> ends,
                 const SmallPtrSetImpl<const Instruction*>& stops) {
  SmallPtrSet<const BasicBlock*, 16> seen;
  SmallVector<const Instruction*, 16> open;
  for (const Instruction* end : ends) open.push_back(end->getNextNode());
  while (!open.empty()) {
    const Instruction* at = open.pop_back_val();
    while (at != nullptr && at != &instruction && !stops.contains(at)) {
      if (at->isTerminator())
        for (const BasicBlock* next : successors(at->getParent()))
          if (seen.insert(next).second) open.push_back(&next->front());
      at = at->getNextNode();
    }
    if (at == &instruction) return true;
  }
  return false;
}

/// Whether what a reader finds may be from before the variable ended: on the way, neither the variable nor the memory
/// that is read begins anew, nor does that get another value.
bool reads_after(const Instruction& reader, const Life& life, const Fate& fate) {
  SmallPtrSet<const Instruction*, 8> stops(life.begins.begin(), life.begins.end());
  const auto* load = dyn_cast<LoadInst>(&reader);
  const Value* from = load == nullptr ? nullptr : load->getPointerOperand();
  while (const auto* step = dyn_cast_or_null<GEPOperator>(from)) from = step->getPointerOperand();
  if (const auto* holder = dyn_cast_or_null<AllocaInst>(from)) {
    const Life other(*holder);
    stops.insert(other.begins.begin(), other.begins.end());
    for (const User* user : holder->users())
      if (const auto* store = dyn_cast<StoreInst>(user);
          store != nullptr && store->getPointerOperand() == holder && !fate.stores.contains(store) &&
          store->getValueOperand()->getType() == holder->getAllocatedType())
        stops.insert(store);
  }
  return comes_after(reader, life.ends, stops);
}

void tell(Instruction& before, const char* name, Value& address, std::uint64_t bytes) {
  IRBuilder<> builder(&before);
  builder.SetCurrentDebugLocation(before.getDebugLoc());
  const FunctionCallee callee =
      before.getModule()->getOrInsertFunction(name, builder.getVoidTy(), builder.getPtrTy(), builder.getInt64Ty());
  CallInst* call = builder.CreateCall(callee, {&address, builder.getInt64(bytes)});
  call->setDoesNotThrow();
  mark_value_check(*call);
}

void follow(AllocaInst& variable, const Life& life) {
  const std::uint64_t bytes = variable.getAllocationSize(variable.getDataLayout())->getFixedValue();
  for (Instruction* begin : life.begins) tell(*begin->getNextNode(), kBegins, variable, bytes);
  for (Instruction* end : life.ends) {
    tell(*end, kEnds, variable, bytes);
    end->eraseFromParent();
  }
}

bool calls_itself(const Function& function) {
  return any_of(function.users(), [&](const User* user) {
    const auto* call = dyn_cast<Instruction>(user);
    return call != nullptr && call->getFunction() == &function;
  });
}

}  // namespace

PreservedAnalyses EndedLocalsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  Fates fates;
  std::vector<std::pair<AllocaInst*, Life>> found;
  for (const Function* device : device_functions(module)) {
    auto& function = *const_cast<Function*>(device);
    if (function.isDeclaration()) continue;
    bool leaves = false;
    for (Instruction& instruction : function.getEntryBlock()) {
      auto* variable = dyn_cast<AllocaInst>(&instruction);
      if (variable == nullptr || variable->isArrayAllocation()) continue;
      Life life(*variable);
      if (life.ends.empty()) continue;
      const Fate fate = Flow(fates, *variable, 0).fate;
      if (!fate.leaves() &&
          none_of(fate.readers, [&](const Instruction* reader) { return reads_after(*reader, life, fate); }))
        continue;
      leaves |= fate.leaves();
      found.emplace_back(variable, std::move(life));
    }
    // As part of its caller, what it leaves is followed to where that ends.
    if (leaves && !function.hasFnAttribute(Attribute::NoInline) && !calls_itself(function))
      function.addFnAttr(Attribute::AlwaysInline);
  }
  for (const auto& [variable, life] : found) {
    follow(*variable, life);
    // It is looked at to the end, so that no store behind its own end is one that nobody needs.
    if (Function& function = *variable->getFunction(); function.hasFnAttribute("warpbook-global"))
      for (BasicBlock& block : function)
        if (auto* end = dyn_cast<ReturnInst>(block.getTerminator())) tell(*end, kBegins, *variable, 0);
  }
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses ForgottenLocalsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::map<Function*, std::map<AllocaInst*, Life>> lives;
  for (const char* name : {kBegins, kEnds})
    if (Function* marks = module.getFunction(name))
      for (User* user : marks->users()) {
        auto* call = cast<CallInst>(user);
        auto* variable = dyn_cast<AllocaInst>(call->getArgOperand(0)->stripPointerCasts());
        if (variable == nullptr) continue;
        Life& life = lives[call->getFunction()][variable];
        (name == kEnds ? life.ends : life.begins).push_back(call);
      }
  for (auto& [function, variables] : lives) {
    std::vector<std::pair<Instruction*, std::uint64_t>> accesses;  // of a part by its name, which nobody else tells of
    for (Instruction& instruction : instructions(function)) {
      const Value* address = getLoadStorePointerOperand(&instruction);
      const auto* variable = address == nullptr ? nullptr : dyn_cast<AllocaInst>(getUnderlyingObject(address, 0));
      const auto found = variables.find(const_cast<AllocaInst*>(variable));
      if (variable == nullptr || variable == address || found == variables.end()) continue;
      const Life& life = found->second;
      const SmallPtrSet<const Instruction*, 8> stops(life.begins.begin(), life.begins.end());
      if (!comes_after(instruction, life.ends, stops)) continue;
      Type* const type = getLoadStoreType(&instruction);
      accesses.emplace_back(&instruction, instruction.getDataLayout().getTypeStoreSize(type).getFixedValue());
    }
    for (const auto& [instruction, bytes] : accesses)
      tell(*instruction, isa<StoreInst>(instruction) ? kWrites : kReads, *getLoadStorePointerOperand(instruction),
           bytes);
    for (BasicBlock& block : *function)
      if (auto* end = dyn_cast<ReturnInst>(block.getTerminator()))
        for (const auto& [variable, life] : variables) tell(*end, kBegins, *variable, 0);
  }
  return lives.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
