/// \file
/// a2 launcher: what stands between an operator and its kernel.
///
/// A framework calls it with any size that a tensor may have, on the stream that it has in mind, and believes what it
/// returns. So an empty tensor is no error, the grid is as large as the tensor wants it, and what the launch says is
/// handed on. The kernel here is one element a thread.
#pragma once

#include <cstdint>

#include "common/cuda/launch.cuh"

namespace warpbook::chapter7::a2 {

inline constexpr int kThreads = 256;

//! [kernel]
template <class T>
__global__ void sum_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element < n) c[element] = a[element] + b[element];
}
//! [kernel]

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  //! [exercise launcher]
  const LaunchConfig whole{.grid = ceil_div<std::int64_t>(n, kThreads), .block = kThreads, .stream = stream};
  return n == 0 ? cudaSuccess : launch(sum_kernel<T>, whole, c, a, b, n);  // An empty grid is an error.
  //! [exercise launcher]
}

}  // namespace warpbook::chapter7::a2
