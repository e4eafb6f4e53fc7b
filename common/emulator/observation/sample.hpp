/// \file
/// Which blocks of a launch are traced. Depends on the launch's shape alone, so that results do not depend on the
/// machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace warpbook::emulator {

/// The traced blocks: all of them, or a few runs of consecutive blocks, the first and the last block among them.
/// Runs, because neighbouring blocks share cache lines.
class BlockSample {
public:
  static constexpr std::uint64_t kRuns = 4;              ///< Runs of neighbouring blocks that a sample has.
  static constexpr std::uint64_t kRunThreads = 1 << 16;  ///< Threads of a run, about.

  BlockSample() = default;

  /// All blocks.
  static BlockSample all(std::uint64_t blocks) { return BlockSample(blocks, blocks); }

  /// A sample of about `kRuns * kRunThreads` threads.
  static BlockSample of(std::uint64_t blocks, unsigned threads) {
    return BlockSample(blocks, std::max<std::uint64_t>(1, kRunThreads / std::max(1U, threads)));
  }

  /// Blocks in the sample.
  std::uint64_t size() const { return complete() ? blocks_ : kRuns * run_; }

  /// Whether the runs take in every block.
  bool complete() const { return run_ * kRuns >= blocks_; }

  /// True where the DRAM's traffic of the block at this place counts. The first half of a run only fills the L2 with
  /// what the blocks before them, which nobody traces, would have left there.
  bool is_settled(std::uint64_t ordinal) const { return complete() || ordinal < run_ || ordinal % run_ >= run_ / 2; }

  /// Blocks for which `is_settled`.
  std::uint64_t settled() const { return complete() ? blocks_ : run_ + (kRuns - 1) * (run_ - run_ / 2); }

  /// The block's place in the sample, or -1.
  std::int64_t ordinal(std::uint64_t block) const {
    if (complete()) return static_cast<std::int64_t>(block);
    for (std::uint64_t i = 0; i < kRuns; ++i)
      if (block - begin_[i] < run_) return static_cast<std::int64_t>(i * run_ + (block - begin_[i]));
    return -1;
  }

private:
  BlockSample(std::uint64_t blocks, std::uint64_t run) : blocks_(blocks), run_(run) {
    if (complete()) return;
    for (std::uint64_t i = 0; i < kRuns; ++i) begin_[i] = (blocks - run) / (kRuns - 1) * i;
    begin_[kRuns - 1] = blocks - run;
  }

  std::uint64_t blocks_ = 0;
  std::uint64_t run_ = 0;
  std::array<std::uint64_t, kRuns> begin_{};
};

}  // namespace warpbook::emulator
