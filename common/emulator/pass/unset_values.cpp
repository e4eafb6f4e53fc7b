#include "common/emulator/pass/unset_values.hpp"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/emulator/pass/counted_loops.hpp"
#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/kept_values.hpp"
#include "common/emulator/pass/library_calls.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr std::uint64_t kSmall = 1024;        // bytes of a variable that is followed in any case
constexpr std::uint64_t kMostBytes = 16384;   // of a function's larger ones that are followed: their shadows take stack
constexpr unsigned kMostInlined = 64;         // calls in a function
constexpr unsigned kMostInstructions = 4000;  // of a function that becomes part of another
constexpr std::uint64_t kNever = 0xff;        // a byte of the shadow: nobody set it
constexpr std::uint64_t kOfNothing = 0x01;    // set, to what was computed of nothing
constexpr const char* kRead = "__warpbook_unset_read";
constexpr const char* kUse = "__warpbook_unset_use";
constexpr const char* kStore = "__warpbook_unset_store";
constexpr const char* kBring = "__warpbook_unset_lane";
constexpr const char* kGet = "__warpbook_unset_shuffled";

void mark(Instruction& instruction) { mark_value_check(instruction); }

bool calls(const Value& value, StringRef name) {
  const auto* call = dyn_cast<CallInst>(&value);
  return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == name;
}

/// One that has a condition.
bool calls_check(const Value& value) {
  return calls(value, kRead) || calls(value, kUse) || calls(value, kStore) || calls(value, kBring);
}

/// Bytes of a value in memory, without those behind a struct's last member.
TypeSize size_of(Type& type, const DataLayout& layout) {
  auto* structure = dyn_cast<StructType>(&type);
  if (structure == nullptr || structure->getNumElements() == 0) return layout.getTypeStoreSize(&type);
  const unsigned last = structure->getNumElements() - 1;
  return layout.getStructLayout(structure)->getElementOffset(last) +
         layout.getTypeStoreSize(structure->getElementType(last));
}

/// One that is sure to find nothing, and always tells; see source_checks.hpp.
bool is_told(const Instruction& read) {
  const Instruction* before = read.getPrevNode();
  return before != nullptr && calls(*before, "__warpbook_uninitialised_local");
}

/// Something that happens to a variable.
struct Event {
  enum Kind { begins, reads, sets, escapes } kind;
  Instruction* instruction;
  Value* address = nullptr;        ///< Where it is read or set.
  std::optional<BitVector> bytes;  ///< Those that it may be about; nothing: any of them.
  bool is_fixed = false;           ///< It is about all of them each time.
  BasicBlock* behind = nullptr;    ///< Where a loop that sets them one by one has set them all.
};

/// A variable, what happens to it in the function, and its shadow.
struct Local {
  AllocaInst* variable = nullptr;
  unsigned bytes = 0;
  std::vector<Event> events;
  AllocaInst* shadow = nullptr;
};

/// Collects what happens to a variable.
class Follower {
public:
  Follower(Local& local, const CountedLoops& loops)
      : local_(local), loops_(loops), layout_(local.variable->getModule()->getDataLayout()) {
    follow(*local.variable, {});
  }

private:
  using Steps = std::vector<GEPOperator*>;

  void follow(Value& pointer, const Steps& steps) {
    for (User* user : pointer.users()) {
      auto& instruction = *cast<Instruction>(user);
      if (auto* load = dyn_cast<LoadInst>(&instruction)) {
        access(Event::reads, instruction, pointer, steps, size_of(*load->getType(), layout_));
      } else if (auto* store = dyn_cast<StoreInst>(&instruction);
                 store != nullptr && store->getValueOperand() != &pointer) {
        access(Event::sets, instruction, pointer, steps, size_of(*store->getValueOperand()->getType(), layout_));
      } else if (auto* step = dyn_cast<GEPOperator>(&instruction)) {
        Steps more = steps;
        more.push_back(step);
        follow(*step, more);
      } else if (auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction)) {
        use(*intrinsic, pointer, steps);
      } else if (!isa<ICmpInst>(instruction) && !keeps(instruction, pointer)) {
        add(Event::escapes, instruction);
      }
    }
  }

  /// It may go elsewhere, but gets no value there.
  static bool keeps(const Instruction& instruction, const Value& pointer) {
    if (const auto* store = dyn_cast<StoreInst>(&instruction)) return keeps_unset(*store);
    const auto* call = dyn_cast<CallBase>(&instruction);
    return call != nullptr && keeps_unset(*call, pointer);
  }

  void use(IntrinsicInst& intrinsic, Value& pointer, const Steps& steps) {
    auto* change = dyn_cast<MemIntrinsic>(&intrinsic);
    const auto* length = change == nullptr ? nullptr : dyn_cast<ConstantInt>(change->getLength());
    if (length != nullptr && (isa<MemSetInst>(change) || length->getZExtValue() <= kSmall))
      access(change->getRawDest() == &pointer ? Event::sets : Event::reads, intrinsic, pointer, steps,
             TypeSize::getFixed(length->getZExtValue()));
    else if (intrinsic.getIntrinsicID() == Intrinsic::lifetime_start)
      add(Event::begins, intrinsic);
    else if (!intrinsic.isLifetimeStartOrEnd() && !intrinsic.isAssumeLikeIntrinsic())
      add(Event::escapes, intrinsic);
  }

  void add(Event::Kind kind, Instruction& instruction) { local_.events.push_back({kind, &instruction, nullptr, {}}); }

  void access(Event::Kind kind, Instruction& instruction, Value& pointer, const Steps& steps, TypeSize size) {
    Event event{kind, &instruction, &pointer, std::nullopt};
    const auto bytes = static_cast<std::int64_t>(size.getFixedValue());
    APInt constant(layout_.getIndexTypeSizeInBits(pointer.getType()), 0);
    event.is_fixed = std::all_of(steps.begin(), steps.end(),
                                 [&](GEPOperator* step) { return step->accumulateConstantOffset(layout_, constant); });
    std::set<std::int64_t> offsets;
    if (event.is_fixed) {
      offsets = {constant.getSExtValue()};
    } else if (auto reach = loops_.reach(instruction, steps)) {
      offsets = std::move(reach->offsets);
      event.behind = reach->behind;
    }
    if (!offsets.empty()) event.bytes = BitVector(local_.bytes);
    for (const std::int64_t offset : offsets)
      for (std::int64_t byte = std::max<std::int64_t>(offset, 0); byte < offset + bytes && byte < local_.bytes; ++byte)
        event.bytes->set(static_cast<unsigned>(byte));
    local_.events.push_back(std::move(event));
  }

  Local& local_;
  const CountedLoops& loops_;
  const DataLayout& layout_;
};

/// Set once, where the function begins.
bool is_parameter(const Local& local) {
  const Event* only = nullptr;
  for (const Event& event : local.events) {
    if (event.kind == Event::reads) continue;
    if (only != nullptr) return false;
    only = &event;
  }
  const auto* store = only == nullptr ? nullptr : dyn_cast<StoreInst>(only->instruction);
  return store != nullptr && isa<Argument>(store->getValueOperand()) && only->bytes && only->bytes->all();
}

/// What of its operands is nothing, it is, too.
bool passes_on(const Instruction& instruction) {
  if (const auto* call = dyn_cast<CallBase>(&instruction)) {
    const Function* callee = call->getCalledFunction();
    if (callee == nullptr || call->isConvergent() || call->getType()->isVoidTy()) return false;
    if (callee->isIntrinsic()) return call->doesNotAccessMemory();
    return callee->isDeclaration() && call->getType()->isFloatingPointTy() &&  // a function of the C library
           std::none_of(call->arg_begin(), call->arg_end(),
                        [](const Use& use) { return use->getType()->isPointerTy(); });
  }
  return isa<PHINode>(instruction) || isa<SelectInst>(instruction) || isa<BinaryOperator>(instruction) ||
         isa<UnaryOperator>(instruction) || isa<CastInst>(instruction) || isa<CmpInst>(instruction) ||
         isa<FreezeInst>(instruction) || isa<GetElementPtrInst>(instruction) || isa<ExtractElementInst>(instruction) ||
         isa<InsertElementInst>(instruction) || isa<ShuffleVectorInst>(instruction) ||
         isa<ExtractValueInst>(instruction) || isa<InsertValueInst>(instruction);
}

/// What hands a value to other lanes.
bool is_shuffle(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call != nullptr && calls_library(*call, "warp_shuffle");
}

/// What decides by a value, or shows it: an atomic, a vote, what prints.
bool is_use(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  const bool allocates =
      callee != nullptr && (callee->getName() == "malloc" || callee->getName() == "__warpbook_malloc" ||
                            callee->getName() == "__warpbook_new");
  const bool prints = callee != nullptr && callee->getName() == "__warpbook_printf";
  return allocates || prints || is_library_atomic(call) || calls_library(call, "warp_ballot") ||
         calls_library(call, "warp_match") || calls_library(call, "block_barrier");
}

/// Whether the function called can become part of the one that calls it.
bool may_join(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  if (callee == nullptr || !isa<CallInst>(call) || callee->isDeclaration() || callee == call.getFunction() ||
      callee->hasFnAttribute(Attribute::NoInline) || is_library_atomic(call) ||
      callee->getInstructionCount() > kMostInstructions ||
      call.getFunction()->getInstructionCount() > kMostInstructions)
    return false;
  return std::none_of(inst_begin(callee), inst_end(callee), [&](const Instruction& instruction) {
    const auto* inner = dyn_cast<CallBase>(&instruction);
    return inner != nullptr && inner->getCalledFunction() == callee;
  });
}

/// The values of one function that may be nothing.
class Account {
public:
  explicit Account(Function& function)
      : function_(function), tree_(function), loop_info_(tree_), loops_(tree_, loop_info_) {
    const DataLayout& layout = function.getDataLayout();
    std::uint64_t left = kMostBytes;
    for (Instruction& instruction : instructions(function)) {
      auto* variable = dyn_cast<AllocaInst>(&instruction);
      if (variable == nullptr || variable->isArrayAllocation()) continue;
      const auto size = variable->getAllocationSize(layout);
      if (!size || size->isScalable() || size->isZero()) continue;
      const bool is_small = size->getFixedValue() <= kSmall;
      if (!is_small && size->getFixedValue() > left) continue;
      Local local{variable, static_cast<unsigned>(size->getFixedValue()), {}};
      Follower(local, loops_);
      const auto any = [&](auto&& holds) {
        return std::any_of(local.events.begin(), local.events.end(),
                           [&](const Event& event) { return event.kind == Event::reads && holds(*event.instruction); });
      };
      if (!any([](const Instruction&) { return true; }) || any(is_told) || is_parameter(local)) continue;
      if (!is_small) left -= size->getFixedValue();
      locals_.push_back(std::make_unique<Local>(std::move(local)));
    }
    for (const auto& local : locals_)
      for (const Event& event : local->events)
        if (event.kind == Event::sets) set_[event.instruction] = local.get();
    for (const auto& local : locals_) judge(*local);
    while (!open_.empty()) spread(*open_.pop_back_val());
  }

  /// Whether a branch, an address or global memory may get one.
  bool matters() const { return !uses_.empty(); }
  /// Whether the function may return one.
  bool returns() const { return returns_; }
  /// A call that is handed one, of a function that can become part of this one.
  CallInst* handed() const { return handed_; }

  /// Lets the function keep account.
  void keep() {
    for (const auto& local : locals_)
      if (std::any_of(local->events.begin(), local->events.end(),
                      [&](const Event& event) { return event.kind == Event::reads && is_nothing(event.instruction); }))
        make_shadow(*local);
    for (const auto& local : locals_)
      if (local->shadow != nullptr) keep(*local);
    for (Instruction* use : uses_) check(*use);
  }

private:
  bool is_nothing(const Value* value) const { return nothing_.contains(value); }

  /// Whether a store, or a copy, may bring nothing.
  bool brings_nothing(const Event& event) const {
    if (const auto* store = dyn_cast<StoreInst>(event.instruction)) return is_nothing(store->getValueOperand());
    return isa<MemTransferInst>(event.instruction) && is_nothing(event.instruction);
  }

  void add(Value& value) {
    if (nothing_.insert(&value).second) open_.push_back(&value);
  }

  /// A read of bytes, of which these are set on all paths.
  void judge(const Event& event, const BitVector& set) {
    if (event.bytes ? !event.bytes->test(set) : set.all()) return;
    // What is copied to memory is nothing only where nothing of it is set: a struct may have parts that nobody needs.
    const bool leaves = isa<MemTransferInst>(event.instruction) && !set_.contains(event.instruction);
    if (leaves && (!event.is_fixed || !event.bytes || event.bytes->anyCommon(set))) return;
    add(*event.instruction);
  }

  void judge(const Local& local);

  void spread(Value& value) {
    if (auto* copy = dyn_cast<MemTransferInst>(&value)) {
      if (Local* to = set_.lookup(copy))
        judge(*to);
      else if (!isa<AllocaInst>(getUnderlyingObject(copy->getRawDest())))
        uses_.insert(copy);
      return;
    }
    for (User* user : value.users()) take(*cast<Instruction>(user), value);
  }

  void take(Instruction& user, Value& value) {
    auto* call = dyn_cast<CallBase>(&user);
    if (auto* store = dyn_cast<StoreInst>(&user); store != nullptr && store->getValueOperand() == &value) {
      if (Local* to = set_.lookup(store))
        judge(*to);
      else if (!isa<AllocaInst>(getUnderlyingObject(store->getPointerOperand())))
        uses_.insert(store);
    } else if (isa<LoadInst>(user) || isa<StoreInst>(user) || isa<AtomicRMWInst>(user) ||
               isa<AtomicCmpXchgInst>(user) || isa<SwitchInst>(user) || isa<BranchInst>(user) ||
               (call != nullptr && is_use(*call))) {
      uses_.insert(&user);
    } else if (isa<ReturnInst>(user)) {
      returns_ = true;
    } else if (passes_on(user) || is_shuffle(user)) {
      add(user);
    } else if (call != nullptr && may_join(*call)) {
      handed_ = cast<CallInst>(call);
    }
  }

  // What follows writes into the function.

  /// Whether the value is nothing, as a value.
  Value* unset(Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    IRBuilder<> none(function_.getContext());
    if (instruction == nullptr || !is_nothing(value)) return none.getFalse();
    if (Value* known = unset_.lookup(value)) return known;
    if (auto* phi = dyn_cast<PHINode>(instruction)) {
      IRBuilder<> builder(phi);
      PHINode* made = builder.CreatePHI(builder.getInt1Ty(), phi->getNumIncomingValues());
      unset_[value] = made;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        made->addIncoming(unset(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
      return made;
    }
    IRBuilder<> builder(instruction->getNextNode());
    builder.SetCurrentDebugLocation(instruction->getDebugLoc());
    Value* made = builder.getFalse();
    if (auto* load = dyn_cast<LoadInst>(instruction)) {
      Value* account = account_of(*load);
      tell(builder, kRead,
           {builder.CreateIsNotNull(builder.CreateAnd(account, splat(account->getType(), 0x80))),
            builder.getInt64(account->getType()->getIntegerBitWidth() / 8)});
      made = builder.CreateIsNotNull(account);
    } else if (is_shuffle(*instruction)) {
      IRBuilder<> before(instruction);
      tell(before, kBring, {unset(instruction->getOperand(1))});
      made = tell(builder, kGet, {}, builder.getInt1Ty());
    } else if (auto* select = dyn_cast<SelectInst>(instruction)) {
      Value* chosen =
          builder.CreateSelect(select->getCondition(), unset(select->getTrueValue()), unset(select->getFalseValue()));
      made = builder.CreateOr(unset(select->getCondition()), chosen);
    } else {
      for (Value* operand : instruction->operands()) made = builder.CreateOr(made, unset(operand));
    }
    return unset_[value] = made;
  }

  /// The shadow of what is loaded: an integer of as many bytes.
  Value* account_of(LoadInst& load) {
    if (Value* known = accounts_.lookup(&load)) return known;
    IRBuilder<> builder(load.getNextNode());
    const std::uint64_t bytes = size_of(*load.getType(), function_.getDataLayout()).getFixedValue();
    LoadInst* account = builder.CreateAlignedLoad(builder.getIntNTy(static_cast<unsigned>(8 * bytes)),
                                                  shadow_of(*load.getPointerOperand()), Align(1));
    mark(*account);
    return accounts_[&load] = account;
  }

  /// A number whose bytes are all the same.
  static ConstantInt* splat(Type* type, std::uint64_t byte) {
    return cast<ConstantInt>(ConstantInt::get(type, APInt::getSplat(type->getIntegerBitWidth(), APInt(8, byte))));
  }

  void make_shadow(Local& local) {
    IRBuilder<> builder(local.variable->getNextNode());
    local.shadow = builder.CreateAlloca(local.variable->getAllocatedType());
    local.shadow->setAlignment(local.variable->getAlign());
    mark(*local.shadow);
    shadows_[local.variable] = local.shadow;
    const bool begins_later = std::any_of(local.events.begin(), local.events.end(),
                                          [](const Event& event) { return event.kind == Event::begins; });
    if (!begins_later) fill(builder, local.shadow, local.bytes, kNever);
  }

  /// The same place in the shadow.
  Value* shadow_of(Value& address) {
    if (Value* known = shadows_.lookup(&address)) return known;
    auto& step = *cast<GetElementPtrInst>(&address);
    Instruction* made = step.clone();
    made->insertAfter(&step);
    made->setOperand(0, shadow_of(*step.getPointerOperand()));
    mark(*made);
    return shadows_[&address] = made;
  }

  /// Calls `each(offset, type)` for pieces as wide as a register.
  template <class Each> static void by_pieces(IRBuilder<>& builder, std::uint64_t bytes, Each each) {
    for (std::uint64_t offset = 0, width = 8; offset < bytes; offset += width) {
      while (width > bytes - offset) width /= 2;
      each(offset, builder.getIntNTy(static_cast<unsigned>(8 * width)));
    }
  }

  static void fill(IRBuilder<>& builder, Value* shadow, std::uint64_t bytes, std::uint64_t value) {
    if (bytes > kSmall) {
      CallInst* set = builder.CreateMemSet(shadow, builder.getInt8(static_cast<std::uint8_t>(value)), bytes, Align(1));
      set->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(builder.getContext(), {}));
      mark(*set);
      return;
    }
    by_pieces(builder, bytes, [&](std::uint64_t offset, Type* type) {
      Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), shadow, offset);
      mark(*builder.CreateAlignedStore(splat(type, value), at, Align(1)));
    });
  }

  void keep(Local& local) {
    for (const Event& event : local.events) {
      Instruction& instruction = *event.instruction;
      auto* store = dyn_cast<StoreInst>(&instruction);
      auto* change = dyn_cast<MemIntrinsic>(&instruction);
      if (event.kind == Event::escapes) {
        IRBuilder<> builder(isa<PHINode>(instruction) ? &*instruction.getParent()->getFirstInsertionPt()
                                                      : &instruction);
        fill(builder, local.shadow, local.bytes, 0);
      } else if (event.kind == Event::begins) {
        IRBuilder<> builder(instruction.getNextNode());
        fill(builder, local.shadow, local.bytes, kNever);
      } else if (event.kind == Event::sets && store != nullptr) {
        IRBuilder<> builder(store->getNextNode());
        Value* value = store->getValueOperand();
        const std::uint64_t bytes = size_of(*value->getType(), function_.getDataLayout()).getFixedValue();
        Type* type = builder.getIntNTy(static_cast<unsigned>(8 * bytes));
        auto* load = dyn_cast<LoadInst>(value);  // A copy: also of a struct, whose padding has no value.
        Value* account = load != nullptr && is_nothing(load)
                             ? account_of(*load)
                             : builder.CreateSelect(unset(value), splat(type, kOfNothing), splat(type, 0));
        mark(*builder.CreateAlignedStore(account, shadow_of(*event.address), Align(1)));
      } else if (event.kind == Event::sets) {
        IRBuilder<> builder(change->getNextNode());
        const std::uint64_t bytes = cast<ConstantInt>(change->getLength())->getZExtValue();
        Value* to = shadow_of(*event.address);
        if (!is_nothing(change)) {
          fill(builder, to, bytes, 0);
          continue;
        }
        Value* from = shadow_of(*cast<MemTransferInst>(change)->getRawSource());
        by_pieces(builder, bytes, [&](std::uint64_t offset, Type* type) {
          LoadInst* load = builder.CreateAlignedLoad(
              type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), from, offset), Align(1));
          mark(*load);
          mark(*builder.CreateAlignedStore(load, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), to, offset),
                                           Align(1)));
        });
      }
    }
  }

  /// Tells the emulator where the use is one of nothing.
  void check(Instruction& use) {
    // A store is told of when it is done.
    IRBuilder<> builder(isa<StoreInst>(use) || isa<MemTransferInst>(use) ? use.getNextNode() : &use);
    builder.SetCurrentDebugLocation(use.getDebugLoc());
    const auto bytes = [&](Type* type) {
      return builder.getInt64(function_.getDataLayout().getTypeStoreSize(type).getFixedValue());
    };
    if (auto* copy = dyn_cast<MemTransferInst>(&use)) {
      Value* all = builder.getTrue();
      Value* from = shadow_of(*copy->getRawSource());
      by_pieces(builder, cast<ConstantInt>(copy->getLength())->getZExtValue(), [&](std::uint64_t offset, Type* type) {
        LoadInst* load = builder.CreateAlignedLoad(
            type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), from, offset), Align(1));
        mark(*load);
        all = builder.CreateAnd(all, builder.CreateICmpEQ(load, splat(type, kNever)));
      });
      tell(builder, kStore,
           {all, copy->getRawDest(), builder.CreateIntCast(copy->getLength(), builder.getInt64Ty(), false)});
      return;
    }
    Value* address = getLoadStorePointerOperand(&use);
    if (address != nullptr && is_nothing(address)) tell(builder, kUse, {unset(address), bytes(address->getType())});
    if (auto* store = dyn_cast<StoreInst>(&use)) {
      if (is_nothing(store->getValueOperand()))
        tell(builder, kStore, {unset(store->getValueOperand()), address, bytes(store->getValueOperand()->getType())});
    } else if (address == nullptr) {
      for (Value* operand : use.operands())
        if (is_nothing(operand)) tell(builder, kUse, {unset(operand), bytes(operand->getType())});
    }
  }

  /// Calls a function of the emulator's, which the optimiser takes for one that touches no memory of the program's.
  static CallInst* tell(IRBuilder<>& builder, const char* name, ArrayRef<Value*> arguments, Type* result = nullptr) {
    Module& module = *builder.GetInsertBlock()->getModule();
    std::vector<Type*> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    FunctionCallee callee = module.getOrInsertFunction(
        name, FunctionType::get(result == nullptr ? builder.getVoidTy() : result, types, false));
    auto* function = cast<Function>(callee.getCallee());
    function->setOnlyAccessesInaccessibleMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    CallInst* call = builder.CreateCall(callee, arguments);
    call->addFnAttr(Attribute::NoMerge);
    mark(*call);
    return call;
  }

  Function& function_;
  DominatorTree tree_;
  LoopInfo loop_info_;
  CountedLoops loops_;
  std::vector<std::unique_ptr<Local>> locals_;
  DenseMap<const Instruction*, Local*> set_;  ///< by the store or the copy
  SmallPtrSet<const Value*, 32> nothing_;     ///< Values that may be nothing, and copies that may bring it.
  SmallVector<Value*, 32> open_;
  SetVector<Instruction*> uses_;
  bool returns_ = false;
  CallInst* handed_ = nullptr;
  DenseMap<Value*, Value*> unset_;     ///< by value: whether it is nothing
  DenseMap<Value*, Value*> accounts_;  ///< by load
  DenseMap<Value*, Value*> shadows_;   ///< by address: the same place in the shadow
};

/// Finds the reads that may find nothing.
void Account::judge(const Local& local) {
  DenseMap<const BasicBlock*, std::vector<const Event*>> events;
  DenseMap<const BasicBlock*, BitVector> gained;  // where a block begins
  for (const Event& event : local.events) {
    events[event.instruction->getParent()].push_back(&event);
    if (event.kind == Event::sets && event.behind != nullptr && !brings_nothing(event))
      gained.try_emplace(event.behind, BitVector(local.bytes)).first->second |= *event.bytes;
  }
  for (auto& [block, list] : events)
    std::sort(list.begin(), list.end(), [](const Event* one, const Event* other) {
      if (one->instruction == other->instruction) return one->kind < other->kind;  // A copy reads before it sets.
      return one->instruction->comesBefore(other->instruction);
    });
  const auto run = [&](const BasicBlock& block, BitVector set, bool look) {
    if (const auto found = gained.find(&block); found != gained.end()) set |= found->second;
    const auto here = events.find(&block);
    if (here == events.end()) return set;
    for (const Event* event : here->second) {
      if (event->kind == Event::begins)
        set.reset();
      else if (event->kind == Event::escapes)
        set.set();
      else if (event->kind == Event::sets && event->is_fixed && !brings_nothing(*event))
        set |= *event->bytes;
      else if (event->kind == Event::reads && look)
        judge(*event, set);
    }
    return set;
  };
  DenseMap<const BasicBlock*, BitVector> ends;
  const BasicBlock* const entry = &function_.getEntryBlock();
  const auto begin_of = [&](const BasicBlock& block) {
    BitVector set(local.bytes, &block != entry);
    for (const BasicBlock* before : predecessors(&block))
      if (const auto found = ends.find(before); found != ends.end()) set &= found->second;
    return set;
  };
  ReversePostOrderTraversal<Function*> order(&function_);
  for (bool changed = true; changed;) {
    changed = false;
    for (const BasicBlock* block : order) {
      BitVector set = run(*block, begin_of(*block), false);
      const auto [place, fresh] = ends.try_emplace(block, set);
      changed |= fresh || place->second != set;
      place->second = std::move(set);
    }
  }
  for (const BasicBlock* block : order) run(*block, begin_of(*block), true);
}

void join(CallInst& call) {
  InlineFunctionInfo information;
  InlineFunction(call, information);
}

/// Calls of functions that may return nothing become part of the function.
bool join_returning(Function& function, const SmallPtrSet<const Function*, 8>& returning) {
  std::vector<CallInst*> found;
  for (Instruction& instruction : instructions(function))
    if (auto* call = dyn_cast<CallInst>(&instruction);
        call != nullptr && returning.contains(call->getCalledFunction()) && may_join(*call))
      found.push_back(call);
  for (CallInst* call : found) join(*call);
  return !found.empty();
}

/// What tells of a read-only load touches no memory of the program's, and is none of its instructions.
void mark_read_only(Module& module) {
  Function* tell = module.getFunction("__warpbook_read_only");
  if (tell == nullptr) return;
  tell->setOnlyAccessesInaccessibleMemory();
  tell->setDoesNotThrow();
  tell->setWillReturn();
  for (User* user : tell->users())
    if (auto* call = dyn_cast<CallInst>(user)) mark(*call);
}

}  // namespace

PreservedAnalyses UnsetValuesPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  mark_read_only(module);
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::map<Function*, std::unique_ptr<Account>> accounts;
  SmallPtrSet<const Function*, 8> returning;
  constexpr unsigned kMostRounds = 8;
  bool changed = true;
  for (unsigned round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (Function& function : module) {
      if (function.isDeclaration() || !device.contains(&function)) continue;
      std::unique_ptr<Account>& account = accounts[&function];
      const bool joined = !returning.empty() && join_returning(function, returning);
      if (account != nullptr && !joined) continue;
      account = std::make_unique<Account>(function);
      for (unsigned i = 0; i < kMostInlined && account->handed() != nullptr; ++i) {
        CallInst* call = account->handed();
        account.reset();
        join(*call);
        account = std::make_unique<Account>(function);
      }
      changed |= account->returns() && returning.insert(&function).second;
    }
  }
  for (auto& [function, account] : accounts)
    if (account->matters()) account->keep();
  return PreservedAnalyses::none();
}

PreservedAnalyses MarkedChecksPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : module) {
    std::vector<Instruction*> open;
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (!calls_check(instruction)) continue;
      Value* condition = cast<CallInst>(instruction).getArgOperand(0);
      changed = true;
      if (const auto* known = dyn_cast<ConstantInt>(condition); known != nullptr && known->isZero()) {
        instruction.eraseFromParent();
      } else {
        mark(instruction);
        open.push_back(&instruction);
      }
    }
    // What only they need is theirs.
    while (!open.empty()) {
      Instruction* check = open.back();
      open.pop_back();
      for (Value* operand : check->operands()) {
        auto* instruction = dyn_cast<Instruction>(operand);
        if (instruction == nullptr || is_value_check(*instruction) || instruction->mayHaveSideEffects()) continue;
        if (!std::all_of(instruction->user_begin(), instruction->user_end(),
                         [](const User* user) { return is_value_check(*cast<Instruction>(user)); }))
          continue;
        mark(*instruction);
        open.push_back(instruction);
      }
    }
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses RareChecksPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<CallInst*> checks;
  for (const char* name : {kRead, kUse, kStore, kBring})
    if (const Function* function = module.getFunction(name))
      for (const User* user : function->users()) checks.push_back(const_cast<CallInst*>(cast<CallInst>(user)));
  for (CallInst* check : checks) {
    Value* condition = check->getArgOperand(0);
    if (isa<Constant>(condition)) continue;
    Instruction* then = SplitBlockAndInsertIfThen(condition, check->getIterator(), false,
                                                  MDBuilder(module.getContext()).createBranchWeights(1, 1 << 20));
    check->moveBefore(then);
  }
  return checks.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
