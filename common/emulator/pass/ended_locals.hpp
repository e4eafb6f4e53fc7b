/// \file
/// Local variables that are used after they have ended.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Last at the pipeline's start: finds local variables of device code whose address may outlive them, because it is
/// returned, kept in memory, or read again behind the variable's scope. The emulator is told where such a variable
/// begins and ends, and the optimiser is not, so that it leaves what comes later as it is.
class EndedLocalsPass : public llvm::PassInfoMixin<EndedLocalsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

/// At the end: where a function returns, its variables are forgotten, and others may take their place.
class ForgottenLocalsPass : public llvm::PassInfoMixin<ForgottenLocalsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
