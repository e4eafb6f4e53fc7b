/// \file
/// Loops whose loads can be looked at all at once.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Of each inner loop of device code that is one block, only loads, and whose addresses go on by a step that is known
/// when it begins, makes a second form, in which nobody is told of a load. Before the loop the emulator is asked about
/// all loads of all turns: where it finds nothing to say of any of them, the second form runs; else the loop as it was.
/// Comes behind whatever counts instructions, and before the thread sanitizer.
class CountedLoadsPass : public llvm::PassInfoMixin<CountedLoadsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
