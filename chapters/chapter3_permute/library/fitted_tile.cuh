/// \file
/// fitted_tile: v8's tiles, of which one side fits; for halves of which a side is a multiple of 96 and not of 64, as
/// images of 96 channels have.
///
/// The square tile of halves has 64 x 64 elements. On a side of 96, every second tile is half empty: its threads wait
/// for nothing, and its writes are 64 bytes where its neighbour's are 128. A tile whose side divides the matrix is
/// full. All else that v8 takes gets v8's own tile.
#pragma once

#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"

namespace warpbook::chapter3::fitted_tile {

/// Moves tiles of a simplified problem that v8 does not refuse.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const auto fits_96 = [](std::int64_t side) { return side % 96 == 0 && side % 64 != 0; };
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if constexpr (bytes == 2) {
      if (fits_96(m.dst_shape(m.rank - 1))) return v8::run_tiles<v6::TileOf<2, 96, 64, 192>>(m, src, dst, stream);
      if (fits_96(m.shape[m.rank - 1])) return v8::run_tiles<v6::TileOf<2, 64, 96, 192>>(m, src, dst, stream);
    }
    return v8::run_tiles<v6::Tile<bytes>>(m, src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, v8::refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::fitted_tile
