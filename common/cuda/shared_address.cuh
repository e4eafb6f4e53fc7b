/// \file
/// An address in shared memory that stays in one register.
///
/// nvcc makes a pointer into shared memory out of the block's number in its cluster, which it reads from a special
/// register, and does so again before each access, also in a loop (nvcc 13.0, sm_90). A SharedAddress is made once, and
/// out of its sight.
#pragma once

#include <cuda_runtime.h>

namespace warpbook {

/// An address in shared memory; bytes are counted from it by + and -.
struct SharedAddress {
#ifdef WARPBOOK_EMULATED
  char* at;  ///< Where it points.
#else
  unsigned at;  ///< Bytes from the begin of the block's window of shared memory.
#endif
};

/// The address of something in shared memory.
__device__ __forceinline__ SharedAddress shared_address(void* pointer) {
#ifdef WARPBOOK_EMULATED
  return {static_cast<char*>(pointer)};
#else
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(pointer));
  asm volatile("" : "+r"(address));  // Nobody knows what it does: it is not done again.
  return {address};
#endif
}

/// So many bytes behind an address.
__device__ __forceinline__ SharedAddress operator+(SharedAddress address, unsigned bytes) {
  return {address.at + bytes};
}

/// So many bytes before an address.
__device__ __forceinline__ SharedAddress operator-(SharedAddress address, unsigned bytes) {
  return {address.at - bytes};
}

/// What a word holds at some moment, while others change it by atomic operations. Emulated it is an atomic operation
/// that changes nothing, and counts as one.
__device__ __forceinline__ unsigned load_relaxed(SharedAddress word) {
#ifdef WARPBOOK_EMULATED
  return atomicOr(reinterpret_cast<unsigned*>(word.at), 0U);
#else
  unsigned value;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(word.at) : "memory");
  return value;
#endif
}

/// Adds to a float, atomically.
__device__ __forceinline__ void atomic_add(SharedAddress sum, float x) {
#ifdef WARPBOOK_EMULATED
  atomicAdd(reinterpret_cast<float*>(sum.at), x);
#else
  asm volatile("red.shared.add.f32 [%0], %1;" ::"r"(sum.at), "f"(x) : "memory");
#endif
}

/// Makes a word `desired` if it is `expected`, atomically. Returns what it was.
__device__ __forceinline__ unsigned compare_and_swap(SharedAddress word, unsigned expected, unsigned desired) {
#ifdef WARPBOOK_EMULATED
  return atomicCAS(reinterpret_cast<unsigned*>(word.at), expected, desired);
#else
  unsigned found;
  asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;"
               : "=r"(found)
               : "r"(word.at), "r"(expected), "r"(desired)
               : "memory");
  return found;
#endif
}

}  // namespace warpbook
