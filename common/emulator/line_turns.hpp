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
    if (turns_.empty()) turns_.resize(std::size_t{1} << kPlacesLog2);
    add_at(static_cast<std::uint32_t>(line * 0x9e3779b97f4a7c15ULL >> (64 - kPlacesLog2)), turns);
  }

  /// Adds what another worker saw.
  void merge(const LineTurns& other) {
    turns_.resize(std::max(turns_.size(), other.turns_.size()));
    for (const std::uint32_t place : other.used_) add_at(place, other.turns_[place]);
  }

  /// Turns at the line that has the most of them.
  std::uint64_t most() const {
    std::uint64_t most = 0;
    for (const std::uint32_t place : used_) most = std::max(most, turns_[place]);
    return most;
  }

  /// Forgets all.
  void clear() {
    for (const std::uint32_t place : used_) turns_[place] = 0;
    used_.clear();
  }

private:
  static constexpr unsigned kPlacesLog2 = 16;

  void add_at(std::uint32_t place, std::uint64_t turns) {
    if (turns_[place] == 0) used_.push_back(place);
    turns_[place] += turns;
  }

  std::vector<std::uint64_t> turns_;
  std::vector<std::uint32_t> used_;
};

}  // namespace warpbook::emulator
