/// \file
/// What a launch was, as far as its time depends on it and counters do not tell it.
#pragma once

#include <cstddef>

#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/retry_loops.hpp"

namespace warpbook::emulator {

/// The shape of a launch, as far as time depends on it.
struct LaunchShape {
  double blocks = 0;                ///< Of the grid.
  unsigned threads = 0;             ///< a block
  std::size_t shared_bytes = 0;     ///< a block, static and dynamic
  double hottest_line_seconds = 0;  ///< of atomics at the line that takes the longest
  RetryShape retries;               ///< atomics that are loops
  Rounds slowest;                   ///< of the blocks that have the most of them
  bool from_graph = false;          ///< Launched as a part of a graph, which costs less.
};

}  // namespace warpbook::emulator
