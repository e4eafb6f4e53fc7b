/// \file
/// How v7 cuts a tensor of any rank into boxes that are contiguous runs on the input's side and on the output's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chapters/chapter3_permute/permute.hpp"

namespace warpbook::chapter3 {

/// How the threads of a block walk a box on one side of the copy: *columns* along the side's fastest dimensions, one
/// thread each, times *rows* along all others. For a matrix, columns and rows are what they say.
struct SidePlan {
  static constexpr int kMaxLanes = 256;  ///< Threads of a block.
  static constexpr int kMaxRows = 256;   ///< A table in shared memory.

  int word = 1;               ///< Elements a thread moves at a time.
  int lanes = 0;              ///< Threads along the columns, a power of two; 0: no arrangement keeps within the limits.
  int column_dimensions = 0;  ///< How many of the side's fastest dimensions are columns altogether.
  std::int64_t split = 0;     ///< Elements of the next dimension that are columns too, the rest being rows; 0: none.
  bool short_row = false;     ///< The split leaves the last row short.
};

/// A box is a part of the tensor that one block moves: so many elements along each of the input's dimensions. It holds
/// a run of the input (its fastest dimensions, as many as make a run worth reading) and a run of the output.
struct BoxPlan {
  static constexpr int kMaxBytes = 40 * 1024;   ///< Shared memory of a box.
  static constexpr int kGoodBytes = 16 * 1024;  ///< What a box is grown to.
  static constexpr int kRunBytes = 256;         ///< A run that is worth a request: two full cache lines,
  static constexpr int kMaxRun = 128;           ///< but not more elements than this.
  static constexpr int kCuts = 3;               ///< Dimensions along which a box can be cut.

  std::array<std::int64_t, kMaxRank> extent{};  ///< Of the box, by input dimension; 1 where the box is flat.
  std::array<std::int64_t, kMaxRank> parts{};   ///< Boxes along each dimension.
  SidePlan src;                                 ///< Reading.
  SidePlan dst;                                 ///< Writing.
  std::array<int, kCuts> cut{-1, -1, -1};       ///< The dimensions along which threads must watch an edge:
  std::array<bool, kCuts> always_cut{};         ///< in every box, not just in those at the tensor's end.
  std::array<int, kMaxRank> tile_stride{};      ///< Elements in shared memory between neighbours.
  std::int64_t tile_elements = 0;               ///< Shared memory of a box, padding included.
  std::int64_t boxes = 0;                       ///< Number of blocks.
  bool valid = false;                           ///< A block can move it.

  /// Elements of a full box.
  std::int64_t volume() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extent) n *= std::max<std::int64_t>(e, 1);
    return n;
  }
};

namespace detail {

/// Divides a dimension into equal parts of at most `most` elements, each a multiple of `multiple` where that fits.
inline std::int64_t balanced_extent(std::int64_t size, std::int64_t most, std::int64_t multiple) {
  if (size <= most) return size;
  const std::int64_t parts = (size + most - 1) / most;
  const std::int64_t even = (size + parts - 1) / parts;
  const std::int64_t rounded = (even + multiple - 1) / multiple * multiple;
  return rounded <= most ? rounded : even;
}

/// Arranges the threads on one side, whose k-th fastest input dimension is `order[k]`: as many lanes as leave the
/// fewest idle. `whole_words` tells whether the array's address allows words of 4 bytes.
inline SidePlan plan_side(const PermuteProblem& p, const BoxPlan& plan, const std::array<int, kMaxRank>& order,
                          bool whole_words) {
  const int per_word = p.element_bytes < 4 ? 4 / p.element_bytes : 1;
  const int fastest = order[0];
  const bool words = whole_words && p.shape[fastest] % per_word == 0 && plan.extent[fastest] % per_word == 0;

  SidePlan best;
  double best_use = 0;
  for (int lanes = SidePlan::kMaxLanes; lanes >= 32; lanes /= 2) {
    SidePlan side{.word = words ? per_word : 1, .lanes = lanes};
    const std::int64_t volume = plan.volume() / side.word;
    std::int64_t columns = 1;
    std::int64_t rows = volume;
    for (int k = 0; k < p.rank; ++k) {
      const int word = k == 0 ? side.word : 1;
      const std::int64_t extent = plan.extent[order[k]] / word;
      rows /= extent;
      if (columns * extent > lanes) {
        const std::int64_t part = lanes / columns;
        rows *= (extent + part - 1) / part;
        side.split = part * word;
        side.short_row = extent % part != 0;
        break;
      }
      columns *= extent;
      ++side.column_dimensions;
    }
    const double use = static_cast<double>(volume) / static_cast<double>(rows * lanes);
    if (rows <= SidePlan::kMaxRows && use > best_use * 1.01) {
      best_use = use;
      best = side;
    }
  }
  return best;
}

/// The input's dimensions from the fastest of the input, or of the output, on.
inline std::array<int, kMaxRank> src_order(const PermuteProblem& p) {
  std::array<int, kMaxRank> order{};
  for (int k = 0; k < p.rank; ++k) order[k] = p.rank - 1 - k;
  return order;
}
inline std::array<int, kMaxRank> dst_order(const PermuteProblem& p) {
  std::array<int, kMaxRank> order{};
  for (int k = 0; k < p.rank; ++k) order[k] = p.permutation[p.rank - 1 - k];
  return order;
}

/// Completes a plan whose extents are chosen.
inline void complete(const PermuteProblem& p, BoxPlan& plan, bool src_words, bool dst_words) {
  plan.boxes = 1;
  for (int d = 0; d < p.rank; ++d) {
    plan.parts[d] = (p.shape[d] + plan.extent[d] - 1) / plan.extent[d];
    plan.boxes *= plan.parts[d];
  }
  // Shared memory holds the box in the output's order. The input's fastest dimension is what a warp writes along; its
  // stride is padded so that 32 neighbours lie in 32 banks (an odd number of 4-byte words).
  const int padded_to = p.element_bytes >= 4 ? 1 : 4 / p.element_bytes;
  std::int64_t stride = 1;
  for (const int d : dst_order(p)) {
    if (d == p.rank - 1 && stride > 1) {
      stride = (stride + padded_to - 1) / padded_to * padded_to;
      if (stride / padded_to % 2 == 0) stride += padded_to;
    }
    plan.tile_stride[d] = static_cast<int>(stride);
    stride *= plan.extent[d];
    if (d == p.permutation[0]) break;
  }
  plan.tile_elements = stride;

  // Threads watch the edge along every dimension that the tensor's end or a short row cuts.
  const auto from = src_order(p);
  const auto to = dst_order(p);
  plan.src = plan_side(p, plan, from, src_words);
  plan.dst = plan_side(p, plan, to, dst_words);
  int cuts = 0;
  plan.cut.fill(-1);
  for (int d = 0; d < p.rank; ++d) {
    const bool src_short = plan.src.short_row && from[plan.src.column_dimensions] == d;
    const bool dst_short = plan.dst.short_row && to[plan.dst.column_dimensions] == d;
    if (p.shape[d] % plan.extent[d] == 0 && !src_short && !dst_short) continue;
    if (cuts < BoxPlan::kCuts) {
      plan.cut[cuts] = d;
      plan.always_cut[cuts] = src_short || dst_short;
    }
    ++cuts;
  }
  plan.valid = plan.src.lanes > 0 && plan.dst.lanes > 0 && cuts <= BoxPlan::kCuts &&
               plan.tile_elements * p.element_bytes <= BoxPlan::kMaxBytes;
}

/// The plan for runs of about `run` elements on either side.
inline BoxPlan plan_boxes(const PermuteProblem& p, std::int64_t run, bool src_words, bool dst_words) {
  BoxPlan plan;
  const std::int64_t sector = std::max(1, 32 / p.element_bytes);
  std::fill(plan.extent.begin(), plan.extent.begin() + p.rank, 1);
  const auto from = src_order(p);
  const auto to = dst_order(p);

  // Either side takes its fastest dimensions until they make a run; what both want may grow.
  for (const auto& order : {from, to}) {
    std::int64_t length = 1;
    for (int k = 0; k < p.rank && length < run; ++k) {
      const int d = order[k];
      const std::int64_t wanted = (run + length - 1) / length;
      if (wanted > plan.extent[d]) plan.extent[d] = balanced_extent(p.shape[d], wanted, sector);
      length *= plan.extent[d];
      if (plan.extent[d] < p.shape[d]) break;
    }
  }
  complete(p, plan, src_words, dst_words);
  if (!plan.valid) return plan;

  // A box that is small because a dimension is small grows along the others, the fastest first.
  for (int k = 0; k < p.rank; ++k) {
    for (const int d : {from[k], to[k]}) {
      while (plan.extent[d] < p.shape[d] && 2 * plan.volume() * p.element_bytes <= BoxPlan::kGoodBytes) {
        BoxPlan larger = plan;
        larger.extent[d] = balanced_extent(p.shape[d], 2 * plan.extent[d], sector);
        if (larger.extent[d] == plan.extent[d]) break;
        complete(p, larger, src_words, dst_words);
        if (!larger.valid) break;
        plan = larger;
      }
    }
  }
  return plan;
}

}  // namespace detail

/// The valid plan with the longest runs. `p` is merged, of rank 1 or more and not empty; `src_words` and `dst_words`
/// tell whether the arrays' addresses are multiples of 4.
inline BoxPlan plan_boxes(const PermuteProblem& p, bool src_words, bool dst_words) {
  BoxPlan plan;
  // A run of one element is always valid.
  for (std::int64_t run = std::min(BoxPlan::kMaxRun, BoxPlan::kRunBytes / p.element_bytes); run >= 1 && !plan.valid;
       run /= 2) {
    plan = detail::plan_boxes(p, run, src_words, dst_words);
  }
  return plan;
}

}  // namespace warpbook::chapter3
