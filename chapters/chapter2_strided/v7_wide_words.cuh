/// \file
/// v7 wide words: whole words wherever the data allow it.
///
/// v6 moves one element per load and per store, and a half has 2 bytes. Where rows are contiguous and everything is a
/// multiple of 16 bytes (or 8, or 4), a word of that size becomes the element. Elsewhere the result still is
/// contiguous: it is written in words of 4 bytes, whose elements are gathered. A few threads move what lies before the
/// first whole word and behind the last. Into a view only wider elements help: the elements of a word would go to
/// different sectors.
///
/// Expect an eighth of the requests for halves in aligned rows, and half of the stores where rows are not aligned.
#pragma once

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::v7 {

using v6::Walk;

inline constexpr int kThreads = 256;
/// Elements that are written together: at least 4 bytes.
template <class W> inline constexpr int kPack = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;
/// Packs per thread: up to 32 bytes under way, and not more than 16 loads.
template <class W> inline constexpr int kPacks = sizeof(W) == 16 ? 2 : sizeof(W) == 4 ? 8 : 4;
/// Whether loads ask the L2 to keep what they read: words of 8 and 16 bytes gain by it.
template <class W> inline constexpr bool kKeeps = sizeof(W) >= 8;

//! [kernel]
/// Gathers a pack whose elements may lie in two rows or more.
template <class W, class Index>
__device__ __forceinline__ void gather_pack(Pack<W, kPack<W>>& word, const W* __restrict__ src,
                                            const v6::View<Index>& view, const Walk<Index>& walk) {
  constexpr int pack = kPack<W>;
  if (pack == 1 || walk.last + pack <= view.sizes[0].divisor) {  // One row.
    const Index offset = walk.offset(view);
#pragma unroll
    for (int j = 0; j < pack; ++j) word[j] = load_keeping<kKeeps<W>>(src + (offset + Index(j) * view.strides[0]));
  } else {
    Walk<Index> one = walk;
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      word[j] = load_keeping<kKeeps<W>>(src + one.offset(view));
      if (j + 1 < pack) one.advance(view, 1, 0);
    }
  }
}

template <class W, class Index>
__global__ void __launch_bounds__(kThreads, sizeof(Index) == 4 ? 8 : 1)
    gather_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ v6::View<Index> view,
                  const __grid_constant__ Packs<Index> whole) {
  constexpr int pack = kPack<W>;
  constexpr int packs = kPacks<W>;
  using P = Pack<W, pack>;
  Walk<Index> walk;
  if (pack > 1 && blockIdx.x == 0 && threadIdx.x < whole.ends) {
    const Index linear = whole.end(threadIdx.x, pack);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }

  const Index warp = Index(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const Index first = warp * (32 * packs) + threadIdx.x % 32;
  if (first >= whole.count) return;
  walk.locate(view, whole.head + first * pack);

  P word[packs];
  const Index before = Index(threadIdx.x % 32) * pack;  // Elements of the warp's threads before this one.
  if (walk.last >= before && walk.last - before + Index(packs * 32 * pack) <= view.sizes[0].divisor) {
    Index offset = walk.offset(view);  // All of the warp's packs lie in one row: nothing carries.
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + Index(32 * p) >= whole.count) break;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[p][j] = load_keeping<kKeeps<W>>(src + (offset + Index(j) * view.strides[0]));
      offset += Index(32 * pack) * view.strides[0];
    }
  } else {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + Index(32 * p) >= whole.count) break;
      gather_pack(word[p], src, view, walk);
      walk.advance(view, view.step_last, view.step_second);
    }
  }
  P* const dst_packs = reinterpret_cast<P*>(dst + whole.head);
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (first + Index(32 * p) < whole.count) dst_packs[first + Index(32 * p)] = word[p];
  }
}
//! [kernel]

/// Gathers elements as wide as they are in `q`, with indices of a type that it fits.
template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    const auto whole = packs_of<Index>(q, kPack<W>);
    const std::int64_t grid = whole.count == 0 ? 1 : ceil_div<std::int64_t>(whole.count, kThreads * kPacks<W>);
    return launch(gather_kernel<W, Index>, {.grid = grid, .block = kThreads, .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src),
                  v6::View<Index>(q.problem.view, 32 * kPack<W>), whole);
  });
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  if (q.problem.into_view) return v6::run_prepared(q, stream);
  return fits_32_bits(q.problem.view, kThreads * 32) ? run_as<std::uint32_t>(q, stream)
                                                     : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return p.count() == 0 ? cudaSuccess : run_prepared(prepare_simplified(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7
