/// \file
/// What a compiler for GPUs makes of a function's loops: it unrolls those whose number of turns can be counted, so that
/// the loads of several turns are under way together.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Instruction.h>

#include <utility>
#include <vector>

namespace warpbook::emulator {

/// The most turns of a loop of known length, of which all are unrolled.
inline constexpr unsigned kWholeLoop = 64;

/// The innermost loops of a function that nvcc unrolls, by rules that its machine code shows (CUDA 13.0):
///
///  - a loop of one exit, at its end, whose counter goes by a constant, without barriers and calls that do something;
///  - all turns of a known small number of them; else 16 turns of a plain body, 4 where there are branches, counters of
///    64 bits, or indices that are sums of unsigned numbers;
///  - loads of neighbouring words from aligned shared memory become one of 16 bytes.
class UnrolledLoops {
public:
  /// Looks through a function's loops.
  UnrolledLoops(llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution);

  /// Turns of its loop in which a load of global or shared memory is under way together; 1 outside of loops.
  unsigned together(const llvm::Instruction& load) const { return entry(together_, &load); }
  /// Turns of its loop whose accesses become one.
  unsigned merged(const llvm::Instruction& load) const { return entry(merged_, &load); }
  /// The number, from 1, of a load's loop whose turns are counted when it runs; 0 where they need not be counted.
  unsigned loop(const llvm::Instruction& load) const {
    const auto found = loop_.find(&load);
    return found == loop_.end() ? 0 : found->second;
  }
  /// Where inner loops of that kind begin, and their numbers.
  const std::vector<std::pair<llvm::Instruction*, unsigned>>& begins() const { return begins_; }
  /// Turns of the loop of `block` that become one.
  unsigned turns(const llvm::BasicBlock& block) const { return entry(turns_, &block); }
  /// True for what only counts turns, or finds an address from their number: once for all turns that become one.
  bool is_counting(const llvm::Instruction& instruction) const { return counting_.contains(&instruction); }
  /// True for a load of an unrolled loop whose address is computed in each turn.
  bool is_placed(const llvm::Instruction& load) const { return placed_.contains(&load); }

private:
  template <class Key> static unsigned entry(const llvm::DenseMap<Key, unsigned>& map, Key key) {
    const auto found = map.find(key);
    return found == map.end() ? 1 : found->second;
  }

  void look(llvm::Loop& loop, llvm::ScalarEvolution& evolution);

  llvm::DenseMap<const llvm::Instruction*, unsigned> together_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> merged_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> loop_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> turns_;
  std::vector<std::pair<llvm::Instruction*, unsigned>> begins_;
  llvm::DenseSet<const llvm::Instruction*> counting_;
  llvm::DenseSet<const llvm::Instruction*> placed_;
};

}  // namespace warpbook::emulator
