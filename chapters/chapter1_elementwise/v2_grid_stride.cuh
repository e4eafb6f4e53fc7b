/// \file
/// v2 grid stride: a limited number of blocks, whose threads loop over the array.
///
/// v1 places a block for every 256 elements, and on an H200 the multiprocessors are not full all the time: a block is
/// done before the next ones are placed. Here the grid has as many blocks as the GPU holds at a time, times a number of
/// waves. A thread takes its element, then the one a whole grid further on.
///
/// Expect a quarter of the blocks for 32 Mi elements, the same requests, and less time. Small arrays give each thread
/// one turn only, and there the loop costs.
/// Source: OneFlow's elementwise template, whose block size and 32 waves these are.
#pragma once

#include <algorithm>

#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter1::v2 {

inline constexpr int kThreads = 256;
inline constexpr int kWaves = 32;

/// Blocks for a grid-stride loop over `items`, one per thread and turn: enough for all, at most `waves` times what the
/// device holds at a time. In `grid`; returns CUDA's error where the device cannot be asked.
inline cudaError_t grid_of_waves(std::int64_t items, int threads, int waves, std::int64_t& grid) {
  int device = 0;
  int multiprocessors = 0;
  int threads_each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&threads_each, cudaDevAttrMaxThreadsPerMultiProcessor, device);
  }
  const std::int64_t resident = std::int64_t{multiprocessors} * (threads_each / threads);
  grid = std::min(ceil_div<std::int64_t>(items, threads), resident * waves);
  return error;
}

//! [kernel]
template <class T>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  //! [exercise stride]
  const std::int64_t grid_stride = std::int64_t{gridDim.x} * blockDim.x;
  //! [exercise stride]
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += grid_stride) {
    z[i] = x[i] * y[i];
  }
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::int64_t grid = 0;
  const cudaError_t error = grid_of_waves(count, kThreads, kWaves, grid);
  if (error != cudaSuccess) return error;
  return launch(multiply_kernel<T>, {.grid = grid, .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v2
