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

/// The L2 and the DRAM behind it, fed with the traffic of the traced blocks in the order of their numbers, in whatever
/// order they finish.
class MemorySystem {
public:
  explicit MemorySystem(std::size_t l2_bytes) : l2_bytes_(l2_bytes), l2_(l2_bytes) {}

  void begin_launch();

  /// Takes a finished block's traffic; `ordinal` counts traced blocks from 0. What it makes the DRAM read and write is
  /// added up where `counts`. The vector comes back empty, ready for use.
  void add_block(std::uint64_t ordinal, bool counts, std::vector<LineAccess>& traffic);

  /// Adds the DRAM's traffic to the totals, scaled when blocks were sampled. Call after the last block.
  void finish(double scale, Totals& totals);

private:
  struct AllocationReads {
    std::uint64_t first_line;
    std::uint64_t lines;
    std::uint64_t sectors;  ///< read from the DRAM
  };

  struct Block {
    bool counts;
    std::vector<LineAccess> traffic;
  };

  void run(const Block& block);
  AllocationReads& reads_of(std::uint64_t line);

  std::size_t l2_bytes_;
  L2Cache l2_;
  std::mutex mutex_;
  std::map<std::uint64_t, Block> waiting_;  ///< by ordinal
  std::vector<std::vector<LineAccess>> spare_;
  std::uint64_t next_ = 0;
  bool running_ = false;
  std::uint64_t dirty_sectors_ = 0;    ///< written to the L2 for the first time since they left it
  std::uint64_t written_sectors_ = 0;  ///< written to the DRAM
  std::vector<AllocationReads> reads_;
  std::size_t last_reads_ = 0;
};

}  // namespace warpbook::emulator
