/// \file
/// direct_tile: tiles of a composite matrix without shared memory, for short sides and odd rows.
///
/// Where one side of the matrix is short, or its rows are odd, a tile in shared memory costs more than it brings: half
/// of it stands empty, and every element goes in and out of it one by one. Here a thread keeps to one column, or to a
/// few that it writes as one word, and takes many rows of it, neighbours in the input, all in flight together. What a
/// lane leaves of a line, its next loads find in the L1. The block works out once where its rows lie.
///
/// Source: so torch.compile's kernels work on such problems.
#pragma once

#include "chapters/chapter3_permute/library/composite_matrix.cuh"

namespace warpbook::chapter3::direct_tile {

using namespace composite_matrix;

inline constexpr int kThreads = 256;
inline constexpr int kLeastAcross = 8;  // Threads along the columns.

/// How a block's threads lie on the matrix.
struct Grid {
  FastDivisor<std::uint32_t> across;  // Threads along the columns; the others are along the groups.
  int down;
};

//! [kernel]
/// A load takes `group` rows of a column, a store `vector` columns of a row; a thread has `turns` groups of rows.
template <int bytes, int group, int vector, int turns>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ Matrix matrix, Grid grid) {
  using W = Word<bytes>;
  using Loaded = Word<group * bytes>;
  __shared__ Place places[turns * kThreads / kLeastAcross];  // Of the groups.
  const auto [tile_across, group0, groups] = locate_tile(matrix);
  for (int i = threadIdx.x; i < groups; i += kThreads) places[i] = find_group(matrix, group0 + i);
  const auto [down, across] = grid.across.divide(threadIdx.x);
  const int column = static_cast<int>(tile_across * grid.across.divisor + across) * vector;
  std::uint32_t offset[vector];
#pragma unroll
  for (int v = 0; v < vector; ++v) offset[v] = find_column(matrix, min(column + v, matrix.columns - 1)).src;
  __syncthreads();
  if (static_cast<int>(down) >= grid.down || column >= matrix.columns) return;

  Loaded loaded[turns][vector];
#pragma unroll
  for (int t = 0; t < turns; ++t) {
    const int at = t * grid.down + static_cast<int>(down);
    if (at >= groups) break;
    const W* from = src + places[at].src;
#pragma unroll
    for (int v = 0; v < vector; ++v) {
      loaded[t][v] = load_keeping<(bytes > 1)>(reinterpret_cast<const Loaded*>(from + offset[v]));
    }
  }
#pragma unroll
  for (int t = 0; t < turns; ++t) {
    const int at = t * grid.down + static_cast<int>(down);
    if (at >= groups) break;
    W* to = dst + places[at].dst + column;
#pragma unroll
    for (std::uint32_t r = 0; r < group; ++r) {
      Pack<W, vector> row;
#pragma unroll
      for (int v = 0; v < vector; ++v) row[v] = reinterpret_cast<const Pack<W, group>&>(loaded[t][v])[r];
      *reinterpret_cast<Pack<W, vector>*>(to + r * matrix.row_step) = row;
    }
  }
}
//! [kernel]

/// Moves tiles with at most so many threads along the columns. `m` is simplified, not empty and not refused.
/// \return cudaErrorInvalidValue where groups do not divide the input's fastest dimension, or vectors the columns; or
///         where whole groups are wanted and make no other tiles.
template <int bytes, int group, int vector, int turns>
cudaError_t run_as(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream, int most_across,
                   const Arrangement& arrangement) {
  if (!loads_groups(m, group)) return cudaErrorInvalidValue;
  Matrix matrix = make_matrix(m, find_columns(m, arrangement.least_bytes), group);
  if (matrix.columns % vector != 0 || elements_past(dst, vector * bytes, bytes) != 0) return cudaErrorInvalidValue;
  const int vectors = matrix.columns / vector;
  const std::int64_t across = std::max<std::int64_t>(kLeastAcross, even_part(vectors, most_across));
  const Grid grid{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(across)), static_cast<int>(kThreads / across)};
  const std::int64_t tiles =
      arrange_tiles(matrix, arrangement, grid.down * turns, ceil_div<std::int64_t>(vectors, across));
  if (tiles == 0) return cudaErrorInvalidValue;
  return launch(permute_kernel<bytes, group, vector, turns>, {.grid = tiles, .block = kThreads, .stream = stream},
                static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), matrix, grid);
}

/// Moves tiles as they are best for most: 64 threads along the columns, loads of single elements.
/// A template so that who never asks need not compile its kernels: plan.cuh is in permute.cuh.
template <class P = PermuteProblem> cudaError_t run(const P& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) {
    constexpr int kAcross = 64;
    const Arrangement arrangement{.least_bytes = 128};
    switch (q.element_bytes) {
    case 1:
      return run_as<1, 1, 1, 16>(q, src, dst, stream, kAcross, arrangement);
    case 2:
      return run_as<2, 1, 1, 16>(q, src, dst, stream, kAcross, arrangement);
    case 4:
      return run_as<4, 1, 1, 8>(q, src, dst, stream, kAcross, arrangement);
    case 8:
      return run_as<8, 1, 1, 8>(q, src, dst, stream, kAcross, arrangement);
    default:
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace warpbook::chapter3::direct_tile
