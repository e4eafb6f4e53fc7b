/// \file
/// How the pass hands over the loads of a whole loop; see pass/counted_loads.hpp.
#pragma once

#include <cstdint>

namespace warpbook::emulator {

/// Turns of a loop below which it is not worth asking.
inline constexpr unsigned kFewestTurns = 8;
/// Loads of a loop that are handed over together at most.
inline constexpr unsigned kMostCountedLoads = 8;

/// A load of a loop, as the program has it.
struct CountedLoad {
  const void* pc;           ///< Where it is announced when it runs by itself; null before it has.
  std::uint32_t bytes;      ///< That it loads.
  std::uint32_t alignment;  ///< That the hardware asks for.
};

/// Where such a load goes, turn after turn.
struct LoadWalk {
  std::uintptr_t begin;  ///< Its address in the first turn.
  std::int64_t step;     ///< From one turn to the next, in bytes.
};

}  // namespace warpbook::emulator
