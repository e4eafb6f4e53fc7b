/// \file
/// packs_in_flight: doubled images of the nchw layout, forward, whose output fits the L2.
///
/// With one pack per thread, a launch of some microseconds spends much of its time waiting for the first loads and
/// starting blocks. Here a thread loads four packs, a block's width apart, before it stores the first of their eight
/// rows' pieces.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::packs_in_flight {

inline constexpr int kThreads = 128;
inline constexpr int kPacks = 4;

template <class W, int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x, Divisor row_packs,
                   std::uint32_t packs) {
  const std::uint32_t first = blockIdx.x * (kThreads * kPacks) + threadIdx.x;
  Pack<W, kWidth> pack[kPacks];
  //! [exercise in_flight]
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i < packs) pack[k] = x[i];
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i >= packs) break;
    const std::uint64_t row = row_packs.divide(i).quotient;
    const std::uint64_t upper = i + row * row_packs.divisor;
    y[upper] = v4::doubled(pack[k]);
    y[upper + row_packs.divisor] = v4::doubled(pack[k]);
  }
  //! [exercise in_flight]
}

/// Takes what v4 takes by its widest packs.
template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return v3::launch_words(forward_kernel<W, v4::kWide<W>>, kThreads, kPacks, y, x, images, stream);
}

}  // namespace warpbook::chapter6::packs_in_flight
