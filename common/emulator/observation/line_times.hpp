/// \file
/// How long the lines of global memory are busy with atomics: what comes to one line is done one after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpbook::emulator {

/// Seconds by line; lines share a place by hash, rarely. What it costs to begin anew, to merge and to look through
/// depends on the places that are in use.
class LineTimes {
public:
  /// Adds the time of one request's atomics to a line: `least` at least, unless all of them are at the one `address` at
  /// which those of the request before were. An address of 0 says that they are at several.
  void add(std::uint64_t line, std::uint64_t address, double seconds, double least) {
    Used& used = at(static_cast<std::uint32_t>(line * 0x9e3779b97f4a7c15ULL >> (64 - kPlacesLog2)));
    used.seconds += address != 0 && used.address == address ? seconds : std::max(seconds, least);
    used.address = address;
  }

  /// Adds what another worker saw.
  void merge(const LineTimes& other) {
    for (const Used& used : other.used_) at(used.place).seconds += used.seconds;
  }

  /// Seconds of the line that takes the longest.
  double most() const {
    double most = 0;
    for (const Used& used : used_) most = std::max(most, used.seconds);
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
    double seconds;
    std::uint64_t address;  ///< of the last request
    std::uint32_t place;
  };

  Used& at(std::uint32_t place) {
    if (number_.empty()) number_.resize(std::size_t{1} << kPlacesLog2);
    if (number_[place] == 0) {
      used_.push_back({0, 0, place});
      number_[place] = static_cast<std::uint32_t>(used_.size());
    }
    return used_[number_[place] - 1];
  }

  std::vector<std::uint32_t> number_;  ///< by place: its number in `used_`, from 1
  std::vector<Used> used_;             ///< side by side, for another worker to read
};

}  // namespace warpbook::emulator
