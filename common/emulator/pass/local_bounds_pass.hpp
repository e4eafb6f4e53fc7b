/// \file
/// Arrays of a thread's own that stay in memory.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Checks each load and store of a local array against the array's own bounds. Sees arrays that live in memory once
/// everything is optimised, and addresses that are computed from them in place; not those that are chosen among
/// several, nor those that a function is given. Comes after all else is counted.
class LocalBoundsPass : public llvm::PassInfoMixin<LocalBoundsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
