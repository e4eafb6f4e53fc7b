/// \file
/// v7e offset tables: where the last dimensions are short, a tile's places stand in two tables.
///
/// v7a carries two digits of the index on, and divides anew when both run over. Its next pack is 32 packs further:
/// where the last two dimensions together are shorter than that, both run over each time, and nothing is left of what
/// the carrying saves. Views like that come from `unfold` (windows of 2 to 8) and from images whose channels come last,
/// and the time goes into instructions, not into bytes.
///
/// But where the last dimensions are short, their places are few. A block makes a piece of the result. Element i of the
/// view is element i % K of its last dimensions, of K elements together, and element i / K of the others, and its
/// place is the sum of a place among either. So the block works out K places of the first kind, and as many of the
/// second as its piece has, into shared memory: for a piece of T elements, K + T / K divisions instead of T. The next
/// element is the next entry of the first table, or the first one and the next entry of the second.
///
/// Expect two look-ups and a few additions an element, whatever the number of dimensions.
#pragma once

#include <algorithm>

#include "chapters/chapter2_strided/v7d_staged_steps.cuh"

namespace warpbook::chapter2::v7e {

inline constexpr int kThreads = 256;
inline constexpr int kMostEntries = 8192;  ///< Of both tables together: 32 KiB.

/// Packs whose loads a thread has under way, as v7a's: 16 elements, and 8 at most.
template <class W> inline constexpr int kInFlight = 16 / v7a::kPack<W> > 8 ? 8 : 16 / v7a::kPack<W>;

/// What the kernel writes, as v7a::Extent, a block's part of it, and the dimensions that the first table is of.
struct Extent {
  std::uint32_t packs;
  int head;
  int tail;
  std::uint32_t count;
  std::uint32_t tile_packs;
  FastDivisor<std::uint32_t> inner;  ///< K.
  int inner_dims;
};

/// The place of index `i` of the view's dimensions [begin, end), counted from the innermost one.
__device__ __forceinline__ std::uint32_t place_of(const WalkedView<std::uint32_t>& view, int begin, int end,
                                                  std::uint32_t i) {
  std::uint32_t place = 0;
#pragma unroll 1
  for (int d = begin; d < end - 1; ++d) {
    const auto division = view.sizes[d].divide(i);
    place += division.remainder * view.strides[d];
    i = division.quotient;
  }
  return place + i * view.strides[end - 1];
}

//! [kernel]
template <class W>
__global__ void __launch_bounds__(kThreads)
    table_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ WalkedView<std::uint32_t> view,
                 const __grid_constant__ Extent extent) {
  constexpr int pack = v7a::kPack<W>;
  constexpr int in_flight = kInFlight<W>;
  using P = Pack<W, pack>;
  auto* const inner = dynamic_shared<std::uint32_t>();
  std::uint32_t* const outer = inner + extent.inner.divisor;
  const std::uint32_t thread = threadIdx.x;
  const auto place = [&](std::uint32_t linear) {
    const auto [o, i] = extent.inner.divide(linear);
    return place_of(view, 0, extent.inner_dims, i) + place_of(view, extent.inner_dims, view.dims, o);
  };
  if (pack > 1 && blockIdx.x == 0 && int(thread) < extent.head + extent.tail) {
    const std::uint32_t linear =
        int(thread) < extent.head ? thread : extent.count - std::uint32_t(extent.head + extent.tail) + thread;
    dst[linear] = src[place(linear)];
  }

  const std::uint32_t first_pack = blockIdx.x * extent.tile_packs;
  if (first_pack >= extent.packs) return;
  const std::uint32_t packs = min(extent.tile_packs, extent.packs - first_pack);
  const auto [first_outer, before] = extent.inner.divide(std::uint32_t(extent.head) + first_pack * pack);
  // The element behind the last one may be looked up too.
  const std::uint32_t entries = extent.inner.divisor + extent.inner.divide(before + packs * pack).quotient + 1;
  for (std::uint32_t e = thread; e < entries; e += kThreads) {
    inner[e] = e < extent.inner.divisor
                   ? place_of(view, 0, extent.inner_dims, e)
                   : place_of(view, extent.inner_dims, view.dims, first_outer + (e - extent.inner.divisor));
  }
  __syncthreads();

  P* const to = reinterpret_cast<P*>(dst + extent.head) + first_pack;
  for (std::uint32_t turn = thread; turn < packs; turn += kThreads * in_flight) {
    W element[in_flight][pack];
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
      const std::uint32_t p = min(turn + std::uint32_t(t * kThreads), packs - 1);  // Beyond the last: that one again.
      auto [o, i] = extent.inner.divide(before + p * pack);
      std::uint32_t row = outer[o];
#pragma unroll
      for (int j = 0; j < pack; ++j) {
        element[t][j] = load_keeping<(sizeof(W) > 1)>(src + (row + inner[i]));
        if (j + 1 < pack && ++i == extent.inner.divisor) {
          i = 0;
          row = outer[++o];
        }
      }
    }
    // Packs are made only now: see v7b.
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
      P word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = element[t][j];
      const std::uint32_t p = turn + std::uint32_t(t * kThreads);
      if (p < packs) store_whole(to + p, word);
    }
  }
}
//! [kernel]

/// The last dimensions that are counted as one, so that the two tables for `tile` elements are the smallest.
struct Split {
  int inner_dims = 0;  ///< 0: no tables are small enough.
  std::int64_t inner = 1;
  std::int64_t entries = 0;
};
inline Split split_of(const TensorView& view, std::int64_t tile) {
  Split best;
  std::int64_t inner = 1;
  for (int k = 1; k < view.dims; ++k) {
    inner *= view.sizes[view.dims - k];
    if (inner > kMostEntries) break;
    const std::int64_t entries = inner + (inner - 1 + tile) / inner + 1;
    if (entries <= kMostEntries && (best.inner_dims == 0 || entries < best.entries)) best = {k, inner, entries};
  }
  return best;
}

/// The result's elements that a block makes: two turns of its threads, or one where that would leave SMs without a
/// block.
inline std::int64_t tile_elements(const StridedProblem& p) {
  constexpr std::int64_t kManyBlocks = 2048;
  const int pack = p.element_bytes < 4 ? 4 / p.element_bytes : 1;
  const std::int64_t turn = std::int64_t(kThreads) * std::min(16, 8 * pack);
  return p.count() / (2 * turn) >= kManyBlocks ? 2 * turn : turn;
}

/// Why the step does not take a collapsed problem in its widest elements; nullptr where it does.
inline const char* refuse(const StridedProblem& p) {
  if (p.into_view) return "a view that is written";
  if (p.view.dims < 2) return "a single dimension needs no table";
  if (!fits_32_bits(p.view, 1 << 16)) return "2^31 elements or more";
  return split_of(p.view, tile_elements(p)).inner_dims > 0 ? nullptr : "the last dimension is long";
}

/// Whether both of the digits that v7a carries run over at each of its steps (of narrow elements: at every second one),
/// and it divides for two dimensions or more beyond them; for one, if v7b would put narrow elements together one by
/// one, as its packs are longer than rows (99113x18x7 halves by 24,1,1: 15.6 instead of 20.3 us;
/// chapter2_trials_5.txt).
inline bool pays(const StridedProblem& p) {
  const TensorView& view = p.view;
  const int last = view.dims - 1;
  if (view.dims < 3 || refuse(p) != nullptr) return false;
  const bool one_by_one =
      p.element_bytes < 4 && v7b::reads_again(p) && view.sizes[last] * p.element_bytes < v7b::kPackBytes;
  if (view.dims == 3 && !one_by_one) return false;
  const std::int64_t step = 32 * (p.element_bytes < 4 ? 4 / p.element_bytes : 1);
  const std::int64_t both = p.element_bytes < 4 ? 2 * step : step;
  return view.sizes[last] < step && view.sizes[last - 1] < step && view.sizes[last] * view.sizes[last - 1] < both;
}

/// Gathers elements as wide as they are in `q`, which is not refused.
inline cudaError_t run_tables(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = v7a::kPack<W>;
    const TensorView& view = q.problem.view;
    const std::int64_t count = view.count();
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % (pack * bytes)) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off < count ? pack - off : count;
    const std::int64_t packs = (count - head) / pack;
    const std::int64_t tile = tile_elements(q.problem);
    const Split split = split_of(view, tile);
    const Extent extent{static_cast<std::uint32_t>(packs),
                        static_cast<int>(head),
                        static_cast<int>(count - head - packs * pack),
                        static_cast<std::uint32_t>(count),
                        static_cast<std::uint32_t>(tile / pack),
                        FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(split.inner)),
                        split.inner_dims};
    return launch(table_kernel<W>,
                  {.grid = packs == 0 ? 1 : ceil_div<std::int64_t>(packs, tile / pack),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(split.entries) * sizeof(std::uint32_t),
                   .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), walked<std::uint32_t>(view, 0),
                  extent);
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return refuse(q.problem) == nullptr ? run_tables(q, stream) : v7c::run_prepared(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7e
