/// \file
/// fitted_tile: v7's tiles, of which one side fits; for halves of which a side is a multiple of 96 and not of 64, as
/// images of 96 channels have.
///
/// The square tile of halves has 64 x 64 elements. On a side of 96, every second tile is half empty: its threads wait
/// for nothing, and its writes are 64 bytes where its neighbour's are 128. A tile whose side divides the matrix is
/// full. All other matrices get v7's own tile.
#pragma once

#include "chapters/chapter3_permute/v7_kept_input.cuh"

namespace warpbook::chapter3::fitted_tile {

/// Moves the tiles that fit. `q` is simplified, and v6 does not refuse it.
inline cudaError_t run_tiles(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  const auto fits_96 = [](std::int64_t side) { return side % 96 == 0 && side % 64 != 0; };
  if (q.element_bytes == 2) {
    const auto run_as = [&]<class T>() {
      return launch_tiles(v7::transpose_kernel<T>, q, T::kRows, T::kColumns, T::kThreads, src, dst, stream);
    };
    if (fits_96(q.dst_shape(q.rank - 1))) return run_as.template operator()<ChunkTile<2, 96, 64, 192>>();
    if (fits_96(q.shape[q.rank - 1])) return run_as.template operator()<ChunkTile<2, 64, 96, 192>>();
  }
  return v7::run(q, src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, v6::refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::fitted_tile
