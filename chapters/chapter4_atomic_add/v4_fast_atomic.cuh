/// \file
/// v4 fast atomic: a half2 atomic whose other half adds nothing.
///
/// v3's atomic is fast and its packing is the caller's trouble. fast_atomic_add does without: the half goes as a pair
/// with its neighbour in memory, to which -0.0 is added, which changes no number. Any place works; an element that has
/// no neighbour inside the array goes by v1's loop.
///
/// Expect v1's loop gone from the scatter wherever there are two places or more; which half of the word it is selects a
/// value and diverges nothing. The sums are halves still. The inner product adds to the first of two halves in scratch:
/// a single half would have no neighbour, and every addition would take the loop.
///
/// Source: PyTorch's fastAtomicAdd; see fast_atomic_add.cuh for what differs.
#pragma once

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"

namespace warpbook::chapter4::v4 {

//! [kernel]
template <class T, class Index>
__global__ void scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Index place = index[i];
  if (place < 0 || place >= places) return;
  fast_atomic_add<T, std::int64_t>(dst, place, places, value[i]);
}

template <class T>
__global__ void inner_product_kernel(T* totals, const T* __restrict__ a, const T* __restrict__ b, std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  T sum = from_float<T>(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum = sum + a[i] * b[i];
  }
  fast_atomic_add(totals, 0, 2, sum);
}
//! [kernel]

/// dst[0] += totals[0].
template <class T> __global__ void add_total_kernel(T* dst, const T* totals) { *dst = *dst + *totals; }

/// Why the step does not take a type; nullptr where it does.
inline const char* refuse(ElementType type) {
  return type == ElementType::float32 ? "a float has an atomic of its own: the same as v1" : nullptr;
}

/// For the types of p.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return launch_scatter<T, Index>(scatter_add_kernel<T, Index>, p, at, stream);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() {
    auto* const totals = static_cast<T*>(at.scratch);
    cudaError_t error = cudaMemsetAsync(totals, 0, 2 * sizeof(T), stream);
    if (error != cudaSuccess) return error;
    error =
        launch(inner_product_kernel<T>, {.grid = resident_grid(p.count, kThreads), .block = kThreads, .stream = stream},
               totals, static_cast<const T*>(at.a), static_cast<const T*>(at.b), p.count);
    if (error != cudaSuccess) return error;
    return launch(add_total_kernel<T>, {.grid = 1, .block = 1, .stream = stream}, static_cast<T*>(at.dst), totals);
  });
}

}  // namespace warpbook::chapter4::v4
