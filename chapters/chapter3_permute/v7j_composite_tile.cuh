/// \file
/// v7j composite tile: a side of a tile may be made of several dimensions.
///
/// What has a short dimension on either side goes to v7d's boxes: there a narrow element is looked up and gathered from
/// shared memory alone. v7i's tiles move narrow elements one by one on all four ways. Here every permutation that moves
/// the last dimension is a matrix. Its columns count the output's fastest dimensions together, until they have some
/// hundred bytes; its rows count all the others, in the input's order, so that neighbouring rows are neighbours in the
/// input, nearly everywhere. A thread keeps to one row, whose place it works out once; where the columns lie is a table
/// of the block, four to a look-up. The four elements so read are neighbours in the output: they go into shared memory
/// together, and out of it in words of 4 bytes, which begin where memory's words do.
///
/// Expect one load an element and all the rest for four of them: much for elements of 1 and 2 bytes, little for those
/// of 4. Wider ones gain nothing by it (README.md), and stay with v7d and v7i.
#pragma once

#include "chapters/chapter3_permute/v7d_tables.cuh"

namespace warpbook::chapter3::v7j {

inline constexpr int kThreads = 256;
inline constexpr int kQuad = 4;      // Columns that a thread reads for one look-up.
inline constexpr int kInFlight = 4;  // Quads.

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

struct Matrix {
  Side rows;
  Side columns;
  FastDivisor<std::uint32_t> tiles_across;  // Tiles along the columns: neighbouring blocks write neighbours.
  FastDivisor<std::uint32_t> tile_rows;     // At most kThreads.
  int tile_columns;
  int quads;  // Of a tile's row, with one before its first column, which a word may begin in.
  int pitch;  // Elements in shared memory from one row of the tile to the next.
  int threads_across;
  int lane_bits;  // 3 to 5: so many lanes write a row together.
  int dst_past;   // Elements from the last multiple of 4 bytes to the output's first.
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
template <class W>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ Matrix matrix) {
  using Quad = Pack<W, kQuad>;
  auto* offsets = dynamic_shared<std::uint32_t>();    // In the input, of the tile's columns.
  auto* row_places = offsets + matrix.quads * kQuad;  // In the output, of its rows.
  auto* tile = reinterpret_cast<W*>(row_places + kThreads);
  const auto thread = static_cast<int>(threadIdx.x);
  const auto [down, across] = matrix.tiles_across.divide(blockIdx.x);
  const int column0 = static_cast<int>(across) * matrix.tile_columns;
  const int row0 = static_cast<int>(down * matrix.tile_rows.divisor);
  const int columns = static_cast<int>(matrix.columns.size);
  const int rows = min(static_cast<int>(matrix.tile_rows.divisor), static_cast<int>(matrix.rows.size) - row0);

  for (int i = thread; i < matrix.quads * kQuad; i += kThreads) {
    const int column = min(max(column0 - kBefore<W> + i, 0), columns - 1);  // What lies beyond is not written.
    offsets[i] = find_place(matrix.columns, static_cast<std::uint32_t>(column)).src;
  }
  const auto [turn, row] = matrix.tile_rows.divide(static_cast<std::uint32_t>(thread));
  const Place place = find_place(matrix.rows, static_cast<std::uint32_t>(row0 + min(static_cast<int>(row), rows - 1)));
  if (turn == 0) row_places[row] = place.dst + static_cast<std::uint32_t>(column0);
  __syncthreads();

  if (static_cast<int>(turn) < matrix.threads_across) {
    const W* from = src + place.src;
    W* to = tile + static_cast<int>(row) * matrix.pitch;
    const int quads = min(matrix.quads, (columns - column0 + kBefore<W> + kQuad - 1) / kQuad);  // That hold a column.
    for (int quad = static_cast<int>(turn); quad < quads; quad += matrix.threads_across * kInFlight) {
      W loaded[kInFlight][kQuad];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int at = quad + i * matrix.threads_across;
        if (at >= quads) break;
        const uint4 offset = reinterpret_cast<const uint4*>(offsets)[at];
        loaded[i][0] = from[offset.x];
        loaded[i][1] = from[offset.y];
        loaded[i][2] = from[offset.z];
        loaded[i][3] = from[offset.w];
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int at = quad + i * matrix.threads_across;
        if (at >= quads) break;
        Quad packed;
#pragma unroll
        for (int e = 0; e < kQuad; ++e) packed[e] = loaded[i][e];
        auto* quad_at = reinterpret_cast<Quad*>(to + at * kQuad);
        if constexpr (sizeof(W) < 4) {
          store_whole(quad_at, packed);
        } else {
          *quad_at = packed;
        }
      }
    }
  }
  __syncthreads();

  const int lanes = 1 << matrix.lane_bits;
  const int lane = thread & (lanes - 1);
  const auto write = [&]<bool whole>() {
#pragma unroll 2
    for (int r = thread >> matrix.lane_bits; r < rows; r += kThreads >> matrix.lane_bits) {
      const std::uint32_t begin = row_places[r];
      const int past = static_cast<int>((begin + static_cast<std::uint32_t>(matrix.dst_past)) % kWord<W>);
      write_row<whole>(dst + begin, tile + r * matrix.pitch, past, column0, columns, matrix.tile_columns, lane, lanes);
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

inline TileShape tile_shape(int element_bytes) {
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

/// The matrix that a problem is, which is not refused, and its tiles. `dst_past`: elements from the last multiple of 4
/// bytes to the output's first.
inline Matrix make_matrix(const PermuteProblem& m, TileShape shape, int dst_past) {
  const Strides from = src_strides(m);
  const Strides to = v7a::dst_strides_by_src(m);
  Matrix matrix{};
  matrix.columns.size = matrix.rows.size = 1;
  const auto append = [&](Side& side, int d) {
    side.digit[side.digits++] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(m.shape[d])),
                                 static_cast<std::uint32_t>(from[d]), static_cast<std::uint32_t>(to[d])};
    side.size *= static_cast<std::uint32_t>(m.shape[d]);
  };
  const DimensionOrder from_dst = dst_order(m);
  const ColumnDimensions found = find_columns(m, shape.least_bytes);
  for (int k = 0; k < found.count; ++k) append(matrix.columns, from_dst[k]);
  for (int d = m.rank - 1; d >= 0; --d) {
    if (!found.among[d]) append(matrix.rows, d);
  }

  const int word = 4 / m.element_bytes;                                       // Elements.
  const std::int64_t columns = std::int64_t{matrix.columns.size} + word - 1;  // A row may begin within a word.
  const std::int64_t rows = matrix.rows.size;
  std::int64_t tile_columns = shape.row_bytes / m.element_bytes;
  std::int64_t tile_rows = shape.column_bytes / m.element_bytes;
  const std::int64_t volume = tile_columns * tile_rows;
  if (rows < tile_rows) tile_columns = std::min<std::int64_t>(4096, volume / rows);
  if (columns < tile_columns) tile_rows = std::clamp<std::int64_t>(volume / columns, tile_rows, kThreads);
  tile_rows = even_part(rows, std::min<std::int64_t>(tile_rows, kThreads), 1);
  tile_columns = even_part(columns, tile_columns, kQuad);
  matrix.tile_columns = static_cast<int>(tile_columns);
  matrix.tile_rows = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(tile_rows));
  matrix.tiles_across = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(ceil_div(columns, tile_columns)));
  matrix.quads = matrix.tile_columns / kQuad + (word > 1 ? 1 : 0);
  matrix.pitch = (matrix.quads | 1) * kQuad;  // So that neighbours' quads lie in different banks.
  matrix.threads_across = kThreads / static_cast<int>(tile_rows);
  const int words = matrix.tile_columns / word;
  matrix.lane_bits = words <= 8 ? 3 : words <= 16 ? 4 : 5;
  matrix.dst_past = dst_past;
  return matrix;
}

/// Moves tiles of a shape. `m` is merged, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, TileShape shape, const void* src, void* dst,
                             cudaStream_t stream) {
  const int dst_past = static_cast<int>(reinterpret_cast<std::uintptr_t>(dst) % 4) / m.element_bytes;
  const Matrix matrix = make_matrix(m, shape, dst_past);
  const std::uint32_t tile_rows = matrix.tile_rows.divisor;
  const std::int64_t tiles = std::int64_t{matrix.tiles_across.divisor} * ceil_div(matrix.rows.size, tile_rows);
  const auto shared = static_cast<std::size_t>(matrix.quads * kQuad + kThreads) * sizeof(std::uint32_t) +
                      static_cast<std::size_t>(tile_rows) * matrix.pitch * m.element_bytes;
  const auto launch_as = [&]<int bytes>() {
    return launch(permute_kernel<Word<bytes>>,
                  {.grid = tiles, .block = kThreads, .shared_bytes = shared, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), matrix);
  };
  switch (m.element_bytes) {
  case 1:
    return launch_as.template operator()<1>();
  case 2:
    return launch_as.template operator()<2>();
  case 4:
    return launch_as.template operator()<4>();
  default:
    return cudaErrorInvalidValue;
  }
}

/// The same in the shape for its elements.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  return run_tiles(m, tile_shape(m.element_bytes), src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7j
