/// \file
/// a4 through shared memory: a block brings its part of both arrays to shared memory, and each thread then adds
/// elements that other threads brought. For an addition that is a detour; it is what an operator does whose result
/// needs neighbours, and it has the detour's one rule: a barrier between writing and reading.
#pragma once

#include <cstdint>

#include "common/cuda/launch.cuh"

namespace warpbook::chapter7::a4 {

inline constexpr int kThreads = 128;

//! [kernel]
template <class T>
__global__ void through_shared_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b,
                                      std::int64_t n) {
  __shared__ T of_a[kThreads];
  __shared__ T of_b[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int other = kThreads - 1 - thread;  // The part is written back to front.
  const std::int64_t begin = std::int64_t{blockIdx.x} * kThreads;
  if (begin + thread < n) {
    of_a[thread] = a[begin + thread];
    of_b[thread] = b[begin + thread];
  }
  //! [exercise part_barrier]
  __syncthreads();
  //! [exercise part_barrier]
  if (begin + other < n) c[begin + other] = of_a[other] + of_b[other];
}
//! [kernel]

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  return launch(through_shared_kernel<T>,
                {.grid = ceil_div<std::int64_t>(n, kThreads), .block = kThreads, .stream = stream}, c, a, b, n);
}

}  // namespace warpbook::chapter7::a4
