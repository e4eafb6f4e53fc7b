/// \file
/// A strided copy by its dimensions' strides on both sides, and the matrices that it transposes.
#pragma once

#include <array>
#include <utility>

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter2 {

/// One dimension of the copy, with its stride on either side, in elements.
struct CopyDimension {
  std::int64_t size;
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

inline int copy_dimensions(const StridedProblem& p, std::array<CopyDimension, kMaxViewDims>& dimension) {
  std::int64_t contiguous = 1;
  for (int d = p.view.dims - 1; d >= 0; --d) {
    dimension[d] = {p.view.sizes[d], p.into_view ? contiguous : p.view.strides[d],
                    p.into_view ? p.view.strides[d] : contiguous};
    contiguous *= p.view.sizes[d];
  }
  return p.view.dims;
}

/// A dimension as kernels take it: its strides are in units of so many elements or bytes.
struct Dimension {
  FastDivisor<std::uint32_t> size;
  std::int64_t src_stride;
  std::int64_t dst_stride;

  Dimension() = default;
  Dimension(const CopyDimension& d, int units)
      : size(static_cast<std::uint32_t>(d.size)), src_stride(d.src_stride * units), dst_stride(d.dst_stride * units) {}
};

/// The matrix that tiles cover, and the dimensions that say which matrix, in elements.
struct Matrices {
  Dimension column;  ///< The source's fastest dimension,
  Dimension row;     ///< and the destination's.
  int others;
  Dimension other[kMaxViewDims];
  FastDivisor<std::uint32_t> across;  ///< Tiles along the source: neighbouring blocks read neighbours.
  FastDivisor<std::uint32_t> down;    ///< And along the destination.
};

/// A problem's matrices; no column, or no row, where one side has no dimension of its own. Of dimensions that are
/// equally near the longest counts.
inline Matrices matrices_of(const StridedProblem& q) {
  Matrices m{};
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q, dimension);
  const auto nearest = [&](std::int64_t CopyDimension::* stride, int taken) {
    const auto order = [&](int d) { return std::pair(dimension[d].*stride, -dimension[d].size); };
    int best = -1;
    for (int d = 0; d < dims; ++d) {
      if (d == taken || dimension[d].*stride == 0) continue;
      if (best < 0 || order(d) < order(best)) best = d;
    }
    return best;
  };
  const int column = nearest(&CopyDimension::src_stride, -1);
  const int row = nearest(&CopyDimension::dst_stride, column);
  if (column >= 0) m.column = Dimension(dimension[column], 1);
  if (row >= 0) m.row = Dimension(dimension[row], 1);
  for (int d = dims - 1; d >= 0; --d) {
    if (d != column && d != row) m.other[m.others++] = Dimension(dimension[d], 1);
  }
  return m;
}

}  // namespace warpbook::chapter2
