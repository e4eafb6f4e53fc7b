/// \file
/// Inline PTX.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start, behind DeviceCodePass: replaces the inline PTX of device code by what it does. What is not
/// emulated is refused with its name and line.
class PtxPass : public llvm::PassInfoMixin<PtxPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
