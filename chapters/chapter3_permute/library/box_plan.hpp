/// \file
/// How boxes.cuh cuts a tensor of any rank into boxes that are contiguous runs on the input's side and on the output's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chapters/chapter3_permute/permute.hpp"

namespace warpbook::chapter3 {

/// A box is a part of the tensor that one block moves: so many elements along each of the input's dimensions. Its *run*
/// on a side is made of that side's fastest dimensions: whole ones, then a part of the next. So at most two dimensions
/// are cut, and each is the slowest of a run: where the tensor ends within a box, runs are shorter, or fewer.
struct BoxPlan {
  static constexpr int kMaxBytes = 48 * 1024;  ///< Shared memory of a box, padding included.

  /// What a box is grown to, in bytes: the best of 8, 16 and 32 KiB on an H200.
  static constexpr int goal_bytes(int element_bytes) { return element_bytes == 4 ? 32 * 1024 : 16 * 1024; }

  std::array<std::int64_t, kMaxRank> extent{};  ///< Of the box, by input dimension; 1 where the box is flat.
  std::array<std::int64_t, kMaxRank> parts{};   ///< Boxes along each dimension.
  std::array<int, kMaxRank> tile_stride{};      ///< Elements in shared memory between neighbours.
  int src_dimensions = 0;                       ///< How many of the input's fastest dimensions are its run,
  int dst_dimensions = 0;                       ///< and of the output's.
  std::int64_t src_run = 1;                     ///< Elements of a run of the input,
  std::int64_t dst_run = 1;                     ///< and of the output.
  int src_partial = -1;                         ///< The input dimension that may cut the input's runs, or -1,
  int dst_partial = -1;                         ///< and the same for the output's runs.
  int pitch = 1;                                ///< Elements in shared memory from one run of the input to the next.
  std::int64_t tile_elements = 0;               ///< Shared memory of a box, padding included.
  std::int64_t boxes = 0;                       ///< Number of boxes.

  /// Elements of a whole box.
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

/// The dimensions that tell a box's runs of the input apart, the fastest first, then -1: what the output's run has
/// besides, in its order, so that neighbours in the output are neighbouring rows; a dimension that is cut comes last.
inline DimensionOrder src_rows(const PermuteProblem& p, const BoxPlan& plan) {
  const auto from = src_order(p);
  const auto to = dst_order(p);
  std::array<bool, kMaxRank> taken{};
  for (int k = 0; k < plan.src_dimensions; ++k) taken[from[k]] = true;
  DimensionOrder rows{};
  rows.fill(-1);
  int count = 0;
  const auto take = [&](int d) {
    if (!taken[d] && plan.extent[d] > 1) rows[count++] = d;
    taken[d] = true;
  };
  const bool last = plan.dst_partial >= 0 && !taken[plan.dst_partial];
  if (last) taken[plan.dst_partial] = true;
  for (int k = 0; k < plan.dst_dimensions; ++k) take(to[k]);
  for (int k = plan.src_dimensions; k < p.rank; ++k) take(from[k]);
  if (last) {
    taken[plan.dst_partial] = false;
    take(plan.dst_partial);
  }
  return rows;
}

/// Finds the runs of a plan whose extents are chosen.
inline void find_runs(const PermuteProblem& p, BoxPlan& plan) {
  const auto find = [&](const DimensionOrder& order, int& dimensions, std::int64_t& run, int& partial) {
    dimensions = 0;
    run = 1;
    partial = -1;
    while (dimensions < p.rank && partial < 0) {
      const int d = order[dimensions++];
      run *= plan.extent[d];
      if (plan.extent[d] < p.shape[d]) partial = d;
    }
  };
  find(src_order(p), plan.src_dimensions, plan.src_run, plan.src_partial);
  find(dst_order(p), plan.dst_dimensions, plan.dst_run, plan.dst_partial);
}

/// The box whose runs have about `run` elements on either side.
inline BoxPlan box_of_runs(const PermuteProblem& p, std::int64_t run) {
  BoxPlan plan;
  const std::int64_t sector = std::max(1, 32 / p.element_bytes);
  std::fill(plan.extent.begin(), plan.extent.begin() + p.rank, 1);
  for (const auto& order : {src_order(p), dst_order(p)}) {
    std::int64_t length = 1;
    for (int k = 0; k < p.rank && 10 * length < 7 * run; ++k) {  // A little short is better than twice as long.
      const int d = order[k];
      const std::int64_t wanted = (run + length - 1) / length;
      if (wanted > plan.extent[d]) plan.extent[d] = balanced_extent(p.shape[d], wanted, sector);
      length *= plan.extent[d];
      if (plan.extent[d] < p.shape[d]) break;
    }
  }
  find_runs(p, plan);
  return plan;
}

/// Makes the box larger along the dimension of which a run takes a part, the shorter run first; false if it can't grow.
inline bool grow(const PermuteProblem& p, BoxPlan& plan, std::int64_t goal) {
  const bool src_first = plan.src_run <= plan.dst_run;
  for (const bool src : {src_first, !src_first}) {
    const int d = src ? plan.src_partial : plan.dst_partial;
    if (d < 0) continue;
    const std::int64_t most = std::min({p.shape[d], 2 * plan.extent[d], goal / (plan.volume() / plan.extent[d])});
    if (4 * most <= 5 * plan.extent[d]) continue;
    BoxPlan larger = plan;
    larger.extent[d] = balanced_extent(p.shape[d], most, 1);
    if (larger.extent[d] <= plan.extent[d]) continue;
    find_runs(p, larger);
    plan = larger;
    return true;
  }
  return false;
}

/// Ends the input's run where it is long enough for a warp, if none of its other dimensions is cut: they become rows,
/// which can be padded. A box that holds whole matrices would else have their columns in one bank.
inline void shorten_src_run(const PermuteProblem& p, BoxPlan& plan) {
  const auto from = src_order(p);
  const std::int64_t warp = 32 * std::max(1, 4 / p.element_bytes);
  std::int64_t run = 1;
  int dimensions = 0;
  while (dimensions < plan.src_dimensions && run < warp) run *= plan.extent[from[dimensions++]];
  for (int k = dimensions; k < plan.src_dimensions; ++k) {
    if (p.shape[from[k]] % plan.extent[from[k]] != 0) return;
  }
  if (dimensions == plan.src_dimensions) return;
  plan.src_dimensions = dimensions;
  plan.src_run = run;
  plan.src_partial = -1;
}

}  // namespace detail

/// Plans boxes for a problem that is merged, of rank 1 or more and not empty.
///
/// Shared memory holds the input's runs one after another, in the order in which the output wants them, each padded to
/// an odd number of 4-byte words (or of elements, where those are larger), so that neighbours in the output lie in
/// different banks.
inline BoxPlan plan_boxes(const PermuteProblem& p) {
  const std::int64_t goal = BoxPlan::goal_bytes(p.element_bytes) / p.element_bytes;
  std::int64_t run = 1;
  while (4 * run * run <= goal) run *= 2;
  BoxPlan plan = detail::box_of_runs(p, run);
  while (plan.volume() > goal && run > 1) plan = detail::box_of_runs(p, run /= 2);
  while (detail::grow(p, plan, goal)) {
  }
  detail::shorten_src_run(p, plan);

  plan.boxes = 1;
  for (int d = 0; d < p.rank; ++d) {
    plan.parts[d] = (p.shape[d] + plan.extent[d] - 1) / plan.extent[d];
    plan.boxes *= plan.parts[d];
  }
  const int word = p.element_bytes >= 4 ? 1 : 4 / p.element_bytes;  // Elements.
  const auto run_words = static_cast<int>((plan.src_run + word - 1) / word);
  plan.pitch = (run_words | 1) * word;
  const auto from = src_order(p);
  int stride = 1;
  for (int k = 0; k < plan.src_dimensions; ++k) {
    plan.tile_stride[from[k]] = stride;
    stride *= static_cast<int>(plan.extent[from[k]]);
  }
  stride = plan.pitch;
  for (const int d : detail::src_rows(p, plan)) {
    if (d < 0) break;
    plan.tile_stride[d] = stride;
    stride *= static_cast<int>(plan.extent[d]);
  }
  plan.tile_elements = stride;
  return plan;
}

}  // namespace warpbook::chapter3
