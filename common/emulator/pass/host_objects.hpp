/// \file
/// Of the host's variables, what their use by the device asks for.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's end. Of a pointer alone, nobody could say so:
///
///  - before each copy that the host asks for, and each launch by a kernel's address, tells where the variables of the
///    program end that it leads to;
///  - tells where a variable ends, or is freed, that was handed to a host function.
class HostObjectsPass : public llvm::PassInfoMixin<HostObjectsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
