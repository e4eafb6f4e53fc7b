/// \file
/// v5c streaming: results that nobody reads soon leave the L2 first.
///
/// v5b's stores stay in the L2 as long as the loads that follow, though nobody asks for them again. `st.global.cs`
/// marks them as the first to go. Loads keep the default: on an H200 the same hint on them costs time.
///
/// Expect the same requests, sectors and bytes, and at most a percent. It is no free gift: where the output is small
/// enough to stay in the L2, whoever reads it next finds it gone. v6 therefore does it for large outputs only.
#pragma once

#include "chapters/chapter1_elementwise/v5b_one_tile.cuh"

namespace warpbook::chapter1::v5c {

using v5a::kPacks;
using v5a::kThreads;

//! [kernel]
template <class T>
__global__ void __launch_bounds__(kThreads)
    multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y, std::int64_t count) {
  const typename v4::BestMultiply<T>::Type multiply;
  const std::int64_t packs = count / kPerPack<T>;
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  const std::int64_t start = std::int64_t{blockIdx.x} * (kThreads * kPacks);
  const std::int64_t first = start + threadIdx.x;
  if (start + kThreads * kPacks <= packs) {
    FullPack<T> product[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      product[k] = multiply.template operator()<T>(x_packs[first + k * kThreads], y_packs[first + k * kThreads]);
    }
    //! [exercise streaming]
#pragma unroll
    for (int k = 0; k < kPacks; ++k) store_streaming(&z_packs[first + k * kThreads], product[k]);
    //! [exercise streaming]
  } else {
    for (std::int64_t i = first; i < packs; i += kThreads) {
      store_streaming(&z_packs[i], multiply.template operator()<T>(x_packs[i], y_packs[i]));
    }
  }
  v3::multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t tiles = ceil_div<std::int64_t>(count, std::int64_t{kPerPack<T>} * kThreads * kPacks);
  return launch(multiply_kernel<T>, {.grid = tiles, .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v5c
