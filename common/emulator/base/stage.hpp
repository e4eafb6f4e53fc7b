/// \file
/// How the pass tells the emulator which loads of a kernel wait for which.
#pragma once

namespace warpbook::emulator {

/// A stage is a number: for each wait for global memory that comes before a load, 2 to this; for each wait for shared
/// memory since, 1.
inline constexpr unsigned kGlobalWaitLog2 = 16;

}  // namespace warpbook::emulator
