/// \file
/// Simulated caches: what of a block's traffic its L1 keeps, and what of everything the L2 keeps from the DRAM.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/observation/counters.hpp"

namespace warpbook::emulator {

/// The sectors of one 128-byte line that one request reads, writes or reduces.
struct LineAccess {
  std::uint64_t line : 36;         ///< address / 128
  std::uint64_t sectors : 4;       ///< bit i: sector i
  std::uint64_t operation : 2;     ///< An `Operation`.
  std::uint64_t weight_log64 : 2;  ///< it stands for 64^this requests
  std::uint64_t bytes : 20;        ///< of a store: bytes written in each touched sector, less 1, 5 bits a sector

  /// Of one line of a request.
  static LineAccess make(const LineSectors& line, Operation operation, std::uint64_t weight) {
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < 4; ++i) bytes |= static_cast<std::uint64_t>((line.bytes[i] - 1U) & 31U) << 5 * i;
    return {line.line & ((std::uint64_t{1} << 36) - 1), line.sectors & 15U, static_cast<std::uint64_t>(operation),
            weight == 1    ? 0U
            : weight == 64 ? 1U
                           : 2U,
            bytes};
  }
  /// Bytes of the sector that the request touches.
  unsigned bytes_in(unsigned sector) const { return static_cast<unsigned>(bytes >> 5 * sector & 31U) + 1; }
  /// How many accesses this one stands for, where blocks are a sample.
  std::uint64_t weight() const { return std::uint64_t{1} << 6 * weight_log64; }
};
static_assert(sizeof(LineAccess) == 8);

/// A line's number, folded: its low bits choose an L1's set.
inline std::uint64_t folded(std::uint64_t line) { return line ^ line >> 9 ^ line >> 18; }

/// The caches are simulated in slices that know nothing of each other, so that several cores of the host can be at it:
/// a set of an L1 lies in one slice.
inline constexpr unsigned kSlices = 16;
/// The slice that a line belongs to.
inline unsigned slice_of(std::uint64_t line) { return static_cast<unsigned>(folded(line)) % kSlices; }

/// An L1, of a multiprocessor or a block's share of it, or those of its sets that lie in one of `slices` slices: 4-way,
/// least recently used, sectored, write-through.
template <unsigned slices = 1> class L1Cache {
public:
  /// Empties the cache and sets its size, of all slices.
  void begin(std::size_t bytes) {
    if (sets_.empty()) sets_.resize(kLargest / kWays / slices);
    const std::size_t lines = std::clamp<std::size_t>(bytes / 128, 64, kLargest);
    set_mask_ = std::bit_floor(lines / kWays) / slices - 1;
    if (++generation_ == kGenerations) {
      for (Set& set : sets_) set.fill(0);
      generation_ = 1;
    }
  }

  /// What a load finds.
  struct Found {
    std::uint32_t missing;  ///< Sectors that have to be brought.
    bool arrived;           ///< None has, and what is there was asked for at an earlier time.
  };

  /// Looks up a load of sectors of a line, at a time by any count that does not run backwards for long.
  Found load(std::uint64_t line, std::uint32_t sectors, std::uint64_t time = 0) {
    const std::uint64_t key = line << kLineShift | generation_ << kGenerationShift;
    const std::uint64_t now = std::min(time, kLatest) << kTimeShift;
    auto& set = sets_[set_of(line)];
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint64_t entry = set[way];
      if ((entry & kKey) != key) continue;
      const std::uint32_t missing = sectors & ~static_cast<std::uint32_t>(entry);
      const bool arrived = missing == 0 && (entry & kTime) < now;
      if (missing != 0) entry = key | now | (entry & 15U) | sectors;
      for (unsigned i = way; i > 0; --i) set[i] = set[i - 1];
      set[0] = entry;
      return {missing, arrived};
    }
    for (unsigned i = kWays - 1; i > 0; --i) set[i] = set[i - 1];
    set[0] = key | now | sectors;
    return {sectors, false};
  }

  /// Begins to load what `load` will look at.
  void prefetch(std::uint64_t line) const { __builtin_prefetch(&sets_[set_of(line)], 1); }

private:
  static constexpr unsigned kWays = 4;
  static constexpr std::size_t kLargest = 2048;  // lines: 256 KiB
  // An entry: line (36 bits) | generation (10) | when it was asked for (14) | sectors (4).
  static constexpr unsigned kTimeShift = 4;
  static constexpr unsigned kGenerationShift = 18;
  static constexpr unsigned kLineShift = 28;
  static constexpr std::uint64_t kLatest = (1U << (kGenerationShift - kTimeShift)) - 1;
  static constexpr std::uint64_t kTime = kLatest << kTimeShift;
  static constexpr std::uint64_t kKey = ~std::uint64_t{0} << kGenerationShift;
  static constexpr std::uint64_t kGenerations = 1U << (kLineShift - kGenerationShift);

  std::size_t set_of(std::uint64_t line) const { return folded(line) / slices & set_mask_; }

  struct alignas(kWays * sizeof(std::uint64_t)) Set : std::array<std::uint64_t, kWays> {};
  std::vector<Set> sets_;  // most recent first
  std::size_t set_mask_ = 0;
  std::uint64_t generation_ = 0;
};

/// The lines that a warp's stores wrote last. Stores that meet an earlier one of their sector there go on as one: those
/// of a struct of few lines do (golden/kernels.json, "three floats"), and hardly any that touch more.
class WrittenLines {
public:
  /// Those of the sectors that are not there yet; they are then.
  std::uint32_t missing(std::uint64_t line, std::uint32_t sectors) {
    Entry entry{line, 0};
    std::size_t place = 0;
    while (place + 1 < kLines && (entries_[place].sectors == 0 || entries_[place].line != line)) ++place;
    if (entries_[place].sectors != 0 && entries_[place].line == line) entry = entries_[place];
    const std::uint32_t result = sectors & ~entry.sectors;
    for (; place > 0; --place) entries_[place] = entries_[place - 1];
    entries_[0] = {line, entry.sectors | sectors};
    return result;
  }

private:
  static constexpr std::size_t kLines = 4;
  struct Entry {
    std::uint64_t line = 0;
    std::uint32_t sectors = 0;
  };
  std::array<Entry, kLines> entries_{};  // most recent first
};

/// Who asks the L2 for something.
struct Asker {
  std::uint64_t block;  ///< A number that tells its blocks apart, of 6 bits.
  std::uint64_t wave;   ///< Its blocks run at the same time.
};

/// The card's L2: 16-way, least recently used, sectored, write-back; brings 64 bytes from the DRAM at a time.
/// Accesses must come in an order that does not depend on the emulator's own threads.
class L2Cache {
public:
  /// \param bytes its size.
  explicit L2Cache(std::size_t bytes);

  /// Empties the cache.
  void begin_launch();

  /// What an access cost the DRAM.
  struct Traffic {
    std::uint32_t read_sectors;     ///< Sectors brought in from the DRAM.
    std::uint32_t written_sectors;  ///< of lines that had to leave
    std::uint32_t filled_sectors;   ///< read in order to write them, because the kernel had written them in part
    std::uint32_t awaited_sectors;  ///< that another block of the asker's wave had the DRAM bring
  };

  /// Looks up, and brings in what is missing. \return what moved.
  Traffic access(LineAccess access, Asker asker);

  /// Begins to load what `access` will look at.
  void prefetch(LineAccess access) const {
    const Set& set = sets_[set_of(access.line)];
    __builtin_prefetch(set.data(), 1);
    __builtin_prefetch(&set[kWays / 2], 1);
    if (any_partial_) __builtin_prefetch(&written_[set_of(access.line)], 1);
  }

  /// Sectors written and not yet in the DRAM.
  std::uint64_t dirty_sectors() const { return dirty_; }
  /// Those of them that were written in part and never read.
  std::uint64_t partial_sectors() const { return partial_; }

private:
  static constexpr unsigned kWays = 16;
  // generation (8 bits) | line (36) | who had it brought: wave (6), block (6) | dirty (4) | valid (4)
  static constexpr unsigned kAskerShift = 8;
  static constexpr unsigned kAskerBits = 6;
  static constexpr unsigned kLineShift = kAskerShift + 2 * kAskerBits;
  static constexpr unsigned kGenerationShift = kLineShift + 36;
  static constexpr std::uint64_t kGenerations = 1U << (64 - kGenerationShift);
  static constexpr std::uint64_t kKey = ~std::uint64_t{0} << kLineShift;
  struct alignas(kWays * sizeof(std::uint64_t)) Set : std::array<std::uint64_t, kWays> {
  };  // two lines of a host's cache
  // Bytes written of each sector that is dirty and not valid.
  using Written = std::array<std::array<std::uint8_t, 4>, kWays>;

  void store(LineAccess access, std::uint64_t& entry, std::array<std::uint8_t, 4>& written);

  std::size_t set_of(std::uint64_t line) const {
    const std::uint64_t hash = (line * 0x9e3779b97f4a7c15ULL) >> 32;  // spreads power-of-two strides, as the card does
    return static_cast<std::size_t>(hash * sets_.size() >> 32);
  }

  std::vector<Set> sets_;
  std::vector<Written> written_;
  std::uint64_t generation_ = 0;
  std::uint64_t dirty_ = 0;
  std::uint64_t partial_ = 0;
  bool any_partial_ = false;
};

}  // namespace warpbook::emulator
