/// \file
/// a1 grid stride: the article's kernel. The grid has as many threads as are useful, and each goes on by their
/// number, so that any grid is right for any size, an operator's caller decides about the latter, and the number of
/// elements may be above 2^31.
#pragma once

#include <cstdint>

#include "common/cuda/launch.cuh"

namespace warpbook::chapter7::a1 {

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kMostBlocks = 16;  // Few, so that the loop has something to do.

//! [kernel]
template <class T>
__global__ void add2_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  //! [exercise loop]
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) c[i] = a[i] + b[i];
  //! [exercise loop]
}
//! [kernel]

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;  // A grid of no blocks is an error, and an empty tensor is none.
  const std::int64_t needed = ceil_div<std::int64_t>(n, kThreads);
  const std::int64_t blocks = needed < kMostBlocks ? needed : kMostBlocks;
  return launch(add2_kernel<T>, {.grid = blocks, .block = kThreads, .stream = stream}, c, a, b, n);
}

}  // namespace warpbook::chapter7::a1
