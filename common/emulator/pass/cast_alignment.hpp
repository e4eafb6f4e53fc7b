/// \file
/// Accesses to a variable as one of another type.
#pragma once

#include <llvm/IR/PassManager.h>

namespace warpbook::emulator {

/// At the pipeline's start: gives an access the alignment that its type asks for. `*(float4*)&tile[i]` is an access of
/// 16 bytes to a GPU, but to the front end, which knows what `tile` is, one that is aligned as a float. From then on it
/// is seen and checked as what it is. Of a thread's own arrays, which nobody is told of, the address is compared here.
///
/// Copies between two named variables stay as they are: of these nothing tells the type.
class CastAlignmentPass : public llvm::PassInfoMixin<CastAlignmentPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
