/// \file
/// Strided views of memory as PyTorch has them, and the rules that make a view simpler: which dimensions merge, how
/// many bits its offsets need, what of it is a view at all.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace warpbook {

/// A view has at most so many dimensions, as in PyTorch.
inline constexpr int kMaxViewDims = 25;

/// Element [i_0, i_1, ...] of the view lies offset + sum of i_d * strides[d] elements behind the array's first. A size
/// may be 0 (no elements) and a stride 0 (a broadcast dimension); a negative stride is no view, here as in PyTorch.
struct TensorView {
  int dims = 0;                                      ///< 0 to kMaxViewDims; 0 is one element.
  std::array<std::int64_t, kMaxViewDims> sizes{};    ///< Outermost first; the last dimension is the fastest.
  std::array<std::int64_t, kMaxViewDims> strides{};  ///< In elements.
  std::int64_t offset = 0;                           ///< In elements.

  /// Number of elements that the view shows.
  std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < dims; ++d) {
      if (sizes[d] == 0) return 0;
    }
    for (int d = 0; d < dims; ++d) n *= sizes[d];  // Only now: beside a 0, the others' product may not fit.
    return n;
  }
  /// Offset of the last element from the first one; 0 for an empty view.
  std::int64_t reach() const {
    std::int64_t n = 0;
    for (int d = 0; d < dims; ++d) {
      if (sizes[d] == 0) return 0;
      n += (sizes[d] - 1) * strides[d];
    }
    return n;
  }
  /// Where element number `linear`, counted in row-major order, lies in the array.
  std::int64_t offset_of(std::int64_t linear) const {
    std::int64_t place = offset;
    for (int d = dims - 1; d >= 0; --d) {
      place += linear % sizes[d] * strides[d];
      linear /= sizes[d];
    }
    return place;
  }
};

/// The whole of a contiguous array of the given shape.
inline TensorView contiguous_view(int dims, const std::int64_t* sizes) {
  TensorView view;
  view.dims = dims;
  std::int64_t stride = 1;
  for (int d = dims - 1; d >= 0; --d) {
    view.sizes[d] = sizes[d];
    view.strides[d] = stride;
    stride *= sizes[d];
  }
  return view;
}

/// Why `view` is no view of elements of `element_bytes`, in one line; nullptr where it is one. Checked are the number
/// of dimensions, negative sizes, strides and offsets, and that no element, nor the contiguous copy of all of them,
/// lies 2^63 bytes or more from the array's first byte.
inline const char* refuse_view(const TensorView& view, int element_bytes) {
  if (view.dims < 0 || view.dims > kMaxViewDims) return "a view has 0 to 25 dimensions";
  if (view.offset < 0) return "a view's offset is 0 or more";
  bool empty = false;
  for (int d = 0; d < view.dims; ++d) {
    if (view.sizes[d] < 0) return "a view's sizes are 0 or more";
    if (view.strides[d] < 0) return "a view's strides are 0 or more: negative ones are no views";
    empty = empty || view.sizes[d] == 0;
  }
  if (empty) return nullptr;
  std::int64_t most_count = std::numeric_limits<std::int64_t>::max() / element_bytes;
  std::int64_t room = most_count - 1;  // For the offset of the last element.
  if (view.offset > room) return "a view's elements lie less than 2^63 bytes from the array's begin";
  room -= view.offset;
  for (int d = 0; d < view.dims; ++d) {
    if (view.sizes[d] > most_count) return "a view shows less than 2^63 bytes";
    most_count /= view.sizes[d];
    const std::int64_t steps = view.sizes[d] - 1;
    if (steps > 0 && view.strides[d] > room / steps) {
      return "a view's elements lie less than 2^63 bytes from the array's begin";
    }
    room -= steps * view.strides[d];
  }
  return nullptr;
}

/// A view with the fewest dimensions, and where its excluded one went.
struct CollapsedView {
  TensorView view;    ///< The fewest dimensions.
  int excluded = -1;  ///< Which of the view's dimensions is the excluded one; -1: none was.
};

/// The same elements in the same order with the fewest dimensions: those of size 1 go, and two neighbours become one
/// where stepping over the whole inner one is one step of the outer: stride[i] = size[i + 1] x stride[i + 1]. Dimension
/// `excluded` (-1: none) is kept as it is, and nothing merges across it: index_add walks it on its own. One element
/// becomes no dimension. An empty view stays as it is. `view` is one that `refuse_view` takes.
/// Source: PyTorch's aten/src/ATen/CollapseDims.h.
inline CollapsedView collapse(const TensorView& view, int excluded = -1) {
  if (view.count() == 0) return {view, excluded};
  CollapsedView result;
  result.view.offset = view.offset;
  TensorView& to = result.view;
  bool may_merge = false;  // With the last dimension of `to`.
  for (int d = 0; d < view.dims; ++d) {
    if (d != excluded && view.sizes[d] == 1) continue;
    // The product is one stride more than an offset inside the array: it fits an unsigned number.
    // [merge]
    const auto whole = static_cast<std::uint64_t>(view.sizes[d]) * static_cast<std::uint64_t>(view.strides[d]);
    if (d != excluded && may_merge && static_cast<std::uint64_t>(to.strides[to.dims - 1]) == whole) {
      to.sizes[to.dims - 1] *= view.sizes[d];
      to.strides[to.dims - 1] = view.strides[d];
      continue;
    }
    // [merge]
    if (d == excluded) result.excluded = to.dims;
    to.sizes[to.dims] = view.sizes[d];
    to.strides[to.dims] = view.strides[d];
    ++to.dims;
    may_merge = d != excluded;
  }
  return result;
}

/// True where 32-bit numbers hold the view's linear indices *and* its offsets, with room for `slack` indices beyond the
/// last: a view may show few elements of a large array. Below 2^31, as FastDivisor wants it.
inline bool fits_32_bits(const TensorView& view, std::int64_t slack = 0) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return view.count() <= kMost - slack && view.reach() <= kMost;
}

/// True where it is certain that no two of the view's elements are the same one: each stride, the smallest first, steps
/// over all that the smaller ones reach. Some views that interleave fail this though no elements meet.
inline bool surely_distinct(const TensorView& view) {
  std::array<int, kMaxViewDims> order{};
  int dims = 0;
  for (int d = 0; d < view.dims; ++d) {
    if (view.sizes[d] == 0) return true;
    if (view.sizes[d] == 1) continue;
    int at = dims++;
    for (; at > 0 && view.strides[order[at - 1]] > view.strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  std::int64_t reached = 0;
  for (int k = 0; k < dims; ++k) {
    if (view.strides[order[k]] <= reached) return false;
    reached += (view.sizes[order[k]] - 1) * view.strides[order[k]];
  }
  return true;
}

}  // namespace warpbook
