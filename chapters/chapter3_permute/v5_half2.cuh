/// \file
/// v5 half2: two halves per word, on both sides of the tile.
///
/// For a 2-byte type, a request of v4c carries 32 x 2 = 64 bytes, half of what it could. Where both sides of the matrix
/// are even, a thread can read two neighbours of a row as one 4-byte word (half2) into a tile of 64 x 64 halves. For
/// the output it picks two neighbours of a column out of the tile and joins them into one word. Rows have 66 halves, so
/// that the padding is one word.
///
/// Expect half of v4c's requests, with 4 sectors each. One flaw is left: lane x picks from rows 2x and 2x + 1, and its
/// neighbour begins 66 words on. Count in how many turns that is served.
/// Source: Z. Zheng et al., "How to implement a permute/transpose op 6 times faster than PyTorch", OneFlow, 2021.
#pragma once

#include "chapters/chapter3_permute/matrices.cuh"

namespace warpbook::chapter3::v5 {

inline constexpr int kTile = 64;          // Halves per side.
inline constexpr int kPairs = kTile / 2;  // Words per side: 32, one per lane.
inline constexpr int kThreadRows = 8;
using Half2 = std::uint32_t;  // Two halves that are moved, not computed with.

//! [kernel]
static __global__ void transpose_kernel(Half2* __restrict__ dst, const Half2* __restrict__ src, MatrixTiles tiles) {
  __shared__ union {
    std::uint16_t half[kTile][kTile + 2];
    Half2 pair[kTile][kPairs + 1];
  } tile;

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
      for (int y = 0; y < kTile; y += kThreadRows) tile.pair[first + y][x] = from[(first + y) * row_pairs];
    } else {
      for (int y = first; row0 + y < rows; y += kThreadRows) tile.pair[y][x] = from[y * row_pairs];
    }
  }
  //! [exercise tile_barrier]
  __syncthreads();
  //! [exercise tile_barrier]
  const auto column_pair = [&](int y) { return Half2(tile.half[2 * x][y]) | Half2(tile.half[2 * x + 1][y]) << 16; };
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

inline const char* refuse(const PermuteProblem& p) {
  BatchTranspose m;
  if (p.element_bytes != 2) return "needs a 2-byte type";
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  if (m.rows % 2 != 0 || m.columns % 2 != 0) return "both sides of the matrix must be even";
  return p.alignment >= 4 ? nullptr : "both arrays must be aligned to 4 bytes";
}

/// Launches a kernel with v5's parameters.
inline cudaError_t run_pairs(void (*kernel)(Half2*, const Half2*, MatrixTiles), const PermuteProblem& p,
                             const void* src, void* dst, cudaStream_t stream) {
  if (p.count() > 0 && refuse(p) != nullptr) return cudaErrorInvalidValue;
  return launch_tiles(kernel, p, kTile, kTile, dim3(kPairs, kThreadRows), src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_pairs(transpose_kernel, p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v5
