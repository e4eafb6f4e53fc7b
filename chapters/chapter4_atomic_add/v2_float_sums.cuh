/// \file
/// v2 float sums: add up in float, convert once.
///
/// v1's half sums are slow, because each addition is a loop, and they are wrong, because each addition rounds to 11
/// bits. Here every place has a float in scratch memory. A float has an atomic addition of its own, and 24 bits. When
/// everything is added, another kernel adds each sum to its element and rounds once. Floats need none of this: their
/// sums are dst itself.
///
/// Expect one reduction per value in place of a loop, and a right sum. Expect to pay for clearing and rounding where
/// places are many: 4 bytes per place, written, read and added to.
#pragma once

#include <type_traits>

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "common/cuda/early_launch.cuh"

namespace warpbook::chapter4 {

/// Clears the sums. The next launch may begin before that is done, and waits before it adds.
template <class Sum> __global__ void clear_sums_kernel(Sum* sum, std::int64_t places) {
  let_next_launch_begin();
  const std::int64_t p = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p < places) sum[p] = 0;
}

/// dst[p] += sum[p], rounded once. Elements are loaded before the wait: nobody else touches dst meanwhile.
template <class T> __global__ void round_sums_kernel(T* dst, const float* sum, std::int64_t places) {
  const std::int64_t p = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const float old = p < places ? to_float(dst[p]) : 0;
  wait_for_launches_before();
  if (p < places) dst[p] = from_float<T>(old + sum[p]);
}

/// Has `add(sums, early)` add to floats, and then adds these to dst. Where T is float they are dst itself, and `early`
/// is false; else they are in scratch, and what `add` launches may begin early: it waits before it adds.
template <class T, class Add>
cudaError_t with_float_sums(T* dst, std::int64_t places, void* scratch, cudaStream_t stream, Add&& add) {
  if constexpr (std::is_same_v<T, float>) {
    return add(dst, false);
  } else {
    auto* const sums = static_cast<float*>(scratch);
    const LaunchConfig config{.grid = ceil_div<std::int64_t>(places, 256), .block = 256, .stream = stream};
    const cudaError_t cleared = launch(clear_sums_kernel<float>, config, sums, places);
    if (cleared != cudaSuccess) return cleared;
    const cudaError_t added = add(sums, true);
    if (added != cudaSuccess) return added;
    return launch_early(round_sums_kernel<T>, config, dst, sums, places);
  }
}

/// Scratch of a scatter that adds up in float, in bytes.
inline std::size_t float_sums_bytes(const ScatterProblem& p) {
  return p.type == ElementType::float32 ? 0 : static_cast<std::size_t>(p.places) * sizeof(float);
}

/// Runs a scatter by a thread per value that adds to floats; `kernel.template operator()<T, Index>()` names its kernel.
template <class Kernel>
cudaError_t run_in_float(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream, Kernel&& kernel) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return with_types(p, [&]<class T, class Index>() {
    return with_float_sums(static_cast<T*>(at.dst), p.places, at.scratch, stream, [&](float* sum, bool /*early*/) {
      return launch_scatter(kernel.template operator()<T, Index>(), sum, p, at, stream);
    });
  });
}

/// The same for an inner product, whose kernel adds to one float.
template <class Kernel>
cudaError_t run_in_float(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream, Kernel&& kernel) {
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() {
    return with_float_sums(static_cast<T*>(at.dst), 1, at.scratch, stream, [&](float* sum, bool /*early*/) {
      return launch_inner(kernel.template operator()<T>(), sum, p.count, at, stream);
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
  //! [exercise lost_update]
  if (place >= 0 && place < places) atomicAdd(sum + place, to_float(value[i]));
  //! [exercise lost_update]
}
//! [kernel]

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

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return run_in_float(p, at, stream, [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return run_in_float(p, at, stream, [&]<class T>() { return inner_product_kernel<T>; });
}

}  // namespace v2
}  // namespace warpbook::chapter4
