/// \file
/// What is known of the running launch, put together from the workers' views.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/engine.hpp"
#include "common/emulator/l2.hpp"

namespace warpbook::emulator {

/// The L1s, the L2 and the DRAM behind them, fed with the traffic of the traced blocks in the order of their numbers,
/// in whatever order they finish. Multiprocessors are taken four at a time, as one L1: what the four of such a group
/// ask for at about the same time reaches the L2 once (seen on an H200: golden/kernels.json, "one table for all").
class MemorySystem {
public:
  /// `partitions`: parts of the L2, which keep copies of each other's lines.
  MemorySystem(std::size_t l2_bytes, std::size_t dirty_bytes, unsigned partitions, unsigned multiprocessors)
      : l2_bytes_(l2_bytes), dirty_bytes_(dirty_bytes), partitions_(partitions), l2_(l2_bytes),
        l1s_(multiprocessors < kGroup ? 1 : multiprocessors / kGroup) {}

  /// `l1_bytes`: what shared memory leaves of an L1.
  void begin_launch(std::size_t l1_bytes);

  /// Takes a finished block's traffic; `ordinal` counts traced blocks from 0. What it makes the L2 and the DRAM do is
  /// added up where `counts`. The vector comes back empty, ready for use.
  void add_block(std::uint64_t ordinal, std::uint64_t block, bool counts, std::vector<LineAccess>& traffic);

  /// Adds the L2's and the DRAM's traffic to the totals, scaled when blocks were sampled. Call after the last block.
  void finish(double scale, Totals& totals);

private:
  static constexpr unsigned kGroup = 4;

  struct AllocationReads {
    std::uint64_t first_line;
    std::uint64_t lines;
    std::uint64_t sectors;  ///< read from the DRAM
  };

  struct Block {
    std::uint64_t number;
    bool counts;
    std::vector<LineAccess> traffic;
  };

  void run(const Block& block);
  void count(LineAccess access, Operation operation);
  AllocationReads& reads_of(std::uint64_t line);

  std::size_t l2_bytes_;
  std::size_t dirty_bytes_;
  unsigned partitions_;
  L2Cache l2_;
  std::vector<L1Cache> l1s_;  ///< of a group of multiprocessors each
  std::mutex mutex_;
  std::map<std::uint64_t, Block> waiting_;  ///< by ordinal
  std::vector<std::vector<LineAccess>> spare_;
  std::uint64_t next_ = 0;
  bool running_ = false;
  std::uint64_t dirty_sectors_ = 0;      ///< written to the L2 for the first time since they left it
  std::uint64_t written_sectors_ = 0;    ///< written to the DRAM
  std::uint64_t filled_sectors_ = 0;     ///< read in order to be written, now or later
  std::uint64_t asked_sectors_[2] = {};  ///< loads and stores: asked of the L2
  std::uint64_t read_packets_ = 0;
  std::uint64_t written_lines_ = 0;
  std::uint64_t partial_sectors_ = 0;
  std::vector<AllocationReads> reads_;
  std::size_t last_reads_ = 0;
};

}  // namespace warpbook::emulator
