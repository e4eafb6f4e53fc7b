#include "common/emulator/pass/unrolled_loops.hpp"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <vector>

#include "common/emulator/pass/memory_objects.hpp"
#include "common/emulator/pass/unset_values.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr unsigned kPlainTurns = 16;
constexpr unsigned kOtherTurns = 4;
constexpr unsigned kPlainInstructions = 24;  // of a body that is unrolled by 16

/// What writes to memory, waits, or may do either.
bool acts(const Instruction& instruction) {
  if (is_value_check(instruction)) return false;
  if (const auto* store = dyn_cast<StoreInst>(&instruction)) return !isa<AllocaInst>(object_of(*store));
  if (const auto* call = dyn_cast<CallBase>(&instruction)) {
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(call);
        intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic())
      return false;
    return !call->onlyReadsMemory() && !call->doesNotAccessMemory();
  }
  return instruction.mayHaveSideEffects() && !isa<LoadInst>(instruction);
}

/// Whether a load of one turn can be moved before what the turn before it writes.
bool passes(const LoadInst& load, const std::vector<const Instruction*>& acting) {
  return std::none_of(acting.begin(), acting.end(), [&](const Instruction* other) {
    if (isa<StoreInst>(other) && (is_shared(load) != is_shared(*other) || (!is_shared(load) && is_restricted(load))))
      return false;
    return true;
  });
}

/// Whether an address needs what a load of an earlier turn brought: it depends on a value that goes round the loop and
/// is no counter.
bool is_chased(const Value* address, const Loop& loop, ScalarEvolution& evolution) {
  std::vector<const Value*> open{address};
  DenseSet<const Value*> seen;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    const auto* instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop.contains(instruction) || !seen.insert(value).second) continue;
    if (isa<PHINode>(instruction) && instruction->getParent() == loop.getHeader()) {
      if (!evolution.isSCEVable(instruction->getType()) ||
          !isa<SCEVAddRecExpr>(evolution.getSCEV(const_cast<Instruction*>(instruction))))
        return true;
      continue;
    }
    for (const Value* operand : instruction->operands()) open.push_back(operand);
  }
  return false;
}

/// Whether turns are counted in 64 bits, by the program's own choice.
bool counts_in_long(const Loop& loop) {
  const auto* branch = dyn_cast<BranchInst>(loop.getLoopLatch()->getTerminator());
  const auto* compare = branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
  if (compare == nullptr || !compare->getOperand(0)->getType()->isIntegerTy(64)) return false;
  return std::none_of(compare->op_begin(), compare->op_end(), [&](const Value* operand) {
    return isa<Constant>(operand) || (loop.isLoopInvariant(operand) && isa<ZExtInst, SExtInst>(operand));
  });
}

/// Whether an index is a sum of unsigned numbers of 32 bits, which may begin at 0 again.
bool may_wrap(const LoadInst& load, const Loop& loop) {
  const auto* address = dyn_cast<GetElementPtrInst>(load.getPointerOperand());
  return address != nullptr && std::any_of(address->idx_begin(), address->idx_end(), [&](const Value* number) {
           const auto* wide = dyn_cast<ZExtInst>(number);
           if (wide == nullptr || wide->hasNonNeg() || !loop.contains(wide)) return false;
           const auto* sum = dyn_cast<BinaryOperator>(wide->getOperand(0));
           return sum != nullptr && (sum->getOpcode() == Instruction::Add || sum->getOpcode() == Instruction::Sub);
         });
}

/// Bytes by which the address goes on in a turn, where they are known; else 0.
std::int64_t step_of(const Value* address, const Loop& loop, ScalarEvolution& evolution) {
  const auto* steps = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(const_cast<Value*>(address)));
  if (steps == nullptr || steps->getLoop() != &loop) return 0;
  const auto* step = dyn_cast<SCEVConstant>(steps->getStepRecurrence(evolution));
  return step == nullptr ? 0 : step->getAPInt().getSExtValue();
}

/// Turns whose loads become one of 16 bytes.
unsigned merged_turns(const LoadInst& load, const Loop& loop, ScalarEvolution& evolution, unsigned turns) {
  constexpr std::int64_t kWidest = 16;
  const auto bytes =
      static_cast<std::int64_t>(load.getFunction()->getDataLayout().getTypeStoreSize(load.getType()).getFixedValue());
  if (!is_shared(load) || turns % (kWidest / std::min(bytes, kWidest)) != 0 || bytes >= kWidest) return 1;
  if (step_of(load.getPointerOperand(), loop, evolution) != bytes) return 1;
  // Where it begins has to be a multiple of 16, as far as it is known; arrays themselves are aligned so.
  const auto* address = cast<SCEVAddRecExpr>(evolution.getSCEV(const_cast<Value*>(load.getPointerOperand())));
  const SCEV* begin = evolution.removePointerBase(address->getStart());
  return evolution.getMinTrailingZeros(begin) >= 4 ? static_cast<unsigned>(kWidest / bytes) : 1;
}

/// A number for a loop; two loops of a kernel hardly ever have the same.
unsigned number_of(const Loop& loop) {
  const BasicBlock* header = loop.getHeader();
  const auto place = static_cast<unsigned>(std::distance(header->getParent()->begin(), header->getIterator()));
  const auto name = static_cast<unsigned>(xxh3_64bits(header->getParent()->getName()));
  return ((name + 2 * place) & 0xffffU) | 1U;
}

}  // namespace

UnrolledLoops::UnrolledLoops(LoopInfo& loops, ScalarEvolution& evolution) {
  for (Loop* loop : loops.getLoopsInPreorder())
    if (loop->isInnermost()) look(*loop, evolution);
}

void UnrolledLoops::look(Loop& loop, ScalarEvolution& evolution) {
  const BasicBlock* latch = loop.getLoopLatch();
  if (latch == nullptr || loop.getExitingBlock() != latch || (hasUnrollTransformation(&loop) & TM_Disable) != 0) return;
  if (isa<SCEVCouldNotCompute>(evolution.getBackedgeTakenCount(&loop))) return;
  std::vector<const Instruction*> acting;
  std::vector<const LoadInst*> loads;
  unsigned size = 0;
  bool constant_steps = false;
  for (const BasicBlock* block : loop.blocks()) {
    for (const Instruction& instruction : *block) {
      if (acts(instruction)) acting.push_back(&instruction);
      if (const auto* load = dyn_cast<LoadInst>(&instruction); load != nullptr && is_followed(*load))
        loads.push_back(load);
      size += isa<PHINode>(instruction) || isa<GetElementPtrInst>(instruction) ? 0 : 1;
    }
  }
  for (PHINode& phi : loop.getHeader()->phis()) {
    if (!evolution.isSCEVable(phi.getType())) continue;
    const auto* counter = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi));
    constant_steps |= counter != nullptr && counter->isAffine() &&
                      isa<SCEVConstant>(counter->getStepRecurrence(evolution)) && !phi.getType()->isFloatingPointTy();
  }
  // Barriers and whatever else is not known to leave memory alone keep turns apart.
  const bool meets = std::any_of(acting.begin(), acting.end(), [](const Instruction* instruction) {
    const auto* call = dyn_cast<CallBase>(instruction);
    return call != nullptr && !is_library_atomic(*call) && !is_asynchronous_copy(*call);
  });
  if (!constant_steps || meets) return;

  unsigned turns = evolution.getSmallConstantTripCount(&loop);
  unsigned number = 0;
  if (turns == 0 || turns > kWholeLoop) {
    const bool plain =
        loop.getNumBlocks() == 1 && size <= kPlainInstructions && !counts_in_long(loop) &&
        std::none_of(loads.begin(), loads.end(), [&](const LoadInst* load) { return may_wrap(*load, loop); });
    turns = turns != 0 ? kWholeLoop : plain ? kPlainTurns : kOtherTurns;
    number = number_of(loop);
    if (loop.getLoopDepth() > 1) {
      BasicBlock* before = loop.getLoopPreheader();
      if (before == nullptr) return;
      begins_.emplace_back(before->getTerminator(), number);
    }
    if (const auto asked = getOptionalIntLoopAttribute(&loop, "llvm.loop.unroll.count"))
      turns = static_cast<unsigned>(std::max(1, *asked));
  }
  // Inner loops are often shorter than what is unrolled: what only counts their turns is left as it is.
  const bool inner = number != 0 && loop.getLoopDepth() > 1;
  for (const BasicBlock* block : loop.blocks()) turns_[block] = inner ? 1 : turns;
  for (const LoadInst* load : loads) {
    if (is_chased(load->getPointerOperand(), loop, evolution)) continue;
    if (passes(*load, acting)) {
      together_[load] = turns;
      if (number != 0) loop_[load] = number;
    }
    merged_[load] = merged_turns(*load, loop, evolution, turns);
    if (step_of(load->getPointerOperand(), loop, evolution) == 0) placed_.insert(load);
  }
  for (const BasicBlock* block : loop.blocks()) {
    for (const Instruction& instruction : *block) {
      const bool number = instruction.getType()->isIntegerTy() && evolution.isSCEVable(instruction.getType()) &&
                          isa<BinaryOperator, CastInst>(instruction);
      const auto* counter =
          number ? dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(const_cast<Instruction*>(&instruction))) : nullptr;
      if ((counter != nullptr && counter->getLoop() == &loop) || &instruction == latch->getTerminator() ||
          (isa<ICmpInst>(instruction) && cast<BranchInst>(latch->getTerminator())->isConditional() &&
           cast<BranchInst>(latch->getTerminator())->getCondition() == &instruction))
        counting_.insert(&instruction);
    }
  }
}

}  // namespace warpbook::emulator
