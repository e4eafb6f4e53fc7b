/// \file
/// v8a strided tile: a tile in shared memory, between a view and an array that disagree on what is near.
///
/// v7 goes through the contiguous side in order. Where the view's last dimension is not its fastest, as in a slice of a
/// transposed matrix, 32 neighbours lie in 32 sectors, and the sector's other elements are wanted much later. Chapter
/// 3's tiles would do, but they start from a contiguous array, and a slice is none.
///
/// So a block takes a tile: some elements along the dimensions that are fastest in the source, times some along those
/// that are fastest in the destination (tile_plan.hpp). It reads with its lanes along the first and writes with its
/// lanes along the second. An element's place is its row's place plus its column's on either side, so each is found
/// once: a lane keeps to its columns, and the rows' places stand in a table in shared memory. A short dimension does
/// not waste lanes, since several are counted through as one.
///
/// Whole tiles do without any comparison: with one a row, the rows' places were not looked up ahead (README.md).
/// Blocks count along the destination first where it has no more tiles than the source (see kManyDown): what two tiles
/// write of one sector is written at about one time.
///
/// Expect sectors as few as v7's on a contiguous view, and the time to be that of the bytes.
#pragma once

#include "chapters/chapter2_strided/tile_plan.hpp"
#include "chapters/chapter2_strided/v7h_lone_elements.cuh"

namespace warpbook::chapter2::v8a {

/// The tile for elements of `bytes`.
template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kSrc = bytes <= 2 ? 64 : 32;  // Elements along the source's fastest dimensions,
  static constexpr int kDst = bytes <= 4 ? 128 : bytes == 8 ? 64 : 32;  // and along the destination's.
  static constexpr int kPitch = kSrc + (bytes < 4 ? 4 / bytes : 1);     // An odd number of 4-byte words or elements.
};

/// An element's place on both sides, in bytes.
struct Place {
  std::int64_t src;
  std::int64_t dst;
};

/// A dimension, with strides in bytes.
struct Dimension {
  FastDivisor<std::uint32_t> size;
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

/// What the kernel needs to know of a plan.
struct Tiles {
  Dimension along_src[Space::kMost];
  Dimension along_dst[Space::kMost];
  Dimension other[kMaxViewDims];
  int src_dims;
  int dst_dims;
  int others;
  std::uint32_t src_count;
  std::uint32_t dst_count;
  FastDivisor<std::uint32_t> fast;  // Tiles in the direction that blocks count along first,
  FastDivisor<std::uint32_t> slow;  // and in the other one.
  std::uint32_t fast_columns;       // How far the next tile is in the first direction: a tile's columns, or none,
  std::uint32_t fast_rows;          // and none, or its rows;
  std::uint32_t slow_columns;       // and in the other one.
  std::uint32_t slow_rows;
};

/// The place of index `i` of some dimensions counted as one.
__device__ __forceinline__ Place place_of(const Dimension* dimension, int dims, std::uint32_t i) {
  Place place{0, 0};
#pragma unroll 1
  for (int k = 0; k < dims; ++k) {
    std::uint32_t index = i;
    if (k + 1 < dims) {
      const auto division = dimension[k].size.divide(i);
      index = division.remainder;
      i = division.quotient;
    }
    place.src += index * dimension[k].src_stride;
    place.dst += index * dimension[k].dst_stride;
  }
  return place;
}

/// The places of a tile's rows and columns on both sides.
template <int bytes> struct Tables {
  std::int64_t src_rows[Tile<bytes>::kDst];
  std::int64_t dst_rows[Tile<bytes>::kDst];
  std::int64_t src_columns[Tile<bytes>::kSrc];
  std::int64_t dst_columns[Tile<bytes>::kSrc];
};

//! [tile]
/// Moves a block's tile. `whole`: all of its rows and columns exist, and nothing has to be compared.
template <int bytes, bool whole>
__device__ __forceinline__ void move_tile(char* __restrict__ dst, const char* __restrict__ src, Word<bytes>* tile,
                                          const Tables<bytes>& tables, int rows, int columns) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kLoadTurns = T::kDst / T::kWarps;
  W word[kLoadTurns][T::kSrc / 32];
  const char* from[T::kSrc / 32];
#pragma unroll
  for (int i = 0; i < T::kSrc / 32; ++i) {
    from[i] = src + (whole || lane + 32 * i < columns ? tables.src_columns[lane + 32 * i] : 0);
  }
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (!whole && row >= rows) break;
    const std::int64_t at = tables.src_rows[row];
#pragma unroll
    for (int i = 0; i < T::kSrc / 32; ++i) {
      if (whole || lane + 32 * i < columns)
        word[t][i] = load_keeping<(bytes > 1)>(reinterpret_cast<const W*>(from[i] + at));
    }
  }
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (!whole && row >= rows) break;
#pragma unroll
    for (int i = 0; i < T::kSrc / 32; ++i) {
      if (whole || lane + 32 * i < columns) tile[row * T::kPitch + lane + 32 * i] = word[t][i];
    }
  }
  __syncthreads();
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
      if (whole || row < rows) *reinterpret_cast<W*>(to[i] + at) = tile[row * T::kPitch + column];
    }
  }
}
//! [tile]

//! [kernel]
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  __shared__ W tile[T::kDst * T::kPitch];
  __shared__ Tables<bytes> tables;

  const auto [rest, fast] = tiles.fast.divide(blockIdx.x);
  const auto [batch, slow] = tiles.slow.divide(rest);
  const std::uint32_t first_column = fast * tiles.fast_columns + slow * tiles.slow_columns;  // Along the source,
  const std::uint32_t first_row = fast * tiles.fast_rows + slow * tiles.slow_rows;           // and the destination.
  const int columns = static_cast<int>(min(tiles.src_count - first_column, std::uint32_t(T::kSrc)));
  const int rows = static_cast<int>(min(tiles.dst_count - first_row, std::uint32_t(T::kDst)));
  const Place origin = place_of(tiles.other, tiles.others, batch);

  // Each row and column is placed once, by one thread.
  for (int i = static_cast<int>(threadIdx.x); i < T::kDst + T::kSrc; i += T::kThreads) {
    if (i < T::kDst) {
      if (i >= rows) continue;
      const Place place = place_of(tiles.along_dst, tiles.dst_dims, first_row + static_cast<std::uint32_t>(i));
      tables.src_rows[i] = origin.src + place.src;
      tables.dst_rows[i] = origin.dst + place.dst;
    } else if (i - T::kDst < columns) {
      const Place place =
          place_of(tiles.along_src, tiles.src_dims, first_column + static_cast<std::uint32_t>(i - T::kDst));
      tables.src_columns[i - T::kDst] = place.src;
      tables.dst_columns[i - T::kDst] = place.dst;
    }
  }
  //! [exercise table_barrier]
  __syncthreads();
  //! [exercise table_barrier]

  if (rows == T::kDst && columns == T::kSrc) {
    move_tile<bytes, true>(dst, src, tile, tables, rows, columns);
  } else {
    move_tile<bytes, false>(dst, src, tile, tables, rows, columns);
  }
}
//! [kernel]

/// Why tiles do not fit a collapsed problem; nullptr where they do.
inline const char* refuse(const StridedProblem& p) {
  if (p.view.dims < 2) return "one dimension is no matter of tiles";
  const TilePlan plan = plan_tiles(p, 64);
  if (plan.along_src.dims == 0 || plan.along_dst.dims == 0) return "one side has a single element to walk along";
  return plan.along_src.count >= 8 && plan.along_dst.count >= 8 ? nullptr
                                                                : "a side of the tile would be shorter than 8";
}

/// Blocks count along the destination first, unless that has more than so many times the source's tiles: then what two
/// tiles read of one sector would come too far apart. On an H200 2320x18x91x13 halves by 23400,1,18,1800 take 73
/// instead of 104 us, 1042x65x49x15 bytes by 975,1,1015950,65 55 instead of 71, 335x44x1649 floats by 285277,4,173 124
/// instead of 136; but 745x1413x4 halves by 1,745,1052685, 3.75 times as many down as across, 13.3 instead of 12.4
/// (chapter2_trials_8.txt).
template <int bytes> inline constexpr std::int64_t kManyDown = bytes < 4 ? 1 : 16;

/// Moves tiles. The problem is collapsed and not refused.
inline cudaError_t run_tiles(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    const TilePlan plan = plan_tiles(q.problem, 64);
    Tiles tiles{};
    const auto dimension = [](const CopyDimension& d) {
      return Dimension{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(d.size)), d.src_stride * bytes,
                       d.dst_stride * bytes};
    };
    tiles.src_dims = plan.along_src.dims;
    tiles.dst_dims = plan.along_dst.dims;
    tiles.others = plan.others;
    for (int k = 0; k < tiles.src_dims; ++k) tiles.along_src[k] = dimension(plan.along_src.dimension[k]);
    for (int k = 0; k < tiles.dst_dims; ++k) tiles.along_dst[k] = dimension(plan.along_dst.dimension[k]);
    for (int k = 0; k < tiles.others; ++k) tiles.other[k] = dimension(plan.other[k]);
    tiles.src_count = static_cast<std::uint32_t>(plan.along_src.count);
    tiles.dst_count = static_cast<std::uint32_t>(plan.along_dst.count);
    const std::int64_t across = ceil_div<std::int64_t>(plan.along_src.count, T::kSrc);
    const std::int64_t down = ceil_div<std::int64_t>(plan.along_dst.count, T::kDst);
    const bool down_first = down <= kManyDown<bytes> * across;
    tiles.fast = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down_first ? down : across));
    tiles.slow = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down_first ? across : down));
    (down_first ? tiles.fast_rows : tiles.slow_rows) = T::kDst;
    (down_first ? tiles.slow_columns : tiles.fast_columns) = T::kSrc;
    return launch(tile_kernel<bytes>, {.grid = across * down * plan.batches, .block = T::kThreads, .stream = stream},
                  reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return refuse(q.problem) == nullptr ? run_tiles(q, stream) : v7c::run_prepared(q, stream);
}

}  // namespace warpbook::chapter2::v8a
