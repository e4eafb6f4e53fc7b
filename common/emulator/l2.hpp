/// \file
/// Simulated caches: what of a block's traffic its L1 keeps, and what of everything the L2 keeps from the DRAM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/counters.hpp"

namespace warpbook::emulator {

/// The sectors of one 128-byte line that one request reads, writes or reduces.
struct LineAccess {
  std::uint64_t line : 52;    ///< address / 128
  std::uint64_t sectors : 4;  ///< bit i: sector i
  std::uint64_t operation : 8;

  static LineAccess make(LineSectors sectors, Operation operation) {
    return {sectors.line, sectors.sectors & 15U, static_cast<std::uint64_t>(operation)};
  }
};
static_assert(sizeof(LineAccess) == 8);

/// A block's share of its multiprocessor's L1: 4-way, least recently used, sectored, write-through. It starts empty
/// with every block: neighbouring blocks run on other multiprocessors.
class L1Cache {
public:
  /// Empties the cache and sets its size.
  void begin_block(std::size_t bytes);

  /// Looks up a load; returns the sectors that the L2 has to bring.
  std::uint32_t load(LineSectors access);

private:
  static constexpr unsigned kWays = 4;
  static constexpr std::size_t kLargest = 2048;  // lines: 256 KiB

  std::vector<std::array<std::uint64_t, kWays>> sets_;  // line << 24 | generation << 4 | sectors, most recent first
  std::size_t set_mask_ = 0;
  std::uint64_t generation_ = 0;
};

/// The card's L2: 16-way, least recently used, sectored, write-back; brings 64 bytes from the DRAM at a time.
/// Accesses must come in an order that does not depend on the emulator's own threads.
class L2Cache {
public:
  explicit L2Cache(std::size_t bytes);

  /// Empties the cache.
  void begin_launch();

  /// What an access cost the DRAM.
  struct Traffic {
    std::uint32_t read_sectors;
    std::uint32_t written_sectors;  ///< of lines that had to leave
  };

  Traffic access(LineAccess access);

  /// Begins to load what `access` will look at.
  void prefetch(LineAccess access) const { __builtin_prefetch(&sets_[set_of(access.line)], 1); }

  /// Sectors written and not yet in the DRAM.
  std::uint64_t dirty_sectors() const { return dirty_; }

private:
  static constexpr unsigned kWays = 16;
  // generation (16 bits) | line (40) | dirty (4) | valid (4)
  using Set = std::array<std::uint64_t, kWays>;

  std::size_t set_of(std::uint64_t line) const {
    const std::uint64_t hash = (line * 0x9e3779b97f4a7c15ULL) >> 32;  // spreads power-of-two strides, as the card does
    return static_cast<std::size_t>(hash * sets_.size() >> 32);
  }

  std::vector<Set> sets_;
  std::uint64_t generation_ = 0;
  std::uint64_t dirty_ = 0;
};

}  // namespace warpbook::emulator
