/// \file
/// narrow_tile: v8's tile for elements of 1 and 2 bytes, in words of 4 bytes, which __byte_perm regroups.
///
/// Two words and a funnel shift make up for a row that begins within a word, in memory and in the tile. Where all rows
/// of the source begin alike, tiles begin so many columns early that theirs begin at a line. Along the destination a
/// tile's window slides: it begins at the last sector's boundary before the tile, for which the tile holds a few rows
/// more. Dimensions that follow each other without a gap on their side count as one, and their places stand in two
/// tables.
#pragma once

#include "chapters/chapter2_strided/library/places.cuh"

namespace warpbook::chapter2::narrow_tile {

/// The tile for elements of `bytes`, of which a lane loads so many `words` of a row at a time, 0 where rows may begin
/// within a word. Columns have 512 bytes, so that few of their sectors are at a window's end.
template <int bytes, int words> struct Tile {
  static constexpr int kThreads = bytes == 1 ? 512 : 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kPack = 4 / bytes;                      // Elements of a word.
  static constexpr int kColumns = 32 * kPack;                  // Elements along the source,
  static constexpr int kRows = 512 / bytes;                    // and along the destination.
  static constexpr int kBefore = 32 / bytes;                   // Rows before the tile that a window may need.
  static constexpr int kLoadedRows = kRows + kBefore;          //
  static constexpr int kWords = kLoadedRows / kPack;           // Of a column.
  static constexpr int kLoaded = words > 0 ? words : 1;        // Words of a row that become words of columns,
  static constexpr int kLanes = 32 / kLoaded;                  // lanes that load them,
  static constexpr int kTurnWords = kThreads / kLanes;         // words of a column that a round brings,
  static constexpr int kTurns = ceil_div(kWords, kTurnWords);  // and rounds.
  /// Rounds at a time, for which so many blocks per SM leave registers.
  static constexpr int kInFlight = words == 0 ? 3 : words == 1 ? 9 : 5;
  static constexpr int kBlocks = bytes == 1 ? 2 : 5;
  /// In words: an odd number, of as many as a warp stores beside each other.
  static constexpr int kPitch = ((kWords + kLoaded - 1) / kLoaded | 1) * kLoaded;
  /// Up to so many tiles along the destination, its columns are written whole by blocks that run at about the same
  /// time; with more of them it is better if the source's rows are read so.
  static constexpr std::int64_t kFewDown = bytes == 2 ? 6 : 3;
  /// Shared memory: a tile and its tables.
  static constexpr int kBytes =
      kColumns * kPitch * 4 + (kLoadedRows + kColumns) * static_cast<int>(sizeof(std::int64_t));
};

/// What the kernel needs to know: the matrix that is transposed, and all other dimensions.
struct Tiles {
  Placed<Space::kMost> row;     // The dimensions of a row's number: contiguous in the destination.
  Placed<Space::kMost> column;  // And of a column's: contiguous in the source.
  Placed<kMaxViewDims> others;
  TileOrder order;
  FastDivisor<std::uint32_t> inner;  // Matrices whose columns alternate in the destination, if they are few.
  int rows;                          // Along the destination,
  int columns;                       // and along the source.
  int early;                         // Columns that the first tile begins before the matrix.
  int last_row;                      // Where the last tile along the destination begins.
  std::int64_t rows_reach;           // Bytes from the first row to the last, in the source.
  SourceRange source;
};

__device__ __forceinline__ void transpose_words(unsigned (&w)[2]) {
  const unsigned a = w[0];
  w[0] = __byte_perm(a, w[1], 0x5410);
  w[1] = __byte_perm(a, w[1], 0x7632);
}
__device__ __forceinline__ void transpose_words(unsigned (&w)[4]) {
  const unsigned a = __byte_perm(w[0], w[1], 0x5140);
  const unsigned b = __byte_perm(w[2], w[3], 0x5140);
  const unsigned c = __byte_perm(w[0], w[1], 0x7362);
  const unsigned d = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(a, b, 0x5410);
  w[1] = __byte_perm(a, b, 0x7632);
  w[2] = __byte_perm(c, d, 0x5410);
  w[3] = __byte_perm(c, d, 0x7632);
}

/// `count` words of a row, from `at` on.
template <int bytes, bool inside, int count>
__device__ __forceinline__ void load_words(unsigned (&word)[count], const char* at, const SourceRange& source) {
  if (inside || source.holds(at, at + 4 * count)) {
    using P = Pack<unsigned, count>;
    const P pack = load_keeping<(bytes > 1)>(reinterpret_cast<const P*>(at));
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = pack[i];
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = load_word<bytes, false>(at + 4 * i, source);
  }
}

/// Reads a tile's rows, kPack at a time, which begin at `places` of `src`; a lane loads `words` of each. The columns of
/// a row's word become rows of `tile` that lie T::kLanes apart, as do those of a lane's next word, so that no two lanes
/// store to the same bank. `inside`: all words lie in the array. What they show beside the matrix is never stored.
template <int bytes, int words, bool inside>
__device__ __forceinline__ void load_packed_rows(unsigned* tile, const char* src, const std::int64_t* places,
                                                 const SourceRange& source) {
  using T = Tile<bytes, words>;
  const int lane = static_cast<int>(threadIdx.x) % T::kLanes;  // Of those that read a row.
  const int pack = static_cast<int>(threadIdx.x) / T::kLanes;  // The thread's first: each is a word of a column.
  unsigned* const to = tile + lane * T::kPitch + pack;
#pragma unroll
  for (int first = 0; first < T::kTurns; first += T::kInFlight) {
    unsigned word[T::kInFlight][T::kPack][T::kLoaded];
    unsigned next[T::kInFlight][T::kPack];
    unsigned bits[T::kInFlight][T::kPack];  // Of a word before the row's first element.
    const auto exists = [&](int t) {        // Only the last turn is not all threads'.
      return first + t < T::kTurns && (T::kWords % T::kTurnWords == 0 || first + t + 1 < T::kTurns ||
                                       pack + (first + t) * T::kTurnWords < T::kWords);
    };
#pragma unroll
    for (int t = 0; t < T::kInFlight; ++t) {
      if (!exists(t)) break;
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) {
        const char* from = src + places[(pack + (first + t) * T::kTurnWords) * T::kPack + j];
        if constexpr (words == 0) {
          const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 4);
          from -= misaligned;
          bits[t][j] = 8 * misaligned;
          next[t][j] = load_word<bytes, inside>(from + 4 * lane + 4, source);
        }
        load_words<bytes, inside>(word[t][j], from + 4 * T::kLoaded * lane, source);
      }
    }
#pragma unroll
    for (int t = 0; t < T::kInFlight; ++t) {
      if (!exists(t)) break;
#pragma unroll
      for (int i = 0; i < T::kLoaded; ++i) {
        unsigned column[T::kPack];
#pragma unroll
        for (int j = 0; j < T::kPack; ++j) {
          column[j] = words == 0 ? __funnelshift_r(word[t][j][i], next[t][j], bits[t][j]) : word[t][j][i];
        }
        transpose_words(column);
#pragma unroll
        for (int j = 0; j < T::kPack; ++j) {
          to[(i * T::kPack + j) * T::kLanes * T::kPitch + (first + t) * T::kTurnWords] = column[j];
        }
      }
    }
  }
}

/// Writes the columns of a tile. They begin at `places` of `dst`, with the tile's
/// first row. The last window goes on to the matrix's end: `last`.
template <int bytes, int words>
__device__ __forceinline__ void store_packed_columns(char* dst, const unsigned* tile, const std::int64_t* places,
                                                     const Tiles& tiles, int first_row, int first_column, bool last) {
  using T = Tile<bytes, words>;
  static_assert(T::kWarps % (T::kPack * T::kLoaded) == 0, "a warp's columns are as far apart in the tile");
  using W = Word<bytes>;
  constexpr int pack = T::kPack;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int columns = min(T::kColumns, tiles.columns - first_column);
  const auto whole_words = static_cast<unsigned>(max(tiles.rows - pack + 1, 0));  // Of so many rows one may begin.
  const int loaded = warp / pack;  // The word of the rows that the warp's first column comes from.
  const unsigned* line =
      tile + ((loaded % T::kLoaded * pack + warp % pack) * T::kLanes + loaded / T::kLoaded) * T::kPitch;
#pragma unroll 2
  for (int i = warp; i < columns; i += T::kWarps) {
    const unsigned* const from = line;
    char* const column = dst + places[i];
    line += T::kWarps / (pack * T::kLoaded) * T::kPitch;
    if (first_column + i < 0) continue;
    // kBefore rows on, a sector may have begun already: so many rows earlier the window begins.
    const int early = static_cast<int>(reinterpret_cast<std::uintptr_t>(column) / bytes % T::kBefore);
    const int skipped = T::kBefore - early;
    const int bits = skipped % pack * bytes * 8;
    const unsigned* const low = from + skipped / pack + lane;
    const unsigned* const high = low + (bits == 0 ? 0 : 1);
    char* const window = column + skipped * bytes + lane * 4;
    const int row = first_row + skipped + lane * pack;
#pragma unroll
    for (int j = 0; j < T::kRows / T::kColumns; ++j) {
      const unsigned word = __funnelshift_r(low[32 * j], high[32 * j], bits);
      const int r = row + T::kColumns * j;
      if (static_cast<unsigned>(r) < whole_words) {
        *reinterpret_cast<unsigned*>(window + 128 * j) = word;
      } else {
#pragma unroll
        for (int e = 0; e < pack; ++e) {
          if (r + e < 0 || r + e >= tiles.rows) continue;
          *reinterpret_cast<W*>(window + 128 * j + e * bytes) = static_cast<W>(word >> (8 * bytes * e));
        }
      }
    }
    if (last && lane < early) {
      const int at = skipped + T::kRows + lane;
      if (first_row + at < tiles.rows) {
        reinterpret_cast<W*>(column)[at] = reinterpret_cast<const W*>(from)[at];
      }
    }
  }
}

template <int bytes, int words>
__global__ void __launch_bounds__(Tile<bytes, words>::kThreads, Tile<bytes, words>::kBlocks)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes, words>;
  auto* const row_places = dynamic_shared<std::int64_t>();
  std::int64_t* const column_places = row_places + T::kLoadedRows;
  auto* const tile = reinterpret_cast<unsigned*>(column_places + T::kColumns);
  const auto [number, inner] = tiles.inner.divide(blockIdx.x);
  const auto [tile_row, tile_column, outer] = tiles.order.tile(number);
  const Place origin = tiles.others.at(outer * tiles.inner.divisor + inner);
  const int first_row = tile_row - T::kBefore;  // Of the rows before the tile, which may be negative.
  const int first_column = tile_column - tiles.early;
  const int thread = threadIdx.x;
  // Before the matrix's first row that one again, behind the last one that: what is compared is compared once a column.
  const auto inside = [](int i, int count) { return static_cast<std::uint32_t>(min(max(i, 0), count - 1)); };
  for (int i = thread; i < T::kLoadedRows; i += T::kThreads) {
    row_places[i] = tiles.row.at(inside(first_row + i, tiles.rows)).src;
  }
  if (thread < T::kColumns) column_places[thread] = tiles.column.at(inside(first_column + thread, tiles.columns)).dst;
  __syncthreads();
  const char* const from = src + origin.src + std::int64_t(first_column) * bytes;
  char* const to = dst + origin.dst + std::int64_t(first_row) * bytes;
  const std::int64_t reach = tiles.row.dims == 1 ? row_places[T::kLoadedRows - 1] : tiles.rows_reach;
  if (tiles.source.holds(from - 3, from + reach + T::kColumns * bytes + 4)) {
    load_packed_rows<bytes, words, true>(tile, from, row_places, tiles.source);
  } else {
    load_packed_rows<bytes, words, false>(tile, from, row_places, tiles.source);
  }
  __syncthreads();
  store_packed_columns<bytes, words>(to, tile, column_places, tiles, first_row, first_column,
                                     tile_row == tiles.last_row);
}

/// From so many tiles on a side the last one's empty part does not matter.
inline constexpr std::int64_t kEnoughTiles = 4;

/// The dimensions that are counted as one on either side.
struct Matrix {
  Space columns;  ///< Contiguous in the source.
  Space rows;     ///< And in the destination.
  int others = 0;
  std::array<CopyDimension, kMaxViewDims> other{};
};
inline Matrix matrix_of(const StridedProblem& q) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q, dimension);
  std::array<bool, kMaxViewDims> taken{};
  Matrix matrix;
  // Adds the dimension that goes on where those of the space end on their side, the longest if several do (windows that
  // overlap), unless there are tiles enough.
  const auto extend = [&](Space& space, std::int64_t CopyDimension::* stride, std::int64_t side) {
    if (space.dims == Space::kMost || space.count >= kEnoughTiles * side) return false;
    int best = -1;
    for (int d = 0; d < dims; ++d) {
      if (taken[d] || dimension[d].*stride != space.count) continue;
      if (best < 0 || dimension[d].size > dimension[best].size) best = d;
    }
    if (best < 0) return false;
    taken[best] = true;
    space.add(dimension[best]);
    return true;
  };
  for (bool more = true; more;) {
    more = extend(matrix.columns, &CopyDimension::src_stride, 128 / q.element_bytes);
    more = extend(matrix.rows, &CopyDimension::dst_stride, 512) || more;
  }
  for (int d = dims - 1; d >= 0; --d) {
    if (!taken[d]) matrix.other[matrix.others++] = dimension[d];
  }
  return matrix;
}

/// The source's rows all begin alike, counted modulo so many bytes: a power of 2, of at most a line.
inline std::int64_t rows_alike(const StridedProblem& q, const Matrix& m) {
  std::int64_t steps = 128;
  for (int k = 0; k < m.rows.dims; ++k) steps |= m.rows.dimension[k].src_stride * q.element_bytes;
  for (int k = 0; k < m.others; ++k) steps |= m.other[k].src_stride * q.element_bytes;
  return steps & -steps;
}

inline const char* refuse(const StridedProblem& q) {
  if (q.element_bytes > 2) return "elements must have 1 or 2 bytes";
  if (q.count() > INT32_MAX) return "2^31 elements or more";
  const Matrix m = matrix_of(q);
  if (m.rows.dims == 0 || m.columns.dims == 0) return "each side needs a contiguous dimension of its own";
  return q.element_bytes == 1 || rows_alike(q, m) >= 4 ? nullptr : "rows of halves must not begin within a word";
}

/// Up to so many matrices whose columns alternate in the destination, as in x.permute(2, 1, 0) of (n, 2, m), are
/// counted through first, so that the sectors which two columns share are written at about one time.
inline constexpr std::int64_t kFewInner = 8;

template <int bytes, int words> cudaError_t run_tiles(const Prepared& q, const Matrix& m, cudaStream_t stream) {
  using T = Tile<bytes, words>;
  Tiles tiles{};
  tiles.rows = static_cast<int>(m.rows.count);
  tiles.columns = static_cast<int>(m.columns.count);
  tiles.row.add(m.rows, bytes);
  tiles.column.add(m.columns, bytes);
  for (int k = 0; k < m.rows.dims; ++k) {
    tiles.rows_reach += (m.rows.dimension[k].size - 1) * m.rows.dimension[k].src_stride * bytes;
  }
  std::int64_t batches = 1;
  std::int64_t inner = 1;
  for (const bool between : {true, false}) {  // First those between two columns in the destination.
    for (int k = 0; k < m.others; ++k) {
      if ((m.other[k].dst_stride < m.columns.dimension[0].dst_stride) != between) continue;
      tiles.others.add(m.other[k], bytes);
      batches *= m.other[k].size;
    }
    if (between) inner = batches;
  }
  tiles.inner = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(inner <= kFewInner ? inner : 1));
  const auto alike = static_cast<std::uintptr_t>(rows_alike(q.problem, m));
  tiles.early = static_cast<int>(reinterpret_cast<std::uintptr_t>(q.src) % alike) / bytes;
  tiles.source = source_of(q);
  const std::int64_t across = ceil_div<std::int64_t>(tiles.columns + tiles.early, T::kColumns);
  const std::int64_t down = ceil_div<std::int64_t>(tiles.rows, T::kRows);
  tiles.order = TileOrder(down <= T::kFewDown, down, across, T::kRows, T::kColumns);
  tiles.last_row = static_cast<int>(down - 1) * T::kRows;
  return launch(tile_kernel<bytes, words>,
                {.grid = across * down * batches,
                 .block = T::kThreads,
                 .shared_bytes = static_cast<std::size_t>(T::kBytes),
                 .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  const Matrix m = matrix_of(q.problem);
  const std::int64_t alike = rows_alike(q.problem, m);
  if (q.problem.element_bytes == 2) return run_tiles<2, 1>(q, m, stream);
  if (alike >= 8) return run_tiles<1, 2>(q, m, stream);
  return alike >= 4 ? run_tiles<1, 1>(q, m, stream) : run_tiles<1, 0>(q, m, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::narrow_tile
