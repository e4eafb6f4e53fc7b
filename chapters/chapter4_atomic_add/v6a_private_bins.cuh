/// \file
/// v6a private bins: a block adds up in its own shared memory first.
///
/// v5 finds values of one place only within a warp; values of different warps still meet in the L2. But a block can
/// have a sum of its own for every place, in shared memory, as long as the places fit there (56,000 on an H200, one
/// block a multiprocessor). The additions then meet on the multiprocessor, and global memory sees one addition a place
/// and block.
///
/// Expect the L2's queue gone, and shared memory's in its place: a float has no atomic there but a loop that those go
/// through again who meet at an address. Good for some hundred places and more, still bad for one. Skewed indices are
/// back to a queue, too.
///
/// The inner product has one sum a block: warps' sums meet in shared memory, and a block does one atomic.
#pragma once

#include "chapters/chapter4_atomic_add/bins.cuh"

namespace warpbook::chapter4 {

/// The sum over a block of whole warps, in its first warp's lanes.
__device__ __forceinline__ float block_sum(float x) {
  __shared__ float of_warp[32];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) x = warp_sum(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
  return x;
}

namespace v6a {

inline constexpr int kThreads = 1024;

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       int places) {
  auto* const bin = dynamic_shared<float>();
  for (int p = static_cast<int>(threadIdx.x); p < places; p += kThreads) bin[p] = 0;
  __syncthreads();

  //! [exercise private_bins]
  const std::int64_t threads = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    const Index place = index[i];
    if (place >= 0 && place < places) atomicAdd(&bin[place], to_float(value[i]));
  }
  __syncthreads();
  //! [exercise private_bins]

  for (int p = static_cast<int>(threadIdx.x); p < places; p += kThreads) {
    if (bin[p] != 0) fast_atomic_add(dst, p, places, from_float<T>(bin[p]));
  }
}

template <class T>
__global__ void inner_product_kernel(float* total, const T* __restrict__ a, const T* __restrict__ b,
                                     std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum += to_float(a[i]) * to_float(b[i]);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
//! [kernel]

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= shared_bytes_limit() / 4 ? nullptr : "the places do not fit in a block's shared memory";
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  const auto shared_bytes = static_cast<std::size_t>(p.places) * sizeof(float);
  const std::int64_t blocks_that_fit = shared_bytes * 2 < static_cast<std::size_t>(shared_bytes_limit()) ? 2 : 1;
  const std::int64_t needed = ceil_div<std::int64_t>(p.count, kThreads);
  const std::int64_t resident = blocks_that_fit * multiprocessors();
  return with_types(p, [&]<class T, class Index>() {
    return launch(scatter_add_kernel<T, Index>,
                  {.grid = needed < resident ? needed : resident,
                   .block = kThreads,
                   .shared_bytes = shared_bytes,
                   .stream = stream},
                  static_cast<T*>(at.dst), static_cast<const T*>(at.value), static_cast<const Index*>(at.index),
                  p.count, static_cast<int>(p.places));
  });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return run_inner_by(p, at, stream, [&]<class T>() { return inner_product_kernel<T>; });
}

}  // namespace v6a
}  // namespace warpbook::chapter4
