/// \file
/// v4b padded tile: one unused column, and the bank conflicts are gone.
///
/// Shared memory has 32 banks, and word w lies in bank w mod 32. A row of v4a's tile has 32 floats, so all elements of
/// a column lie in the same bank, and the lanes of a warp that reads a column queue. Make each row one element
/// longer: now neighbours in a column lie in neighbouring banks.
///
/// Expect one turn per shared load (float), and time to follow, because v4a waited for this queue.
/// Source: G. Ruetsch, P. Micikevicius, "Optimizing matrix transpose in CUDA", NVIDIA, 2009.
#pragma once

#include "chapters/chapter3_permute/v4a_shared_tile.cuh"

namespace warpbook::chapter3::v4b {

using v4a::kThreadRows;
using v4a::kTile;

//! [kernel]
template <class W> __global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, MatrixTiles tiles) {
  //! [exercise padded_array]
  __shared__ W tile[kTile][kTile + 1];

  //! [exercise padded_array]
  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  const int x = threadIdx.x;

  //! [exercise padded_copy]
  const W* from = src + matrix + std::int64_t(row0) * columns + column0 + x;
  if (column0 + x < columns) {
    for (int y = threadIdx.y; y < kTile && row0 + y < rows; y += kThreadRows) {
      tile[y][x] = from[std::int64_t(y) * columns];
    }
  }
  __syncthreads();
  W* to = dst + matrix + std::int64_t(column0) * rows + row0 + x;
  if (row0 + x < rows) {
    for (int y = threadIdx.y; y < kTile && column0 + y < columns; y += kThreadRows) {
      to[std::int64_t(y) * rows] = tile[x][y];
    }
  }
  //! [exercise padded_copy]
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v4a::run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4b
