/// \file
/// composite_tile: tiles of a composite matrix with whatever sides a problem calls for; for single narrow elements.
///
/// A thread keeps to one group of rows, whose place it works out once; where the columns lie is a table of the block,
/// four to a look-up. The four elements so read are neighbours in the output, and leave shared memory in words of 4
/// bytes, which begin where memory's words do. Where the input's fastest dimension is made of whole words, a thread
/// loads words.
#pragma once

#include "chapters/chapter3_permute/library/composite_matrix.cuh"

namespace warpbook::chapter3::composite_tile {

using namespace composite_matrix;

inline constexpr int kThreads = 256;
inline constexpr int kQuad = 4;      // Columns that a thread reads for one look-up.
inline constexpr int kInFlight = 4;  // Quads.

/// Blocks that a multiprocessor must have room for: left alone, nvcc takes 40 registers a thread, which are six of
/// them. Bytes need that many. Where a multiprocessor has fewer than 2048 threads there is nothing to ask for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
template <int bytes> inline constexpr int kBlocks = 1;
#else
template <int bytes> inline constexpr int kBlocks = bytes == 4 ? 8 : bytes == 2 ? 7 : 1;
#endif

template <int bytes> inline constexpr int kWord = 4 / bytes;

/// Columns before a tile's first, which a word may begin at: a quad, or none.
template <int bytes> inline constexpr int kBefore = bytes < 4 ? kQuad : 0;

struct Tile {
  FastDivisor<std::uint32_t> groups;  // At most kThreads.
  int columns;
  int quads;  // Of a row, with one before its first column, which a word may begin in.
  int pitch;  // Elements in shared memory from one row to the next.
  int threads_across;
  int lane_bits;     // 3 to 5: so many lanes write a row together.
  bool whole_quads;  // Of every row, in memory, too: then they are written as they lie in the tile.
};

/// Loads quads of one group of rows, which begins at `from`, by every `threads_across`th thread from `turn` on.
template <int bytes, int group>
__device__ __forceinline__ void load_group(Word<bytes>* to, const Word<bytes>* from, const std::uint32_t* offsets,
                                           const Tile& shape, int turn, int quads) {
  using Loaded = Word<group * bytes>;
  for (int quad = turn; quad < quads; quad += shape.threads_across * kInFlight) {
    Loaded loaded[kInFlight][kQuad];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int at = quad + i * shape.threads_across;
      if (at >= quads) break;
      const uint4 offset = reinterpret_cast<const uint4*>(offsets)[at];
      loaded[i][0] = *reinterpret_cast<const Loaded*>(from + offset.x);
      loaded[i][1] = *reinterpret_cast<const Loaded*>(from + offset.y);
      loaded[i][2] = *reinterpret_cast<const Loaded*>(from + offset.z);
      loaded[i][3] = *reinterpret_cast<const Loaded*>(from + offset.w);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int at = quad + i * shape.threads_across;
      if (at >= quads) break;
      put_quads<bytes, group>(to + at * kQuad, static_cast<int>(shape.groups.divisor) * shape.pitch, loaded[i]);
    }
  }
}

/// Writes the tile's row from the last word's boundary before it on, up to the one before its end. With `whole`, the
/// matrix's edge does not cut it.
template <bool whole, int bytes>
__device__ __forceinline__ void write_row(Word<bytes>* __restrict__ dst, const Word<bytes>* row, int past, int column0,
                                          int columns, int tile_columns, int lane, int lanes) {
  // Where the first word begins in the tile. By index, not by address: through an integer, a pointer would forget that
  // it points to shared memory.
  const int first = kBefore<bytes> - past;
  const auto* words = reinterpret_cast<const std::uint32_t*>(row) + first / kWord<bytes>;
  const unsigned shift = first % kWord<bytes> * 8 * bytes;
  const int next = shift != 0 ? 1 : 0;  // At a boundary there may be no second word.
  const Word<bytes>* from = row + first;
  Word<bytes>* to = dst - past;
  for (int i = lane * kWord<bytes>; i < tile_columns; i += lanes * kWord<bytes>) {
    const int column = column0 - past + i;
    if (whole || (column >= 0 && column + kWord<bytes> <= columns)) {
      const std::uint32_t* word = words + i / kWord<bytes>;
      std::uint32_t value = word[0];
      if constexpr (bytes < 4) value = __funnelshift_r(value, word[next], shift);
      *reinterpret_cast<std::uint32_t*>(to + i) = value;
    } else {  // The word that the matrix's row begins in, or ends in.
#pragma unroll
      for (int e = 0; e < kWord<bytes>; ++e) {
        if (column + e >= 0 && column + e < columns) to[i + e] = from[i + e];
      }
    }
  }
}

/// A row of the tile: where it lies there, and where it begins in the output.
struct Row {
  int at;
  std::uint32_t begin;
};

template <int group>
__device__ __forceinline__ Row find_row(const Matrix& matrix, const Tile& shape, const std::uint32_t* group_places,
                                        int r) {
  const int in_group = r % group;
  const int at = in_group * static_cast<int>(shape.groups.divisor) + r / group;
  return {at * shape.pitch, group_places[r / group] + in_group * matrix.row_step};
}

/// A load takes `group` rows, 1 or kWord<bytes>.
template <int bytes, int group>
__global__ void __launch_bounds__(kThreads, kBlocks<bytes>)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ Matrix matrix, const __grid_constant__ Tile shape) {
  auto* offsets = dynamic_shared<std::uint32_t>();     // In the input, of the tile's columns.
  auto* group_places = offsets + shape.quads * kQuad;  // In the output, of its groups' first rows.
  auto* tile = reinterpret_cast<Word<bytes>*>(group_places + kThreads);
  const int thread = threadIdx.x;
  const auto [down, across] = matrix.tiles.divide(blockIdx.x);  // Neighbouring blocks write neighbours.
  const int group0 = static_cast<int>(down) * matrix.tile_groups;
  const int groups = min(matrix.tile_groups, matrix.groups - group0);
  const int column0 = static_cast<int>(across) * shape.columns;

  const auto [turn, own] = shape.groups.divide(thread);
  const Place place = find_group<false>(matrix, group0 + min(static_cast<int>(own), groups - 1));
  for (int i = thread; i < shape.quads * kQuad; i += kThreads) {
    const int column = min(max(column0 - kBefore<bytes> + i, 0), matrix.columns - 1);  // What lies beyond is not
    offsets[i] = find_column<false>(matrix, column).src;                               // written.
  }
  if (turn == 0) group_places[own] = place.dst + column0;
  __syncthreads();

  if (static_cast<int>(turn) < shape.threads_across) {
    const int quads = min(shape.quads, (matrix.columns - column0 + kBefore<bytes> + kQuad - 1) / kQuad);
    load_group<bytes, group>(tile + static_cast<int>(own) * shape.pitch, src + place.src, offsets, shape, turn, quads);
  }
  __syncthreads();

  const int lanes = 1 << shape.lane_bits;
  const int lane = thread & (lanes - 1);
  const int rows_at_once = kThreads >> shape.lane_bits;
  if (shape.whole_quads) {
    using Quad = Word<kQuad * bytes>;
    const int quads = min(shape.columns, matrix.columns - column0) / kQuad;
    for (int r = thread >> shape.lane_bits; r < groups * group; r += rows_at_once) {
      const auto [at, begin] = find_row<group>(matrix, shape, group_places, r);
      const auto* from = reinterpret_cast<const Quad*>(tile + at + kBefore<bytes>);
      auto* to = reinterpret_cast<Quad*>(dst + begin);
      for (int i = lane; i < quads; i += lanes) to[i] = from[i];
    }
    return;
  }
  const auto write_words = [&]<bool whole>() {
#pragma unroll 2
    for (int r = thread >> shape.lane_bits; r < groups * group; r += rows_at_once) {
      const auto [at, begin] = find_row<group>(matrix, shape, group_places, r);
      const int past = static_cast<int>((begin + matrix.dst_past) % kWord<bytes>);
      write_row<whole, bytes>(dst + begin, tile + at, past, column0, matrix.columns, shape.columns, lane, lanes);
    }
  };
  if (column0 >= kWord<bytes> && column0 + shape.columns <= matrix.columns) {
    write_words.template operator()<true>();
  } else {
    write_words.template operator()<false>();
  }
}

inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2 || keeps_last_dimension(m)) return "the last dimension must move";
  if (m.element_bytes > 4) return "elements must have 1, 2 or 4 bytes";
  return composite_matrix::refuse(m);
}

/// The tile's sides, in bytes, and how many bytes the columns have at least, where the output has so many before the
/// input's fastest dimension.
struct TileShape {
  int row_bytes;     ///< Along the output.
  int column_bytes;  ///< Along the input.
  int least_bytes;
};

/// The best of twelve for each element size on an H200.
inline TileShape tile_shape(const PermuteProblem& m, int group = 1) {
  const int least = least_bytes_beside_runs(m, m.element_bytes == 1 && group > 1 ? 256 : 1024);
  if (m.element_bytes <= 2) return {.row_bytes = 512, .column_bytes = 64, .least_bytes = least};
  return {.row_bytes = 256, .column_bytes = 128, .least_bytes = least};
}

/// Whether tiles are full and read enough at a time: 256 bytes of columns, and runs of the input of 32 bytes.
inline bool pays(const PermuteProblem& m) {
  const Columns columns = find_columns(m, tile_shape(m).least_bytes);
  return columns.size * m.element_bytes >= 256 && run_bytes(m, columns) >= 32;
}

/// How many rows a load takes: as many elements as 4 bytes have, where the input's fastest dimension is made of them.
inline int rows_in_group(const PermuteProblem& m) {
  return elements_in_load(m) * m.element_bytes == 4 ? 4 / m.element_bytes : 1;
}

/// The tile for a matrix of elements of `element_bytes`, and its grid. A load takes `group` rows; `dst_past` is of 4
/// bytes, and `aligned` tells whether the output begins with a whole four of elements.
inline Tile make_tile(Matrix& matrix, const TileShape& shape, int element_bytes, int group, bool aligned) {
  const int word = 4 / element_bytes;  // Elements.
  Tile tile{};
  tile.whole_quads = matrix.columns % kQuad == 0 && aligned;
  const std::int64_t columns = std::int64_t{matrix.columns} + (tile.whole_quads ? 0 : word - 1);  // Before a row.
  const std::int64_t rows = std::int64_t{matrix.groups} * group;
  std::int64_t tile_columns = shape.row_bytes / element_bytes;
  std::int64_t tile_rows = shape.column_bytes / element_bytes;
  const std::int64_t volume = tile_columns * tile_rows;
  if (rows < tile_rows) tile_columns = std::min<std::int64_t>(4096, volume / rows);
  if (columns < tile_columns) tile_rows = std::clamp<std::int64_t>(volume / columns, tile_rows, kThreads);
  matrix.tile_groups = static_cast<int>(even_part(matrix.groups, std::min<std::int64_t>(tile_rows, kThreads) / group));
  tile.columns = static_cast<int>(even_part(columns, tile_columns, kQuad));
  matrix.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(ceil_div<std::int64_t>(columns, tile.columns)));
  tile.groups = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(matrix.tile_groups));
  tile.quads = tile.columns / kQuad + (word > 1 ? 1 : 0);
  tile.pitch = (tile.quads | 1) * kQuad;  // So that neighbours' quads lie in different banks.
  tile.threads_across = kThreads / matrix.tile_groups;
  const int words = tile.columns / (tile.whole_quads ? kQuad : word);
  tile.lane_bits = words <= 8 ? 3 : words <= 16 ? 4 : 5;
  return tile;
}

/// Moves tiles of a shape; a load takes `group` rows, 1 or `rows_in_group`. `m` is simplified, not empty and not
/// refused.
inline cudaError_t run_shaped(const PermuteProblem& m, const TileShape& shape, int group, const void* src, void* dst,
                              cudaStream_t stream) {
  Matrix matrix = make_matrix(m, find_columns(m, shape.least_bytes), group);
  matrix.dst_past = elements_past(dst, 4, m.element_bytes);
  const bool aligned = elements_past(dst, kQuad * m.element_bytes, m.element_bytes) == 0;
  const Tile tile = make_tile(matrix, shape, m.element_bytes, group, aligned);
  const std::int64_t tiles = std::int64_t{matrix.tiles.divisor} * ceil_div(matrix.groups, matrix.tile_groups);
  const auto shared = static_cast<std::size_t>(tile.quads * kQuad + kThreads) * sizeof(std::uint32_t) +
                      static_cast<std::size_t>(matrix.tile_groups) * group * tile.pitch * m.element_bytes;
  const auto launch_as = [&]<int bytes, int rows>() {
    return launch(permute_kernel<bytes, rows>,
                  {.grid = tiles, .block = kThreads, .shared_bytes = shared, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), matrix, tile);
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

/// Moves tiles of the shape for its elements. `m` is simplified, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const int group = rows_in_group(m);
  return run_shaped(m, tile_shape(m, group), group, src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::composite_tile
