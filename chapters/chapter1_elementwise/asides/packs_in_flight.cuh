/// \file
/// Aside: a thread starts the loads of two packs before it waits for the first.
///
/// A thread of v4 has 32 bytes under way: a pack of x and one of y. Here a block takes a tile of kPacks packs per
/// thread. All loads of a tile come first, then all stores. A thread's packs lie a block's width apart, so that each
/// request of a warp stays contiguous.
///
/// We expected the same requests with twice the bytes under way, and less time. The time stays: with all its warps
/// resident, v4 has enough under way. (The header keeps two packs, for functions of one input.)
#pragma once

#include "chapters/chapter1_elementwise/v3_packs.cuh"

namespace warpbook::chapter1::packs_in_flight {

using v3::FullPack;
using v3::kPerPack;
using v3::multiply_pack;
using v3::multiply_tail;

inline constexpr int kThreads = 128;
inline constexpr int kPacks = 2;

//! [kernel]
template <class T>
__global__ void __launch_bounds__(kThreads)
    multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y, std::int64_t count) {
  const std::int64_t packs = count / kPerPack<T>;
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  const std::int64_t start = std::int64_t{blockIdx.x} * (kThreads * kPacks);
  const std::int64_t first = start + threadIdx.x;
  //! [exercise tile]
  if (start + kThreads * kPacks <= packs) {  // All threads have all packs: no test stands between the loads.
    FullPack<T> product[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const std::int64_t i = first + k * kThreads;
      product[k] = multiply_pack<T>(x_packs[i], y_packs[i]);
    }
#pragma unroll
    for (int k = 0; k < kPacks; ++k) z_packs[first + k * kThreads] = product[k];
  } else {
    for (std::int64_t i = first; i < packs; i += kThreads) z_packs[i] = multiply_pack<T>(x_packs[i], y_packs[i]);
  }
  //! [exercise tile]
  multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t tiles = ceil_div<std::int64_t>(count, std::int64_t{kPerPack<T>} * kThreads * kPacks);
  return launch(multiply_kernel<T>, {.grid = tiles, .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::packs_in_flight
