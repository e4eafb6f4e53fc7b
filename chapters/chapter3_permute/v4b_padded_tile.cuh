/// \file
/// v4b padded tile: one unused column, and the bank conflicts are gone.
///
/// Shared memory has 32 banks, 4 bytes wide. In v4a a column of floats lies in one bank, and a warp that reads it is
/// served in 32 turns. With rows of 33 elements, neighbours in a column lie in neighbouring banks.
///
/// Expect shared-load wavefronts to fall from 32 to 1 a request for float, and time to follow as far as the shared
/// pipe, not the memory, was what v4a waited for.
///
/// Source: G. Ruetsch, P. Micikevicius, "Optimizing matrix transpose in CUDA", NVIDIA, 2009.
#pragma once

#include "chapters/chapter3_permute/v4a_shared_tile.cuh"

namespace warpbook::chapter3::v4b {

using v4a::kThreadRows;
using v4a::kTile;

//! [kernel]
template <class W>
__global__ void transpose_kernel(W* __restrict__ dst, const W* __restrict__ src, int rows, int columns, int tiles_down,
                                 int tiles_across) {
  //! [exercise padded_array]
  __shared__ W tile[kTile][kTile + 1];

  //! [exercise padded_array]
  const int across = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles_across));
  const unsigned rest = blockIdx.x / static_cast<unsigned>(tiles_across);
  const int down = static_cast<int>(rest % static_cast<unsigned>(tiles_down));
  const std::int64_t matrix = std::int64_t(rest / static_cast<unsigned>(tiles_down)) * rows * columns;
  const int row0 = down * kTile;
  const int column0 = across * kTile;
  const int x = static_cast<int>(threadIdx.x);

  //! [exercise padded_copy]
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
  //! [exercise padded_copy]
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v4a::run_tiles(p, src, dst, stream, [](auto word) { return transpose_kernel<decltype(word)>; });
}

}  // namespace warpbook::chapter3::v4b
