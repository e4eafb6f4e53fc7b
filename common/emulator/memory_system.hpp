/// \file
/// What is known of the running launch, put together from the workers' views.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/engine.hpp"
#include "common/emulator/l2.hpp"

namespace warpbook::emulator {

/// What was read of an allocation.
struct AllocationReads {
  std::uint64_t first_line;  ///< Of the allocation.
  std::uint64_t lines;       ///< Of the allocation.
  std::uint64_t sectors;     ///< read from the DRAM
  bool sampled;              ///< some of the accesses stand for others of their loop
};

/// What a slice of the memory system was asked for, and did.
struct MemoryTraffic {
  std::uint64_t dirty_sectors = 0;      ///< written to the L2 for the first time since they left it
  std::uint64_t filled_sectors = 0;     ///< read in order to be written, now or later
  std::uint64_t asked_sectors[2] = {};  ///< loads and stores: asked of the L2
  std::uint64_t read_packets = 0;       ///< As Counter::l2_read_packets.
  std::uint64_t written_lines = 0;      ///< As Counter::l2_written_lines.
  std::uint64_t partial_sectors = 0;    ///< As Counter::l2_partial_sectors.
  std::vector<AllocationReads> reads;   ///< By allocation.
};

/// A slice of the L1s, the L2 and the DRAM behind them, fed with the traffic of the traced blocks in the order of their
/// numbers, in whatever order they finish. Multiprocessors are taken four at a time, as one L1: what the four of such a
/// group ask for at about the same time reaches the L2 once (seen on an H200: golden/kernels.json, "one table for
/// all").
class alignas(128) MemorySlice {
public:
  /// `l2_bytes`: this slice's part of the L2.
  MemorySlice(std::size_t l2_bytes, unsigned multiprocessors)
      : l2_(l2_bytes), l1s_(multiprocessors < kGroup ? 1 : multiprocessors / kGroup) {}

  /// `l1_bytes`: what shared memory leaves of an L1.
  void begin_launch(std::size_t l1_bytes);

  /// Takes a finished block's traffic; `ordinal` counts traced blocks from 0. What it makes the L2 and the DRAM do is
  /// added up where `counts`. The vector comes back empty, ready for use.
  void add_block(std::uint64_t ordinal, std::uint64_t block, bool counts, std::vector<LineAccess>& traffic);

  /// What all of it came to. Call after the last block.
  const MemoryTraffic& finish();

private:
  static constexpr unsigned kGroup = 4;

  struct Block {
    std::uint64_t number;
    bool counts;
    std::vector<LineAccess> traffic;
  };

  void run(std::uint64_t number, bool counts, const std::vector<LineAccess>& traffic);
  void count(LineAccess access, Operation operation);
  AllocationReads& reads_of(std::uint64_t line);

  L2Cache l2_;
  std::vector<L1Cache> l1s_;  ///< of a group of multiprocessors each
  std::mutex mutex_;
  std::map<std::uint64_t, Block> waiting_;  ///< by ordinal
  std::vector<std::vector<LineAccess>> spare_;
  std::uint64_t next_ = 0;
  bool running_ = false;
  MemoryTraffic sums_;
  std::size_t last_reads_ = 0;
};

/// All of it: slices by address, each with its share of the L2.
class MemorySystem {
public:
  /// `partitions`: parts of the L2, which keep copies of each other's lines.
  MemorySystem(std::size_t l2_bytes, std::size_t dirty_bytes, unsigned partitions, unsigned multiprocessors);

  /// `l1_bytes`: what shared memory leaves of an L1.
  void begin_launch(std::size_t l1_bytes);

  /// As MemorySlice has it, of all slices.
  void add_block(std::uint64_t ordinal, std::uint64_t block, bool counts,
                 std::array<std::vector<LineAccess>, kSlices>& traffic);

  /// Adds the L2's and the DRAM's traffic to the totals, scaled when blocks were sampled. Call after the last block.
  void finish(double scale, Totals& totals);

private:
  std::size_t l2_bytes_;
  std::size_t dirty_bytes_;
  unsigned partitions_;
  std::vector<std::unique_ptr<MemorySlice>> slices_;
};

}  // namespace warpbook::emulator
