/// \file
/// Loops of kernels that nothing leads out of.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Has each turn of such a loop told: its condition always holds, as that of `for (unsigned i = n; i >= 0; --i)`.
/// Comes after all else is counted.
class EndlessLoopsPass : public llvm::PassInfoMixin<EndlessLoopsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
