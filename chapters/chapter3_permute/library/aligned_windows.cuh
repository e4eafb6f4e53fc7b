/// \file
/// v7f aligned windows: every write begins at a sector, whatever the size of the matrix.
///
/// Where the output's rows are no multiple of 32 bytes, each begins somewhere else within a sector, and so does every
/// run that v7c's tile writes: its first and last sectors are written in part, by two blocks, and the memory has to
/// read and merge them. Here a tile's window slides: along each row of the output it begins at the last sector's
/// boundary before the tile, up to one sector less an element earlier. For that, the tile holds so many rows more of
/// the input, which the neighbouring block reads, too: they come from the L2.
///
/// Expect a few percent more sectors read, and no partial ones written but at the matrix's edge. For elements of 4 and
/// 8 bytes; narrower ones would have to read too much twice.
#pragma once

#include "chapters/chapter3_permute/v7c_any_rank_tile.cuh"

namespace warpbook::chapter3::v7f {

/// The tile for elements of `bytes`: kRows along the output's fastest dimension, kColumns along the input's.
template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRows = bytes == 4 ? 128 : 64;
  static constexpr int kColumns = 32;
  static constexpr int kSector = 32 / bytes;            // Elements.
  static constexpr int kAllRows = kRows + kSector - 1;  // With those before the tile.
  static constexpr int kPitch = kColumns + 1;
};

//! [kernel]
template <int bytes, bool keeps = false>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ v7c::Tiles tiles) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  constexpr int kBefore = T::kSector - 1;
  __shared__ W tile[T::kAllRows * T::kPitch];
  const v7c::Corner corner = v7c::locate_tile(tiles);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int rows_before = tiles.rows - corner.rows_left;

  constexpr int kLoadTurns = (T::kAllRows + T::kWarps - 1) / T::kWarps;
  W word[kLoadTurns];
  const W* from = src + corner.src + (warp - kBefore) * tiles.src_pitch + lane;
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps - kBefore;  // Against the tile's first.
    const bool inside = row >= -rows_before && row < min(corner.rows_left, T::kRows);
    if (inside && lane < corner.columns) word[t] = load_keeping<keeps>(from);
    from += T::kWarps * tiles.src_pitch;
  }
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (row < T::kAllRows) tile[row * T::kPitch + lane] = word[t];
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < T::kColumns / T::kWarps; ++t) {
    const int column = warp + t * T::kWarps;
    if (column >= corner.columns) break;
    W* to = dst + corner.dst + column * tiles.dst_pitch;
    const int past_sector = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / bytes % T::kSector);
#pragma unroll
    for (int i = 0; i < T::kRows / 32; ++i) {
      const int row = lane + 32 * i - past_sector;
      if (row >= -rows_before && row < corner.rows_left) to[row] = tile[(row + kBefore) * T::kPitch + column];
    }
  }
}
//! [kernel]

/// Why the step refuses a merged problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (const char* reason = v7c::refuse(m)) return reason;
  return m.element_bytes == 4 || m.element_bytes == 8 ? nullptr : "elements must have 4 or 8 bytes";
}

/// Moves tiles, in the grid's `order`. `m` is merged, not empty and not refused.
template <bool keeps = false>
cudaError_t run_tiles(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                      cudaStream_t stream) {
  const auto run_as = [&]<int bytes>() {
    using T = Tile<bytes>;
    std::int64_t blocks = 0;
    // The last window ends up to kSector - 1 elements early, so that another one may be needed.
    const v7c::Tiles tiles = v7c::make_tiles(m, order, T::kRows, T::kColumns, T::kSector - 1, blocks);
    return launch(permute_kernel<bytes, keeps>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), tiles);
  };
  return m.element_bytes == 4 ? run_as.template operator()<4>() : run_as.template operator()<8>();
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, refuse,
                        [&](const PermuteProblem& q) { return run_tiles(q, src_order(q), src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7f
