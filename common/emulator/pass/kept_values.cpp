#include "common/emulator/pass/kept_values.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr unsigned kDeepest = 24;  // calls in calls, operations on a value

/// Follows an address through functions.
class Keeper {
public:
  /// What is done with the variable at this address.
  bool keeps(const Value& pointer, unsigned depth = 0) const {
    return depth < kDeepest && std::all_of(pointer.user_begin(), pointer.user_end(), [&](const User* user) {
             if (const auto* store = dyn_cast<StoreInst>(user))
               return store->getValueOperand() == &pointer ? keeps_captured(*store, depth) : is_of_itself(*store);
             if (isa<LoadInst>(user) || isa<ICmpInst>(user) || is_mark(*user)) return true;
             if (isa<GEPOperator>(user)) return keeps(*user, depth + 1);
             const auto* call = dyn_cast<CallBase>(user);
             return call != nullptr && keeps_in(*call, pointer, std::nullopt, depth);
           });
  }

  /// What is done in a function that is handed the address, or that of memory which has it at this offset.
  bool keeps_in(const CallBase& call, const Value& pointer, std::optional<std::int64_t> offset, unsigned depth) const {
    const Function* callee = call.getCalledFunction();
    if (callee == nullptr || callee->isDeclaration() || callee->isVarArg() || depth >= kDeepest) return false;
    for (const Use& argument : call.args()) {
      if (argument.get() != &pointer) continue;
      const Argument& parameter = *callee->getArg(call.getArgOperandNo(&argument));
      if (offset ? !keeps_at(parameter, *offset, 0, depth + 1) : !keeps(parameter, depth + 1)) return false;
    }
    return true;
  }

  /// A store of the address into a variable of the function's own: a parameter's, or a closure.
  bool keeps_captured(const StoreInst& store, unsigned depth) const {
    APInt offset(64, 0);
    const Value* place = store.getPointerOperand()->stripAndAccumulateConstantOffsets(layout(store), offset, true);
    return isa<AllocaInst>(place) && keeps_at(*place, offset.getSExtValue(), 0, depth + 1);
  }

private:
  static const DataLayout& layout(const Instruction& instruction) { return instruction.getModule()->getDataLayout(); }

  static bool is_mark(const User& user) {
    const auto* intrinsic = dyn_cast<IntrinsicInst>(&user);
    return intrinsic != nullptr && (intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic());
  }

  /// What is done with memory that has the address at `offset`; `from`: how far `place` lies behind its begin.
  bool keeps_at(const Value& place, std::int64_t offset, std::int64_t from, unsigned depth) const {
    return depth < kDeepest && std::all_of(place.user_begin(), place.user_end(), [&](const User* user) {
             if (const auto* load = dyn_cast<LoadInst>(user)) return from != offset || keeps(*load, depth + 1);
             if (const auto* store = dyn_cast<StoreInst>(user))
               return store->getPointerOperand() == &place || keeps_stored(*store, offset - from, depth);
             if (is_mark(*user)) return true;
             if (const auto* step = dyn_cast<GEPOperator>(user)) {
               const auto* instruction = dyn_cast<Instruction>(user);
               APInt more(64, 0);
               return instruction != nullptr && step->accumulateConstantOffset(layout(*instruction), more) &&
                      keeps_at(*step, offset, from + more.getSExtValue(), depth + 1);
             }
             if (const auto* copy = dyn_cast<MemCpyInst>(user))
               return copy->getRawDest() == &place || (isa<AllocaInst>(copy->getRawDest()) &&
                                                       keeps_at(*copy->getRawDest(), offset - from, 0, depth + 1));
             const auto* call = dyn_cast<CallBase>(user);
             return call != nullptr && keeps_in(*call, place, offset - from, depth);
           });
  }

  /// The memory's own address goes to a variable: `this`.
  bool keeps_stored(const StoreInst& store, std::int64_t offset, unsigned depth) const {
    const auto* slot = dyn_cast<AllocaInst>(store.getPointerOperand());
    return slot != nullptr && std::all_of(slot->user_begin(), slot->user_end(), [&](const User* user) {
             if (user == &store || is_mark(*user)) return true;
             const auto* load = dyn_cast<LoadInst>(user);
             return load != nullptr && keeps_at(*load, offset, 0, depth + 1);
           });
  }

  /// A store of what is computed of the same place.
  static bool is_of_itself(const StoreInst& store) { return comes_from(*store.getValueOperand(), store, 0); }

  static bool comes_from(const Value& value, const StoreInst& store, unsigned depth) {
    if (const auto* load = dyn_cast<LoadInst>(&value)) return is_same(*load, store);
    const auto* instruction = dyn_cast<Instruction>(&value);
    const auto* intrinsic = dyn_cast<IntrinsicInst>(&value);
    if (instruction == nullptr || depth >= kDeepest ||
        !(isa<BinaryOperator>(value) || isa<UnaryOperator>(value) || isa<CastInst>(value) ||
          (intrinsic != nullptr && intrinsic->doesNotAccessMemory())))
      return false;
    return std::any_of(instruction->op_begin(), instruction->op_end(),
                       [&](const Use& operand) { return comes_from(*operand, store, depth + 1); });
  }

  /// At the same address: also where it is taken from a variable twice, as that of a reference is.
  static bool is_same(const LoadInst& load, const StoreInst& store) {
    if (load.getType() != store.getValueOperand()->getType()) return false;
    APInt one(64, 0);
    APInt other(64, 0);
    const Value* from = load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout(store), one, true);
    const Value* to = store.getPointerOperand()->stripAndAccumulateConstantOffsets(layout(store), other, true);
    if (one != other) return false;
    const auto* first = dyn_cast<LoadInst>(from);
    const auto* second = dyn_cast<LoadInst>(to);
    return from == to || (first != nullptr && second != nullptr && first->getType()->isPointerTy() &&
                          is_same_place(*first->getPointerOperand(), *second->getPointerOperand(), layout(store)));
  }

  static bool is_same_place(const Value& one, const Value& other, const DataLayout& layout) {
    APInt first(64, 0);
    APInt second(64, 0);
    const Value* a = one.stripAndAccumulateConstantOffsets(layout, first, true);
    const Value* b = other.stripAndAccumulateConstantOffsets(layout, second, true);
    if (first != second) return false;
    if (a == b) return true;
    const auto* load = dyn_cast<LoadInst>(a);
    const auto* again = dyn_cast<LoadInst>(b);
    return load != nullptr && again != nullptr && load->getPointerOperand() == again->getPointerOperand();
  }
};

}  // namespace

bool keeps_unset(const CallBase& call, const Value& pointer) {
  return Keeper().keeps_in(call, pointer, std::nullopt, 0);
}

bool keeps_unset(const StoreInst& capture) { return Keeper().keeps_captured(capture, 0); }

}  // namespace warpbook::emulator
