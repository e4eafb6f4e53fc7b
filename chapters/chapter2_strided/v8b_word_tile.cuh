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
/// as in chapter 3's v7f: it begins at the last boundary before the tile, of a word for narrow elements, of a sector
/// for those of 8 bytes; floats have none to wait for, and were no faster for windows of a sector. For that, a tile
/// holds a few rows more.
///
/// It needs a single dimension along each side, contiguous there; any number of others; and either side may have gaps
/// between its rows. All else is v8a's.
///
/// Expect fewer requests for bytes and halves, and sectors that are written once.
#pragma once

#include "chapters/chapter2_strided/v8a_strided_tile.cuh"

namespace warpbook::chapter2::v8b {

/// The tile for elements of `bytes`.
template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kPack = bytes < 4 ? 4 / bytes : 1;                 // Elements of a word.
  static constexpr int kColumns = 32 * kPack;                             // Elements along the source,
  static constexpr int kRows = bytes == 4 ? 128 : bytes == 8 ? 64 : 256;  // and along the destination,
  static constexpr int kBefore = bytes == 8 ? 4 : kPack;         // and those before it: of a sector, or of a word.
  static constexpr int kWords = (kRows + kBefore) / kPack;       // Of a column.
  static constexpr int kPitch = kWords | 1;                      // In words: an odd number.
  static constexpr int kTurns = (kWords + kWarps - 1) / kWarps;  // Of a warp, each a word of all columns.
  using Word = warpbook::Word < bytes<4 ? 4 : bytes>;
};

/// What the kernel needs to know: the matrix that is transposed, and all other dimensions.
struct Tiles {
  v8a::Dimension other[kMaxViewDims];
  int others;
  int rows;                // Along the destination,
  int columns;             // and along the source.
  int early;               // Columns that the first tile begins before the matrix.
  std::int64_t src_pitch;  // Bytes from row to row,
  std::int64_t dst_pitch;  // and from column to column.
  FastDivisor<std::uint32_t> across;
  FastDivisor<std::uint32_t> down;
  const char* src_begin;  // Whole words must not reach beyond the view's array.
  const char* src_end;
};

/// A word of narrow elements. If not all are known to lie in the array, those beyond are left out.
template <int bytes, bool inside> __device__ __forceinline__ unsigned load_word(const char* at, const Tiles& tiles) {
  if (inside || (at >= tiles.src_begin && at + 4 <= tiles.src_end)) return *reinterpret_cast<const unsigned*>(at);
  unsigned word = 0;
#pragma unroll
  for (int b = 0; b < 4; b += bytes) {
    if (at + b < tiles.src_begin || at + b >= tiles.src_end) continue;
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
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  typename T::Word word[T::kTurns];
  const bool inside = column + lane >= 0 && column + lane < tiles.columns;
  const char* const from = src + (row + warp) * tiles.src_pitch + lane * bytes;
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const int r = row + warp + t * T::kWarps;
    if (inside && r >= 0 && r < tiles.rows) {
      word[t] = *reinterpret_cast<const typename T::Word*>(from + t * T::kWarps * tiles.src_pitch);
    }
  }
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const int r = warp + t * T::kWarps;
    if (r < T::kWords) tile[lane * T::kPitch + r] = word[t];
  }
}

/// The same for elements of 1 or 2 bytes, kPack rows at a time. Column kPack * i + j becomes row 32 * j + i of `tile`,
/// so that no two lanes store to the same bank. `shifted`: rows may begin within a word; `inside`: all that is read is
/// in the array.
template <int bytes, bool shifted, bool inside>
__device__ __forceinline__ void load_packed_rows(unsigned* tile, const char* src, const Tiles& tiles, int row) {
  using T = Tile<bytes>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int in_flight = bytes == 1 ? 3 : shifted ? 5 : 9;  // Turns: as many as registers hold.
#pragma unroll
  for (int first = 0; first < T::kTurns; first += in_flight) {
    unsigned word[in_flight][T::kPack];
    unsigned next[in_flight][T::kPack];
    unsigned bits[in_flight][T::kPack];  // Of a word before the row's first element.
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) {
        // A row beyond the matrix is another one's copy, and never stored.
        const int r = row + (warp + (first + t) * T::kWarps) * T::kPack + j;
        const char* from = src + min(max(r, 0), tiles.rows - 1) * tiles.src_pitch;
        if constexpr (shifted) {
          const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 4);
          from -= misaligned;
          bits[t][j] = 8 * misaligned;
          next[t][j] = load_word<bytes, inside>(from + 4 * lane + 4, tiles);
        }
        word[t][j] = load_word<bytes, inside>(from + 4 * lane, tiles);
      }
    }
#pragma unroll
    for (int t = 0; t < in_flight; ++t) {
      const int group = warp + (first + t) * T::kWarps;
      if (group >= T::kWords) break;
      if constexpr (shifted) {
#pragma unroll
        for (int j = 0; j < T::kPack; ++j) word[t][j] = __funnelshift_r(word[t][j], next[t][j], bits[t][j]);
      }
      transpose_words(word[t]);
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) tile[(32 * j + lane) * T::kPitch + group] = word[t][j];
    }
  }
}
//! [load]

//! [kernel]
template <int bytes, bool shifted>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes>;
  constexpr int pack = T::kPack;
  __shared__ typename T::Word tile[T::kColumns * T::kPitch];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  const auto [rest, src_tile] = tiles.across.divide(blockIdx.x);
  const auto [batch, dst_tile] = tiles.down.divide(rest);
  const v8a::Place origin = v8a::place_of(tiles.other, tiles.others, batch);
  const int first_row = static_cast<int>(dst_tile) * T::kRows - T::kBefore;
  const int first_column = static_cast<int>(src_tile) * T::kColumns - tiles.early;
  const char* const from = src + origin.src + std::int64_t(first_column) * bytes;
  if constexpr (pack == 1) {
    load_rows<bytes>(tile, from, tiles, first_row, first_column);
  } else if (from - (shifted ? 3 : 0) >= tiles.src_begin &&
             from + (tiles.rows - 1) * tiles.src_pitch + T::kColumns * bytes + (shifted ? 4 : 0) <= tiles.src_end) {
    load_packed_rows<bytes, shifted, true>(tile, from, tiles, first_row);
  } else {
    load_packed_rows<bytes, shifted, false>(tile, from, tiles, first_row);
  }
  __syncthreads();

#pragma unroll 2
  for (int i = warp; i < T::kColumns; i += T::kWarps) {
    const int column = first_column + i;
    if (column < 0 || column >= tiles.columns) continue;
    char* const to = dst + origin.dst + column * tiles.dst_pitch + std::int64_t(first_row) * bytes;
    // kBefore rows on, a sector (or word) may have begun already: so many rows earlier the window begins.
    const int early = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / bytes % T::kBefore);
    const auto* const line = tile + (i % pack * 32 + i / pack) * T::kPitch;
#pragma unroll
    for (int j = 0; j < T::kRows / T::kColumns; ++j) {
      const int at = T::kBefore - early + (lane + 32 * j) * pack;  // Of the word's first row in the tile,
      const int row = first_row + at;                              // and in the matrix.
      if constexpr (pack == 1) {
        if (row >= 0 && row < tiles.rows) *reinterpret_cast<typename T::Word*>(to + at * bytes) = line[at];
      } else {
        using W = Word<bytes>;
        const int bits = at % pack * bytes * 8;
        const unsigned word = __funnelshift_r(line[at / pack], line[at / pack + (bits == 0 ? 0 : 1)], bits);
        if (row >= 0 && row + pack <= tiles.rows) {
          *reinterpret_cast<unsigned*>(to + at * bytes) = word;
        } else {
#pragma unroll
          for (int e = 0; e < pack; ++e) {
            if (row + e < 0 || row + e >= tiles.rows) continue;
            *reinterpret_cast<W*>(to + (at + e) * bytes) = static_cast<W>(word >> (8 * bytes * e));
          }
        }
      }
    }
  }
}
//! [kernel]

/// The dimensions that are contiguous on either side; -1: none is.
struct Matrix {
  int columns = -1;  ///< In the source.
  int rows = -1;     ///< In the destination.
};
inline Matrix matrix_of(const CopyDimension* dimension, int dims) {
  Matrix matrix;
  for (int d = 0; d < dims; ++d) {
    if (dimension[d].src_stride == 1) matrix.columns = d;
    if (dimension[d].dst_stride == 1) matrix.rows = d;
  }
  return matrix;
}

/// Why the step does not take a collapsed problem; nullptr where it does.
inline const char* refuse(const StridedProblem& p) {
  if (p.element_bytes == 16) return "elements must have 1, 2, 4 or 8 bytes";
  if (p.count() > INT32_MAX) return "2^31 elements or more";  // A tile has 4 or more: their number fits 32 bits.
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  const Matrix m = matrix_of(dimension.data(), dims);
  if (m.rows < 0 || m.columns < 0) return "no dimension is contiguous in the view";
  return m.rows == m.columns ? "both sides have the same fastest dimension" : nullptr;
}

/// Whether at least half of each tile of a problem that is not refused exists.
inline bool fills_tiles(const StridedProblem& p) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  const Matrix m = matrix_of(dimension.data(), dims);
  const auto filled = [](std::int64_t count, std::int64_t side) {
    return static_cast<double>(count) / static_cast<double>(ceil_div(count, side) * side);
  };
  const std::int64_t columns = p.element_bytes < 4 ? 128 / p.element_bytes : 32;
  const std::int64_t rows = p.element_bytes == 4 ? 128 : p.element_bytes == 8 ? 64 : 256;
  return filled(dimension[m.columns].size, columns) * filled(dimension[m.rows].size, rows) >= 0.5;
}

/// Moves tiles. The problem is collapsed and not refused.
inline cudaError_t run_tiles(const Prepared& q, cudaStream_t stream) {
  const std::int64_t bytes = q.problem.element_bytes;
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q.problem, dimension);
  const Matrix m = matrix_of(dimension.data(), dims);
  Tiles tiles{};
  tiles.rows = static_cast<int>(dimension[m.rows].size);
  tiles.columns = static_cast<int>(dimension[m.columns].size);
  tiles.src_pitch = dimension[m.rows].src_stride * bytes;
  tiles.dst_pitch = dimension[m.columns].dst_stride * bytes;
  tiles.src_begin = reinterpret_cast<const char*>(q.src);
  tiles.src_end = tiles.src_begin + (q.problem.into_view ? q.problem.count() : q.problem.view.reach() + 1) * bytes;
  // The source's rows begin alike, counted modulo so many bytes, and the destination's columns.
  constexpr std::uint64_t kLine = 128;
  std::uint64_t src_steps = kLine | static_cast<std::uint64_t>(tiles.src_pitch);
  std::uint64_t dst_steps = kLine | static_cast<std::uint64_t>(tiles.dst_pitch);
  std::int64_t batches = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (d == m.rows || d == m.columns) continue;
    v8a::Dimension& other = tiles.other[tiles.others++];
    other = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(dimension[d].size)), dimension[d].src_stride * bytes,
             dimension[d].dst_stride * bytes};
    src_steps |= static_cast<std::uint64_t>(other.src_stride);
    dst_steps |= static_cast<std::uint64_t>(other.dst_stride);
    batches *= dimension[d].size;
  }
  const std::uint64_t alike = src_steps & (~src_steps + 1);
  tiles.early = static_cast<int>(reinterpret_cast<std::uintptr_t>(q.src) % alike) / static_cast<int>(bytes);
  const bool windows_alike = dst_steps % 32 == 0;
  const auto window_early = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % 32) / bytes;
  const auto run_as = [&]<int element, bool shifted>() {
    using T = Tile<element>;
    const std::int64_t across = ceil_div<std::int64_t>(tiles.columns + tiles.early, T::kColumns);
    // The last window ends early, by a sector less an element at most, so that another one may be needed.
    const std::int64_t down =
        ceil_div<std::int64_t>(tiles.rows + (windows_alike ? window_early % T::kBefore : T::kBefore - 1), T::kRows);
    tiles.across = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(across));
    tiles.down = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down));
    return launch(tile_kernel<element, shifted>,
                  {.grid = across * down * batches, .block = T::kThreads, .stream = stream},
                  reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
  };
  switch (bytes) {
  case 1:
    return alike < 4 ? run_as.template operator()<1, true>() : run_as.template operator()<1, false>();
  case 2:
    return alike < 4 ? run_as.template operator()<2, true>() : run_as.template operator()<2, false>();
  case 4:
    return run_as.template operator()<4, false>();
  default:
    return run_as.template operator()<8, false>();
  }
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return refuse(q.problem) == nullptr ? run_tiles(q, stream) : v8a::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter2::v8b
