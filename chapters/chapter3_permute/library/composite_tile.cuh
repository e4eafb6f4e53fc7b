/// \file
/// v7j composite tile: a side of a tile may be made of several dimensions.
///
/// What has a short dimension on either side goes to v7d's boxes: there a narrow element is looked up and gathered from
/// shared memory alone. v7i's tiles move narrow elements one by one on all four ways. Here every permutation that moves
/// the last dimension is a matrix. Its columns count the output's fastest dimensions together, until they have some
/// hundred bytes; its rows count all the others, in the input's order, so that neighbouring rows are neighbours in the
/// input, nearly everywhere. A thread keeps to one row, whose place it works out once; where the columns lie is a table
/// of the block, four to a look-up. The four elements so read are neighbours in the output: they go into shared memory
/// together, and out of it in words of 4 bytes, which begin where memory's words do. Where the input's fastest
/// dimension is made of whole words, a thread loads words, too: as many rows of the matrix at once as a word has
/// elements. And where the output's rows are made of whole fours, these go out as they came in.
///
/// Expect one load an element, or a word, and all the rest for four of them: much for elements of 1 and 2 bytes, little
/// for those of 4. Wider ones gain nothing by it (README.md): they stay with v7d and v7i until v7l.
#pragma once

#include "chapters/chapter3_permute/v6a_wide_tile.cuh"
#include "chapters/chapter3_permute/v7d_tables.cuh"

namespace warpbook::chapter3::v7j {

inline constexpr int kThreads = 256;
inline constexpr int kQuad = 4;      // Columns that a thread reads for one look-up.
inline constexpr int kInFlight = 4;  // Quads.

/// Blocks that a multiprocessor must have room for: left alone, nvcc takes 40 registers a thread, which are six of
/// them. Bytes need that many. Where a multiprocessor has fewer than 2048 threads there is nothing to ask for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
template <class W> inline constexpr int kBlocks = 1;
#else
template <class W> inline constexpr int kBlocks = sizeof(W) == 4 ? 8 : sizeof(W) == 2 ? 7 : 1;
#endif

/// One of the dimensions that make a side of the matrix; strides are in elements.
struct Digit {
  FastDivisor<std::uint32_t> extent;
  std::uint32_t src_stride;
  std::uint32_t dst_stride;
};

/// A side of the matrix, its fastest dimension first.
struct Side {
  Digit digit[kMaxRank];
  int digits;
  std::uint32_t size;
};

/// Rows come in groups, whose elements a load takes together: neighbours in the input.
struct Matrix {
  Side groups;
  Side columns;
  FastDivisor<std::uint32_t> tiles_across;  // Tiles along the columns: neighbouring blocks write neighbours.
  FastDivisor<std::uint32_t> tile_groups;   // At most kThreads.
  std::uint32_t row_step;                   // In the output, from a row of a group to the next.
  int tile_columns;
  int quads;  // Of a tile's row, with one before its first column, which a word may begin in.
  int pitch;  // Elements in shared memory from one row of the tile to the next.
  int threads_across;
  int lane_bits;     // 3 to 5: so many lanes write a row together.
  int dst_past;      // Elements from the last multiple of 4 bytes to the output's first.
  bool whole_quads;  // Of every row, in memory, too: then they are written as they lie in the tile.
};

struct Place {
  std::uint32_t src;
  std::uint32_t dst;
};

__device__ __forceinline__ Place find_place(const Side& side, std::uint32_t rest) {
  Place place{0, 0};
#pragma unroll 1
  for (int k = 0; k < side.digits; ++k) {
    const auto [quotient, index] = side.digit[k].extent.divide(rest);
    place.src += index * side.digit[k].src_stride;
    place.dst += index * side.digit[k].dst_stride;
    rest = quotient;
  }
  return place;
}

/// Elements that are written as one.
template <class W> constexpr int kWord = 4 / static_cast<int>(sizeof(W));

/// Columns before a tile's first, which a word may begin at: a quad, or none.
template <class W> constexpr int kBefore = kWord<W> > 1 ? kQuad : 0;

/// Four columns of a row, where a word has so many rows' elements: bytes, or halves. Those are one word of 8 bytes: of
/// a pair of words, nvcc makes two stores.
template <int group> using QuadOf = Word<16 / group>;

/// Regroups four columns' words, each of a group's rows, into the same columns of each row.
__device__ __forceinline__ void regroup(const std::uint32_t (&column)[kQuad], std::uint32_t (&row)[4]) {
  const uint4 rows = v6a::transpose_4x4(column[0], column[1], column[2], column[3]);
  row[0] = rows.x;
  row[1] = rows.y;
  row[2] = rows.z;
  row[3] = rows.w;
}
__device__ __forceinline__ void regroup(const std::uint32_t (&column)[kQuad], std::uint64_t (&row)[2]) {
  const auto joined = [](std::uint32_t first, std::uint32_t second) { return first | std::uint64_t{second} << 32U; };
  row[0] = joined(__byte_perm(column[0], column[1], 0x5410), __byte_perm(column[2], column[3], 0x5410));
  row[1] = joined(__byte_perm(column[0], column[1], 0x7632), __byte_perm(column[2], column[3], 0x7632));
}

/// Writes the tile's row from the last word's boundary before it on, up to the one before its end. With `whole`, the
/// matrix's edge does not cut it.
template <bool whole, class W>
__device__ __forceinline__ void write_row(W* __restrict__ dst, const W* row, int past, int column0, int columns,
                                          int tile_columns, int lane, int lanes) {
  // Where the first word begins in the tile. By index, not by address: through an integer, a pointer would forget that
  // it points to shared memory.
  const int first = kBefore<W> - past;
  const auto* words = reinterpret_cast<const std::uint32_t*>(row) + first / kWord<W>;
  const unsigned shift = static_cast<unsigned>(first % kWord<W>) * 8U * unsigned{sizeof(W)};
  const int next = shift != 0 ? 1 : 0;  // At a boundary there may be no second word.
  const W* from = row + first;
  W* to = dst - past;
  for (int i = lane * kWord<W>; i < tile_columns; i += lanes * kWord<W>) {
    const int column = column0 - past + i;
    if (whole || (column >= 0 && column + kWord<W> <= columns)) {
      const std::uint32_t* word = words + i / kWord<W>;
      std::uint32_t value = word[0];
      if constexpr (kWord<W> > 1) value = __funnelshift_r(value, word[next], shift);
      *reinterpret_cast<std::uint32_t*>(to + i) = value;
    } else {  // The word that the matrix's row begins in, or ends in.
#pragma unroll
      for (int e = 0; e < kWord<W>; ++e) {
        if (column + e >= 0 && column + e < columns) to[i + e] = from[i + e];
      }
    }
  }
}

//! [kernel]
/// `kGroup`: rows that a load takes, 1 or kWord<W>.
template <class W, int kGroup>
__global__ void __launch_bounds__(kThreads, kBlocks<W>)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ Matrix matrix) {
  using Loaded = Word<kGroup* static_cast<int>(sizeof(W))>;
  auto* offsets = dynamic_shared<std::uint32_t>();      // In the input, of the tile's columns.
  auto* group_places = offsets + matrix.quads * kQuad;  // In the output, of its groups' first rows.
  auto* tile = reinterpret_cast<W*>(group_places + kThreads);
  const auto thread = static_cast<int>(threadIdx.x);
  const auto [down, across] = matrix.tiles_across.divide(blockIdx.x);
  const int column0 = static_cast<int>(across) * matrix.tile_columns;
  const int group0 = static_cast<int>(down * matrix.tile_groups.divisor);
  const int columns = static_cast<int>(matrix.columns.size);
  const int tile_groups = static_cast<int>(matrix.tile_groups.divisor);
  const int groups = min(tile_groups, static_cast<int>(matrix.groups.size) - group0);

  for (int i = thread; i < matrix.quads * kQuad; i += kThreads) {
    const int column = min(max(column0 - kBefore<W> + i, 0), columns - 1);  // What lies beyond is not written.
    offsets[i] = find_place(matrix.columns, static_cast<std::uint32_t>(column)).src;
  }
  const auto [turn, group] = matrix.tile_groups.divide(static_cast<std::uint32_t>(thread));
  const auto inside = static_cast<std::uint32_t>(group0 + min(static_cast<int>(group), groups - 1));
  const Place place = find_place(matrix.groups, inside);
  if (turn == 0) group_places[group] = place.dst + static_cast<std::uint32_t>(column0);
  __syncthreads();

  if (static_cast<int>(turn) < matrix.threads_across) {
    const W* from = src + place.src;
    W* to = tile + static_cast<int>(group) * matrix.pitch;
    const int quads = min(matrix.quads, (columns - column0 + kBefore<W> + kQuad - 1) / kQuad);  // That hold a column.
    for (int quad = static_cast<int>(turn); quad < quads; quad += matrix.threads_across * kInFlight) {
      Loaded loaded[kInFlight][kQuad];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int at = quad + i * matrix.threads_across;
        if (at >= quads) break;
        const uint4 offset = reinterpret_cast<const uint4*>(offsets)[at];
        loaded[i][0] = *reinterpret_cast<const Loaded*>(from + offset.x);
        loaded[i][1] = *reinterpret_cast<const Loaded*>(from + offset.y);
        loaded[i][2] = *reinterpret_cast<const Loaded*>(from + offset.z);
        loaded[i][3] = *reinterpret_cast<const Loaded*>(from + offset.w);
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int at = quad + i * matrix.threads_across;
        if (at >= quads) break;
        W* quad_at = to + at * kQuad;
        if constexpr (kGroup > 1) {
          QuadOf<kGroup> row[kGroup];
          regroup(loaded[i], row);
#pragma unroll
          for (int r = 0; r < kGroup; ++r) {
            *reinterpret_cast<QuadOf<kGroup>*>(quad_at + r * tile_groups * matrix.pitch) = row[r];
          }
        } else {
          Pack<W, kQuad> packed;
#pragma unroll
          for (int e = 0; e < kQuad; ++e) packed[e] = loaded[i][e];
          if constexpr (sizeof(W) < 4) {
            store_whole(reinterpret_cast<Pack<W, kQuad>*>(quad_at), packed);
          } else {
            *reinterpret_cast<Pack<W, kQuad>*>(quad_at) = packed;
          }
        }
      }
    }
  }
  __syncthreads();

  const int lanes = 1 << matrix.lane_bits;
  const int lane = thread & (lanes - 1);
  if (matrix.whole_quads) {
    using QuadWord = Word<kQuad* static_cast<int>(sizeof(W))>;
    const int quads = min(matrix.tile_columns, columns - column0) / kQuad;
    for (int r = thread >> matrix.lane_bits; r < groups * kGroup; r += kThreads >> matrix.lane_bits) {
      const int in_group = r % kGroup;
      const int at = in_group * tile_groups + r / kGroup;
      const std::uint32_t begin = group_places[r / kGroup] + static_cast<std::uint32_t>(in_group) * matrix.row_step;
      const auto* from = reinterpret_cast<const QuadWord*>(tile + at * matrix.pitch + kBefore<W>);
      auto* to = reinterpret_cast<QuadWord*>(dst + begin);
      for (int i = lane; i < quads; i += lanes) to[i] = from[i];
    }
    return;
  }
  const auto write = [&]<bool whole>() {
#pragma unroll 2
    for (int r = thread >> matrix.lane_bits; r < groups * kGroup; r += kThreads >> matrix.lane_bits) {
      const int in_group = r % kGroup;
      const int at = in_group * tile_groups + r / kGroup;
      const std::uint32_t begin = group_places[r / kGroup] + static_cast<std::uint32_t>(in_group) * matrix.row_step;
      const int past = static_cast<int>((begin + static_cast<std::uint32_t>(matrix.dst_past)) % kWord<W>);
      write_row<whole>(dst + begin, tile + at * matrix.pitch, past, column0, columns, matrix.tile_columns, lane, lanes);
    }
  };
  if (column0 >= kWord<W> && column0 + matrix.tile_columns <= columns) {
    write.template operator()<true>();
  } else {
    write.template operator()<false>();
  }
}
//! [kernel]

/// Why the step refuses a merged problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2 || keeps_last_dimension(m)) return "the last dimension must move";
  if (m.element_bytes > 4) return "elements must have 1, 2 or 4 bytes";
  return fits_32_bits(m.count() + (1 << 20)) ? nullptr : "2^31 elements or more";
}

/// The tile's sides, in bytes, and how many bytes the columns have at least, where the output has so many before the
/// input's fastest dimension. Chosen on an H200 for each element size among ten, by random problems (seeds 1 and 3 of
/// tests/peers): `chapter3_trials_composite.txt` in docs/results.
struct TileShape {
  int row_bytes;     ///< Along the output.
  int column_bytes;  ///< Along the input.
  int least_bytes;
};

inline TileShape tile_shape(int element_bytes, int group = 1) {
  if (element_bytes == 1 && group > 1) return {.row_bytes = 512, .column_bytes = 64, .least_bytes = 256};
  if (element_bytes == 1) return {.row_bytes = 256, .column_bytes = 128, .least_bytes = 256};
  if (element_bytes == 2) return {.row_bytes = 512, .column_bytes = 64, .least_bytes = 1024};
  return {.row_bytes = 256, .column_bytes = 128, .least_bytes = 1024};
}

/// Cuts `size` into equal parts of at most `most`, and rounds them up to a multiple of `unit`.
inline std::int64_t even_part(std::int64_t size, std::int64_t most, std::int64_t unit) {
  return ceil_div(ceil_div(size, ceil_div(size, most)), unit) * unit;
}

/// Which of the input's dimensions make the columns.
struct ColumnDimensions {
  int count = 0;  ///< So many of the output's fastest.
  std::array<bool, kMaxRank> among{};
  std::int64_t bytes = 0;  ///< Of all their elements.
};

/// The output's fastest until they have `least_bytes`, but never the input's fastest.
inline ColumnDimensions find_columns(const PermuteProblem& m, int least_bytes) {
  const DimensionOrder from_dst = dst_order(m);
  ColumnDimensions columns;
  columns.bytes = m.element_bytes;
  for (int d = from_dst[0]; d != m.rank - 1 && columns.bytes < least_bytes; d = from_dst[columns.count]) {
    columns.bytes *= m.shape[d];
    columns.among[d] = true;
    ++columns.count;
  }
  return columns;
}

/// Whether tiles are full and read enough at a time: 256 bytes of columns, and runs of the input of 32 bytes.
inline bool pays(const PermuteProblem& m) {
  const ColumnDimensions columns = find_columns(m, tile_shape(m.element_bytes).least_bytes);
  std::int64_t run = m.element_bytes;
  for (int d = m.rank - 1; d >= 0 && !columns.among[d]; --d) run *= m.shape[d];
  return columns.bytes >= 256 && run >= 32;
}

/// How many rows a load takes: as many elements as a word of 4 bytes has, where the input's fastest dimension and the
/// input begin and end with words.
inline int rows_in_group(const PermuteProblem& m, const void* src) {
  const bool words = m.shape[m.rank - 1] * m.element_bytes % 4 == 0 && reinterpret_cast<std::uintptr_t>(src) % 4 == 0;
  return words && m.element_bytes < 4 ? 4 / m.element_bytes : 1;
}

/// The matrix that a problem is, which is not refused, and its tiles; a load takes `group` rows.
inline Matrix make_matrix(const PermuteProblem& m, TileShape shape, int group, const void* dst) {
  const Strides from = src_strides(m);
  const Strides to = v7a::dst_strides_by_src(m);
  Matrix matrix{};
  matrix.columns.size = matrix.groups.size = 1;
  const auto append = [&](Side& side, int d, int step) {
    const auto extent = static_cast<std::uint32_t>(m.shape[d] / step);
    side.digit[side.digits++] = {FastDivisor<std::uint32_t>(extent), static_cast<std::uint32_t>(from[d] * step),
                                 static_cast<std::uint32_t>(to[d] * step)};
    side.size *= extent;
  };
  const DimensionOrder from_dst = dst_order(m);
  const ColumnDimensions found = find_columns(m, shape.least_bytes);
  for (int k = 0; k < found.count; ++k) append(matrix.columns, from_dst[k], 1);
  for (int d = m.rank - 1; d >= 0; --d) {
    if (!found.among[d]) append(matrix.groups, d, d == m.rank - 1 ? group : 1);
  }
  matrix.row_step = static_cast<std::uint32_t>(to[m.rank - 1]);

  const int word = 4 / m.element_bytes;  // Elements.
  const auto address = reinterpret_cast<std::uintptr_t>(dst);
  matrix.whole_quads =
      matrix.columns.size % kQuad == 0 && address % static_cast<unsigned>(kQuad * m.element_bytes) == 0;
  matrix.dst_past = static_cast<int>(address % 4) / m.element_bytes;
  const int before = matrix.whole_quads ? 0 : word - 1;  // A row may begin within a word.
  const std::int64_t columns = std::int64_t{matrix.columns.size} + before;
  const std::int64_t rows = std::int64_t{matrix.groups.size} * group;
  std::int64_t tile_columns = shape.row_bytes / m.element_bytes;
  std::int64_t tile_rows = shape.column_bytes / m.element_bytes;
  const std::int64_t volume = tile_columns * tile_rows;
  if (rows < tile_rows) tile_columns = std::min<std::int64_t>(4096, volume / rows);
  if (columns < tile_columns) tile_rows = std::clamp<std::int64_t>(volume / columns, tile_rows, kThreads);
  const std::int64_t tile_groups =
      even_part(matrix.groups.size, std::min<std::int64_t>(tile_rows, kThreads) / group, 1);
  tile_columns = even_part(columns, tile_columns, kQuad);
  matrix.tile_columns = static_cast<int>(tile_columns);
  matrix.tile_groups = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(tile_groups));
  matrix.tiles_across = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(ceil_div(columns, tile_columns)));
  matrix.quads = matrix.tile_columns / kQuad + (word > 1 ? 1 : 0);
  matrix.pitch = (matrix.quads | 1) * kQuad;  // So that neighbours' quads lie in different banks.
  matrix.threads_across = kThreads / static_cast<int>(tile_groups);
  const int words = matrix.tile_columns / (matrix.whole_quads ? kQuad : word);
  matrix.lane_bits = words <= 8 ? 3 : words <= 16 ? 4 : 5;
  return matrix;
}

/// Moves tiles of a shape; a load takes `group` rows, 1 or `rows_in_group`. `m` is merged, not empty and not refused.
inline cudaError_t run_shaped(const PermuteProblem& m, const TileShape& shape, int group, const void* src, void* dst,
                              cudaStream_t stream) {
  const Matrix matrix = make_matrix(m, shape, group, dst);
  const std::uint32_t tile_groups = matrix.tile_groups.divisor;
  const std::int64_t tiles = std::int64_t{matrix.tiles_across.divisor} * ceil_div(matrix.groups.size, tile_groups);
  const auto shared = static_cast<std::size_t>(matrix.quads * kQuad + kThreads) * sizeof(std::uint32_t) +
                      static_cast<std::size_t>(tile_groups) * group * matrix.pitch * m.element_bytes;
  const auto launch_as = [&]<int bytes, int rows>() {
    return launch(permute_kernel<Word<bytes>, rows>,
                  {.grid = tiles, .block = kThreads, .shared_bytes = shared, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), matrix);
  };
  switch (m.element_bytes) {
  case 1:
    return group > 1 ? launch_as.template operator()<1, 4>() : launch_as.template operator()<1, 1>();
  case 2:
    return group > 1 ? launch_as.template operator()<2, 2>() : launch_as.template operator()<2, 1>();
  case 4:
    return launch_as.template operator()<4, 1>();
  default:
    return cudaErrorInvalidValue;
  }
}

/// Moves tiles of the shape for its elements. `m` is merged, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const int group = rows_in_group(m, src);
  return run_shaped(m, tile_shape(m.element_bytes, group), group, src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7j
