/// \file
/// Accesses whose address has to be a multiple of more than it may be.
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

/// At the pipeline's end: a member of a struct is accessed by a pointer, as in `((float4*)p)->x`. Its own width asks
/// for less than the struct, so the address is compared here: a GPU's compiler may access several members at once.
class StatedAlignmentPass : public llvm::PassInfoMixin<StatedAlignmentPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }
};

}  // namespace warpbook::emulator
