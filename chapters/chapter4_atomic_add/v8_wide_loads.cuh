/// \file
/// v8 wide loads: an inner product without atomics, 16 bytes per load.
///
/// v6a's inner product hardly waits for atomics any more, but it loads 2 bytes at a time. Here a thread loads 16 bytes
/// of each array, four times at once, and takes them apart as it multiplies. The last atomics go, too: every block
/// stores its sum in scratch, and a second kernel adds these up. That kernel is launched while the first one runs and
/// waits for its end, so that the launch costs no time of its own.
///
/// Expect an eighth of the load requests for halves, a quarter for floats, and the speed at which memory can be read.
/// And expect the same bits each time: the order of additions is fixed.
#pragma once

#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter4::v8 {

inline constexpr int kThreads = 512;
inline constexpr int kWords = 4;  // Of each array, under way together in a thread.

//! [inner]
template <class T>
__global__ void __launch_bounds__(kThreads, 2)  // Or bfloat16 takes registers for one block per multiprocessor.
    inner_product_kernel(float* partial, const T* __restrict__ a, const T* __restrict__ b, std::int64_t count,
                         std::int64_t vectors) {
  constexpr int kElements = 16 / sizeof(T);
  constexpr int kPerWord = 4 / sizeof(T);
  using Vector = Pack<std::uint32_t, 4>;  // Taken apart where an element is used, or each would wait in a register.
  let_next_launch_begin();
  float sum = 0;
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads * kWords;
  for (std::int64_t first = std::int64_t(blockIdx.x) * kThreads * kWords + threadIdx.x; first < vectors;
       first += step) {
    Vector x[kWords];
    Vector y[kWords];
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const std::int64_t v = first + k * kThreads;
      if (v >= vectors) break;
      x[k] = load_streaming(reinterpret_cast<const Vector*>(a) + v);
      y[k] = load_streaming(reinterpret_cast<const Vector*>(b) + v);
    }
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      if (first + k * kThreads >= vectors) break;
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        const int w = e / kPerWord;
        const T a_e = element_of<T>(x[k][w], e % kPerWord);
        const T b_e = element_of<T>(y[k][w], e % kPerWord);
        sum = fmaf(to_float(a_e), to_float(b_e), sum);
      }
    }
  }
  const std::int64_t threads = std::int64_t(gridDim.x) * kThreads;
  std::int64_t i = vectors * kElements + std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (; i < count; i += threads) sum = fmaf(to_float(a[i]), to_float(b[i]), sum);  // The rest, or all.
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// dst[0] = (keep ? dst[0] : 0) + the sum of `parts`.
template <class T>
__global__ void __launch_bounds__(kThreads) add_parts_kernel(T* dst, const float* partial, int parts, bool keep) {
  wait_for_launches_before();
  float sum = 0;
  for (int i = threadIdx.x; i < parts; i += kThreads) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *dst = from_float<T>(keep ? to_float(*dst) + sum : sum);
}
//! [inner]

/// dst[0] = (keep ? dst[0] : 0) + a . b.
template <class T>
cudaError_t inner_product_as(const InnerProblem& p, const InnerArrays& at, bool keep, cudaStream_t stream) {
  constexpr std::int64_t kElements = 16 / sizeof(T);
  const std::int64_t resident = 4 * std::int64_t{multiprocessors()};
  const std::int64_t most = resident < kMostInnerBlocks ? resident : kMostInnerBlocks;
  const std::int64_t needed = ceil_div<std::int64_t>(p.count, kThreads * kWords * kElements);
  const std::int64_t blocks = needed < most ? needed : most;
  auto* const partial = static_cast<float*>(at.scratch);
  if (blocks > 0) {
    const cudaError_t error = launch(inner_product_kernel<T>, {.grid = blocks, .block = kThreads, .stream = stream},
                                     partial, static_cast<const T*>(at.a), static_cast<const T*>(at.b), p.count,
                                     p.alignment == 16 ? p.count / kElements : 0);
    if (error != cudaSuccess) return error;
  }
  return launch_early(add_parts_kernel<T>, {.grid = 1, .block = kThreads, .stream = stream}, static_cast<T*>(at.dst),
                      partial, static_cast<int>(blocks), keep);
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() { return inner_product_as<T>(p, at, true, stream); });
}

}  // namespace warpbook::chapter4::v8
