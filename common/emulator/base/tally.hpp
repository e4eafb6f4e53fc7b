/// \file
/// What instrumented code adds to while it runs; see pass/struct_copy_pass.cpp.
#pragma once

#include <cstdint>

#include "common/emulator/include/warpbook_export.h"

namespace warpbook::emulator {

/// Entries of the tally that are counts: instructions, integer divisions of at most 32 bits, of 64 bits, and of the
/// latter those with a number that does not fit 32 bits, which a GPU is slower at; and instructions that wait for each
/// other.
inline constexpr unsigned kTallies = 5;
/// The entry that tells of the atomic to come what the compiler knows: the flags below.
inline constexpr unsigned kAtomicFlags = kTallies;
inline constexpr unsigned kUnused = 1;       ///< Nobody uses its result.
inline constexpr unsigned kOneAddress = 2;   ///< A warp's lanes add to one address, and one of them does it for all.
inline constexpr unsigned kIncrement = 4;    ///< It adds 1: in shared memory, lanes at an address are counted at once.
inline constexpr unsigned kLoop = 8;         ///< It is tried again until nobody else was faster.
inline constexpr unsigned kOverwrites = 16;  ///< An exchange whose result nobody uses: it only writes.
inline constexpr unsigned kOnlyAdds = 32;    ///< An addition whose result nobody uses.
inline constexpr unsigned kElements = 64;    ///< The elements of a vector, which are atomic one by one.
/// The entry that is the stage of the access to come: the waits for memory that come before it; see stage.hpp.
inline constexpr unsigned kStage = kTallies + 1;

}  // namespace warpbook::emulator

/// What this operating system thread has run since it began.
// NOLINTNEXTLINE(readability-identifier-naming): the pass knows it by this name.
extern "C" WARPBOOK_EXPORT thread_local constinit std::uint64_t __warpbook_tally[warpbook::emulator::kTallies + 2]
    __attribute__((tls_model("initial-exec")));
