/// \file
/// v7a wide words: whole words wherever the data allow it.
///
/// v6 moves one element a load and a store, and a half is 2 bytes. Three things make accesses wider. Where the view's
/// last dimension is contiguous and everything is a multiple of 16 bytes (or 8, or 4), such a word becomes the element.
/// Where it is not, the contiguous side of the copy still is: it moves in words of 4 bytes, which are gathered from the
/// view in elements, or scattered into it. Up to three elements before the first whole word and behind the last one are
/// moved by themselves.
///
/// Expect a quarter or an eighth of the requests for half where rows are aligned, half of the stores where they are
/// not, and nothing for a step in float.
#pragma once

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::v7a {

inline constexpr int kThreads = 256;
/// Elements that move together on the contiguous side: at least 4 bytes.
template <class W> inline constexpr int kPack = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;
/// Packs of a thread: up to 32 bytes in flight, and not more than 16 loads.
template <class W> inline constexpr int kPacks = sizeof(W) == 16 ? 2 : sizeof(W) == 4 ? 8 : 4;

/// What the kernel moves: `packs` whole packs from element `head` on, and single elements before and behind them.
template <class Index> struct Extent {
  Index packs;
  int head;
  int tail;
  Index count;
};

/// The places of a pack's elements in the view, one after another.
template <class W, class Index, class F>
__device__ __forceinline__ void for_pack(const WalkedView<Index>& view, const Walk<Index>& walk, F&& f) {
  constexpr int pack = kPack<W>;
  const Index offset = walk.offset(view);
  if (pack == 1 || walk.last + pack <= view.sizes[0].divisor) {  // The pack lies in one row.
#pragma unroll
    for (int j = 0; j < pack; ++j) f(j, offset + Index(j) * view.strides[0]);
  } else {
    Walk<Index> one = walk;
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      f(j, one.offset(view));
      if (j + 1 < pack) one.advance(view, 1, 0);
    }
  }
}

//! [kernel]
template <class W, bool into_view, class Index>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ WalkedView<Index> view,
                   const __grid_constant__ Extent<Index> extent) {
  constexpr int pack = kPack<W>;
  constexpr int packs = kPacks<W>;
  using P = Pack<W, pack>;
  Walk<Index> walk;

  const int i = static_cast<int>(threadIdx.x);
  if (pack > 1 && blockIdx.x == 0 && i < extent.head + extent.tail) {
    const Index linear = i < extent.head ? Index(i) : extent.count - Index(extent.head + extent.tail - i);
    walk.locate(view, linear);
    const Index offset = walk.offset(view);
    dst[into_view ? offset : linear] = src[into_view ? linear : offset];
  }

  const Index warp = Index(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const Index first = warp * (32 * packs) + threadIdx.x % 32;
  if (first >= extent.packs) return;
  walk.locate(view, Index(extent.head) + first * pack);
  P* const dst_packs = reinterpret_cast<P*>(dst + extent.head);
  const P* const src_packs = reinterpret_cast<const P*>(src + extent.head);

  P word[packs];
#pragma unroll
  for (int i = 0; i < packs; ++i) {
    if (first + Index(32 * i) >= extent.packs) break;
    if constexpr (into_view) {
      word[i] = src_packs[first + Index(32 * i)];
    } else {
      for_pack<W>(view, walk, [&](int j, Index offset) { word[i][j] = src[offset]; });
      walk.advance(view, view.step_last, view.step_second);
    }
  }
#pragma unroll
  for (int i = 0; i < packs; ++i) {
    if (first + Index(32 * i) >= extent.packs) break;
    if constexpr (into_view) {
      for_pack<W>(view, walk, [&](int j, Index offset) { dst[offset] = word[i][j]; });
      walk.advance(view, view.step_last, view.step_second);
    } else {
      dst_packs[first + Index(32 * i)] = word[i];
    }
  }
}
//! [kernel]

/// Moves elements as wide as they are in `q`.
template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const std::int64_t count = q.problem.count();
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = kPack<W>;
    // The contiguous side decides where whole packs begin.
    const auto address =
        q.problem.into_view ? reinterpret_cast<std::uintptr_t>(q.src) : reinterpret_cast<std::uintptr_t>(q.dst);
    const auto off = static_cast<std::int64_t>(address % (pack * bytes)) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off < count ? pack - off : count;
    const std::int64_t whole = (count - head) / pack;
    const Extent<Index> extent{static_cast<Index>(whole), static_cast<int>(head),
                               static_cast<int>(count - head - whole * pack), static_cast<Index>(count)};
    const WalkedView<Index> view = walked<Index>(q.problem.view, 32 * pack);
    const std::int64_t grid = whole == 0 ? 1 : ceil_div<std::int64_t>(whole, kThreads * kPacks<W>);
    return launch(q.problem.into_view ? strided_kernel<W, true, Index> : strided_kernel<W, false, Index>,
                  {.grid = grid, .block = kThreads, .stream = stream}, reinterpret_cast<W*>(q.dst),
                  reinterpret_cast<const W*>(q.src), view, extent);
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return fits_32_bits(q.problem.view, kThreads * 32) ? run_as<std::uint32_t>(q, stream)
                                                     : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7a
