/// \file
/// single_packs: small arrays of any types, one pack per thread: a launch of two microseconds lasts as long as its
/// longest chain of instructions. Where the arrays are not whole, aligned packs, a pack has one element.
#pragma once

#include "chapters/chapter1_elementwise/functors.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter1::single_packs {

inline constexpr int kThreads = 256;

template <int kWidth, class Factory, class Z, class... X>
__global__ void single_packs_kernel(Pack<Z, kWidth>* z, std::int64_t packs, Factory factory,
                                    const Pack<X, kWidth>*... x) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < packs) z[i] = apply<Z>(factory(), Pack<X, kWidth>(x[i])...);
}

template <int kWidth, class Factory, class Z, class... X>
cudaError_t run_by(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  const std::int64_t packs = count / kWidth;
  return launch(single_packs_kernel<kWidth, Factory, Z, X...>,
                {.grid = ceil_div<std::int64_t>(packs, kThreads), .block = kThreads, .stream = stream},
                reinterpret_cast<Pack<Z, kWidth>*>(z), packs, factory, reinterpret_cast<const Pack<X, kWidth>*>(x)...);
}

/// Runs z[i] = factory()(x[i]...) for count > 0 elements.
template <class Factory, class Z, class... X>
cudaError_t run(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  constexpr int kWidth = kPackWidth<Z, X...>;
  const auto aligned = []<class T>(const T* data) {
    return reinterpret_cast<std::uintptr_t>(data) % (kWidth * sizeof(T)) == 0;
  };
  const bool whole = count % kWidth == 0 && aligned(z) && (aligned(x) && ...);
  return whole ? run_by<kWidth>(factory, z, count, stream, x...) : run_by<1>(factory, z, count, stream, x...);
}

}  // namespace warpbook::chapter1::single_packs
