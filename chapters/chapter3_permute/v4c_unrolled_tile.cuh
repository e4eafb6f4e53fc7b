/// \file
/// v4c unrolled tile: the tile's loops get a fixed number of turns.
///
/// v4b's loops end at the tile's or the matrix's edge, whichever comes first, so the compiler cannot know their length:
/// the machine code holds one load and one store in a loop, and a warp has one load in flight. The edge is now tested
/// once for the whole tile: inside, the loop has exactly four turns and is unrolled, and its four loads are on their
/// way before the first value is needed.
///
/// Expect four load instructions in a row in the SASS instead of one, the same sectors and wavefronts, and a gain where
/// too few bytes were in flight. The article reports 24% on an A100.
#pragma once

#include "chapters/chapter3_permute/v4a_shared_tile.cuh"

namespace warpbook::chapter3::v4c {

using v4a::kThreadRows;
using v4a::kTile;

//! [kernel]
template <class W>
__global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, int rows, int columns, int tiles_down,
                                 int tiles_across) {
  __shared__ W tile[kTile][kTile + 1];

  const int across = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles_across));
  const unsigned rest = blockIdx.x / static_cast<unsigned>(tiles_across);
  const int down = static_cast<int>(rest % static_cast<unsigned>(tiles_down));
  const std::int64_t matrix = std::int64_t(rest / static_cast<unsigned>(tiles_down)) * rows * columns;
  const int row0 = down * kTile;
  const int column0 = across * kTile;
  const int x = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(threadIdx.y);

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
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v4a::run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4c
