/// \file
/// v8 any-rank tile: the same tile for tensors of any rank.
///
/// v7 takes matrices only. But most permutations that move the last dimension still have a matrix in them: `columns`
/// along the input's fastest dimension, `rows` along the output's. All other dimensions only say where the matrix lies.
/// So each block finds its tile among all dimensions, with one division for each, and then does what v7 does. The
/// divisors are known on the host, so a division becomes a multiplication and a shift (FastDivisor).
///
/// Expect v7's time on matrices: there are more instructions, and issue slots to spare. This step prepares the dispatch,
/// which then has wide tiles for tensors that v7 refuses.
///
/// Source of the division: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", 1994.
#pragma once

#include "chapters/chapter3_permute/v7_kept_input.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter3::v8 {

/// How tiles follow each other along one of the input's dimensions.
struct Dimension {
  FastDivisor<std::uint32_t> tiles;
  int step;                 // Elements: a tile's side along the two dimensions that it spans, 1 along all others.
  std::int64_t src_stride;  // In elements, like the other.
  std::int64_t dst_stride;
};

/// The matrix that a permutation transposes, and the grid of tiles over all dimensions. Pitches are in elements.
struct TileGrid {
  std::int64_t src_pitch;  // From row to row: along the output's fastest dimension.
  std::int64_t dst_pitch;  // From column to column: along the input's.
  int rows;
  int columns;
  int rank;
  int row_dimension;  // Where in `dimension` the rows' is,
  int column_dimension;
  Dimension dimension[kMaxRank];  // Neighbouring blocks have neighbouring tiles along the first.
};

/// A block's tile: where it begins.
struct Corner {
  std::int64_t src = 0;  // Elements, in the input
  std::int64_t dst = 0;  // and in the output.
  int row = 0;           // Of the matrix.
  int column = 0;
};

//! [kernel]
__device__ __forceinline__ Corner locate_tile(const TileGrid& grid) {
  Corner corner;
  std::uint32_t rest = blockIdx.x;
#pragma unroll
  for (int i = 0; i < kMaxRank; ++i) {
    if (i == grid.rank) break;
    const Dimension& d = grid.dimension[i];
    const auto [quotient, tile] = d.tiles.divide(rest);
    const int first = int(tile) * d.step;
    corner.src += first * d.src_stride;
    corner.dst += first * d.dst_stride;
    if (i == grid.row_dimension) corner.row = first;
    if (i == grid.column_dimension) corner.column = first;
    rest = quotient;
  }
  return corner;
}

template <class T>
__global__ void __launch_bounds__(T::kThreads)
    permute_kernel(typename T::Element* __restrict__ dst, const typename T::Element* __restrict__ src,
                   const __grid_constant__ TileGrid grid) {
  const Corner corner = locate_tile(grid);
  v7::transpose_tile<T>(dst + corner.dst, grid.dst_pitch, src + corner.src, grid.src_pitch, grid.rows - corner.row,
                        grid.columns - corner.column);
}
//! [kernel]

/// Why a simplified problem has no tiles of single elements; nullptr where it has.
inline const char* refuse_tiles(const PermuteProblem& q) {
  if (q.rank < 2 || keeps_last_dimension(q)) return "the last dimension must move";
  constexpr std::int64_t kShort = 20;         // Shorter sides leave most lanes of a tile idle.
  constexpr std::int64_t kLong = 0x3fffffff;  // They are int in the kernel, with room for a tile beyond the edge.
  const auto fits = [](std::int64_t side) { return side >= kShort && side <= kLong; };
  return fits(q.shape[q.rank - 1]) && fits(q.dst_shape(q.rank - 1))
             ? nullptr
             : "the input's last dimension and the output's must have 20 to 2^30 - 1 elements";
}

inline const char* refuse(const PermuteProblem& q) {
  if (const char* reason = refuse_tiles(q)) return reason;
  const bool whole =
      q.shape[q.rank - 1] * q.element_bytes % 16 == 0 && q.dst_shape(q.rank - 1) * q.element_bytes % 16 == 0;
  return whole && q.alignment == 16 ? nullptr : "both fast dimensions, and both arrays, must be multiples of 16 bytes";
}

/// The grid of tiles over a problem that is not refused, and its `blocks`. `order` lists the input's dimensions as the
/// grid goes along them, the fastest first. Tiles cover `extra_rows` more rows than there are.
inline TileGrid make_grid(const PermuteProblem& q, const DimensionOrder& order, int tile_rows, int tile_columns,
                          std::int64_t& blocks, int extra_rows = 0) {
  const int x = q.rank - 1;
  const int y = q.permutation[q.rank - 1];
  const Strides from = src_strides(q);
  const Strides to = dst_strides_by_src(q);
  TileGrid grid{};
  grid.src_pitch = from[y];
  grid.dst_pitch = to[x];
  grid.rows = static_cast<int>(q.shape[y]);
  grid.columns = static_cast<int>(q.shape[x]);
  grid.rank = q.rank;
  blocks = 1;
  for (int i = 0; i < q.rank; ++i) {
    const int d = order[i];
    if (d == x) grid.column_dimension = i;
    if (d == y) grid.row_dimension = i;
    const int step = d == x ? tile_columns : d == y ? tile_rows : 1;
    const std::int64_t count = ceil_div<std::int64_t>(q.shape[d] + (d == y ? extra_rows : 0), step);
    grid.dimension[i] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(count)), step, from[d], to[d]};
    blocks *= count;
  }
  return grid;
}

/// Moves a simplified problem that is not refused. In the input's order, neighbouring blocks read neighbours.
inline cudaError_t run_wide(const PermuteProblem& q, const DimensionOrder& order, const void* src, void* dst,
                            cudaStream_t stream) {
  return with_word_bytes(q.element_bytes, [&]<int bytes>() {
    using T = v6::Tile<bytes>;
    std::int64_t blocks = 0;
    const TileGrid grid = make_grid(q, order, T::kRows, T::kColumns, blocks);
    return launch(permute_kernel<T>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), grid);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const auto& q) { return run_wide(q, src_order(q), src, dst, stream); });
}

}  // namespace warpbook::chapter3::v8
