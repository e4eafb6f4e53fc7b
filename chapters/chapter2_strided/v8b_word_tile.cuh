/// \file
/// v8b word tile: the tile in words of 4 bytes, which begin at a sector on the destination's side.
///
/// v8a moves single elements: of bytes, a warp's request is 32 bytes on either side, and four times as many requests
/// move the same data as floats need. And where rows begin anywhere, as in x[:, 1:, 1:].transpose(1, 2), so does all
/// that a tile reads and writes, and the first and last sector of each of its rows is shared with another tile.
///
/// Here a lane moves words of 4 bytes of narrow elements. It loads one from each of 4 rows of bytes (2 of halves),
/// which
/// __byte_perm turns into words that lie along the columns; two words and a funnel shift make up for a row that begins
/// within a word, when reading from memory and when reading from the tile. Where all rows of the source begin alike,
/// tiles begin so many columns early that theirs begin at a line. Along the destination a tile's window slides, as in
/// chapter 3's v7f: it begins at the last sector before the tile, so that every word that is stored lies in a sector of
/// its own tile. For that, the tile holds the rows of one sector more.
///
/// It needs a single dimension along each side, contiguous there; any number of others; and either side may have gaps
/// between its rows. All else is v8a's.
///
/// Expect a float's speed for bytes and halves, and sectors written once.
#pragma once

#include "chapters/chapter2_strided/v8a_strided_tile.cuh"

namespace warpbook::chapter2::v8b {

/// The tile for elements of `bytes`.
template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kPack = bytes < 4 ? 4 / bytes : 1;    // Elements of a word.
  static constexpr int kColumns = 32 * kPack;                // Elements along the source,
  static constexpr int kRows = bytes == 8 ? 64 : 128;        // and along the destination,
  static constexpr int kBefore = 32 / bytes;                 // and those of a sector more.
  static constexpr int kWords = (kRows + kBefore) / kPack;   // Of a column.
  static constexpr int kPitch = kWords | 1;                  // In words: an odd number.
  static constexpr int kTurns = ceil_div(kWords, kWarps);    // Of a warp, each a word of all columns.
  static constexpr int kInFlight = bytes == 1 ? 3 : kTurns;  // Turns whose loads start together.
  using Word = warpbook::Word < bytes<4 ? 4 : bytes>;
};

/// What the kernel needs to know: the matrix that is transposed, and all other dimensions.
struct Tiles {
  std::int64_t src_pitch;  // Bytes from row to row,
  std::int64_t dst_pitch;  // and from column to column.
  int rows;                // Along the destination.
  int columns;             // Along the source.
  int early;               // Columns that the first tile begins before the matrix.
  FastDivisor<std::uint32_t> across;
  FastDivisor<std::uint32_t> down;
  const char* src_begin;  // Whole words must not reach beyond the view's array.
  const char* src_end;
  int others;
  v8a::Dimension other[kMaxViewDims];
};

/// A word of narrow elements, of which some may lie beyond the array.
template <int bytes> __device__ __forceinline__ unsigned load_word(const char* at, const char* begin, const char* end) {
  if (at >= begin && at + 4 <= end) return *reinterpret_cast<const unsigned*>(at);
  unsigned word = 0;
  for (int b = 0; b < 4; b += bytes) {
    if (at + b >= begin && at + b < end) word |= unsigned(*reinterpret_cast<const Word<bytes>*>(at + b)) << (8 * b);
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

/// A block's tile: the place of its first row and column in the source, and their numbers. They may be negative.
struct Corner {
  const char* src;
  int row;
  int column;
};

//! [load]
/// Reads the tile's rows of elements of 4 or 8 bytes; column c of the matrix becomes row c of `tile`.
template <int bytes>
__device__ __forceinline__ void load_rows(typename Tile<bytes>::Word* tile, const Tiles& tiles, const Corner& corner,
                                          int lane, int warp) {
  using T = Tile<bytes>;
  typename T::Word word[T::kTurns];
  const bool inside = corner.column + lane >= 0 && corner.column + lane < tiles.columns;
  const char* const from = corner.src + warp * tiles.src_pitch + lane * bytes;
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (inside && row < T::kWords && corner.row + row >= 0 && corner.row + row < tiles.rows) {
      word[t] = *reinterpret_cast<const typename T::Word*>(from + t * T::kWarps * tiles.src_pitch);
    }
  }
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (row < T::kWords) tile[lane * T::kPitch + row] = word[t];
  }
}

/// The same for elements of 1 or 2 bytes, kPack rows at a time. Column kPack * i + j becomes row 32 * j + i of `tile`,
/// so that no two lanes store to the same bank.
template <int bytes>
__device__ __forceinline__ void load_packed_rows(unsigned* tile, const Tiles& tiles, const Corner& corner, int lane,
                                                 int warp) {
  using T = Tile<bytes>;
#pragma unroll 1
  for (int first = 0; first < T::kTurns; first += T::kInFlight) {
    unsigned word[T::kInFlight][T::kPack] = {};
    unsigned behind[T::kInFlight][T::kPack] = {};  // The last lane's next word.
    unsigned bits[T::kInFlight][T::kPack] = {};    // Of a word before the row's first element.
#pragma unroll
    for (int t = 0; t < T::kInFlight; ++t) {
      const int group = warp + (first + t) * T::kWarps;
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) {
        const int row = corner.row + group * T::kPack + j;
        if (group >= T::kWords || row < 0 || row >= tiles.rows) continue;
        const char* const from = corner.src + (group * T::kPack + j) * tiles.src_pitch;
        const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 4);
        bits[t][j] = 8 * misaligned;
        const char* const at = from - misaligned + 4 * lane;
        word[t][j] = load_word<bytes>(at, tiles.src_begin, tiles.src_end);
        if (misaligned != 0 && lane == 31) behind[t][j] = load_word<bytes>(at + 4, tiles.src_begin, tiles.src_end);
      }
    }
#pragma unroll
    for (int t = 0; t < T::kInFlight; ++t) {
      const int group = warp + (first + t) * T::kWarps;
      if (group >= T::kWords) break;
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) {
        const unsigned next = __shfl_down_sync(0xffffffffU, word[t][j], 1);
        word[t][j] = __funnelshift_r(word[t][j], lane == 31 ? behind[t][j] : next, bits[t][j]);
      }
      transpose_words(word[t]);
#pragma unroll
      for (int j = 0; j < T::kPack; ++j) tile[(32 * j + lane) * T::kPitch + group] = word[t][j];
    }
  }
}
//! [load]

//! [kernel]
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    tile_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Tiles tiles) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  constexpr int pack = T::kPack;
  __shared__ typename T::Word tile[T::kColumns * T::kPitch];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  const auto [rest, src_tile] = tiles.across.divide(blockIdx.x);
  const auto [batch, dst_tile] = tiles.down.divide(rest);
  const v8a::Place origin = v8a::place_of(tiles.other, tiles.others, batch);
  Corner corner{};
  corner.row = static_cast<int>(dst_tile) * T::kRows - T::kBefore;
  corner.column = static_cast<int>(src_tile) * T::kColumns - tiles.early;
  corner.src = src + origin.src + corner.row * tiles.src_pitch + std::int64_t(corner.column) * bytes;
  if constexpr (pack == 1) {
    load_rows<bytes>(tile, tiles, corner, lane, warp);
  } else {
    load_packed_rows<bytes>(tile, tiles, corner, lane, warp);
  }
  __syncthreads();

#pragma unroll 2
  for (int i = warp; i < T::kColumns; i += T::kWarps) {
    const int column = corner.column + i;
    if (column < 0 || column >= tiles.columns) continue;
    char* const to = dst + origin.dst + column * tiles.dst_pitch + std::int64_t(corner.row) * bytes;
    // kBefore rows behind it a sector may have begun already: so many rows earlier the window begins.
    const int early = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / bytes % T::kBefore);
    const auto* const line = tile + (i % pack * 32 + i / pack) * T::kPitch;
#pragma unroll
    for (int j = 0; j < T::kRows / T::kColumns; ++j) {
      const int at = T::kBefore - early + (lane + 32 * j) * pack;  // Of the word's first row in the tile,
      const int row = corner.row + at;                             // and in the matrix.
      if constexpr (pack == 1) {
        if (row >= 0 && row < tiles.rows) *reinterpret_cast<typename T::Word*>(to + at * bytes) = line[at];
      } else {
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
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  const Matrix m = matrix_of(dimension.data(), dims);
  if (p.element_bytes == 16) return "elements must have 1, 2, 4 or 8 bytes";
  if (m.rows < 0 || m.columns < 0) return "no dimension is contiguous in the view";
  if (m.rows == m.columns) return "both sides have the same fastest dimension";
  // A tile has 4 elements or more, and the tiles' number fits 32 bits.
  return p.count() <= INT32_MAX ? nullptr : "2^31 elements or more";
}

/// Moves tiles. The problem is collapsed and not refused.
inline cudaError_t run_tiles(const Prepared& q, cudaStream_t stream) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q.problem, dimension);
  const Matrix m = matrix_of(dimension.data(), dims);
  const std::int64_t bytes = q.problem.element_bytes;
  Tiles tiles{};
  tiles.rows = static_cast<int>(dimension[m.rows].size);
  tiles.columns = static_cast<int>(dimension[m.columns].size);
  tiles.src_pitch = dimension[m.rows].src_stride * bytes;
  tiles.dst_pitch = dimension[m.columns].dst_stride * bytes;
  tiles.src_begin = reinterpret_cast<const char*>(q.src);
  tiles.src_end = tiles.src_begin + ((q.problem.into_view ? q.problem.count() : q.problem.view.reach() + 1) * bytes);
  constexpr std::uint64_t kLine = 128;
  std::uint64_t steps = kLine | static_cast<std::uint64_t>(tiles.src_pitch);
  std::int64_t batches = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (d == m.rows || d == m.columns) continue;
    const CopyDimension& other = dimension[d];
    tiles.other[tiles.others++] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(other.size)),
                                   other.src_stride * bytes, other.dst_stride * bytes};
    steps |= static_cast<std::uint64_t>(other.src_stride * bytes);
    batches *= other.size;
  }
  const std::uint64_t alike = steps & (~steps + 1);  // The source's rows begin alike, counted modulo so many bytes.
  tiles.early = static_cast<int>(reinterpret_cast<std::uintptr_t>(q.src) % alike) / static_cast<int>(bytes);
  const auto run_as = [&]<int element>() {
    using T = Tile<element>;
    const std::int64_t across = ceil_div<std::int64_t>(tiles.columns + tiles.early, T::kColumns);
    // The last window ends up to a sector early, so that another one may be needed.
    const std::int64_t down = ceil_div<std::int64_t>(tiles.rows + T::kBefore - 1, T::kRows);
    tiles.across = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(across));
    tiles.down = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down));
    return launch(tile_kernel<element>, {.grid = across * down * batches, .block = T::kThreads, .stream = stream},
                  reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), tiles);
  };
  switch (bytes) {
  case 1:
    return run_as.template operator()<1>();
  case 2:
    return run_as.template operator()<2>();
  case 4:
    return run_as.template operator()<4>();
  default:
    return run_as.template operator()<8>();
  }
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return refuse(q.problem) == nullptr ? run_tiles(q, stream) : v8a::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter2::v8b
