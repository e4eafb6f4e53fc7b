/// \file
/// fast_atomic_add: `base[index] += value` by the fastest atomic that the type has, inside the array always.
///
/// For 2-byte types: `red.add.f16x2` adds to two neighbours at once, and a GPU's L2 does it without a loop; for one
/// half alone there is no such operation. So one half is added as a pair whose other half adds nothing.
/// Source: PyTorch, aten/src/ATen/native/cuda/KernelUtils.cuh (fastAtomicAdd). Two things differ. The other half gets
/// -0.0, not +0.0: x + -0.0 is x for every x, while -0.0 + +0.0 is +0.0 and would change a neighbour's sign. And it is
/// a reduction, which returns nothing, where `atomicAdd` waits for the value before.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/cuda/reductions.cuh"

namespace warpbook {

namespace detail {

template <class T> struct PairOf {
  using Type = void;
};
template <> struct PairOf<__half> {
  using Type = __half2;
};
template <> struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};

/// Whether the device adds pairs of T in one operation: half2 from compute capability 6.0, bfloat162 from 9.0. What is
/// compiled for the host or emulated counts as the newest.
template <class T> __host__ __device__ constexpr bool has_pair_atomics() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
  return false;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return std::is_same_v<T, __half>;
#else
  return std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
#endif
}

/// *address += value for one half or bfloat16 of a 4-byte word, where there are no 2-byte atomics: below compute
/// capability 7.0. The word is replaced as a whole, and only while it is what was read, so the neighbour keeps its bits
/// whoever else changes it. The word must lie in the array, or in the same allocation.
template <class T> __device__ __forceinline__ void add_by_compare_and_swap(T* address, T value) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  auto* const word = reinterpret_cast<unsigned*>(place & ~std::uintptr_t{3});
  const unsigned shift = (place & 2) != 0 ? 16 : 0;
  unsigned found = *word;
  unsigned assumed = 0;
  do {
    assumed = found;
    const auto bits = static_cast<std::uint16_t>(assumed >> shift);
    const T sum = reinterpret_cast<const T&>(bits) + value;
    const unsigned replacement =
        (assumed & ~(0xffffU << shift)) | (unsigned{reinterpret_cast<const std::uint16_t&>(sum)} << shift);
    found = atomicCAS(word, assumed, replacement);
  } while (found != assumed);
}

/// *address += value, one value wide.
template <class T> __device__ __forceinline__ void add_single(T* address, T value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
  if constexpr (sizeof(T) == 2) {
    add_by_compare_and_swap(address, value);
    return;
  } else
#endif
      if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
  } else {
    atomicAdd(address, value);
  }
}

}  // namespace detail

/// base[index] += value, atomically, in global memory.
///
/// half and bfloat16 go as a pair with a neighbour inside the array, whose other half adds -0.0: a neighbour keeps its
/// bits, but that a NaN may lose its payload. An element without such a neighbour (the first or the last, by alignment)
/// goes alone. `base` may be aligned to the element only. Nothing outside base[0] to base[length - 1] is read or
/// written; below compute capability 7.0, where an element alone takes a compare-and-swap of its 4-byte word, a
/// neighbour outside may be written with its own bits.
///
/// \tparam T half, bfloat16, float, double, or an integer of 4 or 8 bytes.
/// \param base the array's first element.
/// \param index 0 to length - 1; not checked.
/// \param length elements of the array.
/// \param value what is added.
template <class T, class Index>
__device__ __forceinline__ void fast_atomic_add(T* base, Index index, Index length, T value) {
  // [fast_atomic_add]
  T* const address = base + index;
  if constexpr (detail::has_pair_atomics<T>()) {
    const bool upper = reinterpret_cast<std::uintptr_t>(address) % 4 != 0;
    if (upper ? index > 0 : index + 1 < length) {
      constexpr unsigned kMinusZero = 0x8000;
      const unsigned bits = reinterpret_cast<const std::uint16_t&>(value);
      const unsigned pair = upper ? (bits << 16) | kMinusZero : bits | (kMinusZero << 16);
      using Pair = typename detail::PairOf<T>::Type;
      reduce_add(reinterpret_cast<Pair*>(address - (upper ? 1 : 0)), reinterpret_cast<const Pair&>(pair));
      return;
    }
  }
  detail::add_single(address, value);
  // [fast_atomic_add]
}

}  // namespace warpbook
