/// \file
/// v2 grid stride: a fixed number of blocks, each thread strides by the grid's width.
///
/// v1 starts a thread for each element; at 32 Mi elements that is 131072 blocks, each of which is placed, computes its
/// index, and leaves. The article's way out is a loop: as many blocks as the GPU holds at a time, times a number of
/// waves, and a thread goes on by the grid's size. The number of waves is its compromise: one wave has the least
/// blocks to place, many waves balance a block that was late.
///
/// Expect fewer blocks and the same requests, and time as far as v1 waits for the placing of blocks. On an H200 it
/// does: with blocks of 64 and 128 threads it takes 0.6 ns a block, whatever the type. Where a thread has but one turn
/// the loop costs.
#pragma once

#include <algorithm>

#include "chapters/chapter1_elementwise/elementwise.hpp"

namespace warpbook::chapter1::v2 {

/// Threads of a block, and waves of blocks: see the sweep in README.md.
inline constexpr int kThreads = 256;
inline constexpr int kWaves = 32;

/// Blocks for a grid-stride loop over `items`, one a thread and turn: enough for all, at most `waves` times what the
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
  if (error != cudaSuccess) return error;
  //! [exercise waves]
  const std::int64_t resident = std::int64_t{multiprocessors} * (threads_each / threads);
  grid = std::min(ceil_div<std::int64_t>(items, threads), resident * waves);
  //! [exercise waves]
  return cudaSuccess;
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
