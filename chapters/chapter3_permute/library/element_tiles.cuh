/// \file
/// element_tiles: tiles that move single elements, or words of 4 bytes, at any size and any alignment; for tensors
/// whose two fast dimensions are long, but odd.
///
/// The tile lies between the input's fastest dimension and the output's (v8's grid), with up to 16 loads per thread in
/// flight. A sector written in two parts waits in the L2, or goes to memory twice, so neighbouring blocks write
/// neighbours. Many rows of 4 and 8 bytes go by windows, whose every write begins at a sector.
#pragma once

#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"
#include "common/cuda/regroup.cuh"

namespace warpbook::chapter3::element_tiles {

template <int bytes, int rows, int columns, int threads> struct ElementTile {
  using W = Word<bytes>;
  static constexpr int kThreads = threads;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kPitch = kColumns + (bytes < 4 ? 4 / bytes : 1);  // An odd number of 4-byte words or elements.
  static constexpr int kBefore = 0;                                      // Rows that it has before its first.
};

/// One block transposes one tile, `rows` x `columns` of which exist. With `whole`, the matrix's edge does not cut it.
template <class T, bool whole, class W>
__device__ __forceinline__ void transpose_elements(W* __restrict__ dst, std::int64_t dst_pitch,
                                                   const W* __restrict__ src, std::int64_t src_pitch, int rows,
                                                   int columns, W* tile) {
  constexpr int kLoadTurns = T::kRows / T::kWarps;
  constexpr int kStoreTurns = T::kColumns / T::kWarps;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  W word[kLoadTurns][T::kColumns / 32];
  const W* from = src + warp * src_pitch + lane;
#pragma unroll
  for (int t = 0; t < kLoadTurns; ++t) {
#pragma unroll
    for (int i = 0; i < T::kColumns / 32; ++i) {
      const bool inside = whole || (warp + t * T::kWarps < rows && lane + 32 * i < columns);
      if (inside) word[t][i] = load_keeping<(sizeof(W) > 1)>(from + 32 * i);
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

template <class T>
__global__ void __launch_bounds__(T::kThreads)
    permute_elements_kernel(typename T::W* __restrict__ dst, const typename T::W* __restrict__ src,
                            const __grid_constant__ v8::TileGrid grid) {
  __shared__ typename T::W tile[T::kRows * T::kPitch];
  const v8::Corner corner = v8::locate_tile(grid);
  const int rows = grid.rows - corner.row;
  const int columns = grid.columns - corner.column;
  const auto transpose = [&]<bool whole>() {
    transpose_elements<T, whole>(dst + corner.dst, grid.dst_pitch, src + corner.src, grid.src_pitch,
                                 min(rows, T::kRows), min(columns, T::kColumns), tile);
  };
  if (rows >= T::kRows && columns >= T::kColumns) {
    transpose.template operator()<true>();
  } else {
    transpose.template operator()<false>();
  }
}

/// A tile of elements of 4 or 8 bytes that slides back to a sector's boundary. Narrower ones would read too much twice.
template <int bytes> struct WindowTile {
  using W = Word<bytes>;
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRows = bytes == 4 ? 128 : 64;
  static constexpr int kColumns = 32;
  static constexpr int kSector = 32 / bytes;  // Elements.
  static constexpr int kBefore = kSector - 1;
  static constexpr int kAllRows = kRows + kBefore;  // With those before the tile.
  static constexpr int kLoadTurns = (kAllRows + kWarps - 1) / kWarps;
  static constexpr int kPitch = kColumns + 1;
};

/// One block moves one window. Along each row of the output it begins at the last sector's boundary before the tile, up
/// to kBefore elements early. The neighbouring block reads those rows, too: they come from the L2.
template <int bytes>
__global__ void __launch_bounds__(WindowTile<bytes>::kThreads)
    permute_windows_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                           const __grid_constant__ v8::TileGrid grid) {
  using T = WindowTile<bytes>;
  using W = Word<bytes>;
  constexpr int kBefore = T::kBefore;
  __shared__ W tile[T::kAllRows * T::kPitch];
  const v8::Corner corner = v8::locate_tile(grid);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int rows_left = grid.rows - corner.row;
  const int columns = min(grid.columns - corner.column, T::kColumns);

  W word[T::kLoadTurns];
  const W* from = src + corner.src + (warp - kBefore) * grid.src_pitch + lane;
#pragma unroll
  for (int t = 0; t < T::kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps - kBefore;  // Against the tile's first.
    const bool inside = row >= -corner.row && row < min(rows_left, T::kRows);
    if (inside && lane < columns) word[t] = load_keeping<true>(from);
    from += T::kWarps * grid.src_pitch;
  }
#pragma unroll
  for (int t = 0; t < T::kLoadTurns; ++t) {
    const int row = warp + t * T::kWarps;
    if (row < T::kAllRows) tile[row * T::kPitch + lane] = word[t];
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < T::kColumns / T::kWarps; ++t) {
    const int column = warp + t * T::kWarps;
    if (column >= columns) break;
    W* to = dst + corner.dst + column * grid.dst_pitch;
    const int past_sector = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / bytes % T::kSector);
#pragma unroll
    for (int i = 0; i < T::kRows / 32; ++i) {
      const int row = lane + 32 * i - past_sector;
      if (row >= -corner.row && row < rows_left) to[row] = tile[(row + kBefore) * T::kPitch + column];
    }
  }
}

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

/// One block transposes one tile: a lane regroups words of kInWord rows into words of as many columns. Its columns lie
/// 32 words apart in shared memory, so that a warp meets 32 banks whether it writes a row or reads a column.
template <int bytes>
__global__ void __launch_bounds__(WordTile<bytes>::kThreads)
    permute_words_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                         const __grid_constant__ v8::TileGrid grid) {
  using T = WordTile<bytes>;
  constexpr int kInWord = T::kInWord;
  __shared__ std::uint32_t tile[T::kWordRows * T::kPitch];
  const v8::Corner corner = v8::locate_tile(grid);
  const int rows = min(grid.rows - corner.row, T::kRows);
  const int columns = min(grid.columns - corner.column, T::kColumns);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const std::int64_t src_pitch = grid.src_pitch / kInWord;
  const std::int64_t dst_pitch = grid.dst_pitch / kInWord;

  std::uint32_t word[T::kTurns][kInWord];
  const auto* from = reinterpret_cast<const std::uint32_t*>(src + corner.src) + warp * kInWord * src_pitch + lane;
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    const bool inside = lane * kInWord < columns && (warp + t * T::kWarps) * kInWord < rows;
#pragma unroll
    for (int r = 0; r < kInWord; ++r) {
      if (inside) word[t][r] = load_keeping<(bytes > 1)>(from + r * src_pitch);
    }
    from += T::kWarps * kInWord * src_pitch;
  }
#pragma unroll
  for (int t = 0; t < T::kTurns; ++t) {
    std::uint32_t* to = tile + (warp + t * T::kWarps) * T::kPitch + lane;
    if constexpr (kInWord == 2) {
      const uint2 pair = transpose_2x2(word[t][0], word[t][1]);
      to[0] = pair.x;
      to[32] = pair.y;
    } else {
      const uint4 four = transpose_4x4(word[t][0], word[t][1], word[t][2], word[t][3]);
      to[0] = four.x;
      to[32] = four.y;
      to[64] = four.z;
      to[96] = four.w;
    }
  }
  __syncthreads();
  auto* to = reinterpret_cast<std::uint32_t*>(dst + corner.dst);
#pragma unroll
  for (int k = 0; k < T::kColumns / T::kWarps; ++k) {
    const int column = warp + k * T::kWarps;
    if (column >= columns) break;
    const std::uint32_t* at = tile + column % kInWord * 32 + column / kInWord;
#pragma unroll
    for (int i = 0; i < T::kWordRows / 32; ++i) {
      const int word_row = lane + 32 * i;
      if (word_row * kInWord < rows) to[column * dst_pitch + word_row] = at[word_row * T::kPitch];
    }
  }
}

inline const char* refuse(const PermuteProblem& m) {
  if (const char* reason = v8::refuse_tiles(m)) return reason;
  return m.element_bytes <= 8 ? nullptr : "elements must have 1, 2, 4 or 8 bytes";
}

/// Calls `f.template operator()<T>()` for a problem's tile of single elements: the best of six on an H200, for each
/// element size, for many rows and for few. `m` is simplified and not refused.
template <class F> auto with_tile(const PermuteProblem& m, const F& f) {
  const std::int64_t rows = m.dst_shape(m.rank - 1);
  switch (m.element_bytes) {
  case 1:
    return f.template operator()<ElementTile<1, 64, 64, 128>>();
  case 2:
    return rows >= 64 ? f.template operator()<ElementTile<2, 128, 32, 128>>()
                      : f.template operator()<ElementTile<2, 64, 32, 64>>();
  case 4:
    return rows >= 64 ? f.template operator()<WindowTile<4>>() : f.template operator()<ElementTile<4, 64, 64, 256>>();
  default:
    return rows >= 32 ? f.template operator()<WindowTile<8>>() : f.template operator()<ElementTile<8, 32, 64, 256>>();
  }
}

/// Share of its tiles' places that a matrix fills, up to 1; the tiles are those of single elements. `m` is simplified
/// and not refused.
inline double filled(const PermuteProblem& m) {
  const auto along = [](std::int64_t side, std::int64_t part) {
    return static_cast<double>(side) / static_cast<double>(ceil_div(side, part) * part);
  };
  return with_tile(
      m, [&]<class T>() { return along(m.dst_shape(m.rank - 1), T::kRows) * along(m.shape[m.rank - 1], T::kColumns); });
}

/// Whether tiles are better numbered as the input has them: with long rows of tiles, the lines that a tile reads a part
/// of have left the L2 before the next row of tiles comes. Tiles of wider elements read whole lines.
inline bool prefers_input_order(const PermuteProblem& m) {
  return m.element_bytes <= 4 && m.dst_shape(m.rank - 1) >= 1 << 15;
}

/// True where a tile of bytes or halves can move words of 4 bytes: both sides are whole multiples of them, and so are
/// the addresses.
inline bool moves_words(const PermuteProblem& m) {
  return m.element_bytes <= 2 && m.shape[m.rank - 1] * m.element_bytes % 4 == 0 &&
         m.dst_shape(m.rank - 1) * m.element_bytes % 4 == 0 && m.alignment % 4 == 0;
}

/// Moves words of 4 bytes, in the grid's `order`. `m` is simplified, not empty and not refused, and `moves_words`
/// holds.
inline cudaError_t run_words(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                             cudaStream_t stream) {
  const auto run_as = [&]<int bytes>() {
    using T = WordTile<bytes>;
    std::int64_t blocks = 0;
    const v8::TileGrid grid = v8::make_grid(m, order, T::kRows, T::kColumns, blocks);
    return launch(permute_words_kernel<bytes>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), grid);
  };
  return m.element_bytes == 1 ? run_as.template operator()<1>() : run_as.template operator()<2>();
}

/// Moves single elements by tiles of type T, in the grid's `order`. `m` is simplified, not empty and not refused.
template <class T>
cudaError_t run_elements(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                         cudaStream_t stream) {
  const auto kernel = [] {
    if constexpr (T::kBefore > 0) {
      return permute_windows_kernel<static_cast<int>(sizeof(typename T::W))>;
    } else {
      return permute_elements_kernel<T>;
    }
  }();
  std::int64_t blocks = 0;
  // The last window ends up to kBefore elements early, so that another one may be needed.
  const v8::TileGrid grid = v8::make_grid(m, order, T::kRows, T::kColumns, blocks, T::kBefore);
  return launch(kernel, {.grid = blocks, .block = T::kThreads, .stream = stream}, static_cast<typename T::W*>(dst),
                static_cast<const typename T::W*>(src), grid);
}

/// Moves words or single elements, in the grid's `order`. `m` is simplified, not empty and not refused.
inline cudaError_t run_in_order(const PermuteProblem& m, const DimensionOrder& order, const void* src, void* dst,
                                cudaStream_t stream) {
  if (moves_words(m)) return run_words(m, order, src, dst, stream);
  return with_tile(m, [&]<class T>() { return run_elements<T>(m, order, src, dst, stream); });
}

/// The same in the order that is better. `m` is simplified, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  return run_in_order(m, prefers_input_order(m) ? src_order(m) : dst_order(m), src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::element_tiles
