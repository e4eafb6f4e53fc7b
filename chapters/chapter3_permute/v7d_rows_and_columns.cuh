/// \file
/// v7d rows and columns: a box's index arithmetic once a row and once a column, not once an element.
///
/// v7b still computes every element's place from scratch. But a place is a sum: what the element's column contributes
/// plus what its row does. A thread keeps to one column and goes down the rows; the rows' places stand in a table in
/// shared memory that all lanes of a warp read at the same address. Tables and columns are the same for every box, so
/// a block moves several boxes, one after another, and finds the next one while it writes the last. What is left for an
/// element is a look-up, an addition and the move, four at a time so that their loads overlap; only boxes at the
/// tensor's edge compare. Elements of 1 and 2 bytes go in words of 4 where the fastest dimension allows it.
///
/// Expect a tenth of v7b's instructions, and a speed near the copy's for elements of 4 bytes and more. Neither came
/// true, though it is the fastest of the boxes: README.md tells what the counters show.
#pragma once

#include "chapters/chapter3_permute/v7a_any_permutation.cuh"

namespace warpbook::chapter3::v7d {

inline constexpr int kThreads = 256;
inline constexpr int kUnroll = 4;  // Rows that a thread has in flight.
inline constexpr int kCuts = BoxPlan::kCuts;
inline constexpr int kMaxAxes = kMaxRank + 1;  // A dimension may be split between columns and rows.

/// What a row or a column contributes to an element's place; one 16-byte access.
struct alignas(16) Place {
  std::int64_t offset;        // In the tensor, in bytes.
  std::uint16_t tile;         // In shared memory, in bytes.
  std::uint16_t edge[kCuts];  // In elements, along the dimensions that an edge may cut.
};

/// An axis of a side's columns or rows, and what a step along it contributes.
struct Axis {
  FastDivisor<std::uint32_t> extent;
  Place step;
};

/// One side of the copy: its columns' axes, then its rows'; the fastest first.
struct Side {
  Axis axis[kMaxAxes];
  int column_axes;
  int axes;
  int columns;
  int rows;
  int lanes_log2;  // Threads along the columns.
};

/// One of the input's dimensions: how boxes follow each other along it.
struct Dimension {
  FastDivisor<std::uint32_t> boxes_before;  // Boxes of one layer of this dimension.
  FastDivisor<std::uint32_t> parts;
  std::int64_t extent;
  std::int64_t shape;
  std::int64_t src_stride;  // In bytes, like the other.
  std::int64_t dst_stride;
};

/// What the kernel needs to know of a plan.
struct Boxes {
  Dimension dimension[kMaxRank];
  Side src;
  Side dst;
  std::uint32_t boxes;
  int cut[kCuts];
  int full[kCuts];  // A box's extent there; 0 where every box is cut.
  int rank;
};

/// Where a box lies, and how far it reaches along the dimensions that an edge may cut.
struct Origin {
  std::int64_t src;
  std::int64_t dst;
  int reach[kCuts];
};

/// The sum over the axes from `first` to `end` for the linear index `rest`.
__device__ __forceinline__ Place place_of(const Side& side, int first, int end, std::uint32_t rest) {
  Place place{};
#pragma unroll 1
  for (int k = first; k < end; ++k) {
    const Axis& axis = side.axis[k];
    std::uint32_t quotient = 0;
    std::uint32_t index = rest;
    if (k + 1 < end) {
      const auto division = axis.extent.divide(rest);
      quotient = division.quotient;
      index = division.remainder;
    }
    place.offset += index * axis.step.offset;
    place.tile = static_cast<std::uint16_t>(place.tile + index * axis.step.tile);
#pragma unroll
    for (int c = 0; c < kCuts; ++c) {
      place.edge[c] = static_cast<std::uint16_t>(place.edge[c] + index * axis.step.edge[c]);
    }
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
#pragma unroll
    for (int c = 0; c < kCuts; ++c) {
      if (lane == boxes.cut[c]) origin.reach[c] = reach;
    }
  }
#pragma unroll
  for (int distance = kMaxRank / 2; distance > 0; distance /= 2) {
    src += __shfl_xor_sync(0xffffffffU, src, distance);
    dst += __shfl_xor_sync(0xffffffffU, dst, distance);
  }
  if (lane < kCuts && boxes.cut[lane] < 0) origin.reach[lane] = boxes.full[lane];
  if (lane == 0) {
    origin.src = src;
    origin.dst = dst;
  }
}

//! [kernel]
/// Walks a thread's rows of one side: `move(places, inside)` for kUnroll rows at a time, the table's entries `first`,
/// `first` + step and so on. With `whole`, no edge cuts the box.
template <bool whole, class Move>
__device__ __forceinline__ void walk(const Place* table, int first, int rows, int step, const int (&reach)[kCuts],
                                     Move move) {
  for (int row = first; row < rows; row += step * kUnroll) {
    Place at[kUnroll];
    bool inside[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int entry_row = min(row + u * step, rows - 1);
      const uint4 entry = reinterpret_cast<const uint4*>(table)[entry_row];  // One access of 16 bytes.
      at[u] = reinterpret_cast<const Place&>(entry);
      inside[u] = row + u * step < rows;
      if constexpr (!whole) {
#pragma unroll
        for (int c = 0; c < kCuts; ++c) inside[u] = inside[u] && at[u].edge[c] < reach[c];
      }
    }
    move(at, inside);
  }
}

template <class W, int kSrcWord, int kDstWord>
__global__ void __launch_bounds__(kThreads, 5)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ Boxes boxes) {
  using SrcPack = Pack<W, kSrcWord>;
  using DstPack = Pack<W, kDstWord>;
  char* tile = dynamic_shared<char>();
  __shared__ Place src_table[SidePlan::kMaxRows];
  __shared__ Place dst_table[SidePlan::kMaxRows];
  __shared__ Origin origins[2];
  const auto thread = static_cast<int>(threadIdx.x);

  if (thread < boxes.src.rows) {
    src_table[thread] = place_of(boxes.src, boxes.src.column_axes, boxes.src.axes, threadIdx.x);
  }
  if (thread < boxes.dst.rows) {
    dst_table[thread] = place_of(boxes.dst, boxes.dst.column_axes, boxes.dst.axes, threadIdx.x);
  }
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int src_lane = thread & ((1 << boxes.src.lanes_log2) - 1);
  const int dst_lane = thread & ((1 << boxes.dst.lanes_log2) - 1);
  const Place src_column = place_of(boxes.src, 0, boxes.src.column_axes, static_cast<std::uint32_t>(src_lane));
  const Place dst_column = place_of(boxes.dst, 0, boxes.dst.column_axes, static_cast<std::uint32_t>(dst_lane));
  const int src_rows = src_lane < boxes.src.columns ? boxes.src.rows : 0;
  const int dst_rows = dst_lane < boxes.dst.columns ? boxes.dst.rows : 0;
  const int src_neighbour = boxes.src.axis[0].step.tile / kSrcWord;
  const int dst_neighbour = boxes.dst.axis[0].step.tile / kDstWord;
  if (warp == 0) locate_box(boxes, blockIdx.x, lane, origins[0]);
  __syncthreads();

  int turn = 0;
  for (std::uint32_t box = blockIdx.x; box < boxes.boxes; box += gridDim.x) {
    const Origin origin = origins[turn];
    bool whole = true;
    int src_reach[kCuts];
    int dst_reach[kCuts];
#pragma unroll
    for (int c = 0; c < kCuts; ++c) {
      whole = whole && origin.reach[c] == boxes.full[c];
      src_reach[c] = origin.reach[c] - src_column.edge[c];
      dst_reach[c] = origin.reach[c] - dst_column.edge[c];
    }

    const char* from = reinterpret_cast<const char*>(src) + origin.src + src_column.offset;
    const auto read = [&](const Place(&at)[kUnroll], const bool(&inside)[kUnroll]) {
      SrcPack pack[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (inside[u]) pack[u] = *reinterpret_cast<const SrcPack*>(from + at[u].offset);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (!inside[u]) continue;
        char* place = tile + at[u].tile + src_column.tile;
#pragma unroll
        for (int i = 0; i < kSrcWord; ++i) *reinterpret_cast<W*>(place + i * src_neighbour) = pack[u][i];
      }
    };
    const int src_first = thread >> boxes.src.lanes_log2;
    const int src_step = kThreads >> boxes.src.lanes_log2;
    if (whole) {
      walk<true>(src_table, src_first, src_rows, src_step, src_reach, read);
    } else {
      walk<false>(src_table, src_first, src_rows, src_step, src_reach, read);
    }
    __syncthreads();
    turn ^= 1;
    if (warp == 0) locate_box(boxes, box + gridDim.x, lane, origins[turn]);

    char* to = reinterpret_cast<char*>(dst) + origin.dst + dst_column.offset;
    const auto write = [&](const Place(&at)[kUnroll], const bool(&inside)[kUnroll]) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (!inside[u]) continue;
        const char* place = tile + at[u].tile + dst_column.tile;
        DstPack pack;
#pragma unroll
        for (int i = 0; i < kDstWord; ++i) pack[i] = *reinterpret_cast<const W*>(place + i * dst_neighbour);
        store_streaming(reinterpret_cast<DstPack*>(to + at[u].offset), pack);
      }
    };
    const int dst_first = thread >> boxes.dst.lanes_log2;
    const int dst_step = kThreads >> boxes.dst.lanes_log2;
    if (whole) {
      walk<true>(dst_table, dst_first, dst_rows, dst_step, dst_reach, write);
    } else {
      walk<false>(dst_table, dst_first, dst_rows, dst_step, dst_reach, write);
    }
    __syncthreads();
  }
}
//! [kernel]

/// Describes one side. `order[k]` is its k-th fastest input dimension, `strides` its strides by input dimension.
inline Side make_side(const PermuteProblem& p, const BoxPlan& plan, const SidePlan& threads,
                      const std::array<int, kMaxRank>& order, const Strides& strides) {
  Side side{};
  side.columns = side.rows = 1;
  while ((1 << side.lanes_log2) < threads.lanes) ++side.lanes_log2;

  // Appends `extent` steps of `elements` each along dimension d, and counts them as columns or rows.
  const auto append = [&](int d, std::int64_t extent, std::int64_t elements, int& counted) {
    counted *= static_cast<int>(extent);
    if (extent == 1 && side.axes > 0) return;  // The first axis always stands: it tells a word's neighbours apart.
    const auto edge = [&](int cut) { return static_cast<std::uint16_t>(plan.cut[cut] == d ? elements : 0); };
    side.axis[side.axes++] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(extent)),
                              {elements * strides[d] * p.element_bytes,
                               static_cast<std::uint16_t>(elements * plan.tile_stride[d] * p.element_bytes),
                               {edge(0), edge(1), edge(2)}}};
  };
  for (int k = 0; k < p.rank; ++k) {
    const int d = order[k];
    const std::int64_t word = k == 0 ? threads.word : 1;
    if (k == threads.column_dimensions && threads.split > 0) {
      append(d, threads.split / word, word, side.columns);
      side.column_axes = side.axes;
      append(d, ceil_div(plan.extent[d], threads.split), threads.split, side.rows);
    } else {
      append(d, plan.extent[d] / word, word, k < threads.column_dimensions ? side.columns : side.rows);
      if (k < threads.column_dimensions) side.column_axes = side.axes;
    }
  }
  return side;
}

/// Boxes that one block moves: enough to make the tables worth their while, few enough to fill the device evenly.
inline std::int64_t boxes_per_block(std::int64_t boxes) { return std::clamp<std::int64_t>(boxes / 4096, 1, 8); }

/// Moves boxes. `p` is merged, of rank 2 or more and not empty.
inline cudaError_t run_boxes(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  const auto whole_words = [](const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 4 == 0; };
  const BoxPlan plan = plan_boxes(p, whole_words(src), whole_words(dst));
  Boxes boxes{};
  boxes.rank = p.rank;
  const Strides from = src_strides(p);
  const Strides to = v7a::dst_strides_by_src(p);
  if (plan.boxes > 0x7fffffff) return cudaErrorInvalidValue;
  boxes.boxes = static_cast<std::uint32_t>(plan.boxes);
  std::uint32_t before = 1;
  for (int d = p.rank - 1; d >= 0; --d) {  // Neighbouring blocks take boxes that are neighbours in the input.
    const auto parts = static_cast<std::uint32_t>(plan.parts[d]);
    boxes.dimension[d] = {FastDivisor<std::uint32_t>(before),
                          FastDivisor<std::uint32_t>(parts),
                          plan.extent[d],
                          p.shape[d],
                          from[d] * p.element_bytes,
                          to[d] * p.element_bytes};
    before *= parts;
  }
  for (int c = 0; c < kCuts; ++c) {
    boxes.cut[c] = plan.cut[c];
    boxes.full[c] = plan.cut[c] < 0 ? 0x7fff : plan.always_cut[c] ? 0 : static_cast<int>(plan.extent[plan.cut[c]]);
  }
  boxes.src = make_side(p, plan, plan.src, detail::src_order(p), from);
  boxes.dst = make_side(p, plan, plan.dst, detail::dst_order(p), to);

  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int kWord = bytes < 4 ? 4 / bytes : 1;
    const bool wide_src = plan.src.word > 1;
    const bool wide_dst = plan.dst.word > 1;
    const auto kernel = wide_src ? (wide_dst ? permute_kernel<W, kWord, kWord> : permute_kernel<W, kWord, 1>)
                                 : (wide_dst ? permute_kernel<W, 1, kWord> : permute_kernel<W, 1, 1>);
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(plan.boxes, boxes_per_block(plan.boxes)),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(plan.tile_elements) * bytes,
                   .stream = stream},
                  static_cast<W*>(dst), static_cast<const W*>(src), boxes);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor>(m, src, dst, stream);
  return run_boxes(with_elements_of(m, movement_bytes(m, src, dst)), src, dst, stream);
}

}  // namespace warpbook::chapter3::v7d
