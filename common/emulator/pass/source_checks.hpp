/// \file
/// What checks have to know of a program that its accesses do not tell.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: finds loads of local variables and arrays that are sure to find no value there when they
/// are done first, because whatever may write there comes after them. Each one then tells the emulator before it is
/// done. A variable that some path gives a value is left to unset_values.hpp. Bytes at constant offsets are told apart,
/// array elements at other offsets are not.
class LocalValuesPass : public llvm::PassInfoMixin<LocalValuesPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the pipeline's start: has `atomicAdd_block` and its kin tell that they are atomic for their block alone.
class AtomicScopePass : public llvm::PassInfoMixin<AtomicScopePass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the pipeline's start: has kernels print by a function of the emulator's, which looks at the strings first.
class PrintPass : public llvm::PassInfoMixin<PrintPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the pipeline's start: makes volatile what a loop of the host waits for, where nothing in the loop changes it
/// (`while (*flag == 0);`). nvcc leaves the host's code as it is unless it gets `-O`, and such a loop then ends; clang
/// would take it away.
class HostWaitsPass : public llvm::PassInfoMixin<HostWaitsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the pipeline's end: tells the emulator of two kinds of access before they are done.
///
///  - A volatile store whose value was computed of what was read there (`*count = *count + 1`). A flag that is set in
///  one
///    go may be volatile; of two threads that add at a time, one is lost.
///  - The load of an object's table of virtual functions.
class SpokenAccessPass : public llvm::PassInfoMixin<SpokenAccessPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
