/// \file
/// a3 packs: 16 bytes a thread. A tensor's size is seldom a multiple of a pack, and a view begins where it likes: whole
/// packs go by the kernel's first branch, what is left of the last one by elements, and arrays that are not aligned to
/// a pack by elements altogether.
#pragma once

#include <cstdint>

#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter7::a3 {

inline constexpr int kThreads = 256;

template <class T> inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

//! [kernel]
template <class T, int kWidth>
__global__ void packs_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWidth;
  //! [exercise whole_packs]
  if (first + kWidth <= n) {
    const auto x = *reinterpret_cast<const Pack<T, kWidth>*>(a + first);
    const auto y = *reinterpret_cast<const Pack<T, kWidth>*>(b + first);
    Pack<T, kWidth> z;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) z[k] = x[k] + y[k];
    store_whole(reinterpret_cast<Pack<T, kWidth>*>(c + first), z);
    return;
  }
  for (std::int64_t i = first; i < n; ++i) c[i] = a[i] + b[i];
  //! [exercise whole_packs]
}
//! [kernel]

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(c) | reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b);
  const bool aligned = addresses % 16 == 0;
  const int width = aligned ? kWide<T> : 1;
  return launch(
      aligned ? packs_kernel<T, kWide<T>> : packs_kernel<T, 1>,
      {.grid = ceil_div<std::int64_t>(n, std::int64_t{kThreads} * width), .block = kThreads, .stream = stream}, c, a, b,
      n);
}

}  // namespace warpbook::chapter7::a3
