#include "common/emulator/pass/atomic_flags.hpp"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

#include "common/emulator/base/tally.hpp"
#include "common/emulator/pass/library_calls.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// Whether a value is the same for all threads of a block: made of the kernel's parameters, constants, and what the
/// block is.
bool is_uniform(const Value& value, unsigned depth = 8) {
  if (isa<Constant>(value) || isa<Argument>(value)) return true;
  const auto* instruction = dyn_cast<Instruction>(&value);
  if (instruction == nullptr || depth == 0) return false;
  if (const auto* call = dyn_cast<CallBase>(instruction)) {
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(call))
      return intrinsic->getIntrinsicID() == Intrinsic::threadlocal_address;
    return calls_library(*call, "block_") || calls_library(*call, "grid_") || calls_library(*call, "dynamic_shared");
  }
  return isa<GetElementPtrInst, CastInst, BinaryOperator>(instruction) &&
         std::all_of(instruction->op_begin(), instruction->op_end(),
                     [&](const Use& operand) { return is_uniform(*operand, depth - 1); });
}

/// Whether a loop around `result` goes on or ends by it.
bool goes_round(const CallBase& result, const LoopInfo& loops) {
  const Loop* loop = loops.getLoopFor(result.getParent());
  if (loop == nullptr) return false;
  SmallVector<BasicBlock*> exits;
  loop->getExitingBlocks(exits);
  std::vector<const Value*> open{&result};
  DenseSet<const Value*> seen;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (!seen.insert(value).second) continue;
    for (const User* user : value->users()) {
      const auto* instruction = dyn_cast<Instruction>(user);
      if (instruction == nullptr || !loop->contains(instruction)) continue;
      if (instruction->isTerminator() && is_contained(exits, instruction->getParent())) return true;
      if (isa<CmpInst, BinaryOperator, CastInst, SelectInst, PHINode, FreezeInst>(instruction))
        open.push_back(instruction);
    }
  }
  return false;
}

/// Adds integers, or combines them in another way that a warp can do by itself.
unsigned flags_of_integers(const CallBase& call) {
  constexpr std::uint64_t kAdd = 0;  // AtomicOperation::add; the next one is the exchange
  const auto* operation = dyn_cast<ConstantInt>(call.getArgOperand(0));
  if (operation == nullptr) return 0;
  if (operation->getZExtValue() == kAdd + 1) return call.use_empty() ? kOverwrites : 0;
  const auto* value = dyn_cast<ConstantInt>(call.getArgOperand(2));
  const bool adds = operation->getZExtValue() == kAdd;
  const bool adds_constant = adds && value != nullptr;
  unsigned flags = adds_constant && value->isOne() ? kIncrement : 0;
  if (adds && call.use_empty()) flags |= kOnlyAdds;
  if ((adds_constant || (call.use_empty() && call.getArgOperand(2)->getType()->isIntegerTy(32))) &&
      is_uniform(*call.getArgOperand(1)))
    flags |= kOneAddress;
  return flags;
}

}  // namespace

unsigned atomic_flags(const CallBase& call, const LoopInfo& loops) {
  unsigned flags = call.use_empty() ? kUnused : 0;
  for (const char* name : {"atomic_i32", "atomic_u32", "atomic_i64", "atomic_u64"})
    if (calls_library(call, name)) flags |= flags_of_integers(call);
  for (const char* name : {"atomic_add_", "atomic_increment", "atomic_decrement"})
    if (calls_library(call, name) && call.use_empty()) flags |= kOnlyAdds;
  if (calls_library(call, "atomic_cas_") && goes_round(call, loops)) flags |= kLoop;
  return flags;
}

}  // namespace warpbook::emulator
