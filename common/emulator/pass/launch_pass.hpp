/// \file
/// Programs with `<<<>>>`: see include/warpbook_chevrons.h.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Makes a launch of each call that `warpbook::emulator::launch()` follows, and gives `extern __shared__` arrays the
/// address of the block's dynamic shared memory. Comes first, while calls are as the front end made them.
class LaunchPass : public llvm::PassInfoMixin<LaunchPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
