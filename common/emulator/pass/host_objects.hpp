/// \file
/// What the host's ends of a copy are, as far as the compiler knows.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// Before each copy that the host asks for, tells where the variables of the program end that it leads to. Of a pointer
/// alone, nobody could say so.
class HostObjectsPass : public llvm::PassInfoMixin<HostObjectsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
