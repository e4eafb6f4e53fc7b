/// \file
/// v1 naive: one thread an element.
///
/// Each thread finds its element, loads two values, multiplies them and stores the product. Neighbouring threads touch
/// neighbouring elements, so a warp's request is one contiguous piece: nothing is read that is not needed.
///
/// Expect DRAM traffic as small as it can be, and yet less than its full speed. A warp asks for 128 bytes of floats, 64
/// of halves, per instruction; a thread has two loads under way and then ends. For half as many requests as for float
/// carry half the bytes.
#pragma once

#include "chapters/chapter1_elementwise/elementwise.hpp"

namespace warpbook::chapter1::v1 {

/// Threads of a block.
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
