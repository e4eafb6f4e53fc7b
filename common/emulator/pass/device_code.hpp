/// \file
/// Which functions of a file are device code, and what device and host code must not ask of each other.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: reads CUDA's qualifiers, which include/host_defines.h made annotations of, and refuses what
/// nvcc refuses, in its words: calls of host functions and uses of host variables in device code, calls of device
/// functions by the host.
class DeviceCodePass : public llvm::PassInfoMixin<DeviceCodePass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// The functions that device code runs: those that are qualified so, and what they call.
llvm::SmallPtrSet<const llvm::Function*, 32> device_functions(llvm::Module& module);

}  // namespace warpbook::emulator
