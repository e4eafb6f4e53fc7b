/// \file
/// v1 naive: one thread per element.
///
/// Each thread finds its element, loads two values, multiplies them and stores the product. Neighbouring threads touch
/// neighbouring elements, so nothing is read that is not needed: 4 sectors per request for floats, 2 for halves.
///
/// Expect the least traffic, and not its full speed. A request carries 128 bytes of floats, and only 64 of halves. And
/// a block is soon done: 32 Mi elements are 131,072 blocks, each of which has to be placed.
#pragma once

#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter1::v1 {

inline constexpr int kThreads = 256;

//! [kernel]
template <class T>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  //! [exercise index]
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) z[i] = x[i] * y[i];
  //! [exercise index]
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return launch(multiply_kernel<T>,
                {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v1
