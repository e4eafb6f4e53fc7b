/// \file
/// Aside: two halves per instruction.
///
/// v4 multiplies the eight halves of a pack one by one. The hardware has HMUL2, which multiplies two halves that lie in
/// one 32-bit register, as they do in a pack. `__hmul2` says so; bfloat16 has its twin.
///
/// We expected four multiplications per pack instead of eight. Nothing changes: nvcc has paired v4's halves by itself.
#pragma once

#include "chapters/chapter1_elementwise/v4_in_order.cuh"

namespace warpbook::chapter1::packed_math {

using v3::FullPack;
using v3::kPerPack;
using v3::kThreads;
using v3::multiply_tail;

//! [kernel]
/// One pack's product, two elements at a time.
template <class T> __device__ __forceinline__ FullPack<T> multiply_pack(FullPack<T> x, FullPack<T> y) {
  constexpr int kPairs = kPerPack<T> / 2;
  using Pairs = Pack<typename PairOf<T>::Type, kPairs>;
  const Pairs& x_pairs = reinterpret_cast<const Pairs&>(x);
  const Pairs& y_pairs = reinterpret_cast<const Pairs&>(y);
  Pairs z;
#pragma unroll
  for (int k = 0; k < kPairs; ++k) z[k] = __hmul2(x_pairs[k], y_pairs[k]);
  return reinterpret_cast<const FullPack<T>&>(z);
}

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

}  // namespace warpbook::chapter1::packed_math
