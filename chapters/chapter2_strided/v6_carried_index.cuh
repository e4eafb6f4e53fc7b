/// \file
/// v6 carried index: several elements a thread, with the index carried on instead of recomputed.
///
/// v5 moves one element a thread and ends: a load, a wait, a store, and for each of them all of the index arithmetic.
/// Here a warp takes 32 x kElements neighbours, and a thread every 32nd of them. Its next element is 32 further, so the
/// index along the last dimension grows by 32, and when that runs over, the one before grows by one: two additions and
/// two comparisons, as with digits. Only when the second digit runs over too are all divisions done again. All loads
/// start before the first store.
///
/// The number of dimensions is a run-time value again: it now costs a loop once in kElements elements, and one kernel
/// serves all counts.
///
/// Expect a fraction of v5's instructions, and the speed of a copy wherever a warp reads close together.
#pragma once

#include "chapters/chapter2_strided/v5_fast_division.cuh"

namespace warpbook::chapter2 {

/// A view whose dimensions stand innermost first, at least three of them, so that kernels need no cases.
template <class Index> struct WalkedView {
  int dims;
  FastDivisor<Index> sizes[kMaxViewDims];
  Index strides[kMaxViewDims];
  Index step_last;    ///< A step of a thread, in indices of the innermost dimension,
  Index step_second;  ///< and what is left of it in whole turns of that.
};

/// Prepares a view for threads that go `step` elements at a time.
template <class Index> WalkedView<Index> walked(const TensorView& view, std::int64_t step) {
  WalkedView<Index> result{};
  result.dims = view.dims < 3 ? 3 : view.dims;
  for (int d = 0; d < result.dims; ++d) {
    const int from = view.dims - 1 - d;
    result.sizes[d] = FastDivisor<Index>(static_cast<Index>(from < 0 ? 1 : view.sizes[from]));
    result.strides[d] = static_cast<Index>(from < 0 ? 0 : view.strides[from]);
  }
  const std::int64_t last = view.dims == 0 ? 1 : view.sizes[view.dims - 1];
  result.step_last = static_cast<Index>(step % last);
  result.step_second = static_cast<Index>(step / last);
  return result;
}

/// Where a thread stands in a view.
template <class Index> struct Walk {
  Index linear;  ///< The element's number in row-major order.
  Index last;    ///< Its index along the innermost dimension,
  Index second;  ///< along the one before,
  Index outer;   ///< and the offset that all others make.

  //! [walk]
  /// Goes to element `to`, by division.
  __device__ __forceinline__ void locate(const WalkedView<Index>& view, Index to) {
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

  /// Goes on by second_by whole turns of the innermost dimension and last_by more; the two digits carry.
  __device__ __forceinline__ void advance(const WalkedView<Index>& view, Index last_by, Index second_by) {
    //! [exercise carry]
    linear += second_by * view.sizes[0].divisor + last_by;
    last += last_by;
    second += second_by;
    if (last >= view.sizes[0].divisor) {
      last -= view.sizes[0].divisor;
      ++second;
    }
    if (second >= view.sizes[1].divisor) locate(view, linear);
    //! [exercise carry]
  }
  //! [walk]

  /// The element's place in the array.
  __device__ __forceinline__ Index offset(const WalkedView<Index>& view) const {
    return outer + second * view.strides[1] + last * view.strides[0];
  }
};

namespace v6 {

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

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return fits_32_bits(q.problem.view, kThreads * 8) ? run_as<std::uint32_t>(q, stream)
                                                    : run_as<std::uint64_t>(q, stream);
}

}  // namespace v6
}  // namespace warpbook::chapter2
