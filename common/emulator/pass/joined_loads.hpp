/// \file
/// Which loads of shared memory a compiler for GPUs makes one of.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

namespace warpbook::emulator {

/// Loads of one block, of neighbouring words that begin at a multiple of 8 or 16 bytes, become one where nothing is
/// written in between: what a loop that is unrolled in full mostly leaves.
class JoinedLoads {
public:
  /// Looks through `function`.
  JoinedLoads(llvm::Function& function, llvm::ScalarEvolution& evolution);

  /// How many loads this one stands for; 0 where another one stands for it.
  unsigned joined(const llvm::Instruction& load) const {
    const auto found = joined_.find(&load);
    return found == joined_.end() ? 1 : found->second;
  }

private:
  llvm::DenseMap<const llvm::Instruction*, unsigned> joined_;
};

}  // namespace warpbook::emulator
