/// \file
/// lane order: a block has a tile of 2,048 elements, and each of its threads takes eight of them. Which eight?
///
/// All of them are loaded and stored once, whatever the answer is. What differs is what the 32 lanes of a warp touch at
/// the same time.
#pragma once

#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter1::lane_order {

inline constexpr int kThreads = 256;
inline constexpr int kEach = 8;

//! [kernel]
template <class T>
__global__ void multiply_tile_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                     std::int64_t count) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * (kThreads * kEach);
  const int thread = threadIdx.x;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    //! [exercise lane_order]
    const std::int64_t place = tile + k * kThreads + thread;
    //! [exercise lane_order]
    if (place < count) z[place] = x[place] * y[place];
  }
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const LaunchConfig tiles{
      .grid = ceil_div<std::int64_t>(count, kThreads * kEach), .block = kThreads, .stream = stream};
  return launch(multiply_tile_kernel<T>, tiles, z, x, y, count);
}

}  // namespace warpbook::chapter1::lane_order
