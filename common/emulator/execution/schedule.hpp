/// \file
/// The order in which a block's threads take turns.
#pragma once

#include <cstdint>
#include <string>

#include "common/emulator/include/warpbook_export.h"

namespace warpbook::emulator {

/// Any order is a legal one; results that depend on it are bugs.
struct Schedule {
  /// In which order threads, and blocks, take their turns.
  enum class Order : std::uint8_t { forward, reverse, random };
  Order order = Order::forward;  ///< Which order.
  std::uint64_t seed = 0;        ///< Of the random order.
  /// Whether both give the same order.
  bool operator==(const Schedule&) const = default;
};

/// Reads "forward", "reverse" or "random:SEED". Returns false, and leaves the schedule alone, on anything else.
WARPBOOK_EXPORT bool parse_schedule(const std::string& text, Schedule& schedule);

/// The schedule of the launches to come. Begins with what `WARPBOOK_SCHEDULE` says, else forward.
WARPBOOK_EXPORT Schedule schedule();
/// Takes effect with the next launch.
WARPBOOK_EXPORT void set_schedule(Schedule schedule);

}  // namespace warpbook::emulator
