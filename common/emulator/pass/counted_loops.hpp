/// \file
/// Loops as the front end writes them, before anything is optimised: which values a counter has.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace warpbook::emulator {

/// Where an access with a computed index may be, and must have been.
class CountedLoops {
public:
  /// Analyses the function as it is.
  CountedLoops(llvm::DominatorTree& tree, llvm::LoopInfo& loops) : tree_(tree), loops_(loops) {}

  /// The offsets that an address reached through these steps takes while counters of the loops around it run; nothing
  /// where it depends on something else.
  struct Reach {
    std::set<std::int64_t> offsets;      ///< In bytes.
    llvm::BasicBlock* behind = nullptr;  ///< Here all of them have been accessed; null where that is not sure.
  };
  std::optional<Reach> reach(const llvm::Instruction& access, const std::vector<llvm::GEPOperator*>& steps) const;

private:
  /// The variable that counts a loop's turns, and its values.
  struct Counter {
    const llvm::Loop* loop = nullptr;
    const llvm::AllocaInst* variable = nullptr;
    std::vector<std::int64_t> values;
  };
  std::optional<Counter> counter(const llvm::Loop& loop) const;

  llvm::DominatorTree& tree_;
  llvm::LoopInfo& loops_;
};

}  // namespace warpbook::emulator
