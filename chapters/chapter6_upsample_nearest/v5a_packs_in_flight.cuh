/// \file
/// v5a packs in flight: four packs a thread in registers, before the first is stored.
///
/// A thread of v4 loads 8 bytes, waits, and stores 32. In the small images of a network a launch has hardly more packs
/// than the GPU has threads, so there is nobody to wait in its place. Here a thread loads four packs, a block's width
/// apart, and then stores eight rows' pieces.
///
/// Expect the same requests and sectors, fewer blocks, and time for images whose traffic is over in some microseconds;
/// nothing where v4 had waiting warps enough. Backward a pack is two loads of 16 bytes already: expect nothing there.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::v5a {

inline constexpr int kThreads = 128;
inline constexpr int kPacks = 4;

//! [kernel]
template <class W, int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x,
                   FastDivisor<std::uint32_t> row_packs, std::uint32_t packs) {
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
    backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, 2 * kWidth>* __restrict__ dy,
                    FastDivisor<std::uint32_t> row_packs, std::uint32_t packs) {
  const std::uint32_t first = blockIdx.x * (kThreads * kPacks) + threadIdx.x;
  Pack<T, 2 * kWidth> upper[kPacks];
  Pack<T, 2 * kWidth> lower[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i >= packs) break;
    const std::uint64_t row = row_packs.divide(i).quotient;
    upper[k] = dy[i + row * row_packs.divisor];
    lower[k] = dy[i + row * row_packs.divisor + row_packs.divisor];
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i < packs) store_whole(&dx[i], v4::sums_of_four(upper[k], lower[k]));
  }
}
//! [kernel]

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return v4::launch_packs<v4::kWide<W>>(forward_kernel<W, v4::kWide<W>>, kThreads, kPacks, y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return v4::launch_sums<v4::kWide<T>>(backward_kernel<T, v4::kWide<T>>, kThreads, kPacks, dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v5a
