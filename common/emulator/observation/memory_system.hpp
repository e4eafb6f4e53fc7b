/// \file
/// What is known of the running launch, put together from the workers' views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/l2.hpp"
#include "common/emulator/observation/traffic.hpp"

namespace warpbook::emulator {

/// What was read of an allocation.
struct AllocationReads {
  std::uint64_t first_line;  ///< Of the allocation.
  std::uint64_t lines;       ///< Of the allocation.
  std::uint64_t sectors;     ///< read from the DRAM
  std::uint64_t by_atomics;  ///< these of them
  bool sampled;              ///< some of the accesses stand for others of their loop
};

/// What a slice of the memory system was asked for, and did.
struct MemoryTraffic {
  std::uint64_t dirty_sectors = 0;      ///< written to the L2 for the first time since they left it
  std::uint64_t filled_sectors = 0;     ///< read in order to be written, now or later
  std::uint64_t asked_sectors[2] = {};  ///< loads and stores: asked of the L2
  std::uint64_t read_packets = 0;       ///< As Counter::l2_read_packets.
  std::uint64_t loads[2] = {};          ///< Sectors: of the first wave's blocks, and of the others.
  std::uint64_t awaited[2] = {};        ///< Those of them that come from the DRAM for another block at that time.
  std::uint64_t written_lines = 0;      ///< As Counter::l2_written_lines.
  std::uint64_t partial_sectors = 0;    ///< As Counter::l2_partial_sectors.
  std::vector<AllocationReads> reads;   ///< By allocation.
};

/// A slice of the L1s, the L2 and the DRAM behind them, fed with the traffic of the traced blocks in their order.
/// Multiprocessors are taken four at a time, as one L1: what the four of such a group ask for at about the same time
/// reaches the L2 once (seen on an H200: golden/kernels.json, "one table for all").
class alignas(128) MemorySlice {
public:
  /// `l2_bytes`: this slice's part of the L2.
  MemorySlice(unsigned slice, std::size_t l2_bytes, unsigned multiprocessors)
      : slice_(slice), l2_(l2_bytes), l1s_(multiprocessors < kGroup ? 1 : multiprocessors / kGroup) {}

  /// A new launch, if this one has not begun yet. `l1_bytes`: what shared memory leaves of an L1; `wave`: blocks that run
  /// at the same time.
  void begin_launch(std::uint64_t launch, std::size_t l1_bytes, std::uint64_t wave);
  /// Takes what blocks ask this slice for.
  void add(const BlockTraffic& piece);
  /// What all of it came to.
  const MemoryTraffic& sums() const { return sums_; }

private:
  static constexpr unsigned kGroup = 4;
  using L1 = L1Cache<kSlices>;

  void run(std::uint64_t number, bool counts, std::span<const LineAccess> accesses, std::size_t mine);
  void count(LineAccess access, Operation operation);
  AllocationReads& reads_of(std::uint64_t line);

  unsigned slice_;
  std::uint64_t launch_ = 0;
  std::uint64_t wave_ = 1;
  L2Cache l2_;
  std::vector<L1> l1s_;  ///< of a group of multiprocessors each
  MemoryTraffic sums_;
  std::size_t last_reads_ = 0;
};

/// All of it: slices by address, each with its share of the L2. A slice has a worker that it mostly stays with, in
/// whose cache it then lies.
class alignas(128) MemorySystem {
public:
  /// `partitions`: parts of the L2, which keep copies of each other's lines.
  MemorySystem(std::size_t l2_bytes, std::size_t dirty_bytes, unsigned partitions, unsigned multiprocessors);

  /// `launch` is its number, from 1; `l1_bytes`: what shared memory leaves of an L1; `wave`: blocks that run at the same
  /// time.
  void begin_launch(std::uint64_t launch, std::size_t l1_bytes, std::uint64_t wave, unsigned workers);

  /// Takes what a worker's blocks asked for, if there are any, and leaves an empty piece; then the worker runs what its
  /// own slices have before them, and those that have fallen far behind.
  void add(std::unique_ptr<BlockTraffic>& piece, unsigned worker);
  /// The worker has no more blocks to run: it helps wherever there is something to do.
  void help(unsigned worker);

  /// Adds the L2's and the DRAM's traffic to the totals, scaled when blocks were sampled. Call after the last block.
  void finish(double scale, double blocks, Totals& totals);

private:
  void run(unsigned slice);

  std::size_t l2_bytes_;
  std::size_t dirty_bytes_;
  unsigned partitions_;
  unsigned workers_ = 1;
  std::uint64_t launch_ = 0;
  std::size_t l1_bytes_ = 0;
  std::uint64_t wave_ = 1;
  std::vector<std::unique_ptr<MemorySlice>> slices_;
  TrafficQueue queue_;
};

}  // namespace warpbook::emulator
