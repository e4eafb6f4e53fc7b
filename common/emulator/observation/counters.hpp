/// \file
/// What the memory system of a GPU makes of one warp's access, counted under Nsight Compute's metric names.
/// Pure functions: they know nothing of how accesses are observed, and nothing of time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/emulator/base/tally.hpp"

namespace warpbook::emulator {

/// What a memory access does. A reduction is an atomic whose result nobody uses.
enum class Operation : std::uint8_t { load, store, reduction, atomic };

/// Whether it is an atomic.
constexpr bool is_atomic(Operation operation) { return operation >= Operation::reduction; }

/// How wide an atomic is: up to 4 bytes, or 8 and more.
enum class AtomicWidth : std::uint8_t { none, narrow, wide };

/// Of an access; `flags` is what the tally told of it, see tally.hpp.
constexpr AtomicWidth atomic_width(Operation operation, unsigned bytes, unsigned flags) {
  if (!is_atomic(operation)) return AtomicWidth::none;
  return bytes > 4 && (flags & kElements) == 0 ? AtomicWidth::wide : AtomicWidth::narrow;
}

/// True for two atomics that are none for each other.
constexpr bool are_apart(AtomicWidth one, AtomicWidth other) {
  return one != AtomicWidth::none && other != AtomicWidth::none && one != other;
}

/// Round trips that wait for each other. A block's are those of the warp that has the most of them, from one barrier to
/// the next: the others wait for it there.
struct Rounds {
  std::uint64_t global = 0;          ///< To global memory, beyond the L1.
  std::uint64_t l1 = 0;              ///< To global memory, answered by the L1.
  std::uint64_t shared = 0;          ///< To shared memory.
  std::uint64_t retries = 0;         ///< Additions to floats, at the shared address that has the most of them.
  std::uint64_t exchanges = 0;       ///< The same of loops of compare and swap that the kernel writes down.
  std::uint64_t exchange_queue = 0;  ///< The wavefronts that each of these waits for, in all.

  /// Adds those that come behind.
  void add(const Rounds& other) {
    global += other.global;
    l1 += other.l1;
    shared += other.shared;
    retries += other.retries;
    exchanges += other.exchanges;
    exchange_queue += other.exchange_queue;
  }
  /// Joins those that run beside them: the most of each.
  void join(const Rounds& other) {
    global = std::max(global, other.global);
    l1 = std::max(l1, other.l1);
    shared = std::max(shared, other.shared);
    retries = std::max(retries, other.retries);
    exchanges = std::max(exchanges, other.exchanges);
    exchange_queue = std::max(exchange_queue, other.exchange_queue);
  }
};

/// What a thread runs, as its tally has it; see tally.hpp.
enum class WorkKind : std::uint8_t { instructions, divisions_32, divisions_64, divisions_64_wide, chained, count };

inline constexpr std::size_t kWorks = static_cast<std::size_t>(WorkKind::count);  ///< How many kinds of work there are.

/// Work of a thread, or of the threads that it stands for.
using WorkCounts = std::array<std::uint64_t, kWorks>;

/// Everything that is counted. Rows with "+ Operation" or "+ WorkKind" are groups of one shape.
enum class Counter : std::uint8_t {
  global_requests = 0,     ///< + Operation
  global_sectors = 4,      ///< + Operation: distinct aligned 32 bytes, per request; of atomics, see `atomic_cost`
  global_lines = 8,        ///< + Operation: distinct aligned 128 bytes, per request
  shared_requests = 12,    ///< + Operation
  shared_wavefronts = 16,  ///< + Operation: passes through the banks
  shared_conflicts = 20,   ///< + Operation: passes beyond the fewest that the width needs
  l2_sectors = 24,         ///< + Operation: asked of the L2 by the L1s
  l2_all_sectors = 28,     ///< + Operation: the same, and what the L2's partitions pass to each other
  l2_read_packets = 32,    ///< pieces of up to 64 bytes of a line, in which sectors travel from L2 to L1
  l2_awaited_sectors,      ///< of loads: on their way from the DRAM for another block that runs at the same time
  l2_written_lines,        ///< lines, per request, of stores
  l2_partial_sectors,      ///< of stores that do not write all of a sector
  dram_read_bytes,
  dram_write_bytes,   ///< written while the kernel runs
  dram_dirty_bytes,   ///< written in all: with what stays in the L2, to be written by whoever comes next
  dram_filled_bytes,  ///< to be read then, because sectors were written in part
  atomic_collisions,  ///< lanes that meet another lane of their request at an address
  atomic_operations,  ///< lanes
  divisions_32,       ///< integer divisions and remainders at run time, of all threads
  divisions_64,
  divisions_64_wide,  ///< of these, with a number that does not fit 32 bits
  instructions,       ///< of all threads, in the compiler's representation
  warps,
  barriers,
  global_rounds,     ///< dependent round trips to global memory, summed over blocks: see Rounds
  l1_rounds,         ///< those that the L1 answers
  shared_rounds,     ///< the same to shared memory
  retry_rounds,      ///< of loops of compare and swap on global memory that nobody else disturbs, summed over warps
  shared_retries,    ///< of each block, the additions to floats at the shared address that has the most of them
  shared_exchanges,  ///< the same of loops of compare and swap that the kernel writes down
  shared_exchange_queue,  ///< the wavefronts that each of these waits for, summed over them and over blocks
  dram_atomic_sectors,    ///< that atomics had to bring from the DRAM
  warp_work,  ///< + WorkKind: of the lane that has the most of it, from barrier to barrier, summed over warps
  block_work = warp_work + kWorks,  ///< + WorkKind: of the warp that has the most of it, in the same way, over blocks
  count = block_work + kWorks
};

inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count);  ///< How many counters there are.

/// A counter's place in `Counts`.
constexpr std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }
/// The place of a group's counter for an operation.
constexpr std::size_t index(Counter group, Operation operation) {
  return static_cast<std::size_t>(group) + static_cast<std::size_t>(operation);
}

/// The place of a group's counter for a kind of work.
constexpr std::size_t index(Counter group, WorkKind work) {
  return static_cast<std::size_t>(group) + static_cast<std::size_t>(work);
}

/// Counts of a block.
using Counts = std::array<std::uint64_t, kCounters>;
/// Counts of a launch, perhaps extrapolated.
using Totals = std::array<double, kCounters>;

/// The metric that a counter is shown under (some have two names), or nullptr. `alias` 0 or 1.
const char* metric_name(std::size_t counter, std::size_t alias);

/// The addresses of one warp-wide access. Only the lanes in `mask` take part.
struct Request {
  std::uint64_t address[32];  ///< By lane; valid where the mask has the lane's bit.
  std::uint32_t mask;         ///< The lanes that take part.
  std::uint32_t value[32];    ///< By lane, of stores to shared memory: what was written, in short.
};

/// Four sectors of one 128-byte line.
struct LineSectors {
  std::uint64_t line;                 ///< address / 128
  std::uint32_t sectors;              ///< bit i: sector i
  std::array<std::uint8_t, 4> bytes;  ///< touched in each sector, at most 32
};

/// The lines that a request touches, in the order of first touch.
struct LineList {
  std::array<LineSectors, 64> lines;  ///< The first `count` are valid.
  unsigned count = 0;                 ///< Lines that the request touches.
  unsigned sectors = 0;               ///< Sectors that it touches in all.
};

/// Collects a request's lines and sectors; `bytes` is each lane's width.
void collect_lines(const Request& request, unsigned bytes, LineList& result);

/// What a request to shared memory costs.
struct SharedCost {
  unsigned wavefronts;  ///< Turns over the banks.
  unsigned fewest;      ///< what an access of this width needs without conflicts
};

/// Bank conflicts of a request: 32 banks of 4 bytes; 8-byte accesses go by half-warp, 16-byte ones by quarter-warp, two
/// halves (or two quarters of a half) together where neighbouring lanes share their words and no bank is asked for two;
/// lanes that read the same word are served together.
SharedCost shared_cost(const Request& request, unsigned bytes);

/// The same for an atomic: lanes at one address are served one after another, unless they all add 1.
SharedCost shared_atomic_cost(const Request& request, unsigned bytes, bool increment);

/// What a request of atomics on global memory costs.
struct AtomicCost {
  unsigned sectors;     ///< turns of the L2: in each sector as many as the most lanes that meet at an address
  unsigned collisions;  ///< lanes that meet an earlier lane at their address
  unsigned lines;       ///< lines that are touched: so many of what follows are valid
  std::array<std::uint64_t, 64> line;     ///< Each line: address / 128.
  std::array<std::uint64_t, 64> address;  ///< Where all lanes of a line are; 0 where they are at several places.
  std::array<unsigned, 64> touched;       ///< Sectors of each line that are touched.
  std::array<unsigned, 64> most;          ///< Turns of the sector of each line that has the most of them.
};

/// What an atomic request of `bytes` a lane costs.
AtomicCost atomic_cost(const Request& request, unsigned bytes);

/// The lanes that have not succeeded after one round of compare-and-swap on 4-byte words: at each word one lane does.
std::uint32_t losers_of_round(const Request& request);

}  // namespace warpbook::emulator
