/// \file
/// v4c unrolled tile: four loads under way per thread.
///
/// v4b's loops end at the tile's edge or at the matrix's, whichever comes first. The compiler cannot know how often
/// they turn, so the machine code holds one load and one store in a loop: a thread waits for each load before it starts
/// the next. Here the matrix's edge is tested once, for the whole tile. Inside the matrix the loop has exactly four
/// turns, is unrolled, and its four loads are on their way before the first value is needed.
///
/// Expect no counter of traffic to change, four load instructions in a row in the machine code, and a gain because more
/// bytes are under way at once.
#pragma once

#include "chapters/chapter3_permute/v4b_padded_tile.cuh"

namespace warpbook::chapter3::v4c {

using v4b::kThreadRows;
using v4b::kTile;

//! [kernel]
template <class W> __global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, MatrixTiles tiles) {
  //! [exercise unrolled_array]
  __shared__ W tile[kTile][kTile + 1];

  //! [exercise unrolled_array]
  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  const int x = threadIdx.x;
  const int first = threadIdx.y;

  //! [exercise unrolled_copy]
  const W* from = src + matrix + std::int64_t(row0) * columns + column0 + x;
  if (column0 + x < columns) {
    if (row0 + kTile <= rows) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) tile[first + y][x] = from[std::int64_t(first + y) * columns];
    } else {
      for (int y = first; row0 + y < rows; y += kThreadRows) tile[y][x] = from[std::int64_t(y) * columns];
    }
  }
  __syncthreads();
  W* to = dst + matrix + std::int64_t(column0) * rows + row0 + x;
  if (row0 + x < rows) {
    if (column0 + kTile <= columns) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) to[std::int64_t(first + y) * rows] = tile[x][first + y];
    } else {
      for (int y = first; column0 + y < columns; y += kThreadRows) to[std::int64_t(y) * rows] = tile[x][y];
    }
  }
  //! [exercise unrolled_copy]
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v4a::run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4c
