/// \file
/// v1 atomic: one `atomicAdd` of the element's own type for every value.
///
/// The definition, written down. For float, `atomicAdd` is one instruction, which the L2 carries out. For half there is
/// none: the compiler makes a loop that reads the 4-byte word around the half, adds in a register, and tries to swap
/// the word in, until nobody else has changed it in between.
///
/// Expect it to be slow where many values meet: each try that fails costs a trip to the L2 and back. And expect sums in
/// half to lose what is added to them: in half, 2048 + 1 rounds to 2048.
///
/// The inner product adds up in T within a thread. Then every thread adds its sum to the same address.
#pragma once

#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter4 {

/// Launches a kernel of one thread per value that adds to `sum`: to dst, or to sums in another type.
template <class Sum, class T, class Index>
cudaError_t launch_scatter(void (*kernel)(Sum*, const T*, const Index*, std::int64_t, std::int64_t), Sum* sum,
                           const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  return launch(kernel, {.grid = ceil_div<std::int64_t>(p.count, kThreads), .block = kThreads, .stream = stream}, sum,
                static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count, p.places);
}

/// Launches the kernel of an inner product over `count` values (or pairs) with as many threads as the device holds.
template <class Sum, class T>
cudaError_t launch_inner(void (*kernel)(Sum*, const T*, const T*, std::int64_t), Sum* sum, std::int64_t count,
                         const InnerArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const std::int64_t resident = 2048 / kThreads * std::int64_t{multiprocessors()};
  const std::int64_t needed = ceil_div<std::int64_t>(count, kThreads);
  return launch(kernel, {.grid = needed < resident ? needed : resident, .block = kThreads, .stream = stream}, sum,
                static_cast<const T*>(at.a), static_cast<const T*>(at.b), count);
}

namespace v1 {

//! [kernel]
template <class T, class Index>
__global__ void scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Index place = index[i];
  if (place >= 0 && place < places) atomicAdd(dst + place, value[i]);
}
//! [kernel]

//! [inner]
template <class T>
__global__ void inner_product_kernel(T* dst, const T* __restrict__ a, const T* __restrict__ b, std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  T sum = from_float<T>(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum = sum + a[i] * b[i];
  }
  atomicAdd(dst, sum);
}
//! [inner]

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return with_types<Types...>(p, [&]<class T, class Index>() {
    return launch_scatter(scatter_add_kernel<T, Index>, static_cast<T*>(at.dst), p, at, stream);
  });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() {
    return launch_inner(inner_product_kernel<T>, static_cast<T*>(at.dst), p.count, at, stream);
  });
}

}  // namespace v1
}  // namespace warpbook::chapter4
