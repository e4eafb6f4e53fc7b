/// \file
/// v8b word tile: the tile in words of 4 bytes, in windows that begin at a boundary on the destination's side.
///
/// v8a moves single elements: of bytes, a warp's request is 32 bytes on either side, and four times as many requests
/// move the same data as floats need. And where rows begin anywhere, as in x[:, 1:, 1:].transpose(1, 2), so does all
/// that a tile reads and writes, and the first and last sector of each of its rows is shared with another tile.
///
/// Here a lane moves words of 4 bytes of narrow elements. It loads one from each of 4 rows of bytes (2 of halves), and
/// __byte_perm turns them into words that lie along the columns; two words and a funnel shift make up for a row that
/// begins within a word, when reading from memory and when reading from the tile. Where all rows of the source begin
/// alike, tiles begin so many columns early that theirs begin at a line. Along the destination a tile's window slides,
/// as in chapter 3's v7f: it begins at the last sector's boundary before the tile, for which the tile holds a few rows
/// more. (Floats have none to wait for: for them, windows of a sector were no faster.)
///
/// Of narrow elements a tile has columns of 512 bytes, so that few of their sectors are at a window's end: 512 rows of
/// bytes, for which a block has 512 threads, or 256 of halves. So many blocks run on an SM as leave registers for most
/// or all of a tile's loads at once. Where rows of bytes begin at a multiple of 8, modulo a line, a lane loads 8 of
/// each. What is compared is compared once a column: for rows that the matrix does not have its first or last one is
/// read again, and never stored.
///
/// Blocks count along the source first; where there are few tiles along the destination, along that (see kFewDown).
/// Where columns of a few matrices take turns in the destination, as in x.permute(2, 1, 0) of (n, 2, m), blocks count
/// through those matrices before all else, so that the sectors which two columns share are written at about one time.
///
/// Each side needs a dimension that is contiguous there. Of narrow elements several that follow each other without a
/// gap on their side are counted as one, as v8a does it, and the places of a tile's rows and columns on the other side
/// stand in two tables: in (185, 67, 9, 952) bytes the other way round a tile's 128 columns would else be those of 185,
/// and the second tile of each row nearly empty. Any number of other dimensions. All else is v8a's.
///
/// Expect fewer requests for bytes and halves, and sectors that are written once.
#pragma once

#include "chapters/chapter2_strided/v8a_strided_tile.cuh"

namespace warpbook::chapter2::v8b {

/// The tile for elements of `bytes`; of narrow ones a lane loads so many `words` of a row at a time, 0 where rows may
/// begin within a word.
template <int bytes, int words = 1> struct Tile {
  static constexpr bool kNarrow = bytes < 4;
  static constexpr int kThreads = bytes == 1 ? 512 : 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kPack = kNarrow ? 4 / bytes : 1;            // Elements of a word.
  static constexpr int kColumns = 32 * kPack;                      // Elements along the source,
  static constexpr int kRows = bytes == 8 ? 64 : 512 / bytes;      // and along the destination,
  static constexpr int kSector = bytes == 4 ? 1 : 32 / bytes;      // Windows begin at so many. The rows before
  static constexpr int kBefore = kNarrow ? kSector : kSector - 1;  // the tile that one may need: words need one more.
  static constexpr int kWords = (kRows + kBefore) / kPack;         // Of a column.
  static constexpr int kLoaded = words > 0 ? words : 1;            // Words of a row that become words of columns,
  static constexpr int kLanes = 32 / kLoaded;                      // lanes that load them,
  static constexpr int kTurnWords = kThreads / kLanes;             // and words of a column that a turn brings.
  static constexpr int kTurns = (kWords + kTurnWords - 1) / kTurnWords;
  /// Turns of a narrow tile at a time, for which so many blocks an SM leave registers.
  static constexpr int kInFlight = words == 0 ? (bytes == 1 ? 3 : 5) : words == 1 ? 9 : 5;
  static constexpr int kBlocks = bytes == 1 ? 2 : words == 0 ? 4 : 5;
  /// In words: an odd number, of as many as a warp stores beside each other.
  static constexpr int kPitch = ((kWords + kLoaded - 1) / kLoaded | 1) * kLoaded;
  static constexpr int kLoadedRows = kRows + kBefore;
  /// Up to so many tiles along the destination, its columns are written whole by blocks that run at about the same
  /// time; more of them, and it is better if the source's rows are read so. On an H200 29348x835 bytes take 25.4
  /// instead of 29.0 us, and 586x75842, the other way round, 43.3 instead of 40.0 (chapter2_trials_3.txt).
  static constexpr std::int64_t kFewDown = bytes == 2 ? 6 : 3;
  using Word = warpbook::Word<kNarrow ? 4 : bytes>;
  /// Shared memory: a narrow tile and its tables.
  static constexpr int kBytes = kColumns * kPitch * static_cast<int>(sizeof(Word)) +
                                (kLoadedRows + kColumns) * static_cast<int>(sizeof(std::int64_t));
};

/// What the kernel needs to know: the matrix that is transposed, and all other dimensions.
struct Tiles {
  v8a::Dimension row[Space::kMost];     // The dimensions of a row's number: contiguous in the destination.
  v8a::Dimension column[Space::kMost];  // And of a column's: contiguous in the source.
  v8a::Dimension other[kMaxViewDims];
  int row_dims;
  int column_dims;
  int others;
  int rows;                          // Along the destination,
  int columns;                       // and along the source.
  int early;                         // Columns that the first tile begins before the matrix.
  std::int64_t rows_reach;           // Bytes from the first row to the last, in the source.
  FastDivisor<std::uint32_t> inner;  // Matrices whose columns alternate in the destination, if they are few,
  FastDivisor<std::uint32_t> fast;   // tiles in the direction that blocks count along first,
  FastDivisor<std::uint32_t> slow;   // and in the other one.
  int fast_rows;                     // How far the next tile is in the first direction: a tile's rows, or none,
  int fast_columns;                  // and none, or its columns;
  int slow_rows;                     // and in the other one.
  int slow_columns;
  int last_row;           // Where the last tile along the destination begins.
  const char* src_begin;  // Whole words must not reach beyond the view's array.
  const char* src_end;
};

/// A word of narrow elements. If not all are known to lie in the array, those beyond are left out.
template <int bytes, bool inside>
__device__ __forceinline__ unsigned load_word(const char* at, const char* begin, const char* end) {
  if (inside || (at >= begin && at + 4 <= end)) return load_keeping<(bytes > 1)>(reinterpret_cast<const unsigned*>(at));
  unsigned word = 0;
#pragma unroll
  for (int b = 0; b < 4; b += bytes) {
    if (at + b < begin || at + b >= end) continue;
    word |= unsigned(*reinterpret_cast<const Word<bytes>*>(at + b)) << (8 * b);
  }
  return word;
}

/// Words of rows become words of columns.
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

//! [load]
/// Reads a tile's rows of elements of 4 or 8 bytes, of which `row` is the first and may be negative, from `src`, where
/// row 0 has the tile's first column, `column`. Column c of the tile becomes row c of `tile`.
template <int bytes>
__device__ __forceinline__ void load_rows(typename Tile<bytes>::Word* tile, const char* src, const Tiles& tiles,
                                          int row, int column) {
  using T = Tile<bytes>;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  typename T::Word word[T::kTurns];
  static_assert(T::kBefore <= T::kWarps, "only a first turn's row may lie before the matrix");
  const int first = row + warp;
  const bool inside = column + lane >= 0 && column + lane < tiles.columns;
  const int left = inside ? tiles.rows - first : 0;  // Rows from the first on.
  const char* from = src + first * tiles.row[0].src_stride + lane * bytes;
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    if (t * T::kWarps < left && (t > 0 || first >= 0))
      word[t] = load_keeping<true>(reinterpret_cast<const typename T::Word*>(from));
    from += T::kWarps * tiles.row[0].src_stride;
  }
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const int r = warp + t * T::kWarps;
    if (T::kWords % T::kWarps == 0 || t + 1 < T::kTurns || r < T::kWords) tile[lane * T::kPitch + r] = word[t];
  }
}

/// `count` words of a row, from `at` on.
template <int bytes, bool inside, int count>
__device__ __forceinline__ void load_words(unsigned (&word)[count], const char* at, const Tiles& tiles) {
  if (inside || (at >= tiles.src_begin && at + 4 * count <= tiles.src_end)) {
    using P = Pack<unsigned, count>;
    const P pack = load_keeping<(bytes > 1)>(reinterpret_cast<const P*>(at));
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = pack[i];
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = load_word<bytes, false>(at + 4 * i, tiles.src_begin, tiles.src_end);
  }
}

/// The same for elements of 1 or 2 bytes, kPack rows at a time, which begin at `places` of `src`; a lane loads `words`
/// of each, so that a warp's loads reach over as many packs of rows, or one and the next one where rows may begin
/// within a word: `words` is 0. The columns of a row's word become rows of `tile` that lie T::kLanes apart, as do those
/// of a lane's next word, so that no two lanes store to the same bank. `inside`: all words lie in the array. What they
/// show beside the matrix is never stored.
template <int bytes, int words, bool inside>
__device__ __forceinline__ void load_packed_rows(unsigned* tile, const char* src, const std::int64_t* places,
                                                 const Tiles& tiles) {
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
          next[t][j] = load_word<bytes, inside>(from + 4 * lane + 4, tiles.src_begin, tiles.src_end);
        }
        load_words<bytes, inside>(word[t][j], from + 4 * T::kLoaded * lane, tiles);
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
//! [load]

//! [store]
/// Writes the columns of a tile of elements of 1 or 2 bytes, in words. They begin at `places` of `dst`, with the tile's
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
//! [store]

/// Where a block's tile begins, on both sides.
struct Begin {
  v8a::Place origin;  // Of its matrix.
  int row;            // Of the rows before it, which may be negative.
  int column;
  bool last;  // None follows along the destination.
};
template <class T> __device__ __forceinline__ Begin begin_of(const Tiles& tiles) {
  const auto [tile, inner] = tiles.inner.divide(blockIdx.x);
  const auto [rest, fast] = tiles.fast.divide(tile);
  const auto [outer, slow] = tiles.slow.divide(rest);
  const std::uint32_t batch = outer * tiles.inner.divisor + inner;
  const int row = static_cast<int>(fast) * tiles.fast_rows + static_cast<int>(slow) * tiles.slow_rows;
  const int column = static_cast<int>(fast) * tiles.fast_columns + static_cast<int>(slow) * tiles.slow_columns;
  return {v8a::place_of(tiles.other, tiles.others, batch), row - T::kBefore, column - tiles.early,
          row == tiles.last_row};
}

//! [kernel]
/// Six blocks an SM leave 40 registers a thread: with fewer, some rows would be stored before the others' loads are
/// under way.
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads, 6)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes>;
  __shared__ typename T::Word tile[T::kColumns * T::kPitch];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);

  const auto [origin, first_row, first_column, last] = begin_of<T>(tiles);
  const char* const from = src + origin.src + std::int64_t(first_column) * bytes;
  load_rows<bytes>(tile, from, tiles, first_row, first_column);
  __syncthreads();

#pragma unroll 2
  for (int i = warp; i < T::kColumns; i += T::kWarps) {
    const int column = first_column + i;
    if (column < 0 || column >= tiles.columns) continue;
    char* const to = dst + origin.dst + column * tiles.column[0].dst_stride + std::int64_t(first_row) * bytes;
    // kBefore rows on, a sector may have begun already: so many rows earlier the window begins.
    const int early = static_cast<int>((reinterpret_cast<std::uintptr_t>(to) / bytes + T::kBefore) % T::kSector);
    const auto* const line = tile + i * T::kPitch;
#pragma unroll
    for (int j = 0; j < T::kRows / T::kColumns; ++j) {
      const int at = T::kBefore - early + lane + 32 * j;  // In the tile,
      const int row = first_row + at;                     // and in the matrix.
      if (row >= 0 && row < tiles.rows) *reinterpret_cast<typename T::Word*>(to + at * bytes) = line[at];
    }
  }
}

/// The same for elements of 1 or 2 bytes, whose rows are loaded so many `words` at a time.
template <int bytes, int words>
__global__ void __launch_bounds__(Tile<bytes, words>::kThreads, Tile<bytes, words>::kBlocks)
    packed_tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes, words>;
  auto* const row_places = dynamic_shared<std::int64_t>();
  std::int64_t* const column_places = row_places + T::kLoadedRows;
  auto* const tile = reinterpret_cast<unsigned*>(column_places + T::kColumns);
  const auto [origin, first_row, first_column, last] = begin_of<T>(tiles);
  const int thread = static_cast<int>(threadIdx.x);
  // Before the matrix's first row that one again, behind the last one that.
  const auto inside = [](int i, int count) { return static_cast<std::uint32_t>(min(max(i, 0), count - 1)); };
  for (int i = thread; i < T::kLoadedRows; i += T::kThreads) {
    row_places[i] = v8a::place_of(tiles.row, tiles.row_dims, inside(first_row + i, tiles.rows)).src;
  }
  if (thread < T::kColumns) {
    const std::uint32_t column = inside(first_column + thread, tiles.columns);
    column_places[thread] = v8a::place_of(tiles.column, tiles.column_dims, column).dst;
  }
  __syncthreads();
  const char* const from = src + origin.src + std::int64_t(first_column) * bytes;
  char* const to = dst + origin.dst + std::int64_t(first_row) * bytes;
  const std::int64_t reach = tiles.row_dims == 1 ? row_places[T::kLoadedRows - 1] : tiles.rows_reach;
  if (from - 3 >= tiles.src_begin && from + reach + T::kColumns * bytes + 4 <= tiles.src_end) {
    load_packed_rows<bytes, words, true>(tile, from, row_places, tiles);
  } else {
    load_packed_rows<bytes, words, false>(tile, from, row_places, tiles);
  }
  __syncthreads();
  store_packed_columns<bytes, words>(to, tile, column_places, tiles, first_row, first_column, last);
}
//! [kernel]

/// From so many tiles on a side the last one's empty part does not matter.
inline constexpr std::int64_t kEnoughTiles = 4;

/// The dimensions that are counted as one on either side.
struct Matrix {
  Space columns;  ///< Contiguous in the source.
  Space rows;     ///< And in the destination.
  std::array<bool, kMaxViewDims> others{};
};
inline Matrix matrix_of(const StridedProblem& p) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  Matrix matrix;
  matrix.others.fill(true);
  // Adds the dimension that goes on where those of the space end on their side, the longest if several do (windows that
  // overlap), unless there are tiles enough.
  const int most = p.element_bytes < 4 ? Space::kMost : 1;
  const auto extend = [&](Space& space, std::int64_t CopyDimension::* stride, std::int64_t side) {
    if (space.dims == most || space.count >= kEnoughTiles * side) return false;
    int best = -1;
    for (int d = 0; d < dims; ++d) {
      if (!matrix.others[d] || dimension[d].*stride != space.count) continue;
      if (best < 0 || dimension[d].size > dimension[best].size) best = d;
    }
    if (best < 0) return false;
    matrix.others[best] = false;
    space.add(dimension[best]);
    return true;
  };
  for (bool more = true; more;) {
    more = extend(matrix.columns, &CopyDimension::src_stride, 128 / p.element_bytes);
    more = extend(matrix.rows, &CopyDimension::dst_stride, 512) || more;
  }
  return matrix;
}

/// The source's rows all begin alike, counted modulo so many bytes: a power of 2, of at most a line.
inline std::uint64_t rows_alike(const StridedProblem& p, const Matrix& m) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  std::uint64_t steps = 128;
  const auto add = [&](const CopyDimension& d) { steps |= static_cast<std::uint64_t>(d.src_stride * p.element_bytes); };
  for (int k = 0; k < m.rows.dims; ++k) add(m.rows.dimension[k]);
  for (int d = 0; d < dims; ++d) {
    if (m.others[d]) add(dimension[d]);
  }
  return steps & (~steps + 1);
}

/// Why the step does not take a collapsed problem; nullptr where it does.
inline const char* refuse(const StridedProblem& p) {
  if (p.element_bytes == 16) return "elements must have 1, 2, 4 or 8 bytes";
  if (p.count() > INT32_MAX) return "2^31 elements or more";  // A tile has 4 or more: their number fits 32 bits.
  const Matrix m = matrix_of(p);
  return m.rows.dims > 0 && m.columns.dims > 0 ? nullptr : "each side needs a contiguous dimension of its own";
}

/// Whether the step is the best of those with tiles for a problem that is not refused: at least half of each tile
/// exists, or a fifth if it has all rows of narrow elements, of which v8a moves single ones; and rows of halves do not
/// begin within a word, or v8a is faster.
inline bool suits(const Prepared& q) {
  const StridedProblem& p = q.problem;
  const Matrix m = matrix_of(p);
  const auto filled = [](std::int64_t count, std::int64_t side) {
    return static_cast<double>(count) / static_cast<double>(ceil_div(count, side) * side);
  };
  const std::int64_t columns = p.element_bytes < 4 ? 128 / p.element_bytes : 32;
  const std::int64_t rows = p.element_bytes == 4 ? 128 : p.element_bytes == 8 ? 64 : 512;
  const double rows_filled = filled(m.rows.count, rows);
  const double least = p.element_bytes < 4 && rows_filled > 0.9 ? 0.2 : 0.5;
  if (filled(m.columns.count, columns) * rows_filled < least) return false;
  return p.element_bytes != 2 || rows_alike(p, m) >= 4;
}

/// Up to so many matrices whose columns alternate are counted through first (61304x2x492 bytes: 48.2 instead of 55.3
/// us; chapter2_trials_4.txt). The limit is reckoned: the more there are, the later come the source's next bytes.
inline constexpr std::int64_t kFewInner = 8;

/// Moves tiles. The problem is collapsed and not refused.
inline cudaError_t run_tiles(const Prepared& q, cudaStream_t stream) {
  const std::int64_t bytes = q.problem.element_bytes;
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q.problem, dimension);
  const Matrix m = matrix_of(q.problem);
  const auto in_bytes = [&](const CopyDimension& d) {
    return v8a::Dimension{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(d.size)), d.src_stride * bytes,
                          d.dst_stride * bytes};
  };
  Tiles tiles{};
  tiles.rows = static_cast<int>(m.rows.count);
  tiles.columns = static_cast<int>(m.columns.count);
  tiles.row_dims = m.rows.dims;
  tiles.column_dims = m.columns.dims;
  std::uint64_t dst_steps = 0;
  for (int k = 0; k < m.rows.dims; ++k) {
    tiles.row[k] = in_bytes(m.rows.dimension[k]);
    tiles.rows_reach += (m.rows.dimension[k].size - 1) * tiles.row[k].src_stride;
  }
  for (int k = 0; k < m.columns.dims; ++k) {
    tiles.column[k] = in_bytes(m.columns.dimension[k]);
    dst_steps |= static_cast<std::uint64_t>(tiles.column[k].dst_stride);
  }
  tiles.src_begin = reinterpret_cast<const char*>(q.src);
  tiles.src_end = tiles.src_begin + (q.problem.into_view ? q.problem.count() : q.problem.view.reach() + 1) * bytes;
  std::int64_t batches = 1;
  std::int64_t inner = 1;
  for (const bool between : {true, false}) {  // First those between two columns in the destination.
    for (int d = dims - 1; d >= 0; --d) {
      if (!m.others[d] || (dimension[d].dst_stride < m.columns.dimension[0].dst_stride) != between) continue;
      const v8a::Dimension& other = tiles.other[tiles.others++] = in_bytes(dimension[d]);
      dst_steps |= static_cast<std::uint64_t>(other.dst_stride);
      batches *= dimension[d].size;
    }
    if (between) inner = batches;
  }
  tiles.inner = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(inner <= kFewInner ? inner : 1));
  const std::uint64_t alike = rows_alike(q.problem, m);
  tiles.early = static_cast<int>(reinterpret_cast<std::uintptr_t>(q.src) % alike) / static_cast<int>(bytes);
  const bool windows_alike = dst_steps % 32 == 0;
  const auto window_early = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % 32) / bytes;
  const auto run_as = [&]<int element, int words>() {
    using T = Tile<element, words>;
    const std::int64_t across = ceil_div<std::int64_t>(tiles.columns + tiles.early, T::kColumns);
    // Of wide elements the last window ends early, by a sector less an element at most, and another one may be needed.
    const std::int64_t ends_early = T::kNarrow ? 0 : windows_alike ? window_early % T::kSector : T::kSector - 1;
    const std::int64_t down = ceil_div<std::int64_t>(tiles.rows + ends_early, T::kRows);
    // Chosen here: with a choice in the kernel its compiler leaves the uniform registers (see begin_of).
    const bool down_first = down <= T::kFewDown;
    tiles.fast = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down_first ? down : across));
    tiles.slow = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down_first ? across : down));
    (down_first ? tiles.fast_rows : tiles.slow_rows) = T::kRows;
    (down_first ? tiles.slow_columns : tiles.fast_columns) = T::kColumns;
    tiles.last_row = static_cast<int>(down - 1) * T::kRows;
    const auto launch_tiles = [&](auto kernel, int shared_bytes) {
      return launch(kernel,
                    {.grid = across * down * batches,
                     .block = T::kThreads,
                     .shared_bytes = static_cast<std::size_t>(shared_bytes),
                     .stream = stream},
                    reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
    };
    if constexpr (T::kNarrow) {
      return launch_tiles(packed_tile_kernel<element, words>, T::kBytes);
    } else {
      return launch_tiles(tile_kernel<element>, 0);
    }
  };
  switch (bytes) {
  case 1:
    if (alike >= 8) return run_as.template operator()<1, 2>();
    return alike >= 4 ? run_as.template operator()<1, 1>() : run_as.template operator()<1, 0>();
  case 2:
    return alike >= 4 ? run_as.template operator()<2, 1>() : run_as.template operator()<2, 0>();
  case 4:
    return run_as.template operator()<4, 1>();
  default:
    return run_as.template operator()<8, 1>();
  }
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return refuse(q.problem) == nullptr ? run_tiles(q, stream) : v8a::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter2::v8b
