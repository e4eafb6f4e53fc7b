#include "common/emulator/pass/source_checks.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/emulator/pass/device_code.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// Bytes of a variable; no offset: any of them.
struct Bytes {
  std::optional<std::int64_t> offset;
  std::uint64_t count = 0;

  bool meets(const Bytes& other) const {
    if (!offset || !other.offset) return true;
    return *offset < *other.offset + static_cast<std::int64_t>(other.count) &&
           *other.offset < *offset + static_cast<std::int64_t>(count);
  }
};

struct Use {
  Instruction* instruction;
  Bytes bytes;
};

/// What happens to one local variable: loads, and what may write it, such as a call that is given its address.
class Variable {
public:
  explicit Variable(AllocaInst& variable) : layout_(variable.getModule()->getDataLayout()) {
    follow(variable, 0);
    while (!left_.empty()) {
      const auto [pointer, offset] = left_.pop_back_val();
      for (User* user : pointer->users()) use(*cast<Instruction>(user), *pointer, offset);
    }
  }

  /// Loads that are sure to find no value the first time.
  std::vector<Use> loads_of_nothing(const DominatorTree& tree) const {
    std::vector<Use> found;
    for (const Use& load : loads_) {
      const bool may_find_one = std::any_of(writes_.begin(), writes_.end(), [&](const Use& write) {
        return write.bytes.meets(load.bytes) && !tree.dominates(load.instruction, write.instruction) &&
               isPotentiallyReachable(write.instruction, load.instruction, nullptr, &tree);
      });
      const bool is_used = !load.instruction->use_empty() || isa<MemTransferInst>(load.instruction);
      if (!may_find_one && is_used) found.push_back(load);
    }
    return found;
  }

private:
  using Offset = std::optional<std::int64_t>;
  static constexpr std::uint64_t kNarrow = 4;  ///< bytes: a half2

  void follow(Value& pointer, Offset offset) {
    if (seen_.insert(&pointer).second) left_.emplace_back(&pointer, offset);
  }

  void use(Instruction& user, Value& pointer, Offset offset) {
    if (auto* load = dyn_cast<LoadInst>(&user)) {
      loads_.push_back({load, {offset, layout_.getTypeStoreSize(load->getType()).getFixedValue()}});
    } else if (auto* step = dyn_cast<GetElementPtrInst>(&user)) {
      APInt constant(layout_.getIndexTypeSizeInBits(step->getType()), 0);
      const bool known = offset && step->accumulateConstantOffset(layout_, constant);
      follow(*step, known ? Offset{*offset + constant.getSExtValue()} : std::nullopt);
    } else if (auto* store = dyn_cast<StoreInst>(&user); store != nullptr && store->getValueOperand() != &pointer) {
      writes_.push_back(
          {store, {offset, layout_.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue()}});
    } else if (store != nullptr && is_set_once(store->getPointerOperand())) {
      for (User* other : store->getPointerOperand()->users())  // A pointer variable: it is what it is set to.
        if (auto* copy = dyn_cast<LoadInst>(other)) follow(*copy, offset);
    } else if (auto* copy = dyn_cast<MemTransferInst>(&user); copy != nullptr && copy->getRawDest() != &pointer) {
      // Copying a struct that has no values yet is no mistake, nor one without members, which takes a byte. A half is
      // a struct, too, but its copy is a use.
      const auto* length = dyn_cast<ConstantInt>(copy->getLength());
      if (length != nullptr && length->getZExtValue() > 1 && length->getZExtValue() <= kNarrow)
        loads_.push_back({copy, {offset, length->getZExtValue()}});
    } else if (auto* intrinsic = dyn_cast<IntrinsicInst>(&user);
               intrinsic == nullptr || !(intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic())) {
      writes_.push_back({&user, {}});
    }
  }

  /// True for a variable that a pointer is stored to in one place, and only read in others.
  static bool is_set_once(const Value* place) {
    const auto* variable = dyn_cast<AllocaInst>(place);
    unsigned stores = 0;
    return variable != nullptr && std::all_of(variable->user_begin(), variable->user_end(), [&](const User* user) {
             if (const auto* store = dyn_cast<StoreInst>(user))
               return store->getPointerOperand() == variable && ++stores == 1;
             const auto* intrinsic = dyn_cast<IntrinsicInst>(user);
             return isa<LoadInst>(user) || (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd());
           });
  }

  const DataLayout& layout_;
  SmallPtrSet<Value*, 8> seen_;
  SmallVector<std::pair<Value*, Offset>, 8> left_;
  std::vector<Use> loads_;
  std::vector<Use> writes_;
};

/// A loop that may wait for memory which others change: all that it writes are local variables.
class WaitingLoop {
public:
  explicit WaitingLoop(const Loop& loop) : loop_(loop) {
    for (const BasicBlock* block : loop.blocks())
      for (const Instruction& instruction : *block) {
        if (!instruction.mayWriteToMemory() || instruction.isLifetimeStartOrEnd()) continue;
        const auto* store = dyn_cast<StoreInst>(&instruction);
        const auto* variable = store == nullptr ? nullptr : dyn_cast<AllocaInst>(store->getPointerOperand());
        writes_ = writes_ || variable == nullptr;
        written_.insert(variable);
      }
  }

  /// The loads of one place each that decide a branch, and nothing that the loop changes does.
  std::vector<LoadInst*> waits() const {
    std::vector<LoadInst*> found;
    for (const BasicBlock* block : loop_.blocks()) {
      const auto* branch = dyn_cast<BranchInst>(block->getTerminator());
      if (writes_ || branch == nullptr || !branch->isConditional()) continue;
      std::vector<LoadInst*> loads;
      if (decides(branch->getCondition(), loads)) found.insert(found.end(), loads.begin(), loads.end());
    }
    return found;
  }

private:
  bool decides(Value* value, std::vector<LoadInst*>& loads) const {
    auto* instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop_.contains(instruction)) return true;
    if (isa<PHINode, CallBase>(instruction)) return false;
    auto* load = dyn_cast<LoadInst>(instruction);
    if (load == nullptr)
      return all_of(instruction->operands(), [&](const llvm::Use& operand) { return decides(operand, loads); });
    if (isa<AllocaInst>(load->getPointerOperand())) return !written_.contains(load->getPointerOperand());
    if (!stays(load->getPointerOperand())) return false;
    loads.push_back(load);
    return true;
  }

  /// Whether an address is the same in each turn.
  bool stays(const Value* value) const {
    const auto* instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop_.contains(instruction)) return true;
    if (isa<PHINode, CallBase>(instruction)) return false;
    if (const auto* load = dyn_cast<LoadInst>(instruction);
        load != nullptr && written_.contains(load->getPointerOperand()))
      return false;
    return all_of(instruction->operands(), [&](const llvm::Use& operand) { return stays(operand); });
  }

  const Loop& loop_;
  SmallPtrSet<const Value*, 8> written_;
  bool writes_ = false;
};

/// True for `atomicAdd_block` and its kin.
bool is_atomic_of_block(const Function& function) {
  StringRef name = function.getName();
  std::size_t length = 0;
  if (!name.consume_front("_Z") || name.consumeInteger(10, length)) return false;
  name = name.take_front(length);
  return name.starts_with("atomic") && name.ends_with("_block");
}

/// Whether a value is computed of what a volatile load read there.
bool comes_from(const Value& value, const Value* place, unsigned depth = 4) {
  if (const auto* load = dyn_cast<LoadInst>(&value)) return load->isVolatile() && load->getPointerOperand() == place;
  if (!isa<BinaryOperator, CastInst, IntrinsicInst>(value) || depth == 0) return false;
  return any_of(cast<User>(value).operands(),
                [&](const llvm::Use& operand) { return comes_from(*operand, place, depth - 1); });
}

/// The front end marks loads of tables of virtual functions.
bool is_table(const LoadInst& load) {
  const MDNode* tag = load.getMetadata(LLVMContext::MD_tbaa);
  const auto* type = tag == nullptr || tag->getNumOperands() < 2 ? nullptr : dyn_cast<MDNode>(tag->getOperand(1));
  const auto* name = type == nullptr ? nullptr : dyn_cast<MDString>(type->getOperand(0));
  return name != nullptr && name->getString() == "vtable pointer";
}

}  // namespace

PreservedAnalyses LocalValuesPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::vector<Use> found;
  for (Function& function : module) {
    if (function.isDeclaration() || !device.contains(&function)) continue;
    const DominatorTree tree(function);
    for (Instruction& instruction : instructions(function)) {
      auto* variable = dyn_cast<AllocaInst>(&instruction);
      if (variable == nullptr || variable->isArrayAllocation()) continue;
      for (const Use& load : Variable(*variable).loads_of_nothing(tree)) found.push_back(load);
    }
  }
  for (const Use& load : found) {
    IRBuilder<> builder(load.instruction);
    const FunctionCallee callee =
        module.getOrInsertFunction("__warpbook_uninitialised_local", builder.getVoidTy(), builder.getInt64Ty());
    builder.CreateCall(callee, {builder.getInt64(load.bytes.count)});
  }
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses AtomicScopePass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : module) {
    if (function.isDeclaration() || !is_atomic_of_block(function)) continue;
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    builder.CreateCall(module.getOrInsertFunction("__warpbook_block_scope", builder.getVoidTy()));
    changed = true;
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses PrintPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  Function* print = module.getFunction("printf");
  if (print == nullptr || !print->isDeclaration()) return PreservedAnalyses::all();
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::vector<CallBase*> calls;
  for (User* user : print->users())
    if (auto* call = dyn_cast<CallBase>(user);
        call != nullptr && call->getCalledFunction() == print && device.contains(call->getFunction()))
      calls.push_back(call);
  for (CallBase* call : calls)
    call->setCalledFunction(module.getOrInsertFunction("__warpbook_printf", print->getFunctionType()));
  return calls.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses HostWaitsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  for (Function& function : module) {
    if (function.isDeclaration() || device.contains(&function)) continue;
    const DominatorTree tree(function);
    const LoopInfo loops(tree);
    for (const Loop* loop : loops.getLoopsInPreorder())
      for (LoadInst* load : WaitingLoop(*loop).waits()) load->setVolatile(true);
  }
  return PreservedAnalyses::all();
}

PreservedAnalyses SpokenAccessPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<StoreInst*> updates;
  std::vector<LoadInst*> tables;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function)) {
      auto* store = dyn_cast<StoreInst>(&instruction);
      if (store != nullptr && store->isVolatile() && comes_from(*store->getValueOperand(), store->getPointerOperand()))
        updates.push_back(store);
      if (auto* load = dyn_cast<LoadInst>(&instruction); load != nullptr && is_table(*load)) tables.push_back(load);
    }
  Type* const nothing = Type::getVoidTy(module.getContext());
  for (StoreInst* store : updates)
    IRBuilder<>(store).CreateCall(module.getOrInsertFunction("__warpbook_volatile_update", nothing));
  for (LoadInst* load : tables)
    IRBuilder<>(load).CreateCall(
        module.getOrInsertFunction("__warpbook_virtual", nothing, load->getPointerOperandType()),
        {load->getPointerOperand()});
  return updates.empty() && tables.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
