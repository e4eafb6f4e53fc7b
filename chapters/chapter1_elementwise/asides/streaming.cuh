/// \file
/// Aside: results that nobody reads soon leave the L2 first.
///
/// v4's results stay in the L2 as long as its inputs, though nobody asks for them again. `st.global.cs` marks them as
/// the first to go, which leaves more room for what is still to be used.
///
/// We expected the same requests and a percent at most. That is what comes. It is no free gift: whoever reads a small
/// result next would have found it in the L2. So v6 streams only outputs that are too large to stay anyway.
#pragma once

#include "chapters/chapter1_elementwise/v4_in_order.cuh"

namespace warpbook::chapter1::streaming {

using v3::FullPack;
using v3::kPerPack;
using v3::kThreads;
using v3::multiply_pack;
using v3::multiply_tail;

//! [kernel]
template <class T>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  const std::int64_t packs = count / kPerPack<T>;
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < packs) store_streaming(&z_packs[i], multiply_pack<T>(x_packs[i], y_packs[i]));
  multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t packs = ceil_div<std::int64_t>(count, kPerPack<T>);
  return launch(multiply_kernel<T>,
                {.grid = ceil_div<std::int64_t>(packs, kThreads), .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::streaming
