/// \file
/// fitted_tile: v8's tile with a side of 96; for halves of which a side is a multiple of 96 and not of 64, as images of
/// 96 channels are.
///
/// The square tile of halves has 64 x 64 elements. On a side of 96, every second tile is half empty: its threads wait for
/// nothing, and its writes are 64 bytes where its neighbour's are 128. A tile whose side divides the matrix is full.
#pragma once

#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"

namespace warpbook::chapter3::fitted_tile {

inline bool fits_96(std::int64_t side) { return side % 96 == 0 && side % 64 != 0; }

/// Why the kernel refuses a simplified problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (const char* reason = v8::refuse(m)) return reason;
  if (m.element_bytes != 2) return "elements must have 2 bytes";
  return fits_96(m.shape[m.rank - 1]) || fits_96(m.dst_shape(m.rank - 1))
             ? nullptr
             : "no side is a multiple of 96 and not of 64";
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) {
    if (fits_96(q.dst_shape(q.rank - 1))) return v8::run_tiles<v6::TileOf<2, 96, 64, 192>>(q, src, dst, stream);
    return v8::run_tiles<v6::TileOf<2, 64, 96, 192>>(q, src, dst, stream);
  });
}

}  // namespace warpbook::chapter3::fitted_tile
