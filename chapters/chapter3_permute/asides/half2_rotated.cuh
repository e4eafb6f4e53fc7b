/// \file
/// Aside: v5's tile rotated instead of padded.
///
/// In v5, lane x picks from rows 2x and 2x + 1. Whatever the padding p, rows 2x begin 2x * (32 + p) words into the
/// tile: an even number, so 32 lanes share 16 banks. Here rows are not padded but rotated: word w of row r stands at (w
/// + r / 2) mod 32. Lane x then finds word w of its rows in bank w + x, and every lane has a bank to itself.
///
/// Expect one turn per shared load instead of two. The counter follows; the time does not, because v5 no longer waits
/// for shared memory.
#pragma once

#include "chapters/chapter3_permute/v5_half2.cuh"

namespace warpbook::chapter3::half2_rotated {

using v5::Half2;
using v5::kPairs;
using v5::kThreadRows;
using v5::kTile;

/// Where word `word` of a row stands in the tile.
__device__ __forceinline__ int place(int row, int word) { return (word + row / 2) % kPairs; }

//! [kernel]
static __global__ void transpose_kernel(Half2* __restrict__ dst, const Half2* __restrict__ src, MatrixTiles tiles) {
  __shared__ Half2 tile[kTile][kPairs];

  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  const int x = threadIdx.x;
  const int first = threadIdx.y;
  const std::int64_t row_pairs = columns / 2;
  const std::int64_t column_pairs = rows / 2;

  const Half2* from = src + matrix / 2 + row0 * row_pairs + column0 / 2 + x;
  if (column0 + 2 * x < columns) {
    if (row0 + kTile <= rows) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) {
        tile[first + y][place(first + y, x)] = from[(first + y) * row_pairs];
      }
    } else {
      for (int y = first; row0 + y < rows; y += kThreadRows) tile[y][place(y, x)] = from[y * row_pairs];
    }
  }
  __syncthreads();
  const auto column_pair = [&](int y) {
    const Half2 upper = tile[2 * x][place(2 * x, y / 2)];
    const Half2 lower = tile[2 * x + 1][place(2 * x + 1, y / 2)];
    return __byte_perm(upper, lower, y % 2 == 0 ? 0x5410 : 0x7632);  // Both low halves, or both high ones.
  };
  Half2* to = dst + matrix / 2 + column0 * column_pairs + row0 / 2 + x;
  if (row0 + 2 * x < rows) {
    if (column0 + kTile <= columns) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) to[(first + y) * column_pairs] = column_pair(first + y);
    } else {
      for (int y = first; column0 + y < columns; y += kThreadRows) to[y * column_pairs] = column_pair(y);
    }
  }
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v5::run_pairs(transpose_kernel, p, src, dst, stream);
}

}  // namespace warpbook::chapter3::half2_rotated
