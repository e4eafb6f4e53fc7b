/// \file
/// How the pass tells the emulator which loads of a kernel wait for which.
#pragma once

#include <cstdint>

namespace warpbook::emulator {

/// A stage is a number: for each wait for global memory that comes before a load, 2 to this; for each wait for shared
/// memory since, 1.
inline constexpr unsigned kGlobalWaitLog2 = 16;

/// What the pass knows of an access.
struct Stage {
  std::uint32_t number = 0;    ///< Its stage.
  std::uint32_t together = 1;  ///< Turns of its loop in which it is under way together: at most 64.
  std::uint32_t merged = 1;    ///< Turns of its loop whose accesses are one: at most 16.
  std::uint32_t joined = 1;    ///< Accesses to neighbours that it stands for, at most 16; 0: another one stands for it.
  std::uint32_t loop = 0;      ///< Its loop, below 2^16, where the number of turns is known when it runs; else 0.

  /// As the tally has it; 0 stands for the values above.
  std::uint64_t packed() const {
    return number | std::uint64_t{together - 1} << 32U | std::uint64_t{merged - 1} << 38U |
           std::uint64_t{(joined - 1) & 31U} << 42U | std::uint64_t{loop} << 47U;
  }
  /// What `packed` was made of.
  static Stage of(std::uint64_t packed) {
    const auto bits = [&](unsigned from, std::uint32_t mask) {
      return static_cast<std::uint32_t>(packed >> from) & mask;
    };
    return {static_cast<std::uint32_t>(packed), bits(32, 63) + 1, bits(38, 15) + 1, (bits(42, 31) + 1) & 31U,
            bits(47, 0xffff)};
  }
};

}  // namespace warpbook::emulator
