/// \file
/// v7a wide words: whole words wherever the data allow it.
///
/// v6 moves one element a load and a store, and a half is 2 bytes. Where the view's last dimension is contiguous and
/// everything is a multiple of 16 bytes (or 8, or 4), such a word becomes the element. Where it is not, the result
/// still is contiguous: it is written in words of 4 bytes, whose elements are gathered. Up to three elements before the
/// first whole word and behind the last one are moved by themselves. Where all that a warp writes comes from one row,
/// nothing carries.
///
/// Into a view, only the first of these helps. Scattering the elements of a word would write each sector in two or four
/// parts; v6 writes neighbours together (a trial of it: 87 us against v6's 81 for halves, 155 against 139 for floats).
///
/// Expect a quarter or an eighth of the requests for half where rows are aligned, half of the stores where they are
/// not, and nothing for a step in float.
#pragma once

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::v7a {

inline constexpr int kThreads = 256;
/// Elements that are written together: at least 4 bytes.
template <class W> inline constexpr int kPack = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;
/// Packs of a thread: up to 32 bytes in flight, and not more than 16 loads.
template <class W> inline constexpr int kPacks = sizeof(W) == 16 ? 2 : sizeof(W) == 4 ? 8 : 4;

/// Whether loads ask the L2 to keep what they read (chapter 3's v7k): on an H200 words of 8 and 16 bytes take 3% less
/// time for it, narrower ones up to 2% more (chapter2_trials_6.txt).
template <class W> inline constexpr bool kKeeps = sizeof(W) >= 8;

/// What the kernel writes: `packs` whole packs from element `head` on, and single elements before and behind them.
template <class Index> struct Extent {
  Index packs;
  int head;
  int tail;
  Index count;
};

//! [kernel]
template <class W, class Index>
__global__ void __launch_bounds__(kThreads, sizeof(Index) == 4 ? 8 : 1)
    gather_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ WalkedView<Index> view,
                  const __grid_constant__ Extent<Index> extent) {
  constexpr int pack = kPack<W>;
  constexpr int packs = kPacks<W>;
  using P = Pack<W, pack>;
  Walk<Index> walk;

  const int i = static_cast<int>(threadIdx.x);
  if (pack > 1 && blockIdx.x == 0 && i < extent.head + extent.tail) {
    const Index linear = i < extent.head ? Index(i) : extent.count - Index(extent.head + extent.tail - i);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }

  const Index warp = Index(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const Index first = warp * (32 * packs) + threadIdx.x % 32;
  if (first >= extent.packs) return;
  walk.locate(view, Index(extent.head) + first * pack);

  P word[packs];
  const Index before = Index(threadIdx.x % 32) * pack;  // Elements of the warp's threads before this one.
  if (walk.last >= before && walk.last - before + Index(packs * 32 * pack) <= view.sizes[0].divisor) {
    Index offset = walk.offset(view);  // All of the warp's packs lie in one row: nothing carries.
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + Index(32 * p) >= extent.packs) break;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[p][j] = load_keeping<kKeeps<W>>(src + (offset + Index(j) * view.strides[0]));
      offset += Index(32 * pack) * view.strides[0];
    }
  } else {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + Index(32 * p) >= extent.packs) break;
      if (pack == 1 || walk.last + pack <= view.sizes[0].divisor) {  // The pack lies in one row.
        const Index offset = walk.offset(view);
#pragma unroll
        for (int j = 0; j < pack; ++j)
          word[p][j] = load_keeping<kKeeps<W>>(src + (offset + Index(j) * view.strides[0]));
      } else {
        Walk<Index> one = walk;
#pragma unroll
        for (int j = 0; j < pack; ++j) {
          word[p][j] = load_keeping<kKeeps<W>>(src + one.offset(view));
          if (j + 1 < pack) one.advance(view, 1, 0);
        }
      }
      walk.advance(view, view.step_last, view.step_second);
    }
  }
  P* const dst_packs = reinterpret_cast<P*>(dst + extent.head);
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (first + Index(32 * p) < extent.packs) dst_packs[first + Index(32 * p)] = word[p];
  }
}
//! [kernel]

/// Gathers elements as wide as they are in `q`.
template <class Index> cudaError_t run_gather(const Prepared& q, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  const std::int64_t count = view.count();
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = kPack<W>;
    // The result decides where whole packs begin.
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % (pack * bytes)) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off < count ? pack - off : count;
    const std::int64_t whole = (count - head) / pack;
    const Extent<Index> extent{static_cast<Index>(whole), static_cast<int>(head),
                               static_cast<int>(count - head - whole * pack), static_cast<Index>(count)};
    const std::int64_t grid = whole == 0 ? 1 : ceil_div<std::int64_t>(whole, kThreads * kPacks<W>);
    return launch(gather_kernel<W, Index>, {.grid = grid, .block = kThreads, .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), walked<Index>(view, 32 * pack),
                  extent);
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  if (q.problem.into_view) return v6::run_prepared(q, stream);
  return fits_32_bits(q.problem.view, kThreads * 32) ? run_gather<std::uint32_t>(q, stream)
                                                     : run_gather<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7a
