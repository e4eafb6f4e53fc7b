/// \file
/// v6 carried index: several elements per thread, and the index moves on like the digits of a number.
///
/// A thread of v5 moves one element and ends: one load, one wait, one store, and all of the index arithmetic for it.
/// Here a thread takes every 32nd of its warp's elements. Its next element is 32 further, so its index along the last
/// dimension grows by 32. When that runs over, the index before grows by one. Only when the second digit runs over too
/// are all divisions done again. All loads start before the first store. The number of dimensions is a run-time value
/// again: the loop over it rarely runs.
///
/// Expect a fraction of v5's instructions, and a copy's speed wherever a warp reads close together.
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::v6 {

inline constexpr int kThreads = 256;
/// Elements per thread: up to 64 bytes under way.
template <class W> inline constexpr int kElements = sizeof(W) == 16 ? 4 : 8;

/// A view whose dimensions stand innermost first, at least three of them, so that kernels need no special cases.
template <class Index> struct View {
  int dims;
  FastDivisor<Index> sizes[kMaxViewDims];
  Index strides[kMaxViewDims]{};
  Index step_last;    ///< A thread's step: in indices of the innermost dimension,
  Index step_second;  ///< after so many of the one before.

  /// For threads that go `step` elements at a time.
  View(const TensorView& view, std::int64_t step) : dims(view.dims < 3 ? 3 : view.dims) {
    for (int d = 0; d < dims; ++d) {
      const int from = view.dims - 1 - d;
      sizes[d] = FastDivisor<Index>(static_cast<Index>(from < 0 ? 1 : view.sizes[from]));
      strides[d] = static_cast<Index>(from < 0 ? 0 : view.strides[from]);
    }
    const std::int64_t last = view.dims == 0 ? 1 : view.sizes[view.dims - 1];
    step_last = static_cast<Index>(step % last);
    step_second = static_cast<Index>(step / last);
  }
};

//! [kernel]
/// Where a thread stands in a view.
template <class Index> struct Walk {
  Index linear;  ///< The element's number in row-major order.
  Index last;    ///< Its index along the innermost dimension,
  Index second;  ///< along the one before,
  Index outer;   ///< and the offset that all others make.

  /// Goes to element `to`, by division.
  __device__ __forceinline__ void locate(const View<Index>& view, Index to) {
    linear = to;
    auto division = view.sizes[0].divide(to);
    last = division.remainder;
    division = view.sizes[1].divide(division.quotient);
    second = division.remainder;
    outer = 0;
#pragma unroll 1
    for (int d = 2; d < view.dims - 1; ++d) {
      division = view.sizes[d].divide(division.quotient);
      outer += division.remainder * view.strides[d];
    }
    outer += division.quotient * view.strides[view.dims - 1];
  }

  /// Goes on by `second_by` whole runs of the innermost dimension and `last_by` more; the two digits carry.
  __device__ __forceinline__ void advance(const View<Index>& view, Index last_by, Index second_by) {
    linear += second_by * view.sizes[0].divisor + last_by;
    last += last_by;
    second += second_by;
    if (last >= view.sizes[0].divisor) {
      last -= view.sizes[0].divisor;
      ++second;
    }
    if (second >= view.sizes[1].divisor) locate(view, linear);
  }

  __device__ __forceinline__ Index offset(const View<Index>& view) const {
    return outer + second * view.strides[1] + last * view.strides[0];
  }
};

template <class W, class Index>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View<Index> view,
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

/// Moves a prepared problem, with indices of a type that it fits.
template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const std::int64_t count = q.problem.count();
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(strided_kernel<W, Index>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads * kElements<W>), .block = kThreads, .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), View<Index>(q.problem.view, 32),
                  static_cast<Index>(count), q.problem.into_view);
  });
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return fits_32_bits(q.problem.view, kThreads * 8) ? run_as<std::uint32_t>(q, stream)
                                                    : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v6
