/// \file
/// packs_in_flight: doubled images of the nchw layout that are small, or whose packs are narrow. A thread loads several
/// packs, a block's width apart, before it stores the first.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::packs_in_flight {

inline constexpr int kThreads = 128;

/// Packs that a thread takes: forward fewer of single halves, each of which becomes two stores.
template <bool kForward, int kBytes> inline constexpr int kPacksOf = kForward && kBytes == 2 ? 2 : 4;

template <class W, int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x, Divisor row_packs,
                   std::uint32_t packs) {
  constexpr int kPacks = kPacksOf<true, kWidth * sizeof(W)>;
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

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, 2 * kWidth>* __restrict__ dy, Divisor row_packs,
                    std::uint32_t packs) {
  constexpr int kPacks = kPacksOf<false, kWidth * sizeof(T)>;
  const std::uint32_t first = blockIdx.x * (kThreads * kPacks) + threadIdx.x;
  Pack<T, 2 * kWidth> upper[kPacks];
  Pack<T, 2 * kWidth> lower[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i >= packs) break;
    //! [exercise gradient_place]
    const std::uint64_t row = row_packs.divide(i).quotient;
    const auto* const from = dy + i + row * row_packs.divisor;
    //! [exercise gradient_place]
    upper[k] = from[0];
    lower[k] = from[row_packs.divisor];
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i >= packs) break;
    store_whole(&dx[i], v4::sums_of_four(upper[k], lower[k]));
  }
}

template <class W, int kWidth = v4::kWide<W>>
cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  if constexpr (kWidth > 1) {
    if (!v4::takes_packs(images, kWidth)) return forward<W, kWidth / 2>(y, x, images, stream);
  }
  return v3::launch_words(forward_kernel<W, kWidth>, kThreads, kPacksOf<true, kWidth * sizeof(W)>, y, x, images,
                          stream);
}

template <class T, int kWidth = v4::kWide<T>>
cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (kWidth > 1) {
    if (!v4::takes_packs(images, kWidth)) return backward<T, kWidth / 2>(dx, dy, images, stream);
  }
  return v3::launch_words(backward_kernel<T, kWidth>, kThreads, kPacksOf<false, kWidth * sizeof(T)>, dx, dy, images,
                          stream);
}

}  // namespace warpbook::chapter6::packs_in_flight
