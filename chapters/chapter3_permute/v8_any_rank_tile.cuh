/// \file
/// v7c any-rank tile: where both fast dimensions are long, a box is a tile, and needs no division an element.
///
/// v7b still computes every element's place. But in most tensors the input's fastest dimension and the output's
/// fastest are long enough to span a tile between them; then a place is a row times a pitch plus a lane, as in v4c, and
/// only the *block* has to be located among all dimensions, by one multiplication each. The tile is larger than v4c's
/// and unrolled throughout: a thread has up to 16 loads in flight. Where both sides are whole multiples of 16 bytes,
/// the tile is v6a's; where bytes or halves have whole words of 4 bytes on both sides, it moves those, as v5; else it
/// moves single elements, and takes any size and any alignment.
///
/// Expect v6a's speed at any rank, and most of it at odd sizes.
#pragma once

#include "chapters/chapter3_permute/v6a_wide_tile.cuh"
#include "chapters/chapter3_permute/v7a_any_permutation.cuh"

namespace warpbook::chapter3::v7c {

/// How the grid's tiles follow each other along one of the input's dimensions.
struct Dimension {
  FastDivisor<std::uint32_t> tiles;
  int step;                 // Elements: a tile's side along the two dimensions that it spans, 1 along all others.
  std::int64_t src_stride;  // In elements, like the other.
  std::int64_t dst_stride;
};

/// The matrix that a permutation transposes, `rows` along the output's fastest dimension and `columns` along the
/// input's, and the grid of tiles over all dimensions. Pitches are in elements.
struct Tiles {
  std::int64_t src_pitch;
  std::int64_t dst_pitch;
  int rows;
  int columns;
  int rank;
  int row_dimension;              // Which of the dimensions the rows lie along
  int column_dimension;           // and the columns.
  Dimension dimension[kMaxRank];  // In the grid's order: neighbouring blocks have neighbouring tiles along the first.
};

/// A block's tile: where it begins, in elements, and how much of it exists.
struct Corner {
  std::int64_t src;
  std::int64_t dst;
  int rows;
  int columns;
  int rows_left;  // From the tile's first to the matrix's last.
};

__device__ __forceinline__ Corner locate_tile(const Tiles& tiles) {
  Corner corner{0, 0, 0, 0, 0};
  std::uint32_t rest = blockIdx.x;
#pragma unroll
  for (int i = 0; i < kMaxRank; ++i) {
    if (i == tiles.rank) break;
    const Dimension& d = tiles.dimension[i];
    const auto [quotient, tile] = d.tiles.divide(rest);
    const int first = static_cast<int>(tile) * d.step;
    corner.src += first * d.src_stride;
    corner.dst += first * d.dst_stride;
    if (i == tiles.column_dimension) corner.columns = min(tiles.columns - first, d.step);
    if (i == tiles.row_dimension) {
      corner.rows_left = tiles.rows - first;
      corner.rows = min(corner.rows_left, d.step);
    }
    rest = quotient;
  }
  return corner;
}

/// A tile that moves single elements of `bytes`.
template <int bytes, int rows, int columns, int threads> struct ElementTile {
  static constexpr int kBytes = bytes;
  static constexpr int kThreads = threads;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kPitch = kColumns + (bytes < 4 ? 4 / bytes : 1);  // An odd number of 4-byte words or elements.
};

/// Long along the output, where a run that does not begin at a sector's boundary costs a partial write at either end,
/// and short along the input, where a partial read hits in the L2.
template <int bytes> using TallTile = ElementTile<bytes, bytes <= 4 ? 256 : 64, 32, bytes <= 4 ? 512 : 256>;

/// For matrices with few rows.
template <int bytes> using FlatTile = ElementTile<bytes, 32, bytes <= 4 ? 64 : 32, 256>;

/// Fewest rows for a tall tile.
inline constexpr int kTall = 128;

//! [tile]
/// One block transposes one tile of single elements; the arguments are `v6a::transpose_tile`'s. With `whole`, the
/// matrix's edge does not cut it.
template <class T, bool whole, bool keeps, class W>
__device__ __forceinline__ void transpose_elements(W* __restrict__ dst, std::int64_t dst_pitch,
                                                   const W* __restrict__ src, std::int64_t src_pitch, int rows,
                                                   int columns, W* tile) {
  constexpr int kLoadTurns = T::kRows / T::kWarps;
  constexpr int kStoreTurns = T::kColumns / T::kWarps;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  W word[kLoadTurns][T::kColumns / 32];
  const W* from = src + warp * src_pitch + lane;
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
#pragma unroll
    for (int i = 0; i < T::kColumns / 32; ++i) {
      if (whole || (warp + t * T::kWarps < rows && lane + 32 * i < columns))
        word[t][i] = load_keeping<keeps>(from + 32 * i);
    }
    from += T::kWarps * src_pitch;
  }
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
#pragma unroll
    for (int i = 0; i < T::kColumns / 32; ++i) tile[(warp + t * T::kWarps) * T::kPitch + lane + 32 * i] = word[t][i];
  }
  __syncthreads();
  W* to = dst + warp * dst_pitch + lane;
#pragma unroll
  for (int t = 0; t < kStoreTurns; ++t) {
#pragma unroll
    for (int i = 0; i < T::kRows / 32; ++i) {
      if (whole || (warp + t * T::kWarps < columns && lane + 32 * i < rows)) {
        to[32 * i] = tile[(lane + 32 * i) * T::kPitch + warp + t * T::kWarps];
      }
    }
    to += T::kWarps * dst_pitch;
  }
}
//! [tile]

/// A tile of bytes or halves that moves words of 4 bytes on both sides.
template <int bytes> struct WordTile {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kInWord = 4 / bytes;  // Elements.
  static constexpr int kTurns = 8;
  static constexpr int kWordRows = kWarps * kTurns;  // Each of kInWord rows.
  static constexpr int kRows = kWordRows * kInWord;
  static constexpr int kColumns = 32 * kInWord;
  static constexpr int kPitch = kColumns + 1;  // Words.
};

//! [words]
/// One block transposes one tile: a lane loads a word of each of kInWord rows, and what it gets, regrouped, are as many
/// columns' words. The columns of a lane lie 32 words apart in shared memory, so that a warp's words lie in 32 banks
/// whether it writes a row or reads a column.
template <int bytes, bool keeps = false>
__global__ void __launch_bounds__(WordTile<bytes>::kThreads)
    permute_words_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                         const __grid_constant__ Tiles tiles) {
  using T = WordTile<bytes>;
  constexpr int kInWord = T::kInWord;
  __shared__ std::uint32_t tile[T::kWordRows * T::kPitch];
  const Corner corner = locate_tile(tiles);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t src_pitch = tiles.src_pitch / kInWord;
  const std::int64_t dst_pitch = tiles.dst_pitch / kInWord;

  std::uint32_t word[T::kTurns][kInWord];
  const auto* from = reinterpret_cast<const std::uint32_t*>(src + corner.src) + warp * kInWord * src_pitch + lane;
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const bool inside = lane * kInWord < corner.columns && (warp + t * T::kWarps) * kInWord < corner.rows;
#pragma unroll
    for (int r = 0; r < kInWord; ++r) {
      if (inside) word[t][r] = load_keeping<keeps>(from + r * src_pitch);
    }
    from += T::kWarps * kInWord * src_pitch;
  }
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    std::uint32_t* to = tile + (warp + t * T::kWarps) * T::kPitch + lane;
    if constexpr (kInWord == 2) {
      to[0] = __byte_perm(word[t][0], word[t][1], 0x5410);
      to[32] = __byte_perm(word[t][0], word[t][1], 0x7632);
    } else {
      const uint4 columns = v6a::transpose_4x4(word[t][0], word[t][1], word[t][2], word[t][3]);
      to[0] = columns.x;
      to[32] = columns.y;
      to[64] = columns.z;
      to[96] = columns.w;
    }
  }
  __syncthreads();
  auto* to = reinterpret_cast<std::uint32_t*>(dst + corner.dst);
#pragma unroll
  for (int k = 0; k < T::kColumns / T::kWarps; ++k) {
    const int column = warp + k * T::kWarps;
    if (column >= corner.columns) break;
    const std::uint32_t* at = tile + column % kInWord * 32 + column / kInWord;
#pragma unroll
    for (int i = 0; i < T::kWordRows / 32; ++i) {
      const int word_row = lane + 32 * i;
      if (word_row * kInWord < corner.rows) to[column * dst_pitch + word_row] = at[word_row * T::kPitch];
    }
  }
}
//! [words]

//! [kernel]
template <class T, bool keeps = false>
__global__ void __launch_bounds__(T::kThreads)
    permute_elements_kernel(Word<T::kBytes>* __restrict__ dst, const Word<T::kBytes>* __restrict__ src,
                            const __grid_constant__ Tiles tiles) {
  __shared__ Word<T::kBytes> tile[T::kRows * T::kPitch];
  const Corner corner = locate_tile(tiles);
  if (corner.rows == T::kRows && corner.columns == T::kColumns) {
    transpose_elements<T, true, keeps>(dst + corner.dst, tiles.dst_pitch, src + corner.src, tiles.src_pitch,
                                       corner.rows, corner.columns, tile);
  } else {
    transpose_elements<T, false, keeps>(dst + corner.dst, tiles.dst_pitch, src + corner.src, tiles.src_pitch,
                                        corner.rows, corner.columns, tile);
  }
}

template <int bytes, bool keeps = false>
__global__ void __launch_bounds__(v6a::Tile<bytes>::kThreads)
    permute_wide_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                        const __grid_constant__ Tiles tiles) {
  const Corner corner = locate_tile(tiles);
  v6a::transpose_tile<bytes, v6a::Tile<bytes>, keeps>(dst + corner.dst, tiles.dst_pitch, src + corner.src,
                                                      tiles.src_pitch, corner.rows, corner.columns);
}
//! [kernel]

/// Why a merged problem is no matter of tiles; nullptr where it is.
inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2 || keeps_last_dimension(m)) return "the last dimension must move";
  constexpr std::int64_t kShort = 20;         // Shorter sides leave most lanes of a tile idle.
  constexpr std::int64_t kLong = 0x3fffffff;  // They are int in the kernel, with room for a tile beyond the edge.
  const auto fits = [](std::int64_t side) { return side >= kShort && side <= kLong; };
  return fits(m.shape[m.rank - 1]) && fits(m.dst_shape(m.rank - 1))
             ? nullptr
             : "the input's last dimension and the output's must have 20 to 2^30 - 1 elements";
}

/// The grid of tiles of `tile_rows` x `tile_columns` over a problem that is not refused, and the number of `blocks`.
/// `order` lists the input's dimensions as the grid goes along them, the fastest first. With `overlap`, windows may
/// begin so many rows early: the last one must still reach the end.
inline Tiles make_tiles(const PermuteProblem& m, const DimensionOrder& order, int tile_rows, int tile_columns,
                        int overlap, std::int64_t& blocks) {
  const int x = m.rank - 1;
  const int y = m.permutation[m.rank - 1];
  const Strides from = src_strides(m);
  const Strides to = v7a::dst_strides_by_src(m);
  Tiles tiles{};
  tiles.src_pitch = from[y];
  tiles.dst_pitch = to[x];
  tiles.rows = static_cast<int>(m.shape[y]);
  tiles.columns = static_cast<int>(m.shape[x]);
  tiles.rank = m.rank;
  blocks = 1;
  for (int i = 0; i < m.rank; ++i) {
    const int d = order[i];
    if (d == x) tiles.column_dimension = i;
    if (d == y) tiles.row_dimension = i;
    const int step = d == x ? tile_columns : d == y ? tile_rows : 1;
    const std::int64_t count = ceil_div<std::int64_t>(m.shape[d] + (d == y ? overlap : 0), step);
    tiles.dimension[i] = {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(count)), step, from[d], to[d]};
    blocks *= count;
  }
  return tiles;
}

/// True where the tile is v6a's: both sides are whole multiples of 16 bytes, and so are the addresses.
inline bool moves_wide_words(const PermuteProblem& m, const void* src, const void* dst) {
  const auto address = reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
  return m.shape[m.rank - 1] * m.element_bytes % 16 == 0 && m.dst_shape(m.rank - 1) * m.element_bytes % 16 == 0 &&
         address % 16 == 0;
}

/// True where a tile of bytes or halves can move words of 4 bytes: both sides are whole multiples of them, and so are
/// the addresses.
inline bool moves_words(const PermuteProblem& m, const void* src, const void* dst) {
  const auto address = reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
  return m.element_bytes <= 2 && m.shape[m.rank - 1] * m.element_bytes % 4 == 0 &&
         m.dst_shape(m.rank - 1) * m.element_bytes % 4 == 0 && address % 4 == 0;
}

/// Moves words of 4 bytes, in the grid's `order`. `m` is merged, not empty and not refused, and `moves_words` holds.
template <bool keeps = false>
cudaError_t run_word_tiles(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                           cudaStream_t stream) {
  const auto run_as = [&]<int bytes>() {
    using T = WordTile<bytes>;
    std::int64_t blocks = 0;
    const Tiles tiles = make_tiles(m, order, T::kRows, T::kColumns, 0, blocks);
    return launch(permute_words_kernel<bytes, kHinted<keeps, bytes>>,
                  {.grid = blocks, .block = T::kThreads, .stream = stream}, static_cast<Word<bytes>*>(dst),
                  static_cast<const Word<bytes>*>(src), tiles);
  };
  return m.element_bytes == 1 ? run_as.template operator()<1>() : run_as.template operator()<2>();
}

/// Moves single elements by tiles of type T, in the grid's `order`. `m` is merged, not empty and not refused.
template <class T, bool keeps = false>
cudaError_t run_element_tiles(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                              cudaStream_t stream) {
  std::int64_t blocks = 0;
  const Tiles tiles = make_tiles(m, order, T::kRows, T::kColumns, 0, blocks);
  return launch(permute_elements_kernel<T, kHinted<keeps, T::kBytes>>,
                {.grid = blocks, .block = T::kThreads, .stream = stream}, static_cast<Word<T::kBytes>*>(dst),
                static_cast<const Word<T::kBytes>*>(src), tiles);
}

/// The same by words of 16 bytes. `moves_wide_words` holds.
template <bool keeps = false>
cudaError_t run_wide_tiles(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                           cudaStream_t stream) {
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    using T = v6a::Tile<bytes>;
    std::int64_t blocks = 0;
    const Tiles tiles = make_tiles(m, order, T::kRows, T::kColumns, 0, blocks);
    return launch(permute_wide_kernel<bytes, kHinted<keeps, bytes>>,
                  {.grid = blocks, .block = T::kThreads, .stream = stream}, static_cast<Word<bytes>*>(dst),
                  static_cast<const Word<bytes>*>(src), tiles);
  });
}

/// Moves tiles. `m` is merged, not empty and not refused.
template <bool keeps = false>
cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const auto order = src_order(m);  // Neighbouring blocks read neighbouring tiles.
  if (moves_wide_words(m, src, dst)) return run_wide_tiles<keeps>(m, order, src, dst, stream);
  if (moves_words(m, src, dst)) return run_word_tiles<keeps>(m, order, src, dst, stream);
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if (m.dst_shape(m.rank - 1) < kTall) return run_element_tiles<FlatTile<bytes>, keeps>(m, order, src, dst, stream);
    return run_element_tiles<TallTile<bytes>, keeps>(m, order, src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p, src, dst);
  if (refuse(q) != nullptr) return v7a::run_with<FastDivisor>(p, src, dst, stream);
  return run_tiles(q, src, dst, stream);
}

}  // namespace warpbook::chapter3::v7c
