/// \file
/// What one instruction of the compiler's representation is in a GPU's machine code, where it is many.
#pragma once

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>

namespace warpbook::emulator {

/// Instructions that nvcc makes of a division or of a function of the C library (CUDA 13.0, sm_90, on the way that is
/// mostly taken); 1 for all others.
inline double machine_instructions(const llvm::Instruction& instruction) {
  using namespace llvm;
  const auto is_root = [](const Value* value) {
    const auto* call = dyn_cast<CallBase>(value);
    return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "sqrtf";
  };
  if (instruction.getOpcode() == Instruction::FDiv) {
    if (instruction.getType()->isDoubleTy()) return 17;
    const auto* one = dyn_cast<ConstantFP>(instruction.getOperand(0));
    if (one != nullptr && one->isExactlyValue(1.0) && is_root(instruction.getOperand(1))) return 1;  // rsqrtf
    return instruction.getType()->isFloatTy() ? 12 : 1;
  }
  const auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return 1;
  return StringSwitch<double>(callee->getName())
      .Case("sqrtf", 8)
      .Cases("expf", "exp10f", 10)
      .Case("exp2f", 4)
      .Case("logf", 18)
      .Cases("sinf", "cosf", 25)
      .Case("tanhf", 17)
      .Case("erff", 30)
      .Case("powf", 60)
      .Case("sqrt", 22)
      .Case("exp", 61)
      .Case("log", 84)
      .Default(1);
}

}  // namespace warpbook::emulator
