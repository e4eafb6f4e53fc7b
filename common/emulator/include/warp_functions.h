/// \file
/// Barriers, shuffles, votes and fences.
#pragma once

#include <cstdint>
#include <type_traits>

#include "warpbook_builtins.h"

// ---- Barriers

WARPBOOK_DEVICE_FUNCTION void __syncthreads() { warpbook::emulator::block_barrier(false); }
WARPBOOK_DEVICE_FUNCTION int __syncthreads_count(int predicate) {
  return static_cast<int>(warpbook::emulator::block_barrier(predicate != 0).predicates);
}
WARPBOOK_DEVICE_FUNCTION int __syncthreads_and(int predicate) {
  const warpbook::emulator::BarrierResult result = warpbook::emulator::block_barrier(predicate != 0);
  return result.predicates == result.threads ? 1 : 0;
}
WARPBOOK_DEVICE_FUNCTION int __syncthreads_or(int predicate) {
  return warpbook::emulator::block_barrier(predicate != 0).predicates != 0 ? 1 : 0;
}
WARPBOOK_DEVICE_FUNCTION void __syncwarp(unsigned mask = 0xffffffffU) { warpbook::emulator::warp_barrier(mask); }

// ---- Fences: blocks run on several operating system threads

WARPBOOK_DEVICE_FUNCTION void __threadfence() { warpbook::emulator::memory_fence(); }
WARPBOOK_DEVICE_FUNCTION void __threadfence_block() { warpbook::emulator::memory_fence_block(); }
WARPBOOK_DEVICE_FUNCTION void __threadfence_system() { warpbook::emulator::memory_fence(); }

// ---- Votes

WARPBOOK_DEVICE_FUNCTION unsigned __activemask() { return warpbook::emulator::warp_active_mask(); }
WARPBOOK_DEVICE_FUNCTION unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(warpbook::emulator::warp_ballot(mask, predicate != 0));
}
WARPBOOK_DEVICE_FUNCTION int __any_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(warpbook::emulator::warp_ballot(mask, predicate != 0)) != 0 ? 1 : 0;
}
WARPBOOK_DEVICE_FUNCTION int __all_sync(unsigned mask, int predicate) {
  const std::uint64_t votes = warpbook::emulator::warp_ballot(mask, predicate != 0);
  return static_cast<unsigned>(votes) == static_cast<unsigned>(votes >> 32) ? 1 : 0;
}

namespace warpbook::emulator {

/// Types that a shuffle may carry: those of CUDA, and half-precision types, which say so themselves.
template <class T> inline constexpr bool kShuffles = false;
template <> inline constexpr bool kShuffles<int> = true;
template <> inline constexpr bool kShuffles<unsigned> = true;
template <> inline constexpr bool kShuffles<long> = true;
template <> inline constexpr bool kShuffles<unsigned long> = true;
template <> inline constexpr bool kShuffles<long long> = true;
template <> inline constexpr bool kShuffles<unsigned long long> = true;
template <> inline constexpr bool kShuffles<float> = true;
template <> inline constexpr bool kShuffles<double> = true;

template <class T> __attribute__((always_inline, nodebug)) inline std::uint64_t shuffle_bits(T value) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(std::uint64_t, value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(std::uint32_t, value);
  } else {
    return __builtin_bit_cast(std::uint16_t, value);
  }
}

template <class T> __attribute__((always_inline, nodebug)) inline T from_shuffle_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, bits);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<std::uint32_t>(bits));
  } else {
    return __builtin_bit_cast(T, static_cast<std::uint16_t>(bits));
  }
}

template <class T> using Shuffled = std::enable_if_t<kShuffles<T>, int>;

WARPBOOK_DEVICE_FUNCTION unsigned segment_lanes(int width) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) invalid_shuffle_width(width);
  return static_cast<unsigned>(width);
}

template <class T> using Promoted = std::enable_if_t<std::is_integral_v<T> && sizeof(T) < sizeof(int), int>;

}  // namespace warpbook::emulator

// ---- Shuffles. `width` is a power of two: lanes exchange values within segments of so many lanes.

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned segment_lanes = warpbook::emulator::segment_lanes(width);
  const unsigned segment = warpbook::emulator::lane_index() & ~(segment_lanes - 1);
  const unsigned lane = segment | (static_cast<unsigned>(source) & (segment_lanes - 1));
  return warpbook::emulator::from_shuffle_bits<T>(
      warpbook::emulator::warp_shuffle(mask, warpbook::emulator::shuffle_bits(value), lane));
}

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned segment_lanes = warpbook::emulator::segment_lanes(width);
  const unsigned self = warpbook::emulator::lane_index();
  const unsigned in_segment = self & (segment_lanes - 1);
  const unsigned lane = delta > in_segment ? self : self - delta;
  return warpbook::emulator::from_shuffle_bits<T>(
      warpbook::emulator::warp_shuffle(mask, warpbook::emulator::shuffle_bits(value), lane));
}

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned segment_lanes = warpbook::emulator::segment_lanes(width);
  const unsigned self = warpbook::emulator::lane_index();
  const unsigned in_segment = self & (segment_lanes - 1);
  const unsigned lane = delta >= segment_lanes - in_segment ? self : self + delta;
  return warpbook::emulator::from_shuffle_bits<T>(
      warpbook::emulator::warp_shuffle(mask, warpbook::emulator::shuffle_bits(value), lane));
}

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const unsigned segment_lanes = warpbook::emulator::segment_lanes(width);
  const unsigned self = warpbook::emulator::lane_index();
  const unsigned partner = self ^ static_cast<unsigned>(lane_mask);
  // A partner in a later segment is out of reach; one in an earlier segment is not.
  const unsigned segment_end = (self & ~(segment_lanes - 1)) + segment_lanes;
  const unsigned lane = partner < segment_end ? partner : self;
  return warpbook::emulator::from_shuffle_bits<T>(
      warpbook::emulator::warp_shuffle(mask, warpbook::emulator::shuffle_bits(value), lane));
}

// Narrower integers travel as int, as in CUDA.

template <class T, warpbook::emulator::Promoted<T> = 0>
WARPBOOK_DEVICE_FUNCTION int __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return __shfl_sync(mask, static_cast<int>(value), source, width);
}
template <class T, warpbook::emulator::Promoted<T> = 0>
WARPBOOK_DEVICE_FUNCTION int __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(mask, static_cast<int>(value), delta, width);
}
template <class T, warpbook::emulator::Promoted<T> = 0>
WARPBOOK_DEVICE_FUNCTION int __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(mask, static_cast<int>(value), delta, width);
}
template <class T, warpbook::emulator::Promoted<T> = 0>
WARPBOOK_DEVICE_FUNCTION int __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return __shfl_xor_sync(mask, static_cast<int>(value), lane_mask, width);
}

// ---- Matches and reductions across lanes

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION unsigned __match_any_sync(unsigned mask, T value) {
  return warpbook::emulator::warp_match_any(mask, warpbook::emulator::shuffle_bits(value));
}

template <class T, warpbook::emulator::Shuffled<T> = 0>
WARPBOOK_DEVICE_FUNCTION unsigned __match_all_sync(unsigned mask, T value, int* same) {
  const unsigned matching = warpbook::emulator::warp_match_any(mask, warpbook::emulator::shuffle_bits(value));
  const std::uint64_t votes = warpbook::emulator::warp_ballot(mask, true);
  *same = matching == static_cast<unsigned>(votes >> 32) ? 1 : 0;
  return *same != 0 ? matching : 0;
}

namespace warpbook::emulator {

/// Combines the values of the mask's lanes, for all of them.
template <class Combine>
__attribute__((always_inline, nodebug)) inline unsigned combine_lanes(unsigned mask, unsigned value,
                                                                      Combine&& combine) {
  const unsigned lanes = static_cast<unsigned>(warp_ballot(mask, true) >> 32);
  unsigned total = value;
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const auto other = static_cast<unsigned>(warp_shuffle(mask, value, lane));
    total = first ? other : combine(total, other);
    first = false;
  }
  return total;
}

}  // namespace warpbook::emulator

WARPBOOK_DEVICE_FUNCTION unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
WARPBOOK_DEVICE_FUNCTION int __reduce_add_sync(unsigned mask, int value) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value)));
}
WARPBOOK_DEVICE_FUNCTION unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a < b ? a : b; });
}
WARPBOOK_DEVICE_FUNCTION int __reduce_min_sync(unsigned mask, int value) {
  return static_cast<int>(
      warpbook::emulator::combine_lanes(mask, static_cast<unsigned>(value), [](unsigned a, unsigned b) {
        return static_cast<int>(a) < static_cast<int>(b) ? a : b;
      }));
}
WARPBOOK_DEVICE_FUNCTION unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a > b ? a : b; });
}
WARPBOOK_DEVICE_FUNCTION int __reduce_max_sync(unsigned mask, int value) {
  return static_cast<int>(
      warpbook::emulator::combine_lanes(mask, static_cast<unsigned>(value), [](unsigned a, unsigned b) {
        return static_cast<int>(a) > static_cast<int>(b) ? a : b;
      }));
}
WARPBOOK_DEVICE_FUNCTION unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
WARPBOOK_DEVICE_FUNCTION unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
WARPBOOK_DEVICE_FUNCTION unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return warpbook::emulator::combine_lanes(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

// ---- Time and the hardware

/// Clock ticks of the host's processor: differences mean something only beside one another.
WARPBOOK_DEVICE_FUNCTION long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
WARPBOOK_DEVICE_FUNCTION void __nanosleep(unsigned) { warpbook::emulator::yield_thread(); }
WARPBOOK_DEVICE_FUNCTION void __trap() { warpbook::emulator::trap_thread(); }
