#include "common/emulator/pass/endless_loops.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// What it calls may wait for others, or end the thread.
bool is_endless(const Loop& loop) {
  if (!loop.hasNoExitBlocks()) return false;
  return std::all_of(loop.block_begin(), loop.block_end(), [](const BasicBlock* block) {
    return std::all_of(block->begin(), block->end(), [](const Instruction& instruction) {
      return (!isa<CallBase>(instruction) || isa<IntrinsicInst>(instruction)) && !instruction.isVolatile() &&
             !instruction.isAtomic();
    });
  });
}

}  // namespace

PreservedAnalyses EndlessLoopsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
    const DominatorTree dominators(function);
    const LoopInfo loops(dominators);
    for (const Loop* loop : loops.getLoopsInPreorder()) {
      if (!is_endless(*loop)) continue;
      IRBuilder<> builder(loop->getHeader()->getTerminator());
      if (const DebugLoc begin = loop->getStartLoc()) builder.SetCurrentDebugLocation(begin);
      builder.CreateCall(module.getOrInsertFunction("__warpbook_endless_loop", builder.getVoidTy()));
      changed = true;
    }
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace warpbook::emulator
