/// \file
/// v5a half2: two halves a word, on both sides of the tile.
///
/// For a 2-byte type v4c moves 64 bytes a warp and request, half of what a request can carry with 4-byte words. Where
/// both sides of the matrix are even, a thread reads two neighbours of a row as one half2 into a 64 x 64 tile, and
/// gathers two neighbours of a column into one half2 for the output. A row of 66 halves pads the tile by one word.
///
/// Expect half the requests at 4 sectors each. The counters also show what the published layout left: gathering a
/// column reads a word of every *second* row, 66 words apart, so 32 lanes meet in 16 banks: 2 wavefronts a request.
///
/// Source: Z. Zheng et al., "How to implement a permute/transpose op 6 times faster than PyTorch", OneFlow, 2021.
#pragma once

#include "chapters/chapter3_permute/v4a_shared_tile.cuh"

namespace warpbook::chapter3 {

/// Why the half2 steps refuse a problem; nullptr where they take it.
inline const char* refuse_half2(const PermuteProblem& p) {
  BatchTranspose m;
  if (p.element_bytes != 2) return "needs a 2-byte type";
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  return m.rows % 2 == 0 && m.columns % 2 == 0 ? nullptr : "both sides of the matrix must be even";
}

namespace v5a {

inline constexpr int kTile = 64;          // Halves a side.
inline constexpr int kPairs = kTile / 2;  // half2 a side: 32, one warp.
inline constexpr int kThreadRows = 8;
using Half2 = std::uint32_t;  // Two halves that are moved, not computed with.

//! [kernel]
static __global__ void transpose_kernel(Half2* __restrict__ dst, const Half2* __restrict__ src, int rows, int columns,
                                        int tiles_down, int tiles_across) {
  __shared__ union {
    std::uint16_t half[kTile][kTile + 2];
    Half2 pair[kTile][kPairs + 1];
  } tile;

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

  const Half2* from = src + matrix + row0 * row_pairs + column0 / 2 + x;
  if (column0 + 2 * x < columns) {
    if (row0 + kTile <= rows) {
#pragma unroll
      for (int y = 0; y < kTile; y += kThreadRows) tile.pair[first + y][x] = from[(first + y) * row_pairs];
    } else {
      for (int y = first; row0 + y < rows; y += kThreadRows) tile.pair[y][x] = from[y * row_pairs];
    }
  }
  __syncthreads();
  const auto column_pair = [&](int y) { return Half2(tile.half[2 * x][y]) | Half2(tile.half[2 * x + 1][y]) << 16; };
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

/// Launches a kernel with v5a's parameters.
inline cudaError_t run_pairs(void (*kernel)(Half2*, const Half2*, int, int, int, int), const PermuteProblem& p,
                             const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  if (refuse_half2(p) != nullptr) return cudaErrorInvalidValue;
  BatchTranspose m;
  as_batch_transpose(p, m);
  constexpr std::int64_t kLongest = 0x7fffffff - kTile;
  if (m.rows > kLongest || m.columns > kLongest) return cudaErrorInvalidValue;
  const std::int64_t down = ceil_div<std::int64_t>(m.rows, kTile);
  const std::int64_t across = ceil_div<std::int64_t>(m.columns, kTile);
  return launch(kernel, {.grid = m.batch * down * across, .block = dim3(kPairs, kThreadRows), .stream = stream},
                static_cast<Half2*>(dst), static_cast<const Half2*>(src), static_cast<int>(m.rows),
                static_cast<int>(m.columns), static_cast<int>(down), static_cast<int>(across));
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_pairs(transpose_kernel, p, src, dst, stream);
}

}  // namespace v5a
}  // namespace warpbook::chapter3
