/// \file
/// offset_tables: where the last dimensions are short, a block's places stand in two tables.
///
/// Element i of the view is element i % K of its last dimensions, of K elements together, and element i / K of the
/// others. Its place is the sum of two entries: for T elements a block divides K + T / K times instead of T.
#pragma once

#include <algorithm>

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::offset_tables {

using View = v6::View<std::uint32_t>;

inline constexpr int kThreads = 256;
inline constexpr int kMostEntries = 8192;  ///< Of both tables together: 32 KiB.
/// Elements that are written together, and packs whose loads a thread has under way: 16 elements, and 8 at most.
template <class W> inline constexpr int kPack = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;
template <class W> inline constexpr int kInFlight = sizeof(W) == 1 ? 4 : 8;

struct Plan {
  Packs<std::uint32_t> whole;
  std::uint32_t tile_packs;          ///< That a block makes.
  FastDivisor<std::uint32_t> inner;  ///< K, the elements
  int inner_dims;                    ///< of so many of the last dimensions.
};

/// The place of index `i` of the view's dimensions [begin, end), counted from the innermost one.
__device__ __forceinline__ std::uint32_t place_of(const View& view, int begin, int end, std::uint32_t i) {
  std::uint32_t place = 0;
#pragma unroll 1
  for (int d = begin; d < end - 1; ++d) {
    const auto division = view.sizes[d].divide(i);
    place += division.remainder * view.strides[d];
    i = division.quotient;
  }
  return place + i * view.strides[end - 1];
}

/// Gathers and writes `packs` packs, `before` elements behind the tables' first.
template <class W>
__device__ __forceinline__ void move_packs(Pack<W, kPack<W>>* to, const W* __restrict__ src, const std::uint32_t* inner,
                                           const std::uint32_t* outer, const FastDivisor<std::uint32_t>& divisor,
                                           std::uint32_t before, std::uint32_t packs) {
  constexpr int pack = kPack<W>;
  constexpr int in_flight = kInFlight<W>;
  for (std::uint32_t first = threadIdx.x; first < packs; first += kThreads * in_flight) {
    W element[in_flight][pack];
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
      const std::uint32_t p = min(first + t * kThreads, packs - 1);  // Beyond the last: that one again.
      auto [o, i] = divisor.divide(before + p * pack);
      std::uint32_t row = outer[o];
#pragma unroll
      for (int j = 0; j < pack; ++j) {
        element[t][j] = load_keeping<(sizeof(W) > 1)>(src + (row + inner[i]));
        if (j + 1 < pack && ++i == divisor.divisor) {
          i = 0;
          row = outer[++o];
        }
      }
    }
    // Packs are made only now: a load that is waited for above would hold up those behind it.
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
      Pack<W, pack> word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = element[t][j];
      const std::uint32_t p = first + t * kThreads;
      if (p < packs) store_whole(to + p, word);
    }
  }
}

template <class W>
__global__ void __launch_bounds__(kThreads)
    table_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View view,
                 const __grid_constant__ Plan plan) {
  constexpr int pack = kPack<W>;
  auto* const inner = dynamic_shared<std::uint32_t>();
  std::uint32_t* const outer = inner + plan.inner.divisor;
  if (pack > 1 && blockIdx.x == 0 && threadIdx.x < plan.whole.ends) {
    const std::uint32_t linear = plan.whole.end(threadIdx.x, pack);
    dst[linear] = src[place_of(view, 0, view.dims, linear)];
  }
  const std::uint32_t first_pack = blockIdx.x * plan.tile_packs;
  if (first_pack >= plan.whole.count) return;
  const std::uint32_t packs = min(plan.tile_packs, plan.whole.count - first_pack);
  const auto [first_outer, before] = plan.inner.divide(plan.whole.head + first_pack * pack);
  // The element behind the last one may be looked up too.
  const std::uint32_t entries = plan.inner.divisor + plan.inner.divide(before + packs * pack).quotient + 1;
  for (std::uint32_t e = threadIdx.x; e < entries; e += kThreads) {
    inner[e] = e < plan.inner.divisor
                   ? place_of(view, 0, plan.inner_dims, e)
                   : place_of(view, plan.inner_dims, view.dims, first_outer + (e - plan.inner.divisor));
  }
  __syncthreads();
  move_packs<W>(reinterpret_cast<Pack<W, pack>*>(dst + plan.whole.head) + first_pack, src, inner, outer, plan.inner,
                before, packs);
}

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

/// The result's elements that a block makes: two rounds of its threads, or one where that would leave SMs without a
/// block.
inline std::int64_t tile_elements(const StridedProblem& q) {
  constexpr std::int64_t kManyBlocks = 2048;
  const int pack = q.element_bytes < 4 ? 4 / q.element_bytes : 1;
  const std::int64_t round = std::int64_t(kThreads) * std::min(16, 8 * pack);
  return q.count() / (2 * round) >= kManyBlocks ? 2 * round : round;
}

inline const char* refuse(const StridedProblem& q) {
  if (q.into_view) return "a view that is written";
  if (q.view.dims < 2) return "a single dimension needs no table";
  if (!fits_32_bits(q.view, 1 << 16)) return "2^31 elements or more";
  return split_of(q.view, tile_elements(q)).inner_dims > 0 ? nullptr : "the last dimension is long";
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    const std::int64_t tile = tile_elements(q.problem);
    const Split split = split_of(q.problem.view, tile);
    const Plan plan{packs_of<std::uint32_t>(q, kPack<W>), static_cast<std::uint32_t>(tile / kPack<W>),
                    FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(split.inner)), split.inner_dims};
    return launch(table_kernel<W>,
                  {.grid = plan.whole.count == 0 ? 1 : ceil_div<std::int64_t>(plan.whole.count, plan.tile_packs),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(split.entries) * sizeof(std::uint32_t),
                   .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), View(q.problem.view, 0), plan);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::offset_tables
