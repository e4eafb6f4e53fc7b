/// \file
/// short_dims_tile: v8's tile where dimensions are short, so that several are counted as one (tile_plan.hpp). The
/// places of rows and columns are found once, by one thread each, and stand in tables. Whole tiles compare nothing.
#pragma once

#include "chapters/chapter2_strided/library/places.cuh"

namespace warpbook::chapter2::short_dims_tile {

template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kSrc = bytes <= 2 ? 64 : 32;  // Elements along the source's fastest dimensions,
  static constexpr int kDst = bytes <= 4 ? 128 : bytes == 8 ? 64 : 32;  // and along the destination's.
  static constexpr int kPitch = kSrc + (bytes < 4 ? 4 / bytes : 1);     // An odd number of 4-byte words or elements.
  static constexpr int kLoads = kDst / kWarps;                          // Rows per warp.
  static constexpr int kLaneColumns = kSrc / 32;                        // Columns per lane.
};

struct Tiles {
  Placed<Space::kMost> along_src;
  Placed<Space::kMost> along_dst;
  Placed<kMaxViewDims> others;
  TileOrder order;
  int src_count;
  int dst_count;
};

/// The places of a tile's rows and columns on both sides.
template <int bytes> struct Tables {
  std::int64_t src_rows[Tile<bytes>::kDst];
  std::int64_t dst_rows[Tile<bytes>::kDst];
  std::int64_t src_columns[Tile<bytes>::kSrc];
  std::int64_t dst_columns[Tile<bytes>::kSrc];
};

/// Reads a tile of so many rows and columns. `whole`: all of them exist, and nothing has to be compared.
template <int bytes, bool whole>
__device__ __forceinline__ void load_tile(Word<bytes>* tile, const char* __restrict__ src, const Tables<bytes>& tables,
                                          int rows, int columns) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  W word[T::kLoads][T::kLaneColumns];
  const char* from[T::kLaneColumns];
#pragma unroll
  for (int i = 0; i < T::kLaneColumns; ++i) {
    from[i] = src + (whole || lane + 32 * i < columns ? tables.src_columns[lane + 32 * i] : 0);
  }
#pragma unroll
  for (int t = 0; t < T::kLoads; ++t) {
    const int row = warp + t * T::kWarps;
    if (!whole && row >= rows) break;
    const std::int64_t at = tables.src_rows[row];
#pragma unroll
    for (int i = 0; i < T::kLaneColumns; ++i) {
      if (whole || lane + 32 * i < columns)
        word[t][i] = load_keeping<(bytes > 1)>(reinterpret_cast<const W*>(from[i] + at));
    }
  }
#pragma unroll
  for (int t = 0; t < T::kLoads; ++t) {
    const int row = warp + t * T::kWarps;
    if (!whole && row >= rows) break;
#pragma unroll
    for (int i = 0; i < T::kLaneColumns; ++i) {
      if (whole || lane + 32 * i < columns) tile[row * T::kPitch + lane + 32 * i] = word[t][i];
    }
  }
}

template <int bytes, bool whole>
__device__ __forceinline__ void store_tile(char* __restrict__ dst, const Word<bytes>* tile, const Tables<bytes>& tables,
                                           int rows, int columns) {
  using T = Tile<bytes>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  char* to[T::kDst / 32];
#pragma unroll
  for (int i = 0; i < T::kDst / 32; ++i) {
    to[i] = dst + (whole || lane + 32 * i < rows ? tables.dst_rows[lane + 32 * i] : 0);
  }
#pragma unroll
  for (int t = 0; t < T::kSrc / T::kWarps; ++t) {
    const int column = warp + t * T::kWarps;
    if (!whole && column >= columns) break;
    const std::int64_t at = tables.dst_columns[column];
#pragma unroll
    for (int i = 0; i < T::kDst / 32; ++i) {
      const int row = lane + 32 * i;
      if (whole || row < rows) *reinterpret_cast<Word<bytes>*>(to[i] + at) = tile[row * T::kPitch + column];
    }
  }
}

template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes>;
  __shared__ Word<bytes> tile[T::kDst * T::kPitch];
  __shared__ Tables<bytes> tables;
  const auto [first_row, first_column, batch] = tiles.order.tile(blockIdx.x);
  const int columns = min(tiles.src_count - first_column, T::kSrc);
  const int rows = min(tiles.dst_count - first_row, T::kDst);
  const Place origin = tiles.others.at(batch);

  // Each row and column is placed once, by one thread.
  for (int i = threadIdx.x; i < T::kDst + T::kSrc; i += T::kThreads) {
    if (i < T::kDst) {
      if (i >= rows) continue;
      const Place place = tiles.along_dst.at(first_row + i);
      tables.src_rows[i] = origin.src + place.src;
      tables.dst_rows[i] = origin.dst + place.dst;
    } else if (i - T::kDst < columns) {
      const Place place = tiles.along_src.at(first_column + (i - T::kDst));
      tables.src_columns[i - T::kDst] = place.src;
      tables.dst_columns[i - T::kDst] = place.dst;
    }
  }
  //! [exercise table_barrier]
  __syncthreads();
  //! [exercise table_barrier]

  if (rows == T::kDst && columns == T::kSrc) {
    load_tile<bytes, true>(tile, src, tables, rows, columns);
    __syncthreads();
    store_tile<bytes, true>(dst, tile, tables, rows, columns);
  } else {
    load_tile<bytes, false>(tile, src, tables, rows, columns);
    __syncthreads();
    store_tile<bytes, false>(dst, tile, tables, rows, columns);
  }
}

inline const char* refuse(const StridedProblem& q) {
  if (q.view.dims < 2) return "one dimension is no matter of tiles";
  const TilePlan plan = plan_tiles(q, 64);
  if (plan.along_src.dims == 0 || plan.along_dst.dims == 0) return "one side has a single element to walk along";
  return plan.along_src.count >= 8 && plan.along_dst.count >= 8 ? nullptr
                                                                : "a side of the tile would be shorter than 8";
}

/// Blocks count along the destination first, unless that has more than so many times the source's tiles: then what two
/// tiles read of one sector would come too far apart.
template <int bytes> inline constexpr std::int64_t kManyDown = bytes < 4 ? 1 : 16;

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    const TilePlan plan = plan_tiles(q.problem, 64);
    const std::int64_t across = ceil_div<std::int64_t>(plan.along_src.count, T::kSrc);
    const std::int64_t down = ceil_div<std::int64_t>(plan.along_dst.count, T::kDst);
    Tiles tiles{};
    tiles.order = TileOrder(down <= kManyDown<bytes> * across, down, across, T::kDst, T::kSrc);
    tiles.along_src.add(plan.along_src, bytes);
    tiles.along_dst.add(plan.along_dst, bytes);
    for (int k = 0; k < plan.others; ++k) tiles.others.add(plan.other[k], bytes);
    tiles.src_count = static_cast<int>(plan.along_src.count);
    tiles.dst_count = static_cast<int>(plan.along_dst.count);
    return launch(tile_kernel<bytes>, {.grid = across * down * plan.batches, .block = T::kThreads, .stream = stream},
                  reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::short_dims_tile
