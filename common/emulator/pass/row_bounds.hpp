/// \file
/// Accesses that leave an array inside of another object.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: an array that a struct begins with lies where the struct does, and the optimiser would take
/// its index for one of the struct's place. Names the struct in the index's own step.
class FirstMembersPass : public llvm::PassInfoMixin<FirstMembersPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// Checks indices of rows, and of arrays in structs: beyond them is still the same object, so its own bounds say
/// nothing. Sees what is left of the program's types once everything is optimised. Says nothing of `tile[0][i]`, which
/// walks through all rows, and of a struct's last member, which may be meant to go on. Comes after all else is counted.
class RowBoundsPass : public llvm::PassInfoMixin<RowBoundsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
