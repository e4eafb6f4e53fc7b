/// \file
/// v9 dispatch: the right kernels for the problem, and one rounding.
///
/// Scatter: few values go by v4, an atomic each; places that fit in the shared memory of one block or two go by v7,
/// where there are values enough to pay for clearing and passing on; the rest by v8b, in as many passes as dst has
/// parts. The choice looks at the numbers of values and places, which the host knows, never at the indices: v7 and v8b
/// take skew as it comes.
///
/// Inner product: no atomics at all. A thread loads 16 bytes of each array, four times at once; blocks leave a sum each
/// in scratch, and a second kernel adds them up. That kernel is launched while the first one runs and waits for its
/// end, so that the launch costs no time of its own. The same inputs give the same bits each time.
///
/// Expect each case's best step; and for the inner product the speed at which memory can be read.
#pragma once

#include "chapters/chapter4_atomic_add/v4_fast_atomic.cuh"
#include "chapters/chapter4_atomic_add/v7_vector_atomics.cuh"
#include "chapters/chapter4_atomic_add/v8b_passes.cuh"
#include "common/cuda/early_launch.cuh"

namespace warpbook::chapter4::v9 {

/// How a scatter is done.
enum class Way { atomics, bins, passes };

/// From so many values on v8b's look at a sample, some 2 us, is small beside what skew would cost.
inline constexpr std::int64_t kManyValues = 512 << 10;

/// Chooses by what each way takes on an H200 with uniform indices, in microseconds: a rough fit to
/// docs/results/nvidia-h200/chapter4_trials_3.txt.
inline Way choose(const ScatterProblem& p) {
  const double values = static_cast<double>(p.count) / (1 << 20);
  const auto places = static_cast<double>(p.places);
  // An atomic addition takes its turn in the L2; where places are few, behind others at its place.
  const double waiting = 70e3 / places < 1800 ? 70e3 / places : 1800;
  const double atomics = 4 + values * (12 + waiting);
  const double bins = 10 + places / 11e3 + values * 4.3;
  if (v7::refuse_scatter(p) == nullptr && bins < atomics) return Way::bins;
  return p.count >= kManyValues ? Way::passes : Way::atomics;
}

/// Bytes of scratch that a problem takes.
inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) {
  if (p.count == 0 || p.places == 0) return 0;
  return choose(p) == Way::bins ? v7::scatter_scratch_bytes(p) : 0;
}

//! [dispatch]
/// For the types of p.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  switch (choose(p)) {
  case Way::bins:
    return v7::run_scatter_as<T, Index>(p, at, stream);
  case Way::passes:
    return v8b::run_scatter_as<T, Index>(p, at, stream);
  default:
    return v4::run_scatter_as<T, Index>(p, at, stream);
  }
}
//! [dispatch]

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

inline constexpr int kInnerThreads = 512;
inline constexpr int kWords = 4;  // Of each array, under way together in a thread.

//! [inner_product]
template <class T>
__global__ void __launch_bounds__(kInnerThreads, 2)  // Or bfloat16 takes registers for one block a multiprocessor.
    inner_product_kernel(float* partial, const T* __restrict__ a, const T* __restrict__ b, std::int64_t count,
                         bool aligned) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  using Vector = Pack<std::uint32_t, 4>;  // Taken apart where an element is used, or each would wait in a register.
  let_next_launch_begin();
  const std::int64_t thread = std::int64_t(blockIdx.x) * kInnerThreads * kWords + threadIdx.x;
  const std::int64_t threads = std::int64_t(gridDim.x) * kInnerThreads * kWords;
  float sum = 0;
  std::int64_t done = 0;
  if (aligned) {
    const std::int64_t vectors = count / kElements;
    for (std::int64_t first = thread; first < vectors; first += threads) {
      Vector x[kWords];
      Vector y[kWords];
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        const std::int64_t v = first + k * kInnerThreads;
        if (v >= vectors) break;
        x[k] = load_streaming(reinterpret_cast<const Vector*>(a) + v);
        y[k] = load_streaming(reinterpret_cast<const Vector*>(b) + v);
      }
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        if (first + k * kInnerThreads >= vectors) break;
#pragma unroll
        for (int e = 0; e < kElements; ++e) {
          sum = fmaf(element_of<T>(x[k][e / kPerWord], e % kPerWord), element_of<T>(y[k][e / kPerWord], e % kPerWord),
                     sum);
        }
      }
    }
    done = vectors * kElements;
  }
  for (std::int64_t i = done + std::int64_t(blockIdx.x) * kInnerThreads + threadIdx.x; i < count;
       i += std::int64_t(gridDim.x) * kInnerThreads) {
    sum = fmaf(to_float(a[i]), to_float(b[i]), sum);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// dst[0] = (keep ? dst[0] : 0) + the sum of `parts`.
template <class T>
__global__ void __launch_bounds__(kInnerThreads) add_parts_kernel(T* dst, const float* partial, int parts, bool keep) {
  wait_for_launches_before();
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < parts; i += kInnerThreads) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *dst = from_float<T>(keep ? to_float(*dst) + sum : sum);
}
//! [inner_product]

/// dst[0] = (keep ? dst[0] : 0) + a . b.
template <class T>
cudaError_t inner_product_as(std::int64_t count, const InnerArrays& at, bool keep, cudaStream_t stream) {
  constexpr std::int64_t kPerBlock = kInnerThreads * kWords * 16 / static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kBlocksPerMultiprocessor = 4;
  std::int64_t blocks = ceil_div<std::int64_t>(count, kPerBlock);
  const std::int64_t most = kBlocksPerMultiprocessor * multiprocessors();
  if (blocks > most) blocks = most;
  if (blocks > kMostInnerBlocks) blocks = kMostInnerBlocks;
  auto* const partial = static_cast<float*>(at.scratch);
  const auto address = reinterpret_cast<std::uintptr_t>(at.a) | reinterpret_cast<std::uintptr_t>(at.b);
  if (blocks > 0) {
    const cudaError_t error =
        launch(inner_product_kernel<T>, {.grid = blocks, .block = kInnerThreads, .stream = stream}, partial,
               static_cast<const T*>(at.a), static_cast<const T*>(at.b), count, address % 16 == 0);
    if (error != cudaSuccess) return error;
  }
  return launch_early(add_parts_kernel<T>, {.grid = 1, .block = kInnerThreads, .stream = stream},
                      static_cast<T*>(at.dst), partial, static_cast<int>(blocks), keep);
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  if (p.count == 0) return cudaSuccess;
  return with_element(p.type, [&]<class T>() { return inner_product_as<T>(p.count, at, true, stream); });
}

}  // namespace warpbook::chapter4::v9
