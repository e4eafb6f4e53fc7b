/// \file
/// Local variables that get a value on some paths only.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: finds local variables and arrays that may have no value where they are read, and lets each
/// thread keep account of their bytes: beside the variable lies a shadow of the same size, whose bytes are not 0 where
/// there is no value. What is computed of nothing is nothing, too, and so is what a shuffle takes from a lane that has
/// none. It is a mistake where it decides a branch or an address, is printed, and where it goes to global memory; a
/// value that nobody looks at is none. Variables that are sure to have a value get no shadow: a loop of known length
/// that sets an array is understood.
///
/// A function that is handed such a value, or returns one, becomes part of the one that calls it. A variable whose
/// address goes elsewhere counts as set from then on.
class UnsetValuesPass : public llvm::PassInfoMixin<UnsetValuesPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the end, before instructions are counted: drops the accounts that the optimiser found to be in order, and marks
/// what is left, which is none of the program's own.
class MarkedChecksPass : public llvm::PassInfoMixin<MarkedChecksPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// Behind it all: tells the emulator only where a value is missing.
class RareChecksPass : public llvm::PassInfoMixin<RareChecksPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// True for instructions that only keep account of values.
inline bool is_value_check(const llvm::Instruction& instruction) { return instruction.hasMetadata("warpbook.unset"); }

/// Makes it one.
inline void mark_value_check(llvm::Instruction& instruction) {
  instruction.setMetadata("warpbook.unset", llvm::MDNode::get(instruction.getContext(), {}));
}

}  // namespace warpbook::emulator
