/// \file
/// v4 in order: one pack per thread, and no loop.
///
/// v3's blocks walk: after a pack they go on by the grid's size. Nothing keeps them in step, so in a large array the
/// blocks that run at a time are soon at places far apart. The hardware hands blocks out in order, a new one where one
/// has left. So v2's idea is taken back. With 16 bytes per thread the blocks are few enough to be placed in time.
///
/// Expect the same requests, and less time only where v3's loop had many turns: nothing at 32 Mi elements, two percent
/// at 256 Mi. (The template's source advises waves; its figures are from another GPU.)
#pragma once

#include "chapters/chapter1_elementwise/v3_packs.cuh"

namespace warpbook::chapter1::v4 {

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
  if (i < packs) z_packs[i] = multiply_pack<T>(x_packs[i], y_packs[i]);
  multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t packs = ceil_div<std::int64_t>(count, kPerPack<T>);
  return launch(multiply_kernel<T>,
                {.grid = ceil_div<std::int64_t>(packs, kThreads), .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v4
