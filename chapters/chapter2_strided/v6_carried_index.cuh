/// \file
/// v6 carried index: several elements a thread, with the index carried on instead of recomputed.
///
/// v5 moves one element a thread and ends: a load, a wait, a store, and for each of them all of the index arithmetic.
/// Here a warp takes 32 x kElements neighbours, and a thread every 32nd of them. Its next element is 32 further, so the
/// index along the last dimension grows by 32, and when that runs over, the one before grows by one: two additions and
/// two comparisons, as with digits (walk.cuh). Only when the second digit runs over too are all divisions done again.
/// All loads start before the first store.
///
/// The number of dimensions is a run-time value again: it now costs a loop once in kElements elements, and one kernel
/// serves all counts.
///
/// Expect a fraction of v5's instructions, and the speed of a copy wherever a warp reads close together.
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "chapters/chapter2_strided/walk.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::v6 {

inline constexpr int kThreads = 256;
/// Elements of a thread: up to 64 bytes in flight.
template <class W> inline constexpr int kElements = sizeof(W) == 16 ? 4 : 8;

//! [kernel]
template <class W, class Index>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ WalkedView<Index> view,
                   Index count, bool into_view) {
  const Index warp = Index(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const Index first = warp * (32 * kElements<W>)+threadIdx.x % 32;
  if (first >= count) return;
  Walk<Index> walk;
  walk.locate(view, first);

  W word[kElements<W>];
  Index to[kElements<W>];
#pragma unroll
  for (int i = 0; i < kElements<W>; ++i) {
    const Index linear = first + Index(32 * i);
    const Index offset = walk.offset(view);
    to[i] = into_view ? offset : linear;
    if (linear < count) word[i] = src[into_view ? linear : offset];
    if (i + 1 < kElements<W>) walk.advance(view, view.step_last, view.step_second);
  }
#pragma unroll
  for (int i = 0; i < kElements<W>; ++i) {
    if (first + Index(32 * i) < count) dst[to[i]] = word[i];
  }
}
//! [kernel]

template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const std::int64_t count = q.problem.count();
  const WalkedView<Index> view = walked<Index>(q.problem.view, 32);
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(strided_kernel<W, Index>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads * kElements<W>), .block = kThreads, .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), view, static_cast<Index>(count),
                  q.problem.into_view);
  });
}

/// Moves a prepared problem.
inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return fits_32_bits(q.problem.view, kThreads * 8) ? run_as<std::uint32_t>(q, stream)
                                                    : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v6
