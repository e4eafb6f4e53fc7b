/// \file
/// half2 transpose: halves move as pairs on both sides, and a padded tile of pairs lies between.
///
/// A pair that is read holds two neighbours of an input row, and a pair that is written two neighbours of a column. A
/// thread reads two pairs, one below the other, and makes two pairs of the output of them.
#pragma once

#include "chapters/chapter3_permute/matrices.cuh"

namespace warpbook::chapter3::half2_transpose {

inline constexpr int kTile = 64;          // Halves per side.
inline constexpr int kPairs = kTile / 2;  // Pairs per side: 32, one per lane.
inline constexpr int kThreadRows = 8;     // A block has kThreadRows warps.
using Half2 = std::uint32_t;              // Two halves that are moved; the first one in the low bits.

//! [kernel]
/// Transposes a tile of kTile x kTile halves. All matrices have an even number of rows and of columns.
static __global__ void transpose_pairs_kernel(Half2* __restrict__ dst, const Half2* __restrict__ src,
                                              MatrixTiles tiles) {
  const auto [matrix, row0, column0] = tiles.origin();  // In halves.
  //! [exercise half2_transpose]
  __shared__ Half2 tile[2][kPairs][kPairs + 1];  // Of even columns and of odd ones: column / 2, row / 2.
  const std::int64_t src_pitch = tiles.columns / 2;
  const std::int64_t dst_pitch = tiles.rows / 2;
  const int lane = threadIdx.x;

  if (column0 + 2 * lane < tiles.columns) {
    for (int y = threadIdx.y; y < kPairs && row0 + 2 * y < tiles.rows; y += kThreadRows) {
      const Half2* const upper = src + matrix / 2 + (row0 + 2 * y) * src_pitch + column0 / 2 + lane;
      const Half2 above = upper[0];
      const Half2 below = upper[src_pitch];
      tile[0][lane][y] = __byte_perm(above, below, 0x5410);  // Both low halves,
      tile[1][lane][y] = __byte_perm(above, below, 0x7632);  // both high halves.
    }
  }
  __syncthreads();
  if (row0 + 2 * lane < tiles.rows) {
    for (int x = threadIdx.y; x < kTile && column0 + x < tiles.columns; x += kThreadRows) {
      dst[matrix / 2 + (column0 + x) * dst_pitch + row0 / 2 + lane] = tile[x % 2][x / 2][lane];
    }
  }
  //! [exercise half2_transpose]
}
//! [kernel]

/// Why the kernel refuses a problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& p) {
  BatchTranspose m;
  if (p.element_bytes != 2) return "needs a 2-byte type";
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  if (m.rows % 2 != 0 || m.columns % 2 != 0) return "both sides of the matrix must be even";
  return p.alignment >= 4 ? nullptr : "both arrays must be aligned to 4 bytes";
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() > 0 && refuse(p) != nullptr) return cudaErrorInvalidValue;
  return launch_tiles(transpose_pairs_kernel, p, kTile, kTile, dim3(kPairs, kThreadRows), src, dst, stream);
}

}  // namespace warpbook::chapter3::half2_transpose
