/// \file
/// A batch of matrices cut into tiles, one block each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"

namespace warpbook {

/// Where a tile begins.
struct TileOrigin {
  std::int64_t matrix;  ///< Elements before its matrix.
  int row;              ///< The tile's first row
  int column;           ///< and column.
};

/// Matrices of one size that follow each other in memory, and the tiles that cover them.
struct MatrixTiles {
  int rows = 0;                         ///< Of a matrix, in elements.
  int columns = 0;                      ///< The same.
  int tile_rows = 0;                    ///< Of a tile, in elements. At the matrix's edge fewer of them exist.
  int tile_columns = 0;                 ///< The same.
  FastDivisor<std::uint32_t> down{};    ///< Tiles above each other.
  FastDivisor<std::uint32_t> across{};  ///< Tiles side by side.
  std::int64_t blocks = 0;              ///< Tiles in all: the grid.

  MatrixTiles() = default;
  /// \param batch how many matrices.
  /// \param rows_,columns_ at most 2^31 - 1 less a tile's side: what lies beyond the edge is counted, too.
  /// \param tile_rows_,tile_columns_ of a tile.
  MatrixTiles(std::int64_t batch, std::int64_t rows_, std::int64_t columns_, int tile_rows_, int tile_columns_)
      : rows(static_cast<int>(rows_)), columns(static_cast<int>(columns_)), tile_rows(tile_rows_),
        tile_columns(tile_columns_), down(static_cast<std::uint32_t>(ceil_div<std::int64_t>(rows_, tile_rows_))),
        across(static_cast<std::uint32_t>(ceil_div<std::int64_t>(columns_, tile_columns_))),
        blocks(batch * down.divisor * across.divisor) {}

  /// The tile of this block. Neighbouring blocks have neighbouring tiles of a row of tiles.
  __device__ __forceinline__ TileOrigin origin() const {
    const auto [rest, column_tile] = across.divide(blockIdx.x);
    const auto [matrix, row_tile] = down.divide(rest);
    return {std::int64_t(matrix) * rows * columns, static_cast<int>(row_tile) * tile_rows,
            static_cast<int>(column_tile) * tile_columns};
  }
};

}  // namespace warpbook
