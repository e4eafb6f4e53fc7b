/// \file
/// A load that may meet atomic operations on the same word.
#pragma once

#include <cuda_runtime.h>

namespace warpbook {

/// What a word holds at some moment, while others change it by atomic operations: never half of an old value and half
/// of a new one, and read anew each time. Emulated it is an atomic operation that changes nothing, and counts as one.
__device__ __forceinline__ unsigned load_relaxed(unsigned* word) {
#ifdef WARPBOOK_EMULATED
  return atomicOr(word, 0U);
#else
  return *static_cast<volatile unsigned*>(word);
#endif
}

}  // namespace warpbook
