/// \file
/// What stands for PTX in NVIDIA's CCCL (Thrust, CUB), as driver/adapt_cccl.py adapts it.
#pragma once

// Where the emulator lacks the types, or CCCL asks for more of them.
#define CCCL_DISABLE_FP16_SUPPORT
#define CCCL_DISABLE_BF16_SUPPORT
#define CCCL_DISABLE_NVFP8_SUPPORT
#define CCCL_DISABLE_NVFP6_SUPPORT
#define CCCL_DISABLE_NVFP4_SUPPORT

// Its algorithms launch no kernels from kernels, with -rdc=true either.
#define CUB_DISABLE_CDP

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_pipeline.h"
#include "cuda_runtime.h"
#include "ordered_atomics.h"
#include "warpbook_builtins.h"
#include "warpbook_chevrons.h"
#include "warpbook_ptx.h"

extern "C" WARPBOOK_EXPORT void __warpbook_block_scope();

namespace warpbook::emulator::cccl {

using namespace ordered;

/// One load, and one store, of up to 16 bytes, which other blocks may write or read at the same time. By them tiles
/// hand on what they found, and their inputs, too, where an algorithm works in place.
template <class T> WARPBOOK_DEVICE_FUNCTION T load(const T* place) {
  using Bits = typename Word<sizeof(T)>::type;
  const auto found = static_cast<Bits>(*reinterpret_cast<const volatile Bits*>(place));
#if defined(__aarch64__)
  __builtin_arm_dmb(9);  // Later loads come later: `dmb ishld`. On x86-64 they do by themselves.
#endif
  return __builtin_bit_cast(T, found);
}
template <class T> WARPBOOK_DEVICE_FUNCTION void store(T* place, T value) {
  using Bits = typename Word<sizeof(T)>::type;
  memory_fence();
  *reinterpret_cast<volatile Bits*>(place) = __builtin_bit_cast(Bits, value);
}

/// A thread asked whether the phase of this parity is over. Behind it, the copies that the phase waited for are there.
WARPBOOK_DEVICE_FUNCTION bool passed(const void* barrier, bool parity, bool over) {
  if (over && in_kernel()) async_phase_over(barrier, parity);
  return over;
}

/// For loops that wait; false where it is the host that waits.
WARPBOOK_DEVICE_FUNCTION bool let_others_run() {
  if (!in_kernel()) return false;
  yield_thread();
  return true;
}

/// Memory of all kinds has one address space.
template <class T> WARPBOOK_DEVICE_FUNCTION std::size_t from_generic_to_shared(T* place) {
  return reinterpret_cast<std::size_t>(place);
}
template <class T> WARPBOOK_DEVICE_FUNCTION std::size_t from_generic_to_global(T* place) {
  return reinterpret_cast<std::size_t>(place);
}
WARPBOOK_DEVICE_FUNCTION void* to_generic(std::size_t place) { return reinterpret_cast<void*>(place); }

/// What `shfl.sync` brings, and whether it came from another lane of the segment.
template <class T> struct Shuffled {
  T value;
  bool valid;
};

/// `flags` are those of PTX: the lanes' segment in the second byte, its last lane (first, for up) in the first.
template <class T> WARPBOOK_DEVICE_FUNCTION Shuffled<T> shuffle_up(T value, int distance, int flags, unsigned mask) {
  const auto lane = static_cast<int>(lane_index());
  const int segment = flags >> 8 & 31;
  const int first = (lane & segment) | (flags & 31 & ~segment);
  const bool valid = lane - distance >= first;
  return {__shfl_sync(mask, value, valid ? lane - distance : lane), valid};
}
template <class T> WARPBOOK_DEVICE_FUNCTION Shuffled<T> shuffle_down(T value, int distance, int flags, unsigned mask) {
  const auto lane = static_cast<int>(lane_index());
  const int segment = flags >> 8 & 31;
  const int last = (lane & segment) | (flags & 31 & ~segment);
  const bool valid = lane + distance <= last;
  return {__shfl_sync(mask, value, valid ? lane + distance : lane), valid};
}

/// The value, and the one from `distance` lanes on added where there is one.
template <class T> WARPBOOK_DEVICE_FUNCTION T add_below(T value, int distance, int flags, unsigned mask) {
  const Shuffled<T> other = shuffle_down(value, distance, flags, mask);
  return other.valid ? static_cast<T>(other.value + value) : value;
}
template <class T> WARPBOOK_DEVICE_FUNCTION T add_above(T value, int distance, int flags, unsigned mask) {
  const Shuffled<T> other = shuffle_up(value, distance, flags, mask);
  return other.valid ? static_cast<T>(other.value + value) : value;
}

/// The lanes whose label agrees with the caller's in this bit.
WARPBOOK_DEVICE_FUNCTION unsigned same_bit(unsigned label, unsigned bit) {
  const bool set = (label & bit) != 0;
  const unsigned lanes = __ballot_sync(0xffffffffU, set ? 1 : 0);
  return set ? lanes : ~lanes;
}

/// PTX's `bfe.u32`.
template <class T> WARPBOOK_DEVICE_FUNCTION unsigned extract(T source, unsigned first, unsigned bits) {
  const std::uint64_t shifted = first > 31 ? 0 : std::uint64_t{static_cast<std::uint32_t>(source)} >> first;
  return static_cast<unsigned>(bits > 31 ? shifted : shifted & ((1U << bits) - 1));
}

// ---- libcu++'s atomics in a kernel, which are CUDA's, between the fences of their order. Those of other widths than 4
// and 8 bytes are the compiler's.

/// The place, of which the next atomic is for the threads of one block alone where `of_block`.
template <bool of_block, class T> WARPBOOK_DEVICE_FUNCTION T* scoped(T* place) {
  if constexpr (of_block) __warpbook_block_scope();
  return place;
}

}  // namespace warpbook::emulator::cccl
