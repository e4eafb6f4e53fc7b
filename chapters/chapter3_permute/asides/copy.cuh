/// \file
/// Yardsticks: what a copy kernel reaches that moves the same bytes and permutes nothing.
///
/// The article finds a permute a little faster than "the native copy", and blames the copy's loop, which is not
/// unrolled. So here is a copy of one word per thread, and one with four words under way. The ceiling that tables print
/// is cudaMemcpyAsync.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::copy {

inline constexpr int kThreads = 256;

template <class W, int words>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(W* __restrict__ dst, const W* __restrict__ src, std::int64_t count) {
  const std::int64_t first = std::int64_t(blockIdx.x) * (kThreads * words) + threadIdx.x;
  W word[words];
#pragma unroll
  for (int i = 0; i < words; ++i) {
    //! [exercise load_guard]
    if (first + i * kThreads < count) word[i] = src[first + i * kThreads];
    //! [exercise load_guard]
  }
#pragma unroll
  for (int i = 0; i < words; ++i) {
    //! [exercise store_guard]
    if (first + i * kThreads < count) dst[first + i * kThreads] = word[i];
    //! [exercise store_guard]
  }
}

/// Copies p.count() elements, `words` a thread.
template <int words> cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t count = p.count();
  if (count == 0) return cudaSuccess;
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(copy_kernel<W, words>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads * words), .block = kThreads, .stream = stream},
                  static_cast<W*>(dst), static_cast<const W*>(src), count);
  });
}

}  // namespace warpbook::chapter3::copy
