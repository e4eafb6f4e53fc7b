#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter7::project {

constexpr int kThreads = 256;

template <int width, class T> __global__ void add_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  using P = Pack<T, width>;
  const std::int64_t packs = n / width;
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (thread < packs) {
    const P x = reinterpret_cast<const P*>(a)[thread];
    const P y = reinterpret_cast<const P*>(b)[thread];
    P sum;
#pragma unroll
    for (int k = 0; k < width; ++k) sum[k] = x[k] + y[k];
    store_whole(reinterpret_cast<P*>(c) + thread, sum);
  }
  const std::int64_t i = packs * width + thread;
  if (i < n) c[i] = a[i] + b[i];
}

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  constexpr int kWidth = 16 / int(sizeof(T));
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(c) | reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) % 16 == 0;
  return launch(aligned ? add_kernel<kWidth, T> : add_kernel<1, T>,
                {.grid = ceil_div<std::int64_t>(n, kThreads * (aligned ? kWidth : 1)), .block = kThreads, .stream = stream}, c, a, b, n);
}

}  // namespace warpbook::chapter7::project
