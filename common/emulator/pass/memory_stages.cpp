#include "common/emulator/pass/memory_stages.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "common/emulator/base/stage.hpp"
#include "common/emulator/pass/library_calls.hpp"
#include "common/emulator/pass/memory_objects.hpp"
#include "common/emulator/pass/unset_values.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// True where memory is asked for something.
bool asks(const Instruction& instruction) {
  if (const auto* load = dyn_cast<LoadInst>(&instruction)) return is_followed(*load);
  if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction)) return !instruction.use_empty();
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call != nullptr && (is_asynchronous_copy(*call) || (is_library_atomic(*call) && !call->use_empty()));
}

/// True where an instruction has no counterpart in machine code that could wait.
bool is_free(const Instruction& instruction) {
  if (isa<PHINode>(instruction)) return true;
  const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic();
}

/// True where a branch around `block`, or into it or its like, is as good as none: a compiler for GPUs makes short
/// blocks without calls part of what is before them, under a predicate.
bool is_predicated(const BasicBlock& block) {
  constexpr unsigned kMost = 24;  // instructions
  unsigned count = 0;
  for (const Instruction& instruction : block) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    if (is_value_check(instruction)) continue;
    if (call != nullptr && !isa<IntrinsicInst>(call) && !is_asynchronous_copy(*call) && !is_library_atomic(*call))
      return false;
    if (!is_free(instruction)) ++count;
  }
  return count <= kMost;
}

/// A block's place in the function, as far as stages go.
struct Place {
  const BasicBlock* head = nullptr;  ///< of the blocks that become one
  unsigned before = 0;               ///< waits up to the head's begin
  unsigned control = 0;              ///< waits until it is known whether the block runs, once the head does
  unsigned behind = 0;               ///< waits up to the block's end
  unsigned stored = 0;               ///< waits up to the last store to global memory that a load cannot pass
  unsigned stored_shared = 0;        ///< the same of shared memory
  unsigned pending = 0;              ///< waits of what is computed and not yet asked for
};

using Places = DenseMap<const BasicBlock*, Place>;

/// True where an instruction cannot be put off until somebody needs what it computes.
bool is_needed_now(const Instruction& instruction) {
  if (is_value_check(instruction)) return false;
  return isa<CallBase>(instruction) || instruction.isTerminator() || instruction.mayHaveSideEffects();
}

/// The waits for stores that whatever asks memory for something cannot be moved before.
unsigned passed(const Instruction& instruction, const Place& place) {
  if (!isa<LoadInst>(instruction)) return std::max(place.stored, place.stored_shared);
  if (is_shared(instruction)) return place.stored_shared;
  return is_restricted(cast<LoadInst>(instruction)) ? 0 : place.stored;
}

/// The waits until it is known where a block goes on.
unsigned condition_of(const BasicBlock& block, const DenseMap<const Value*, unsigned>& ready) {
  const auto* branch = dyn_cast<BranchInst>(block.getTerminator());
  return branch != nullptr && branch->isConditional() ? ready.lookup(branch->getCondition()) : 0;
}

/// The waits until it is known which of its values a phi is.
unsigned choice_of(const PHINode& phi, const Places& places, const DenseMap<const Value*, unsigned>& ready) {
  unsigned choice = 0;
  for (const BasicBlock* from : phi.blocks())
    if (const auto found = places.find(from); found != places.end())
      choice = std::max({choice, found->second.control, condition_of(*from, ready)});
  return choice;
}

/// Where `block` begins, of which all predecessors but those behind it are placed.
Place place_of(const BasicBlock& block, const Places& places, const DenseMap<const Value*, unsigned>& ready) {
  Place place;
  place.head = &block;
  const BasicBlock* head = nullptr;
  bool together = true;
  for (const BasicBlock* from : predecessors(&block)) {
    const auto found = places.find(from);
    if (found == places.end()) {  // a loop comes back here
      together = false;
      continue;
    }
    place.before = std::max(place.before, found->second.behind);
    place.stored = std::max(place.stored, found->second.stored);
    place.stored_shared = std::max(place.stored_shared, found->second.stored_shared);
    place.pending = std::max(place.pending, found->second.pending);
    if (head != nullptr && head != found->second.head) together = false;
    head = found->second.head;
  }
  place.behind = place.before;
  if (head == nullptr || !together) return place;
  const BasicBlock* const from = block.getSinglePredecessor();
  if (from == nullptr) {  // Where the parts of a branch meet again: nothing has to be known for it.
    const Place& of_head = places.find(head)->second;
    place.head = head;
    place.before = of_head.before;
    place.control = of_head.control;
    return place;
  }
  const Place& of_from = places.find(from)->second;
  const bool only = from->getSingleSuccessor() == &block;
  if (!only && !is_predicated(block)) return place;
  place.head = head;
  place.before = of_from.before;
  place.control = std::max(of_from.control, only ? 0 : condition_of(*from, ready));
  return place;
}

}  // namespace

MemoryStages::MemoryStages(Function& function) {
  Places places;
  DenseMap<const Value*, unsigned> ready;  // waits until a value is there
  for (const BasicBlock* block : ReversePostOrderTraversal<Function*>(&function)) {
    Place place = place_of(*block, places, ready);
    unsigned waits = place.behind;
    for (const Instruction& instruction : *block) {
      unsigned operands = 0;
      for (const Value* operand : instruction.operands()) operands = std::max(operands, ready.lookup(operand));
      if (asks(instruction)) {
        // A compiler moves loads up, as far as their addresses are known, but not past a store to what may be theirs.
        const unsigned stage = std::max({place.before, place.control, operands, passed(instruction, place)});
        stages_[&instruction] = stage;
        ready[&instruction] = is_shared(instruction) ? stage + 1 : ((stage >> kGlobalWaitLog2) + 1) << kGlobalWaitLog2;
        waits = std::max(waits, operands);
        if (!isa<LoadInst>(instruction)) place.stored = place.stored_shared = waits;
        continue;
      }
      if (const auto* phi = dyn_cast<PHINode>(&instruction))
        operands = std::max(operands, choice_of(*phi, places, ready));
      if (operands != 0) ready[&instruction] = operands;
      if (is_free(instruction)) continue;
      if (!is_needed_now(instruction)) {
        place.pending = std::max(place.pending, operands);
        continue;
      }
      waits = std::max(waits, operands);
      if (instruction.mayWriteToMemory()) {
        unsigned& stored = is_shared(instruction) ? place.stored_shared : place.stored;
        stored = std::max(stored, operands);
      }
    }
    // A turn of a loop does its own arithmetic.
    for (const BasicBlock* to : successors(block))
      if (to == block || places.contains(to)) waits = std::max(waits, place.pending);
    place.behind = waits;
    places[block] = place;
  }
}

unsigned MemoryStages::stage(const Instruction& instruction) const { return stages_.lookup(&instruction); }

}  // namespace warpbook::emulator
