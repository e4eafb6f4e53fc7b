#pragma once

#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter1::project {

constexpr int kThreads = 256;

template <int width, class T>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y, std::int64_t count) {
  using P = Pack<T, width>;
  const std::int64_t packs = count / width;
  const std::int64_t thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (thread < packs) {
    const P a = reinterpret_cast<const P*>(x)[thread];
    const P b = reinterpret_cast<const P*>(y)[thread];
    P product;
#pragma unroll
    for (int k = 0; k < width; ++k) product[k] = a[k] * b[k];
    store_whole(reinterpret_cast<P*>(z) + thread, product);
  }
  const std::int64_t i = packs * width + thread;
  if (i < count) z[i] = x[i] * y[i];
}

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  constexpr int kWidth = 16 / int(sizeof(T));
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(z) | reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y)) % 16 == 0;
  return launch(aligned ? multiply_kernel<kWidth, T> : multiply_kernel<1, T>,
                {.grid = ceil_div<std::int64_t>(count, kThreads * (aligned ? kWidth : 1)), .block = kThreads, .stream = stream}, z,
                x, y, count);
}

}  // namespace warpbook::chapter1::project
