/// \file
/// v5a packs in flight: a thread starts the loads of several packs before it waits for the first.
///
/// In v4's loop each turn's loads wait for the turn before to store, unless the compiler finds that it may hoist them.
/// A thread has 32 bytes under way. Here a block takes a tile of kPacks packs for each thread, all loads of a tile come
/// first, then all products, then all stores; the packs of a thread lie a block's width apart, so that each request of
/// a warp stays contiguous.
///
/// Expect the same requests and sectors with twice the bytes in flight, and time where a full GPU of 32 bytes a thread
/// was not enough. On an H200 it is enough: the time stays.
#pragma once

#include "chapters/chapter1_elementwise/v4_packed_math.cuh"

namespace warpbook::chapter1::v5a {

/// Threads of a block, packs of each in flight, and waves of blocks.
inline constexpr int kThreads = 128;
inline constexpr int kPacks = 2;
inline constexpr int kWaves = 32;

//! [kernel]
template <class T, int kPacks>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  const typename v4::BestMultiply<T>::Type multiply;
  const std::int64_t packs = count / kPerPack<T>;
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  const int tile = static_cast<int>(blockDim.x) * kPacks;
  for (std::int64_t start = std::int64_t{blockIdx.x} * tile; start < packs; start += std::int64_t{gridDim.x} * tile) {
    const std::int64_t first = start + threadIdx.x;
    //! [exercise tile]
    FullPack<T> product[kPacks];
    if (start + tile <= packs) {  // All threads have all packs: no test stands between the loads.
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        const std::int64_t i = first + k * static_cast<int>(blockDim.x);
        product[k] = multiply.template operator()<T>(x_packs[i], y_packs[i]);
      }
#pragma unroll
      for (int k = 0; k < kPacks; ++k) z_packs[first + k * static_cast<int>(blockDim.x)] = product[k];
    } else {
      for (std::int64_t i = first; i < packs; i += blockDim.x) {
        z_packs[i] = multiply.template operator()<T>(x_packs[i], y_packs[i]);
      }
    }
    //! [exercise tile]
  }
  v3::multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::int64_t grid = 0;
  const cudaError_t error =
      v2::grid_of_waves(ceil_div<std::int64_t>(count, kPerPack<T> * kPacks), kThreads, kWaves, grid);
  if (error != cudaSuccess) return error;
  return launch(multiply_kernel<T, kPacks>, {.grid = grid, .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v5a
