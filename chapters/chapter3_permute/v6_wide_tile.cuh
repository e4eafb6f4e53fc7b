/// \file
/// v6 wide tile: 16 bytes per load and per store, for every element size.
///
/// A request of v4c carries 128 bytes for floats, one of v5 as much for halves. Here every thread loads 16 bytes and
/// stores 16 bytes, so a request carries 512. In between, elements are regrouped in shared memory, in words of at least
/// 4 bytes: halves of two rows, or bytes of four, are first packed into words of columns. A padded tile would misalign
/// the 16-byte chunks, so the tile is swizzled instead: chunk c of word row r stands at c XOR (r / words per chunk) mod
/// 8, and eight lanes that read down a column meet eight different groups of banks.
///
/// Expect a quarter of v4c's requests with 16 sectors each, no bank conflicts, and nearly the speed of a copy.
///
/// Source of the swizzle: CUTLASS, whose shared tiles are laid out by the same XOR.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/matrix_tiles.cuh"
#include "common/cuda/pack.cuh"
#include "common/cuda/regroup.cuh"

namespace warpbook::chapter3::v6 {

/// A tile of rows x columns elements of `bytes`. In shared memory a word row holds kPacked rows of the tile.
template <int bytes, int rows, int columns, int threads> struct TileOf {
  using Element = Word<bytes>;
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kThreads = threads;
  static constexpr int kWordBytes = bytes < 4 ? 4 : bytes;
  static constexpr int kPacked = kWordBytes / bytes;      // Elements of a column that one word holds.
  static constexpr int kElements = 16 / bytes;            // Of a chunk of 16 bytes.
  static constexpr int kWords = 16 / kWordBytes;          // The same in words.
  static constexpr int kWordRows = rows / kPacked;        // Of the tile in shared memory,
  static constexpr int kChunks = columns / kWords;        // and chunks of each.
  static constexpr int kRowChunks = columns / kElements;  // Chunks of a row in global memory,
  static constexpr int kColumnChunks = rows / kElements;  // and of a column.
  static constexpr int kLoads = kWordRows * kRowChunks / threads;
  static constexpr int kStores = columns * kColumnChunks / threads;
  static constexpr int kTogether = kColumnChunks % 8 == 0 ? 8 : kColumnChunks;  // Lanes that write one column.
};

/// The square tile for elements of `bytes`: 4 KiB of floats, and as much as threads can keep under way of the others.
template <int bytes, int side = bytes == 1   ? 128
                                : bytes <= 4 ? 64
                                             : 32>
using Tile = TileOf<bytes, side, side,
                    bytes == 2   ? 128
                    : bytes == 4 ? 512
                                 : 256>;

template <class T> using SharedTile = uint4[T::kWordRows][T::kChunks];
template <class T> using Loaded = uint4[T::kLoads][T::kPacked];

//! [place]
/// Packs what a thread loaded into words of columns, and puts them into the tile.
template <class T> __device__ __forceinline__ void place_chunks(SharedTile<T>& tile, const Loaded<T>& loaded) {
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) {
    const int word_row = (i * T::kThreads + int(threadIdx.x)) / T::kRowChunks;
    const int column_chunk = (i * T::kThreads + int(threadIdx.x)) % T::kRowChunks;
    //! [exercise swizzle_write]
    const int swizzle = word_row / T::kWords % 8;
    //! [exercise swizzle_write]
    uint4 chunks[T::kPacked];
    pack_columns(loaded[i], chunks);
#pragma unroll
    for (int p = 0; p < T::kPacked; ++p) tile[word_row][(p * T::kRowChunks + column_chunk) ^ swizzle] = chunks[p];
  }
}
//! [place]

//! [store]
/// Gathers 16 bytes of a column from as many word rows as they have words, and writes them. kTogether lanes write
/// neighbouring chunks of one column.
template <class T>
__device__ __forceinline__ void store_columns(typename T::Element* __restrict__ dst, std::int64_t dst_pitch,
                                              const SharedTile<T>& tile, int rows, int columns) {
  using W = Word<T::kWordBytes>;
#pragma unroll
  for (int i = 0; i < T::kStores; ++i) {
    const int unit = i * T::kThreads + int(threadIdx.x);
    const int column = unit / T::kTogether % T::kColumns;
    const int row_chunk = unit / (T::kTogether * T::kColumns) * T::kTogether + unit % T::kTogether;
    const int p = column % T::kElements / T::kWords;  // Which of pack_columns' chunks has this column's words.
    //! [exercise swizzle_read]
    const int chunk = (p * T::kRowChunks + column / T::kElements) ^ (row_chunk % 8);
    //! [exercise swizzle_read]
    Pack<W, T::kWords> stored;
#pragma unroll
    for (int w = 0; w < T::kWords; ++w) {
      stored[w] = reinterpret_cast<const W*>(&tile[row_chunk * T::kWords + w][chunk])[column % T::kWords];
    }
    const int row = row_chunk * T::kElements;
    if (row < rows && column < columns) {
      store_streaming(reinterpret_cast<Pack<W, T::kWords>*>(dst + column * dst_pitch + row), stored);
    }
  }
}
//! [store]

//! [kernel]
/// Loads 16 bytes of each of kPacked neighbouring rows, kLoads times, before anything is used.
template <class T>
__device__ __forceinline__ void load_chunks(Loaded<T>& loaded, const typename T::Element* __restrict__ src,
                                            std::int64_t src_pitch, int rows, int columns) {
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) {
    const int word_row = (i * T::kThreads + int(threadIdx.x)) / T::kRowChunks;
    const int column = (i * T::kThreads + int(threadIdx.x)) % T::kRowChunks * T::kElements;
    const bool inside = word_row * T::kPacked < rows && column < columns;
#pragma unroll
    for (int p = 0; p < T::kPacked; ++p) {
      const auto* from = reinterpret_cast<const uint4*>(src + (word_row * T::kPacked + p) * src_pitch + column);
      loaded[i][p] = inside ? *from : uint4{};
    }
  }
}

/// One block transposes one tile at `src`, `rows` x `columns` of which exist, to `dst`. Pitches are in elements. Rows,
/// columns and pitches are whole chunks, and both pointers are aligned to 16 bytes.
template <class T>
__device__ __forceinline__ void transpose_tile(typename T::Element* __restrict__ dst, std::int64_t dst_pitch,
                                               const typename T::Element* __restrict__ src, std::int64_t src_pitch,
                                               int rows, int columns) {
  __shared__ SharedTile<T> tile;
  Loaded<T> loaded;
  load_chunks<T>(loaded, src, src_pitch, rows, columns);
  v6::place_chunks<T>(tile, loaded);
  __syncthreads();
  v6::store_columns<T>(dst, dst_pitch, tile, rows, columns);
}

template <class T>
__global__ void __launch_bounds__(T::kThreads)
    transpose_kernel(typename T::Element* __restrict__ dst, const typename T::Element* __restrict__ src,
                     MatrixTiles tiles) {
  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  transpose_tile<T>(dst + matrix + std::int64_t(column0) * rows + row0, rows,
                    src + matrix + std::int64_t(row0) * columns + column0, columns, rows - row0, columns - column0);
}
//! [kernel]

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& p) {
  BatchTranspose m;
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  if (m.rows * p.element_bytes % 16 != 0 || m.columns * p.element_bytes % 16 != 0) {
    return "both sides of the matrix must be multiples of 16 bytes";
  }
  return p.alignment == 16 ? nullptr : "both arrays must be aligned to 16 bytes";
}

/// Launches a kernel with v6's parameters; `kernel_for(T{})` gives the kernel for tiles T.
template <class KernelFor>
cudaError_t run_tiles(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream, KernelFor kernel_for) {
  if (p.count() == 0) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorInvalidValue;
  BatchTranspose m;
  as_batch_transpose(p, m);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    const MatrixTiles tiles(m.batch, m.rows, m.columns, T::kRows, T::kColumns);
    return launch(kernel_for(T{}), {.grid = tiles.blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), tiles);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_tiles(p, src, dst, stream, [](auto tile) { return transpose_kernel<decltype(tile)>; });
}

}  // namespace warpbook::chapter3::v6
