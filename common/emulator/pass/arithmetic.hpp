/// \file
/// Arithmetic as PTX defines it, where C++ or this processor have it otherwise.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start, before anything is concluded from what C++ leaves undefined: shifts by the width and more
/// move all bits out; NaN becomes the integer that PTX says.
class DefinedArithmeticPass : public llvm::PassInfoMixin<DefinedArithmeticPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// Before the first simplification: keeps divisions by a power of two that only a loop tells to be one (`s *= 2`). nvcc
/// leaves a division there, unless it unrolls the loop in full; clang would take a bit mask.
class KeptDivisionsPass : public llvm::PassInfoMixin<KeptDivisionsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// Behind the last one: the divisors are what they were.
class ShownDivisorsPass : public llvm::PassInfoMixin<ShownDivisorsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At its end: makes one fused operation of a product and a sum in device code, as nvcc does unless `-fmad=false`.
class ContractionPass : public llvm::PassInfoMixin<ContractionPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// After everything is counted: an integer division by zero is reported, and the lowest number divided by -1 wraps
/// around.
class DivisionPass : public llvm::PassInfoMixin<DivisionPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// True for an integer division or remainder whose divisor the compiler does not know.
bool is_division(const llvm::Instruction& instruction);

/// True for what these passes added, and for negations: a GPU's own instruction does it.
bool is_part_of_instruction(const llvm::Instruction& instruction);

}  // namespace warpbook::emulator
