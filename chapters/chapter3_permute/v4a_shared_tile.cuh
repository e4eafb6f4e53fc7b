/// \file
/// v4a shared tile: matrices are transposed through a tile in shared memory.
///
/// Up to v3, moving the last dimension leaves one side of the copy scattered: a warp writes 32 neighbours and reads 32
/// rows, a 32-byte sector each for one element of it. A block now reads a 32 x 32 tile row by row into shared memory
/// and writes it column by column, so that both sides of global memory see whole rows. Shared memory takes the
/// scattered access instead.
///
/// Expect sectors per request to fall from 32 to 4 (float) on the reads. But the 32 elements of a column are 32 words
/// apart, all in one bank: 32 wavefronts a request, which the next step is about.
///
/// Source: G. Ruetsch, P. Micikevicius, "Optimizing matrix transpose in CUDA", NVIDIA, 2009.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::v4a {

inline constexpr int kTile = 32;
inline constexpr int kThreadRows = 8;  // A block is 32 x 8 threads: each moves four elements of the tile.

//! [kernel]
template <class W>
__global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, int rows, int columns, int tiles_down,
                                 int tiles_across) {
  //! [exercise tile_array]
  __shared__ W tile[kTile][kTile];

  //! [exercise tile_array]
  const int across = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles_across));
  const unsigned rest = blockIdx.x / static_cast<unsigned>(tiles_across);
  const int down = static_cast<int>(rest % static_cast<unsigned>(tiles_down));
  const std::int64_t matrix = std::int64_t(rest / static_cast<unsigned>(tiles_down)) * rows * columns;
  const int row0 = down * kTile;
  const int column0 = across * kTile;
  const int x = static_cast<int>(threadIdx.x);

  //! [exercise tile_copy]
  if (column0 + x < columns) {
    for (int y = static_cast<int>(threadIdx.y); y < kTile && row0 + y < rows; y += kThreadRows) {
      tile[y][x] = src[matrix + std::int64_t(row0 + y) * columns + column0 + x];
    }
  }
  __syncthreads();
  if (row0 + x < rows) {
    for (int y = static_cast<int>(threadIdx.y); y < kTile && column0 + y < columns; y += kThreadRows) {
      dst[matrix + std::int64_t(column0 + y) * rows + row0 + x] = tile[x][y];
    }
  }
  //! [exercise tile_copy]
}
//! [kernel]

/// Launches a kernel with v4a's parameters over tiles of `tile` x `tile` elements; `kernel_for(W{})` gives
/// the kernel that moves words W.
template <class KernelFor>
cudaError_t run_tiles(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream, KernelFor kernel_for) {
  if (p.count() == 0) return cudaSuccess;
  BatchTranspose m;
  if (as_batch_transpose(p, m) != nullptr) return cudaErrorInvalidValue;
  // Rows and columns are int in the kernel, with room for a tile beyond the edge.
  constexpr std::int64_t kLongest = 0x7fffffff - kTile;
  if (m.rows > kLongest || m.columns > kLongest) return cudaErrorInvalidValue;
  const std::int64_t down = ceil_div<std::int64_t>(m.rows, kTile);
  const std::int64_t across = ceil_div<std::int64_t>(m.columns, kTile);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(kernel_for(W{}),
                  {.grid = m.batch * down * across, .block = dim3(kTile, kThreadRows), .stream = stream},
                  static_cast<W*>(dst), static_cast<const W*>(src), static_cast<int>(m.rows),
                  static_cast<int>(m.columns), static_cast<int>(down), static_cast<int>(across));
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4a
