/// \file
/// Walks over the elements of a view, as references do that move data, and counts the memory blocks that they lie in.
#pragma once

#include <algorithm>
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

/// A dimension of a view.
struct ByteDim {
  std::int64_t bytes;  ///< From a place to the next one, above 0.
  std::int64_t size;   ///< Above 1.
};

/// How many blocks of `block_bytes` the elements of a view lie in, whose first one begins at byte `begin`.
inline std::int64_t blocks_of_view(std::vector<ByteDim> dims, std::int64_t element_bytes, std::int64_t begin,
                                   std::int64_t block_bytes) {
  std::ranges::sort(dims, {}, &ByteDim::bytes);
  // A run without a gap of a whole block touches every block from its first byte to its last. The other dimensions
  // repeat the run.
  std::int64_t run = element_bytes;
  std::int64_t end = begin + element_bytes;
  Odometer at{{}, {}, {}, begin};
  for (const auto& [bytes, size] : dims) {
    end += (size - 1) * bytes;
    if (at.sizes.empty() && bytes < run + block_bytes) {
      run += (size - 1) * bytes;
    } else {
      at.sizes.insert(at.sizes.begin(), size);  // The shortest steps are the last, and taken first.
      at.steps.insert(at.steps.begin(), bytes);
    }
  }
  at.index.resize(at.sizes.size());

  const std::int64_t first_block = begin / block_bytes;
  const std::int64_t blocks = (end - 1) / block_bytes + 1 - first_block;
  constexpr std::int64_t kMostMarked = std::int64_t{1} << 33;  // More than any device holds.
  if (blocks > kMostMarked || at.sizes.empty()) return blocks;
  std::vector<bool> touched(static_cast<std::size_t>(blocks));  // Repetitions may share blocks, or interleave.
  do {
    for (std::int64_t b = at.place / block_bytes; b <= (at.place + run - 1) / block_bytes; ++b) {
      touched[static_cast<std::size_t>(b - first_block)] = true;
    }
  } while (at.next());
  return std::count(touched.begin(), touched.end(), true);
}

}  // namespace warpbook
