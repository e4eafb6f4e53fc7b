/// \file
/// v2 float sums: add up in float, convert once.
///
/// v1's half sums are slow and wrong: slow by the compare-and-swap loop, wrong because each addition rounds to 11 bits.
/// Here every place has a float in scratch memory. A float has an atomic addition of its own and 24 bits. When all is
/// added, a second kernel adds each sum to its element and rounds once.
///
/// Expect one RED an addition in place of a loop, so the time of float's v1, and a right sum; and expect to pay for
/// clearing and converting the sums where places are many: 4 bytes a place written, read and added to.
#pragma once

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "common/cuda/early_launch.cuh"

namespace warpbook::chapter4 {

/// dst[p] += sum[p], rounded once.
template <class T> __global__ void add_sums_kernel(T* dst, const float* sum, std::int64_t places) {
  const std::int64_t p = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  // On its way while sums are made. It may be read before the wait: the launches that make them leave dst alone, and
  // what came earlier has ended, since the sums are cleared by an ordinary launch.
  const float old = p < places ? to_float(dst[p]) : 0;
  wait_for_launches_before();
  //! [exercise round_once]
  if (p < places) dst[p] = from_float<T>(old + sum[p]);
  //! [exercise round_once]
}

/// Clears `places` floats of scratch, has `add` add to them, and adds them to dst.
template <class T, class Add>
cudaError_t with_float_sums(T* dst, std::int64_t places, void* scratch, cudaStream_t stream, Add&& add) {
  constexpr int kThreads = 256;
  auto* const sums = static_cast<float*>(scratch);
  const cudaError_t cleared = cudaMemsetAsync(sums, 0, static_cast<std::size_t>(places) * sizeof(float), stream);
  if (cleared != cudaSuccess) return cleared;
  const cudaError_t added = add(sums);
  if (added != cudaSuccess) return added;
  return launch_early(add_sums_kernel<T>,
                      {.grid = ceil_div<std::int64_t>(places, kThreads), .block = kThreads, .stream = stream}, dst,
                      sums, places);
}

/// Runs an inner product whose kernel adds to one float; `kernel.template operator()<T>()` names it.
template <class Kernel>
cudaError_t run_inner_by(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream, Kernel&& kernel) {
  constexpr int kThreads = 256;
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() {
    return with_float_sums(static_cast<T*>(at.dst), 1, at.scratch, stream, [&](float* sum) {
      return launch(kernel.template operator()<T>(),
                    {.grid = resident_grid(p.count, kThreads), .block = kThreads, .stream = stream}, sum,
                    static_cast<const T*>(at.a), static_cast<const T*>(at.b), p.count);
    });
  });
}

namespace v2 {

//! [kernel]
template <class T, class Index>
__global__ void scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Index place = index[i];
  if (place < 0 || place >= places) return;
  //! [exercise lost_update]
  atomicAdd(sum + place, to_float(value[i]));
  //! [exercise lost_update]
}

template <class T>
__global__ void inner_product_kernel(float* total, const T* __restrict__ a, const T* __restrict__ b,
                                     std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum += to_float(a[i]) * to_float(b[i]);
  }
  atomicAdd(total, sum);
}
//! [kernel]

/// Bytes of scratch: a float a place.
inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) {
  return static_cast<std::size_t>(p.places) * sizeof(float);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return with_types(p, [&]<class T, class Index>() {
    return with_float_sums(static_cast<T*>(at.dst), p.places, at.scratch, stream, [&](float* sums) {
      return launch(scatter_add_kernel<T, Index>,
                    {.grid = ceil_div<std::int64_t>(p.count, kThreads), .block = kThreads, .stream = stream}, sums,
                    static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count, p.places);
    });
  });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return run_inner_by(p, at, stream, [&]<class T>() { return inner_product_kernel<T>; });
}

}  // namespace v2
}  // namespace warpbook::chapter4
