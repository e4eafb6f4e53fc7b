/// \file
/// What the compiler pass and the emulator's library agree on about `__shared__` arrays.
#pragma once

#include <cstddef>

namespace warpbook::emulator {

/// Bytes that the pass adds behind each `__shared__` array. Nobody may touch them; symbol tables count them in.
inline constexpr std::size_t kSharedGuardBytes = 128;

}  // namespace warpbook::emulator
