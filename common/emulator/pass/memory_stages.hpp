/// \file
/// Which of a function's loads wait for which: a warp issues its instructions in order, so whatever comes behind the
/// first use of a loaded value comes behind the load.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

namespace warpbook::emulator {

/// Stages of a function: what is asked of memory in one stage is under way together, and each stage waits for the one
/// before it. A compiler for GPUs is taken to
///
///  - put loads as early as their addresses, and stores that may change what they bring, let it;
///  - put off arithmetic until a store, a branch, a call or another address needs its result, or a loop's turn ends;
///  - put short blocks without calls under predicates, so that a branch around them waits for nothing but its
///  condition.
class MemoryStages {
public:
  /// Looks through `function`.
  explicit MemoryStages(llvm::Function& function);

  /// The stage (see stage.hpp) of a load, an asynchronous copy, or an atomic whose result is used: the waits for memory
  /// before it, on the way through the function that has the most of them. 0 for other instructions.
  unsigned stage(const llvm::Instruction& instruction) const;

private:
  llvm::DenseMap<const llvm::Instruction*, unsigned> stages_;
};

}  // namespace warpbook::emulator
