/// \file
/// How a strided copy is cut into tiles that are close together on both sides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chapters/chapter2_strided/matrices.cuh"

namespace warpbook::chapter2 {

/// Some of the copy's dimensions, counted as one: index i runs over all of them, the first the fastest.
struct Space {
  static constexpr int kMost = 6;

  int dims = 0;
  std::array<CopyDimension, kMost> dimension{};
  std::int64_t count = 1;

  void add(const CopyDimension& d) {
    dimension[dims++] = d;
    count *= d.size;
  }
};

/// The copy's dimensions in three parts. Neighbours in `along_src` are close together in the source, neighbours in
/// `along_dst` in the destination; a tile spans a piece of both. Blocks count through the others.
struct TilePlan {
  Space along_src;
  Space along_dst;
  int others = 0;
  std::array<CopyDimension, kMaxViewDims> other{};
  std::int64_t batches = 1;  ///< Combinations of the others.
};

/// A plan for tiles of `side` elements each way. Both spaces take the dimensions that are fastest on their side, until
/// they fill a tile; then whichever wastes more of its last tile takes the next.
inline TilePlan plan_tiles(const StridedProblem& p, std::int64_t side) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  std::array<bool, kMaxViewDims> dealt{};
  TilePlan plan;

  // The free dimension with the smallest stride on a side. A broadcast one brings nothing new: it comes last.
  const auto next = [&](bool src) {
    int best = -1;
    const auto stride = [&](int d) { return src ? dimension[d].src_stride : dimension[d].dst_stride; };
    for (int d = 0; d < dims; ++d) {
      if (dealt[d] || stride(d) == 0) continue;
      if (best < 0 || stride(d) < stride(best)) best = d;
    }
    return best;
  };
  const auto deal = [&](Space& space, bool src) {
    const int d = space.dims < Space::kMost ? next(src) : -1;
    if (d < 0 || space.count > INT32_MAX / dimension[d].size) return false;
    dealt[d] = true;
    space.add(dimension[d]);
    return true;
  };
  deal(plan.along_src, true);
  deal(plan.along_dst, false);
  // What both could take goes to the one that is shorter.
  for (bool dealing = true; dealing && std::min(plan.along_src.count, plan.along_dst.count) < side;) {
    const bool src = plan.along_src.count < plan.along_dst.count;
    dealing = src ? deal(plan.along_src, true) : deal(plan.along_dst, false);
    if (!dealing) {
      dealing = src ? plan.along_dst.count < side && deal(plan.along_dst, false)
                    : plan.along_src.count < side && deal(plan.along_src, true);
    }
  }
  // A space of 70 leaves most of its second tile empty; one of 7000 does not.
  constexpr std::int64_t kTilesEnough = 8;
  while (plan.along_src.count < side * kTilesEnough && plan.along_src.count % side != 0 && deal(plan.along_src, true)) {
  }
  while (plan.along_dst.count < side * kTilesEnough && plan.along_dst.count % side != 0 &&
         deal(plan.along_dst, false)) {
  }
  for (int d = dims - 1; d >= 0; --d) {
    if (dealt[d]) continue;
    plan.other[plan.others++] = dimension[d];
    plan.batches *= dimension[d].size;
  }
  return plan;
}

/// In how many pieces of `piece_bytes` do `neighbours` elements lie that follow each other along the given dimensions,
/// the first the fastest? `bytes_between(dimension)` is the distance of two neighbours along one.
template <class BytesBetween>
double pieces_touched(const CopyDimension* dimension, int dims, double neighbours, double piece_bytes,
                      BytesBetween bytes_between) {
  double pieces = 1;
  for (int k = 0; k < dims && neighbours > 1; ++k) {
    const double taken = std::min(static_cast<double>(dimension[k].size), neighbours);
    const double step = bytes_between(dimension[k]) / piece_bytes;
    pieces *= step >= 1 ? taken : std::max(1.0, taken * step);
    neighbours /= taken;
  }
  return pieces;
}

}  // namespace warpbook::chapter2
