/// \file
/// v1 atomic: one `atomicAdd` of the element's own type for every value.
///
/// The definition, written down: a thread takes a value and adds it to its place. For float that is one instruction,
/// RED.ADD.F32, which the L2 carries out. For half there is none: `atomicAdd(half*)` is compiled to a loop that reads
/// the 4-byte word around the half, adds in a register and tries to swap the word in (ATOM.CAS), until nobody has
/// changed it in between; the machine code is in docs/results/nvidia-h200/sass/.
///
/// Expect it to be slow where many values meet: each try that fails costs a trip to the L2 and back. And expect half
/// sums to lose what is added to them: beside 2048 a half has no room for 1.
///
/// The inner product adds up in T within a thread, then adds the thread's sum: one atomic a thread, all to one place.
#pragma once

#include "chapters/chapter4_atomic_add/fast_atomic_add.cuh"
#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter4 {

/// Launches a kernel of one thread a value.
template <class T, class Index>
cudaError_t launch_scatter(void (*kernel)(T*, const T*, const Index*, std::int64_t, std::int64_t),
                           const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return launch(kernel, {.grid = ceil_div<std::int64_t>(p.count, kThreads), .block = kThreads, .stream = stream},
                static_cast<T*>(at.dst), static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count,
                p.places);
}

/// Blocks of `threads` for `count` items, one a thread, as long as they fit on the device at once; what is left,
/// threads take in further rounds.
inline std::int64_t resident_grid(std::int64_t count, int threads) {
  constexpr std::int64_t kThreadsPerMultiprocessor = 2048;
  const std::int64_t most = kThreadsPerMultiprocessor / threads * multiprocessors();
  const std::int64_t needed = ceil_div<std::int64_t>(count, threads);
  return needed < most ? needed : most;
}

namespace v1 {

//! [kernel]
template <class T, class Index>
__global__ void scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Index place = index[i];
  if (place < 0 || place >= places) return;
  detail::add_single(dst + place, value[i]);  // atomicAdd, or its loop where a device has none for T.
}

template <class T>
__global__ void inner_product_kernel(T* dst, const T* __restrict__ a, const T* __restrict__ b, std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  T sum = from_float<T>(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum = sum + a[i] * b[i];
  }
  detail::add_single(dst, sum);
}
//! [kernel]

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return with_types(
      p, [&]<class T, class Index>() { return launch_scatter<T, Index>(scatter_add_kernel<T, Index>, p, at, stream); });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() {
    return launch(inner_product_kernel<T>,
                  {.grid = resident_grid(p.count, kThreads), .block = kThreads, .stream = stream},
                  static_cast<T*>(at.dst), static_cast<const T*>(at.a), static_cast<const T*>(at.b), p.count);
  });
}

}  // namespace v1
}  // namespace warpbook::chapter4
