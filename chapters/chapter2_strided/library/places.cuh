/// \file
/// Where a tile's rows and columns lie: several dimensions counted as one, and narrow elements read in words.
#pragma once

#include "chapters/chapter2_strided/library/tile_plan.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2 {

/// An element's place on both sides, in bytes.
struct Place {
  std::int64_t src;
  std::int64_t dst;
};

/// So many dimensions that are counted as one, the first the fastest, in bytes.
template <int most> struct Placed {
  int dims = 0;
  Dimension dimension[most];

  void add(const CopyDimension& d, int element_bytes) { dimension[dims++] = Dimension(d, element_bytes); }
  void add(const Space& space, int element_bytes) {
    for (int k = 0; k < space.dims; ++k) add(space.dimension[k], element_bytes);
  }

  __device__ __forceinline__ Place at(std::uint32_t i) const {
    Place place{0, 0};
#pragma unroll 1
    for (int k = 0; k < dims; ++k) {
      std::uint32_t index = i;
      if (k + 1 < dims) {
        const auto division = dimension[k].size.divide(i);
        index = division.remainder;
        i = division.quotient;
      }
      place.src += index * dimension[k].src_stride;
      place.dst += index * dimension[k].dst_stride;
    }
    return place;
  }
};

/// The source's bytes, beyond which whole words must not reach.
struct SourceRange {
  const char* begin;
  const char* end;

  __device__ __forceinline__ bool holds(const char* from, const char* to) const { return from >= begin && to <= end; }
};

inline SourceRange source_of(const Prepared& q) {
  const auto* const begin = reinterpret_cast<const char*>(q.src);
  const std::int64_t elements = q.problem.into_view ? q.problem.count() : q.problem.view.reach() + 1;
  return {begin, begin + elements * q.problem.element_bytes};
}

/// A word of narrow elements. If not all are known to lie in the array, those beyond are left out.
template <int bytes, bool inside>
__device__ __forceinline__ unsigned load_word(const char* at, const SourceRange& source) {
  if (inside || source.holds(at, at + 4)) return load_keeping<(bytes > 1)>(reinterpret_cast<const unsigned*>(at));
  unsigned word = 0;
#pragma unroll
  for (int b = 0; b < 4; b += bytes) {
    if (at + b < source.begin || at + b >= source.end) continue;
    word |= unsigned(*reinterpret_cast<const Word<bytes>*>(at + b)) << (8 * b);
  }
  return word;
}

/// Blocks count tiles along one side first, and along the other then.
struct TileOrder {
  FastDivisor<std::uint32_t> fast;  ///< Tiles in the first direction,
  FastDivisor<std::uint32_t> slow;  ///< and in the other one.
  int fast_rows = 0;                ///< How far the next tile is in the first direction: a tile's rows, or none,
  int fast_columns = 0;             ///< and none, or its columns;
  int slow_rows = 0;                ///< and in the other one.
  int slow_columns = 0;

  TileOrder() = default;
  TileOrder(bool down_first, std::int64_t down, std::int64_t across, int rows, int columns)
      : fast(static_cast<std::uint32_t>(down_first ? down : across)),
        slow(static_cast<std::uint32_t>(down_first ? across : down)) {
    (down_first ? fast_rows : slow_rows) = rows;
    (down_first ? slow_columns : fast_columns) = columns;
  }

  /// A tile's first row and column, and which of the other dimensions' combinations it belongs to.
  struct Tile {
    int row;
    int column;
    std::uint32_t batch;
  };
  __device__ __forceinline__ Tile tile(std::uint32_t number) const {
    const auto [rest, f] = fast.divide(number);
    const auto [batch, s] = slow.divide(rest);
    const int i = static_cast<int>(f);
    const int j = static_cast<int>(s);
    return {i * fast_rows + j * slow_rows, i * fast_columns + j * slow_columns, batch};
  }
};

}  // namespace warpbook::chapter2
