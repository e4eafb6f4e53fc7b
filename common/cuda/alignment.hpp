/// \file
/// How addresses are aligned.
#pragma once

#include <cstdint>

namespace warpbook {

/// The largest power of two, 16 at most, that divides an address.
inline int alignment_of(std::uintptr_t address) {
  address |= 16;
  return static_cast<int>(address & (~address + 1));
}

/// The same of both arrays.
inline int alignment_of(const void* a, const void* b) {
  return alignment_of(reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b));
}

}  // namespace warpbook
