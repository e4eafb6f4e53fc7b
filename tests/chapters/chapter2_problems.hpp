/// \file
/// Views for the tests of chapter 2: as text for `--case`, awkward ones and random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chapters/chapter2_strided/strided.hpp"
#include "tests/chapters/dice.hpp"

namespace warpbook::chapter2 {

using Numbers = std::vector<std::int64_t>;

/// A view of the given sizes and strides.
inline TensorView make_view(const Numbers& sizes, const Numbers& strides, std::int64_t offset = 0) {
  TensorView view;
  view.dims = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), view.sizes.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  view.offset = offset;
  return view;
}

/// "2,4,2".
inline std::string joined(const std::int64_t* first, int count) {
  std::string text;
  for (int d = 0; d < count; ++d) text += (d == 0 ? "" : ",") + std::to_string(first[d]);
  return text;
}

/// A problem as `--case` takes it.
inline std::string case_text(const TensorView& view, const std::string& dtype, bool into, std::int64_t shift) {
  return "shape=" + joined(view.sizes.data(), view.dims) + " strides=" + joined(view.strides.data(), view.dims) +
         " offset=" + std::to_string(view.offset) + " dtype=" + dtype + (into ? " into=1" : "") +
         (shift == 0 ? "" : " shift=" + std::to_string(shift));
}

/// Indexes a contiguous tensor the way programs do.
class Indexing {
public:
  Indexing(Dice& dice, const Numbers& shape)
      : dice_(dice), view_(contiguous_view(static_cast<int>(shape.size()), shape.data())) {}

  const TensorView& view() const { return view_; }

  /// Takes a part of a dimension.
  void slice(bool from_begin = false) {
    if (view_.dims == 0) return;
    const int d = any_dimension();
    const std::int64_t kept = dice_.uniform((view_.sizes[d] + 1) / 2, view_.sizes[d]);
    if (!from_begin) view_.offset += dice_.uniform(0, view_.sizes[d] - kept) * view_.strides[d];
    view_.sizes[d] = kept;
  }
  /// Takes every n-th element of a dimension.
  void step() {
    if (view_.dims == 0) return;
    const int d = any_dimension();
    const std::int64_t by = dice_.uniform(2, 8);
    view_.sizes[d] = (view_.sizes[d] + by - 1) / by;
    view_.strides[d] *= by;
  }
  /// Reorders all dimensions.
  void permute() {
    const std::vector<int> order = dice_.permutation(view_.dims);
    const TensorView from = view_;
    for (int d = 0; d < view_.dims; ++d) {
      view_.sizes[d] = from.sizes[order[static_cast<std::size_t>(d)]];
      view_.strides[d] = from.strides[order[static_cast<std::size_t>(d)]];
    }
  }
  /// Repeats everything `times` times along a new dimension.
  void expand(std::int64_t times) {
    if (view_.dims < kMaxViewDims) insert(static_cast<int>(dice_.uniform(0, view_.dims)), times, 0);
  }
  /// Adds windows that overlap, as a new last dimension.
  void unfold() {
    if (view_.dims == 0 || view_.dims == kMaxViewDims) return;
    const int d = any_dimension();
    const std::int64_t window = std::min<std::int64_t>(view_.sizes[d], dice_.uniform(2, 5));
    if (window == 0) return;
    view_.sizes[d] -= window - 1;
    insert(view_.dims, window, view_.strides[d]);
  }
  /// Adds a dimension of one element.
  void unsqueeze() {
    if (view_.dims < kMaxViewDims) insert(static_cast<int>(dice_.uniform(0, view_.dims)), 1, dice_.uniform(0, 99));
  }

private:
  int any_dimension() { return static_cast<int>(dice_.uniform(0, view_.dims - 1)); }
  void insert(int at, std::int64_t size, std::int64_t stride) {
    for (int d = view_.dims; d > at; --d) {
      view_.sizes[d] = view_.sizes[d - 1];
      view_.strides[d] = view_.strides[d - 1];
    }
    view_.sizes[at] = size;
    view_.strides[at] = stride;
    ++view_.dims;
  }

  Dice& dice_;
  TensorView view_;
};

/// A random view of about `most` elements at most.
inline TensorView random_view(Dice& dice, std::int64_t most) {
  const int kind = static_cast<int>(dice.uniform(0, 5));
  if (kind == 0) {  // Any sizes and strides at all.
    TensorView view;
    view.dims = static_cast<int>(dice.uniform(0, 5));
    for (int d = 0; d < view.dims; ++d) {
      view.sizes[d] = dice.uniform(1, view.dims < 3 ? 60 : 6);
      view.strides[d] = dice.pick<std::int64_t>({0, 1, 2, 3, 4, 8, 16, 64, 256, dice.uniform(0, 700)});
    }
    view.offset = dice.uniform(0, 40);
    return view;
  }
  const int rank = kind == 1 ? static_cast<int>(dice.uniform(6, 10)) : static_cast<int>(dice.uniform(1, 5));
  const std::int64_t budget = dice.log_uniform(64, most);
  Numbers shape;
  if (kind == 1) {
    for (int d = 0; d < rank; ++d) shape.push_back(dice.uniform(1, 3));
  } else {
    shape = dice.shape(rank, 1, budget);
  }
  // Whole words of 16 bytes along the last dimension, so that wide accesses have their turn.
  if (kind == 2) shape.back() = (shape.back() + 15) / 16 * 16;
  Indexing indexing(dice, shape);
  const auto operations = dice.uniform(1, 4);
  for (std::int64_t i = 0; i < operations; ++i) {
    switch (dice.uniform(0, 7)) {
    case 0:
      indexing.step();
      break;
    case 1:
    case 2:
      indexing.permute();
      break;
    case 3:
      if (indexing.view().count() * 8 <= 4 * most) indexing.expand(dice.uniform(1, 8));
      break;
    case 4:
      if (indexing.view().count() * 5 <= 4 * most) indexing.unfold();
      break;
    case 5:
      indexing.unsqueeze();
      break;
    default:
      indexing.slice(kind == 2);
      break;
    }
  }
  return indexing.view();
}

}  // namespace warpbook::chapter2
