#include "common/emulator/pass/source_checks.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// True for `atomicAdd_block` and its kin.
bool is_atomic_of_block(const Function& function) {
  StringRef name = function.getName();
  std::size_t length = 0;
  if (!name.consume_front("_Z") || name.consumeInteger(10, length)) return false;
  name = name.take_front(length);
  return name.starts_with("atomic") && name.ends_with("_block");
}

}  // namespace

PreservedAnalyses AtomicScopePass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : module) {
    if (function.isDeclaration() || !is_atomic_of_block(function)) continue;
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    builder.CreateCall(module.getOrInsertFunction("__warpbook_block_scope", builder.getVoidTy()));
    changed = true;
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace warpbook::emulator
