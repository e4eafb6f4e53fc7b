/// \file
/// Walks over the elements of a view, as references do that move data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/harness/chapter.hpp"

namespace warpbook {

/// Counts through the index of some dimensions, the last the fastest, and keeps the place that the index has.
struct Odometer {
  std::vector<std::int64_t> sizes;  ///< Of the dimensions.
  std::vector<std::int64_t> steps;  ///< From a place to the next one along each dimension.
  std::vector<std::int64_t> index;  ///< Where it stands,
  std::int64_t place;               ///< and the place of that.

  /// False where the index was the last.
  bool next() {
    for (std::size_t d = sizes.size(); d-- > 0;) {
      place += steps[d];
      if (++index[d] < sizes[d]) return true;
      place -= sizes[d] * steps[d];
      index[d] = 0;
    }
    return false;
  }
};

/// Calls `f(i, place)` for each of a view's `count` elements on all cores: which one it is, and where it lies. The
/// first one lies at `offset`.
template <class F>
void each_place(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::int64_t offset,
                std::int64_t count, const F& f) {
  parallel_for(count, [&](std::int64_t begin, std::int64_t end) {  // Parts begin at any element.
    const std::vector<std::int64_t> first = index_in(sizes, begin);
    Odometer at{sizes, strides, first, std::inner_product(first.begin(), first.end(), strides.begin(), offset)};
    for (std::int64_t i = begin; i < end; ++i, at.next()) f(i, at.place);
  });
}

}  // namespace warpbook
