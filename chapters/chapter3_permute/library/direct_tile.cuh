/// \file
/// v7m direct tile: v7l's tiles without shared memory.
///
/// Where one side of the matrix is short, or its rows are odd, a tile in shared memory costs more than it brings: half
/// of it stands empty, and every element goes in and out of it one by one. v7e's threads need none: each reads a short
/// run of the input by itself, and neighbours in a warp write neighbours. But its run ends where a dimension ends that
/// a warp writes along. Here the matrix is v7l's, whose columns and rows are several dimensions each. A thread keeps to
/// one column, or to a few that it writes as one word, and takes many rows of it, neighbours in the input; the block
/// works out once where its rows lie. All of a thread's loads are in flight together. What a lane leaves of a line, its
/// next loads find in the L1: so torch.compile's kernels work on such problems (README.md).
///
/// Expect no barrier but one, sectors a request to rise as in v7e, and the L1 to make up for it.
#pragma once

#include "chapters/chapter3_permute/v7l_fixed_tile.cuh"

namespace warpbook::chapter3::v7m {

inline constexpr int kThreads = 256;
inline constexpr int kLeastAcross = 8;  // Threads along the columns.

/// How a block's threads lie on the matrix.
struct Grid {
  FastDivisor<std::uint32_t> across;  // Threads along the columns; the others are along the groups.
  int down;
};

//! [kernel]
/// A load takes `kGroup` rows of a column, a store `kVector` columns of a row; a thread has `kTurns` groups of rows.
template <int bytes, int kGroup, int kVector, int kTurns>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ v7l::Matrix matrix, Grid grid) {
  using W = Word<bytes>;
  using Loaded = Word<kGroup * bytes>;
  __shared__ v7j::Place places[kTurns * kThreads / kLeastAcross];  // Of the groups.
  const int thread = static_cast<int>(threadIdx.x);
  const auto [slow, fast] = matrix.tiles.divide(blockIdx.x);
  const std::uint32_t tile_across = matrix.along_input ? slow : fast;
  const std::uint32_t tile_down = matrix.along_input ? fast : slow;
  const int group0 = static_cast<int>(tile_down) * matrix.tile_groups;
  const int groups = min(matrix.tile_groups, static_cast<int>(matrix.groups) - group0);
  for (int i = thread; i < groups; i += kThreads) {
    places[i] = v7l::find_place<false>(matrix, static_cast<std::uint32_t>(group0 + i));
  }
  const auto [down, across] = grid.across.divide(static_cast<std::uint32_t>(thread));
  const std::uint32_t column = (tile_across * grid.across.divisor + across) * kVector;
  std::uint32_t offset[kVector];
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    offset[v] = v7l::find_place<true>(matrix, min(column + v, matrix.columns - 1)).src;
  }
  __syncthreads();
  if (static_cast<int>(down) >= grid.down || column >= matrix.columns) return;

  Loaded loaded[kTurns][kVector];
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const int group = t * grid.down + static_cast<int>(down);
    if (group >= groups) break;
    const W* from = src + places[group].src;
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      loaded[t][v] = load_keeping<kHinted<true, bytes>>(reinterpret_cast<const Loaded*>(from + offset[v]));
    }
  }
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const int group = t * grid.down + static_cast<int>(down);
    if (group >= groups) break;
    W* to = dst + places[group].dst + column;
#pragma unroll
    for (std::uint32_t r = 0; r < kGroup; ++r) {
      Pack<W, kVector> row;
#pragma unroll
      for (int v = 0; v < kVector; ++v) row[v] = reinterpret_cast<const Pack<W, kGroup>&>(loaded[t][v])[r];
      *reinterpret_cast<Pack<W, kVector>*>(to + r * matrix.row_step) = row;
    }
  }
}
//! [kernel]

/// Moves tiles with at most so many threads along the columns. `m` is not refused by v7l, not empty, and its input's
/// fastest dimension is made of groups.
/// \return cudaErrorInvalidValue where the output's rows are not made of `kVector` columns each.
template <int bytes, int kGroup, int kVector, int kTurns>
cudaError_t run_as(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream, int most_across,
                   const v7l::Arrangement& arrangement) {
  v7l::Matrix matrix = v7l::make_matrix(m, arrangement.least_bytes, kGroup, dst);
  constexpr auto kStore = static_cast<std::uintptr_t>(kVector * bytes);
  if (matrix.columns % kVector != 0 || reinterpret_cast<std::uintptr_t>(dst) % kStore != 0)
    return cudaErrorInvalidValue;
  const std::int64_t vectors = matrix.columns / kVector;
  const std::int64_t across = std::max<std::int64_t>(kLeastAcross, v7j::even_part(vectors, most_across, 1));
  const Grid grid{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(across)), static_cast<int>(kThreads / across)};
  const std::int64_t tiles_across = ceil_div(vectors, across);
  const int most = grid.down * kTurns;
  matrix.tile_groups = arrangement.whole_groups ? v7l::whole_groups(matrix, most) : most;
  if (matrix.tile_groups == 0) return cudaErrorInvalidValue;
  const std::int64_t tiles_down = ceil_div<std::int64_t>(matrix.groups, matrix.tile_groups);
  matrix.along_input = arrangement.along_input;
  matrix.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(matrix.along_input ? tiles_down : tiles_across));
  return launch(permute_kernel<bytes, kGroup, kVector, kTurns>,
                {.grid = tiles_across * tiles_down, .block = kThreads, .stream = stream},
                static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), matrix, grid);
}

/// Moves tiles as they are best for most: 64 threads along the columns, loads of single elements.
/// A template, here and below, so that who never asks need not compile its kernels: v10 is in permute.cuh.
template <class P = PermuteProblem> cudaError_t run_tiles(const P& m, const void* src, void* dst, cudaStream_t stream) {
  constexpr int kAcross = 64;
  const v7l::Arrangement arrangement{.least_bytes = 128};
  switch (m.element_bytes) {
  case 1:
    return run_as<1, 1, 1, 16>(m, src, dst, stream, kAcross, arrangement);
  case 2:
    return run_as<2, 1, 1, 16>(m, src, dst, stream, kAcross, arrangement);
  case 4:
    return run_as<4, 1, 1, 8>(m, src, dst, stream, kAcross, arrangement);
  case 8:
    return run_as<8, 1, 1, 8>(m, src, dst, stream, kAcross, arrangement);
  default:
    return cudaErrorInvalidValue;
  }
}

template <class P = PermuteProblem> cudaError_t run(const P& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, v7l::refuse,
                        [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7m
