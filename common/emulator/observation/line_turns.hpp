/// \file
/// How often the lines of global memory are asked for atomics: turns at one line are taken one after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpbook::emulator {

/// Turns by line; lines share a place by hash, rarely. What it costs to begin anew, to merge and to look through
/// depends on the places that are in use.
class LineTurns {
public:
  /// So many turns more at a line.
  void add(std::uint64_t line, std::uint64_t turns) {
    add_at(static_cast<std::uint32_t>(line * 0x9e3779b97f4a7c15ULL >> (64 - kPlacesLog2)), turns);
  }

  /// Adds what another worker saw.
  void merge(const LineTurns& other) {
    for (const Used& used : other.used_) add_at(used.place, used.turns);
  }

  /// Turns at the line that has the most of them.
  std::uint64_t most() const {
    std::uint64_t most = 0;
    for (const Used& used : used_) most = std::max(most, used.turns);
    return most;
  }

  /// Forgets all.
  void clear() {
    for (const Used& used : used_) number_[used.place] = 0;
    used_.clear();
  }

private:
  static constexpr unsigned kPlacesLog2 = 16;

  struct Used {
    std::uint64_t turns;
    std::uint32_t place;
  };

  void add_at(std::uint32_t place, std::uint64_t turns) {
    if (number_.empty()) number_.resize(std::size_t{1} << kPlacesLog2);
    if (number_[place] == 0) {
      used_.push_back({0, place});
      number_[place] = static_cast<std::uint32_t>(used_.size());
    }
    used_[number_[place] - 1].turns += turns;
  }

  std::vector<std::uint32_t> number_;  ///< by place: its number in `used_`, from 1
  std::vector<Used> used_;             ///< side by side, for another worker to read
};

}  // namespace warpbook::emulator
