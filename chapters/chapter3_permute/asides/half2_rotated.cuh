/// \file
/// v5b half2 rotated: the tile's words turned by half their row's number, and the last conflicts are gone.
///
/// In v5a lane x gathers from rows 2x and 2x + 1. Whatever the padding p, rows 2x start 2x (32 + p) words apart, an
/// even number: 16 banks for 32 lanes. So the rows are not padded but rotated: word w of row r stands at
/// (w + r / 2) mod 32. Lane x then finds word w of its rows in bank w + x, and 32 lanes in 32 banks.
///
/// Expect shared-load wavefronts to fall from 2 to 1 a request, and 3% less shared memory. Time follows only if the
/// shared pipe was the limit.
#pragma once

#include "chapters/chapter3_permute/v5a_half2.cuh"

namespace warpbook::chapter3::v5b {

using v5a::Half2;
using v5a::kPairs;
using v5a::kThreadRows;
using v5a::kTile;

//! [kernel]
static __global__ void transpose_kernel(Half2* __restrict__ dst, const Half2* __restrict__ src, int rows, int columns,
                                        int tiles_down, int tiles_across) {
  __shared__ Half2 tile[kTile][kPairs];

  const int across = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles_across));
  const unsigned rest = blockIdx.x / static_cast<unsigned>(tiles_across);
  const int down = static_cast<int>(rest % static_cast<unsigned>(tiles_down));
  const std::int64_t matrix = std::int64_t(rest / static_cast<unsigned>(tiles_down)) * rows * columns / 2;
  const int row0 = down * kTile;
  const int column0 = across * kTile;
  const int x = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(threadIdx.y);
  const std::int64_t row_pairs = columns / 2;
  const std::int64_t column_pairs = rows / 2;
  const auto place = [](int row, int word) { return static_cast<unsigned>(word + (row >> 1)) % kPairs; };

  const Half2* from = src + matrix + row0 * row_pairs + column0 / 2 + x;
  if (column0 + 2 * x < columns) {
    if (row0 + kTile <= rows) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) {
        tile[first + y][place(first + y, x)] = from[(first + y) * row_pairs];
      }
    } else {
      for (int y = first; row0 + y < rows; y += kThreadRows) {
        tile[y][place(y, x)] = from[y * row_pairs];
      }
    }
  }
  __syncthreads();
  const auto column_pair = [&](int y) {
    const Half2 upper = tile[2 * x][place(2 * x, y >> 1)];
    const Half2 lower = tile[2 * x + 1][place(2 * x + 1, y >> 1)];
    return __byte_perm(upper, lower, y % 2 == 0 ? 0x5410 : 0x7632);  // Both low halves, or both high ones.
  };
  Half2* to = dst + matrix + column0 * column_pairs + row0 / 2 + x;
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
  return v5a::run_pairs(transpose_kernel, p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v5b
