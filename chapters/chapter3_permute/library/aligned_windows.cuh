/// \file
/// aligned_windows: tiles whose every write begins at a sector; for odd matrices of elements of 4 and 8 bytes.
///
/// Where the output's rows are no multiple of 32 bytes, each begins somewhere else within a sector. A plain tile then
/// writes its first and last sectors in part, two blocks share them, and the memory has to read and merge them. Here a
/// tile's window slides: along each row of the output it begins at the last sector's boundary before the tile, up to
/// one sector less an element earlier. For that, the tile holds so many rows more of the input, which the neighbouring
/// block reads, too: they come from the L2. Narrower elements would have to read too much twice.
#pragma once

#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"

namespace warpbook::chapter3::aligned_windows {

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
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ v8::TileGrid grid) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  constexpr int kBefore = T::kSector - 1;
  __shared__ W tile[T::kAllRows * T::kPitch];
  const v8::Corner corner = v8::locate_tile(grid);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int rows_left = grid.rows - corner.row;
  const int columns = min(grid.columns - corner.column, T::kColumns);

  constexpr int kLoadTurns = (T::kAllRows + T::kWarps - 1) / T::kWarps;
  W word[kLoadTurns];
  const W* from = src + corner.src + (warp - kBefore) * grid.src_pitch + lane;
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps - kBefore;  // Against the tile's first.
    const bool inside = row >= -corner.row && row < min(rows_left, T::kRows);
    if (inside && lane < columns) word[t] = load_keeping<true>(from);
    from += T::kWarps * grid.src_pitch;
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
    if (column >= columns) break;
    W* to = dst + corner.dst + column * grid.dst_pitch;
    const int past_sector = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / bytes % T::kSector);
#pragma unroll
    for (int i = 0; i < T::kRows / 32; ++i) {
      const int row = lane + 32 * i - past_sector;
      if (row >= -corner.row && row < rows_left) to[row] = tile[(row + kBefore) * T::kPitch + column];
    }
  }
}
//! [kernel]

/// Why the kernel refuses a simplified problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (const char* reason = v8::refuse_tiles(m)) return reason;
  return m.element_bytes == 4 || m.element_bytes == 8 ? nullptr : "elements must have 4 or 8 bytes";
}

/// Moves tiles, in the grid's `order`. `m` is simplified, not empty and not refused.
template <int bytes>
cudaError_t run_tiles(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                      cudaStream_t stream) {
  using T = Tile<bytes>;
  std::int64_t blocks = 0;
  // The last window ends up to kSector - 1 elements early, so that another one may be needed.
  const v8::TileGrid grid = v8::make_grid(m, order, T::kRows, T::kColumns, blocks, T::kSector - 1);
  return launch(permute_kernel<bytes>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), grid);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) {
    return q.element_bytes == 4 ? run_tiles<4>(q, dst_order(q), src, dst, stream)
                                : run_tiles<8>(q, dst_order(q), src, dst, stream);
  });
}

}  // namespace warpbook::chapter3::aligned_windows
