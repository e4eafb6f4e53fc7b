/// \file
/// boxes: any permutation at any alignment, by boxes that go through shared memory; the kernel for all that no other
/// kernel takes.
///
/// A box is a run of the input and a run of the output at once (box_plan.hpp). Boxes are all alike: what an element's
/// position in a run contributes to its place, and what its run contributes, are the same in every box. So a block
/// computes both once, as tables in shared memory, and then moves several boxes, one after another. An element costs
/// two look-ups and two additions, at any rank. The copy into shared memory is asynchronous and needs no registers, so
/// all of a box's loads are under way at once. Elements of 1 and 2 bytes move in words of 4 on both sides.
#pragma once

#include <cuda_pipeline.h>

#include "chapters/chapter3_permute/library/box_plan.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::boxes {

inline constexpr int kThreads = 256;

/// Linear indices to places: what each of the axes, the fastest first, contributes.
struct Axes {
  struct Axis {
    FastDivisor<std::uint32_t> extent;
    std::int64_t stride;  // In the tensor, in elements.
    int tile_stride;      // In shared memory, in elements.
  };
  Axis axis[kMaxRank];
  int count;
};

/// One of the input's dimensions: how boxes follow each other along it.
struct Dimension {
  FastDivisor<std::uint32_t> boxes_before;  // Boxes of one layer of this dimension.
  FastDivisor<std::uint32_t> parts;
  std::int64_t extent;
  std::int64_t shape;
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

/// One side's runs. A box at the tensor's end has fewer elements along the two dimensions that are cut: its runs are
/// shorter, in units of `run_unit`, along this side's own, and fewer, in units of `row_unit`, along the other side's.
struct Side {
  Axes rows;  // The runs of a box; of the input's, only the strides in the tensor are used.
  int run;    // Elements.
  int row_count;
  int run_unit;
  int row_unit;
  FastDivisor<std::uint32_t> words;  // Words of a run, or elements where they are no narrower.
};

/// What the kernel needs to know of a plan.
struct Boxes {
  Dimension dimension[kMaxRank];
  Side src;
  Side dst;
  Axes column;  // A position in a run of the output: only the places in shared memory.
  std::uint32_t count;
  int rank;
  int pitch;
  int tile_elements;
  int src_partial;  // Dimensions, or -1,
  int dst_partial;
  int src_extent;  // and the box's extent there.
  int dst_extent;
  const char* src_begin;  // Whole words must not reach beyond the array.
  const char* src_end;
};

/// Where a box lies, in elements, and how far it reaches along the two dimensions that may be cut.
struct Origin {
  std::int64_t src;
  std::int64_t dst;
  int src_reach;
  int dst_reach;
};

/// An entry of the table of the output's runs; one 16-byte access.
struct alignas(16) Row {
  std::int64_t offset;  // In the output.
  std::int64_t tile;    // In shared memory.
};

__device__ __forceinline__ Row place_of(const Axes& axes, std::uint32_t rest) {
  Row place{0, 0};
#pragma unroll 1
  for (int k = 0; k < axes.count; ++k) {
    const auto [quotient, index] = axes.axis[k].extent.divide(rest);
    place.offset += index * axes.axis[k].stride;
    place.tile += static_cast<int>(index) * axes.axis[k].tile_stride;
    rest = quotient;
  }
  return place;
}

/// Finds a box; the threads of one warp call it together. Each of the first lanes takes a dimension.
__device__ __forceinline__ void locate_box(const Boxes& boxes, std::uint32_t box, int lane, Origin& origin) {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  if (lane < boxes.rank) {
    const Dimension& d = boxes.dimension[lane];
    const std::int64_t first = d.parts.divide(d.boxes_before.divide(box).quotient).remainder * d.extent;
    src = first * d.src_stride;
    dst = first * d.dst_stride;
    const std::int64_t left = d.shape - first;
    const int reach = static_cast<int>(left < d.extent ? left : d.extent);
    if (lane == boxes.src_partial) origin.src_reach = reach;
    if (lane == boxes.dst_partial) origin.dst_reach = reach;
  }
#pragma unroll
  for (int distance = kMaxRank / 2; distance > 0; distance /= 2) {
    src += __shfl_xor_sync(0xffffffffU, src, distance);
    dst += __shfl_xor_sync(0xffffffffU, dst, distance);
  }
  if (lane == 0) {
    origin.src = src;
    origin.dst = dst;
    if (boxes.src_partial < 0) origin.src_reach = boxes.src_extent;
    if (boxes.dst_partial < 0) origin.dst_reach = boxes.dst_extent;
  }
}

/// The elements of the word that begins at `from`, at any alignment: `count` of them exist.
template <class W>
__device__ __forceinline__ unsigned load_word(const W* from, int count, const char* begin, const char* end) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* words = reinterpret_cast<const unsigned*>(address & ~std::uintptr_t(3));
  if (reinterpret_cast<const char*>(words) >= begin && reinterpret_cast<const char*>(words + 2) <= end) {
    return __funnelshift_r(words[0], words[1], static_cast<unsigned>(address & 3) * 8);
  }
  unsigned word = 0;
  constexpr int kElements = 4 / static_cast<int>(sizeof(W));
  for (int i = 0; i < kElements && i < count; ++i) word |= unsigned(from[i]) << (8 * sizeof(W) * i);
  return word;
}

/// Neighbours in memory as one word.
template <class W, int N> __device__ __forceinline__ unsigned pack_word(const W (&elements)[N]) {
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) word |= unsigned(elements[i]) << (8 * sizeof(W) * i);
  return word;
}

/// Elements that move together.
template <class W> inline constexpr int kWord = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;

/// A block's shared memory: a box, and the tables.
template <class W> struct Shared {
  W* tile;
  Row* dst_rows;
  std::int64_t* src_rows;  // In the input.
  std::uint16_t* columns;  // Places in the tile, of positions in a run of the output.
};

template <class W> __device__ __forceinline__ Shared<W> make_tables(const Boxes& boxes) {
  W* tile = dynamic_shared<W>();
  auto* dst_rows = reinterpret_cast<Row*>(tile + boxes.tile_elements);
  auto* src_rows = reinterpret_cast<std::int64_t*>(dst_rows + boxes.dst.row_count);
  auto* columns = reinterpret_cast<std::uint16_t*>(src_rows + boxes.src.row_count);
  const int thread = threadIdx.x;
  for (int i = thread; i < boxes.dst.row_count; i += kThreads) dst_rows[i] = place_of(boxes.dst.rows, i);
  for (int i = thread; i < boxes.src.row_count; i += kThreads) src_rows[i] = place_of(boxes.src.rows, i).offset;
  for (int i = thread; i < boxes.dst.run; i += kThreads) {
    columns[i] = static_cast<std::uint16_t>(place_of(boxes.column, i).tile);
  }
  return {tile, dst_rows, src_rows, columns};
}

/// Loads a box; what it began is waited for elsewhere. `aligned`: every run begins at a multiple of 4 bytes and has
/// whole words.
template <bool aligned, class W>
__device__ __forceinline__ void load_box(const Shared<W>& shared, const W* __restrict__ src, const Boxes& boxes,
                                         const Origin& origin) {
  const int run = origin.src_reach * boxes.src.run_unit;
  const int count = origin.dst_reach * boxes.src.row_unit;
  const int words = boxes.src.row_count * static_cast<int>(boxes.src.words.divisor);
#pragma unroll 4
  for (int i = threadIdx.x; i < words; i += kThreads) {
    const auto [row, word] = boxes.src.words.divide(i);
    const int position = static_cast<int>(word) * kWord<W>;
    if (static_cast<int>(row) >= count || position >= run) continue;
    const W* from = src + origin.src + shared.src_rows[row] + position;
    W* to = shared.tile + static_cast<int>(row) * boxes.pitch + position;
    if constexpr (aligned) {
      __pipeline_memcpy_async(to, from, sizeof(W) * kWord<W>);
    } else {
      *reinterpret_cast<unsigned*>(to) = load_word(from, run - position, boxes.src_begin, boxes.src_end);
    }
  }
  __pipeline_commit();
}

/// Stores word `word` of a run of `run` elements at `to`. Words lie where memory has them: unless `aligned`, the run
/// may begin within its first and end within its last.
template <bool aligned, class W>
__device__ __forceinline__ void store_word(W* to, const W* from, const std::uint16_t* columns, int word, int run) {
  const int before = aligned ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 3) / int{sizeof(W)};
  const int first = word * kWord<W> - before;
  if (first >= run) return;
  W elements[kWord<W>];
#pragma unroll
  for (int e = 0; e < kWord<W>; ++e) elements[e] = from[columns[aligned ? first + e : min(max(first + e, 0), run - 1)]];
  if (aligned || (first >= 0 && first + kWord<W> <= run)) {
    *reinterpret_cast<unsigned*>(to + first) = pack_word(elements);
  } else {
#pragma unroll
    for (int e = 0; e < kWord<W>; ++e) {
      if (first + e >= 0 && first + e < run) to[first + e] = elements[e];
    }
  }
}

template <bool aligned, class W>
__device__ __forceinline__ void store_box(W* __restrict__ dst, const Shared<W>& shared, const Boxes& boxes,
                                          const Origin& origin) {
  const int run = origin.dst_reach * boxes.dst.run_unit;
  const int count = origin.src_reach * boxes.dst.row_unit;
  const int words = boxes.dst.row_count * static_cast<int>(boxes.dst.words.divisor);
#pragma unroll 4
  for (int i = threadIdx.x; i < words; i += kThreads) {
    const auto [row, word] = boxes.dst.words.divide(i);
    if (static_cast<int>(row) >= count) continue;
    const uint4 entry = reinterpret_cast<const uint4*>(shared.dst_rows)[row];  // One access of 16 bytes.
    const Row& place = reinterpret_cast<const Row&>(entry);
    const W* from = shared.tile + static_cast<int>(place.tile);
    W* to = dst + origin.dst + place.offset;
    if constexpr (sizeof(W) < 4) {
      store_word<aligned>(to, from, shared.columns, word, run);
    } else if (static_cast<int>(word) < run) {
      to[word] = from[shared.columns[word]];
    }
  }
}

//! [kernel]
template <class W, bool aligned_src, bool aligned_dst>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ Boxes boxes) {
  __shared__ Origin origins[2];
  const int thread = threadIdx.x;
  if (thread < 32) locate_box(boxes, blockIdx.x, thread, origins[0]);
  const Shared<W> shared = make_tables<W>(boxes);
  __syncthreads();

  int turn = 0;
  for (std::uint32_t box = blockIdx.x; box < boxes.count; box += gridDim.x) {
    const Origin origin = origins[turn];
    load_box<aligned_src>(shared, src, boxes, origin);
    __pipeline_wait_prior(0);
    __syncthreads();
    turn ^= 1;
    if (thread < 32) locate_box(boxes, box + gridDim.x, thread, origins[turn]);
    store_box<aligned_dst>(dst, shared, boxes, origin);
    __syncthreads();
  }
}
//! [kernel]

/// Boxes that one block moves: enough to make the tables worth their while, few enough to fill the device evenly.
inline std::int64_t boxes_per_block(std::int64_t boxes) { return std::clamp<std::int64_t>(boxes / 2048, 1, 4); }

/// Describes a plan to the kernel. Neighbouring blocks write neighbours.
inline Boxes make_boxes(const PermuteProblem& p, const BoxPlan& plan, const void* src, bool aligned_dst) {
  Boxes boxes{};
  boxes.count = static_cast<std::uint32_t>(plan.boxes);
  boxes.rank = p.rank;
  boxes.pitch = plan.pitch;
  boxes.tile_elements = static_cast<int>(ceil_div<std::int64_t>(plan.tile_elements, 16) * 16);  // Tables are aligned.
  boxes.src_begin = static_cast<const char*>(src);
  boxes.src_end = boxes.src_begin + p.count() * p.element_bytes;
  const Strides from = src_strides(p);
  const Strides to = dst_strides_by_src(p);
  const DimensionOrder from_src = src_order(p);
  const DimensionOrder from_dst = dst_order(p);
  std::uint32_t before = 1;
  for (int k = 0; k < p.rank; ++k) {
    const int d = from_dst[k];
    const auto parts = static_cast<std::uint32_t>(plan.parts[d]);
    boxes.dimension[d] = {FastDivisor<std::uint32_t>(before),
                          FastDivisor<std::uint32_t>(parts),
                          plan.extent[d],
                          p.shape[d],
                          from[d],
                          to[d]};
    before *= parts;
  }

  const auto append = [&](Axes& axes, int d, const Strides& strides) {
    if (plan.extent[d] == 1) return;
    axes.axis[axes.count++] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(plan.extent[d])), strides[d],
                               plan.tile_stride[d]};
  };
  std::array<bool, kMaxRank> in_src{};
  std::array<bool, kMaxRank> in_dst{};
  for (int k = 0; k < plan.src_dimensions; ++k) in_src[from_src[k]] = true;
  for (int k = 0; k < plan.dst_dimensions; ++k) {
    in_dst[from_dst[k]] = true;
    append(boxes.column, from_dst[k], to);
  }
  for (const int d : detail::src_rows(p, plan)) {
    if (d >= 0) append(boxes.src.rows, d, from);
  }
  for (int k = 0; k < p.rank; ++k) {  // In the input's order, so that the one that may be cut comes last.
    if (!in_dst[from_src[k]]) append(boxes.dst.rows, from_src[k], to);
  }

  // The dimension that cuts a side's runs is the slowest of them, and the slowest of the other side's rows.
  boxes.src_partial = plan.src_partial;
  boxes.dst_partial = plan.dst_partial;
  boxes.src_extent = plan.src_partial < 0 ? 1 : static_cast<int>(plan.extent[plan.src_partial]);
  boxes.dst_extent = plan.dst_partial < 0 ? 1 : static_cast<int>(plan.extent[plan.dst_partial]);
  const auto describe = [&](Side& side, std::int64_t run, int own_extent, bool other_in_run, int other_extent) {
    side.run = static_cast<int>(run);
    side.row_count = static_cast<int>(plan.volume() / run);
    side.run_unit = side.run / own_extent;
    side.row_unit = other_in_run ? side.row_count : side.row_count / other_extent;
  };
  const bool dst_cuts_src_run = plan.dst_partial >= 0 && in_src[plan.dst_partial];
  const bool src_cuts_dst_run = plan.src_partial >= 0 && in_dst[plan.src_partial];
  describe(boxes.src, plan.src_run, boxes.src_extent, dst_cuts_src_run, boxes.dst_extent);
  describe(boxes.dst, plan.dst_run, boxes.dst_extent, src_cuts_dst_run, boxes.src_extent);
  const int word = p.element_bytes < 4 ? 4 / p.element_bytes : 1;
  const auto words = [&](int elements) {
    return FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(ceil_div(elements, word)));
  };
  boxes.src.words = words(boxes.src.run);
  boxes.dst.words = words(aligned_dst ? boxes.dst.run : boxes.dst.run + word - 1);
  return boxes;
}

/// Why the kernel refuses a simplified problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) { return m.rank < 2 ? "nothing moves" : nullptr; }

/// Moves boxes. `m` is simplified, not empty and not refused.
inline cudaError_t run_boxes(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const BoxPlan plan = plan_boxes(m);
  if (plan.boxes > 0x3fffffff) return cudaErrorInvalidValue;  // FastDivisor's range.
  const auto whole_words = [&](const void* array, int fastest) {
    return m.element_bytes >= 4 ||
           (reinterpret_cast<std::uintptr_t>(array) % 4 == 0 && m.shape[fastest] * m.element_bytes % 4 == 0 &&
            plan.extent[fastest] * m.element_bytes % 4 == 0);
  };
  const bool aligned_src = whole_words(src, m.rank - 1);
  const bool aligned_dst = whole_words(dst, m.permutation[m.rank - 1]);
  const Boxes boxes = make_boxes(m, plan, src, aligned_dst);
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    const auto kernel = [&] {
      if constexpr (bytes >= 4) {
        return permute_kernel<W, true, true>;
      } else {
        return aligned_src ? (aligned_dst ? permute_kernel<W, true, true> : permute_kernel<W, true, false>)
                           : (aligned_dst ? permute_kernel<W, false, true> : permute_kernel<W, false, false>);
      }
    }();
    const auto tables = static_cast<std::size_t>(boxes.dst.row_count) * sizeof(Row) +
                        static_cast<std::size_t>(boxes.src.row_count) * sizeof(std::int64_t) +
                        static_cast<std::size_t>(boxes.dst.run) * sizeof(std::uint16_t);
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(plan.boxes, boxes_per_block(plan.boxes)),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(boxes.tile_elements) * bytes + tables,
                   .stream = stream},
                  static_cast<W*>(dst), static_cast<const W*>(src), boxes);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_boxes(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::boxes
