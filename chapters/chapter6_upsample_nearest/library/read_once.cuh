/// \file
/// read_once: doubled images of floats in the nchw layout, backward, up to 128 MiB of gradients.
///
/// Nothing is read twice, and the loads say so: their lines may leave the L2 first. What lies there from before and is
/// not in memory yet then stays, and need not be written back while this kernel wants the memory's time. With more
/// gradients there are too many such lines for that to last, and the hint costs time. With the hint, smaller blocks are
/// better (the best of two sizes on an H200).
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::read_once {

inline constexpr int kThreads = 128;

//! [kernel]
template <class T>
__global__ void backward_kernel(Pack<T, 2>* __restrict__ dx, const Pack<T, 4>* __restrict__ dy, Divisor row_packs,
                                std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const std::uint64_t row = row_packs.divide(i).quotient;
  const std::uint64_t upper = i + row * row_packs.divisor;
  store_whole(&dx[i], v4::sums_of_four(load_once(&dy[upper]), load_once(&dy[upper + row_packs.divisor])));
}
//! [kernel]

/// Takes floats that v5 takes.
template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (sizeof(T) != 4) {
    return cudaErrorNotSupported;
  } else {
    return v3::launch_words(backward_kernel<T>, kThreads, 1, dx, dy, images, stream);
  }
}

}  // namespace warpbook::chapter6::read_once
