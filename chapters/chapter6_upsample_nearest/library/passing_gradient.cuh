/// \file
/// passing_gradient: doubled images of the nchw layout, backward, whose gradient fits the L2: v4, whose loads say that
/// nobody comes back for their lines, so that the L2 keeps what is written.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::passing_gradient {

template <class T, int kWidth>
__global__ void backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, 2 * kWidth>* __restrict__ dy,
                                Divisor row_packs, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const std::uint64_t row = row_packs.divide(i).quotient;
  const auto* const upper = dy + i + row * row_packs.divisor;
  const auto* const lower = upper + row_packs.divisor;
  store_whole(&dx[i], v4::sums_of_four(load_passing<true>(upper), load_passing<true>(lower)));
}

/// Takes what v4 takes by its widest packs.
template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return v3::launch_words(backward_kernel<T, v4::kWide<T>>, v4::kThreads, 1, dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::passing_gradient
