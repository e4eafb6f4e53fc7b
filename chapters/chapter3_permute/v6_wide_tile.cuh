/// \file
/// v6 wide tile: 16 bytes per load and per store, for every element size.
///
/// A request of v4c carries 128 bytes. Here every thread loads 16 bytes and stores 16 bytes, so a request carries 512.
/// In between, elements are regrouped in shared memory, in words of at least 4 bytes: halves of two rows, or bytes of
/// four, are first packed into words of columns. A padded tile would misalign the 16-byte chunks, so the tile is
/// swizzled instead: chunk c of word row r stands at c XOR (r / words per chunk) mod 8. Eight lanes that read down a
/// column meet eight different groups of banks.
///
/// Expect a quarter of v4c's requests with 16 sectors each, no bank conflicts, and nearly the speed of a copy.
///
/// Source of the swizzle: CUTLASS, whose shared tiles are laid out by the same XOR.
#pragma once

#include "chapters/chapter3_permute/matrices.cuh"
#include "common/cuda/chunk_tile.cuh"
#include "common/cuda/regroup.cuh"

namespace warpbook::chapter3::v6 {

/// The sides of the square tile for elements of `bytes`: as many of them as the threads can keep under way.
template <int bytes> inline constexpr int kSide = bytes == 1 ? 128 : bytes <= 4 ? 64 : 32;
template <int bytes> inline constexpr int kThreads = bytes == 2 ? 128 : bytes == 4 ? 512 : 256;
template <int bytes> using Tile = ChunkTile<bytes, kSide<bytes>, kSide<bytes>, kThreads<bytes>>;

//! [place]
/// Packs what a thread loaded into words of columns, and puts them into the tile.
template <class T> __device__ __forceinline__ void place_chunks(SharedChunks<T>& tile, const LoadedChunks<T>& loaded) {
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
                                              const SharedChunks<T>& tile, int rows, int columns) {
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
    if (row < rows && column < columns) {  // Streaming: the caches are told that nobody reads it soon.
      store_streaming(reinterpret_cast<Pack<W, T::kWords>*>(dst + column * dst_pitch + row), stored);
    }
  }
}
//! [store]

//! [kernel]
/// Loads 16 bytes of each of kPacked neighbouring rows, kLoads times, before anything is used.
template <class T>
__device__ __forceinline__ void load_chunks(LoadedChunks<T>& loaded, const typename T::Element* __restrict__ src,
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
  __shared__ SharedChunks<T> tile;
  LoadedChunks<T> loaded;
  load_chunks<T>(loaded, src, src_pitch, rows, columns);
  place_chunks<T>(tile, loaded);
  __syncthreads();
  store_columns<T>(dst, dst_pitch, tile, rows, columns);
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

inline const char* refuse(const PermuteProblem& p) {
  BatchTranspose m;
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  const bool whole = m.rows * p.element_bytes % 16 == 0 && m.columns * p.element_bytes % 16 == 0;
  return whole && p.alignment == 16 ? nullptr
                                    : "both sides of the matrix, and both arrays, must be multiples of 16 bytes";
}

/// Launches a kernel with v6's parameters; `kernel_for(T{})` gives the kernel for tiles T.
template <class KernelFor>
cudaError_t run_tiles(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream, KernelFor kernel_for) {
  if (p.count() > 0 && refuse(p) != nullptr) return cudaErrorInvalidValue;
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    return launch_tiles(kernel_for(T{}), p, T::kRows, T::kColumns, T::kThreads, src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_tiles(p, src, dst, stream, [](auto tile) { return transpose_kernel<decltype(tile)>; });
}

}  // namespace warpbook::chapter3::v6
