/// \file
/// What checks have to know of a program before it is optimised.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: has `atomicAdd_block` and its kin tell that they are atomic for their block alone.
class AtomicScopePass : public llvm::PassInfoMixin<AtomicScopePass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
