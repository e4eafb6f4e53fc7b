/// \file
/// v4a shared tile: matrices are transposed through a tile in shared memory.
///
/// Up to v3, a warp that writes 32 neighbours of the output reads 32 different rows of the input. It fetches 32 sectors
/// of 32 bytes and uses one element of each. Here a block reads a tile of 32 x 32 elements row by row into shared
/// memory and writes it column by column. Both sides of global memory see whole rows; shared memory takes the scattered
/// access.
///
/// Expect 4 sectors per read request instead of 32 (float), as in a copy. The price: the 32 elements of a column lie in
/// one bank of shared memory, so the lanes of a warp that reads them queue.
/// Source: G. Ruetsch, P. Micikevicius, "Optimizing matrix transpose in CUDA", NVIDIA, 2009.
#pragma once

#include "chapters/chapter3_permute/matrices.cuh"

namespace warpbook::chapter3::v4a {

inline constexpr int kTile = 32;
inline constexpr int kThreadRows = 8;  // A block is 32 x 8 threads: each moves four elements of the tile.

//! [kernel]
template <class W> __global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, MatrixTiles tiles) {
  //! [exercise tile_array]
  __shared__ W tile[kTile][kTile];

  //! [exercise tile_array]
  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  const int x = threadIdx.x;

  //! [exercise tile_copy]
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
  //! [exercise tile_copy]
}
//! [kernel]

/// Launches a kernel with v4a's parameters; `kernel_for(W{})` gives the kernel that moves words W.
/// \return cudaErrorInvalidValue for what is no batch of matrices.
template <class KernelFor>
cudaError_t run_tiles(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream, KernelFor kernel_for) {
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    return launch_tiles(kernel_for(Word<bytes>{}), p, kTile, kTile, dim3(kTile, kThreadRows), src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4a
