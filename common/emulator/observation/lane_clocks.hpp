/// \file
/// What orders the lanes of a warp that do not all meet.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace warpbook::emulator {

/// Counts the meetings of each lane since the block's barrier, its epochs, and what each lane knows of the others'.
class LaneClocks {
public:
  /// Up to now, all lanes met each time: this often; the last meeting that was a barrier began epoch `ordered_from`.
  void begin(std::uint8_t epoch, std::uint8_t ordered_from) {
    own_.fill(epoch);
    for (Row& row : stored_) row.fill(ordered_from);
    for (Row& row : loaded_) row.fill(epoch);
  }

  /// Lanes met; at a barrier, or for a shuffle, which orders no memory: but what a lane had read before may be what the
  /// others wait for. False where somebody met too often to be counted.
  bool meet(std::uint32_t lanes, bool barrier) {
    const bool counted = join(loaded_, lanes);
    if (barrier) join(stored_, lanes);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) ++own_[lane_of(left)];
    return counted;
  }

  /// The lane's own.
  std::uint8_t epoch(unsigned lane) const { return own_[lane]; }
  /// The latest of all lanes.
  std::uint8_t latest() const { return *std::max_element(own_.begin(), own_.end()); }
  /// Whether what `other` wrote, or only read, in that epoch of its is ordered before what `lane` does now.
  bool is_behind(unsigned lane, unsigned other, std::uint8_t epoch, bool wrote) const {
    return epoch < (wrote ? stored_ : loaded_)[lane][other];
  }

private:
  static constexpr std::uint8_t kMost = 254;
  using Row = std::array<std::uint8_t, 32>;

  static unsigned lane_of(std::uint32_t lanes) { return static_cast<unsigned>(std::countr_zero(lanes)); }

  bool join(std::array<Row, 32>& known, std::uint32_t lanes) const {
    bool counted = true;
    Row all{};
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const unsigned lane = lane_of(left);
      for (unsigned other = 0; other < all.size(); ++other) all[other] = std::max(all[other], known[lane][other]);
      all[lane] = std::max<std::uint8_t>(all[lane], own_[lane] + 1);
      counted = counted && own_[lane] < kMost;
    }
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) known[lane_of(left)] = all;
    return counted;
  }

  Row own_{};
  std::array<Row, 32> stored_{};  // by lane: what the others wrote before this epoch of theirs is ordered
  std::array<Row, 32> loaded_{};  // the same of what they read
};

}  // namespace warpbook::emulator
