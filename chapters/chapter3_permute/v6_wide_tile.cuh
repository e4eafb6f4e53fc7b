/// \file
/// v6a wide tile: 16-byte loads and 16-byte stores, for every element size.
///
/// v5 moves 4 bytes an instruction and takes 2-byte types only. Memory is kept busy by bytes in flight (bandwidth times
/// latency), so with narrow accesses a multiprocessor needs that many more of them under way. Here a thread loads 16
/// bytes along a row and stores 16 bytes along a column, two to four loads before the first use.
///
/// What lies between the two is a transpose of 4-byte words. Elements of 1 or 2 bytes are first packed: a thread loads
/// the same 16 bytes of 4 or 2 neighbouring rows and regroups them with `__byte_perm`, so that one word holds
/// neighbours of a *column*. The words go to shared memory in chunks of 16 bytes, and come back one by one, each from
/// another row. Instead of padding, which would misalign the chunks, chunk g of word row r stands at g XOR (r / words a
/// chunk) mod 8: eight lanes that read eight word rows meet eight different groups of banks.
///
/// Expect a quarter of v4c's requests at 16 sectors each for float, one wavefront for every 128 bytes in shared memory,
/// and the speed of a copy.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::v6a {

/// A tile of kRows x kColumns elements of `bytes`, moved by so many threads.
template <int bytes, int rows, int columns, int threads> struct TileOf {
  static constexpr int kWordBytes = bytes < 4 ? 4 : bytes;
  static constexpr int kRowsPerWord = kWordBytes / bytes;  // Rows whose elements are packed into one word.
  static constexpr int kWordsPerChunk = 16 / kWordBytes;
  static constexpr int kElementsPerChunk = 16 / bytes;  // Elements that one access moves.
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kThreads = threads;

  static constexpr int kWordRows = kRows / kRowsPerWord;
  static constexpr int kChunks = kColumns / kWordsPerChunk;           // Chunks of a word row in shared memory.
  static constexpr int kChunksPerRow = kColumns / kElementsPerChunk;  // Chunks of a row in global memory,
  static constexpr int kChunksPerColumn = kRows / kElementsPerChunk;  // and of a column.
  static constexpr int kLoads = kWordRows * kChunksPerRow / kThreads;
  static constexpr int kStores = kColumns * kChunksPerColumn / kThreads;
  static constexpr int kNeighbours = kChunksPerColumn % 8 == 0 ? 8 : kChunksPerColumn;  // Lanes that write a column.
  static_assert(kChunks % 8 == 0, "the swizzle permutes eight chunks");
  static_assert(kChunksPerColumn % kNeighbours == 0 && kWordRows * kChunksPerRow % kThreads == 0 &&
                    kColumns * kChunksPerColumn % kThreads == 0,
                "every thread moves as much");
};

/// The square tile for elements of `bytes`.
template <int bytes>
using Tile = TileOf<bytes,
                    bytes == 1   ? 128
                    : bytes <= 4 ? 64
                                 : 32,
                    bytes == 1   ? 128
                    : bytes <= 4 ? 64
                                 : 32,
                    bytes == 2   ? 128
                    : bytes == 4 ? 512
                                 : 256>;

/// The bytes of four words, regrouped: the first word gets each one's first byte, and so on.
__device__ __forceinline__ uint4 transpose_4x4(unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned ab01 = __byte_perm(a, b, 0x5140);  // a0 b0 a1 b1
  const unsigned ab23 = __byte_perm(a, b, 0x7362);
  const unsigned cd01 = __byte_perm(c, d, 0x5140);
  const unsigned cd23 = __byte_perm(c, d, 0x7362);
  return make_uint4(__byte_perm(ab01, cd01, 0x5410), __byte_perm(ab01, cd01, 0x7632), __byte_perm(ab23, cd23, 0x5410),
                    __byte_perm(ab23, cd23, 0x7632));
}

/// Regroups `rows[p]`, the same 16 bytes of kRowsPerWord rows, into one word a column.
template <int bytes>
__device__ __forceinline__ void pack_columns(const uint4 (&rows)[Tile<bytes>::kRowsPerWord],
                                             uint4 (&chunks)[Tile<bytes>::kRowsPerWord]) {
  if constexpr (bytes >= 4) {
    chunks[0] = rows[0];
  } else if constexpr (bytes == 2) {
    const uint4 a = rows[0];
    const uint4 b = rows[1];
    chunks[0] = make_uint4(__byte_perm(a.x, b.x, 0x5410), __byte_perm(a.x, b.x, 0x7632), __byte_perm(a.y, b.y, 0x5410),
                           __byte_perm(a.y, b.y, 0x7632));
    chunks[1] = make_uint4(__byte_perm(a.z, b.z, 0x5410), __byte_perm(a.z, b.z, 0x7632), __byte_perm(a.w, b.w, 0x5410),
                           __byte_perm(a.w, b.w, 0x7632));
  } else {
    chunks[0] = transpose_4x4(rows[0].x, rows[1].x, rows[2].x, rows[3].x);
    chunks[1] = transpose_4x4(rows[0].y, rows[1].y, rows[2].y, rows[3].y);
    chunks[2] = transpose_4x4(rows[0].z, rows[1].z, rows[2].z, rows[3].z);
    chunks[3] = transpose_4x4(rows[0].w, rows[1].w, rows[2].w, rows[3].w);
  }
}

//! [tile]
/// One block transposes one tile: rows x columns elements at `src`, fewer at the matrix's edge, to columns x rows at
/// `dst`. Pitches are in elements; they, rows and columns are multiples of kElementsPerChunk, and both pointers are
/// aligned to 16 bytes. `keeps` is load_keeping's, here and in other steps: v7k sets it.
template <int bytes, class T = Tile<bytes>, bool keeps = false>
__device__ __forceinline__ void transpose_tile(Word<bytes>* __restrict__ dst, std::int64_t dst_pitch,
                                               const Word<bytes>* __restrict__ src, std::int64_t src_pitch, int rows,
                                               int columns) {
  using W = Word<T::kWordBytes>;
  constexpr int kPacked = T::kRowsPerWord;
  __shared__ uint4 tile[T::kWordRows][T::kChunks];
  const int thread = static_cast<int>(threadIdx.x);

  uint4 loaded[T::kLoads][kPacked];
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) {
    const int word_row = (i * T::kThreads + thread) / T::kChunksPerRow;
    const int column = (i * T::kThreads + thread) % T::kChunksPerRow * T::kElementsPerChunk;
    const bool inside = word_row * kPacked < rows && column < columns;
#pragma unroll
    for (int p = 0; p < kPacked; ++p) {
      const auto* from = reinterpret_cast<const uint4*>(src + (word_row * kPacked + p) * src_pitch + column);
      loaded[i][p] = inside ? load_keeping<keeps>(from) : uint4{};
    }
  }
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) {
    const int word_row = (i * T::kThreads + thread) / T::kChunksPerRow;
    const int column_chunk = (i * T::kThreads + thread) % T::kChunksPerRow;
    //! [exercise swizzle_write]
    const int swizzle = word_row / T::kWordsPerChunk % 8;
    //! [exercise swizzle_write]
    uint4 chunks[kPacked];
    pack_columns<bytes>(loaded[i], chunks);
#pragma unroll
    for (int p = 0; p < kPacked; ++p) tile[word_row][(p * T::kChunksPerRow + column_chunk) ^ swizzle] = chunks[p];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < T::kStores; ++i) {
    // Eight lanes share a column and write 128 bytes of it (more, in a tile of another height); the next take the next.
    constexpr int kShare = T::kNeighbours;
    const int unit = i * T::kThreads + thread;
    const int column = unit / kShare % T::kColumns;
    const int row_chunk = unit / (kShare * T::kColumns) * kShare + unit % kShare;
    // Where pack_columns and the loop above put this column's words.
    const int p = column % T::kElementsPerChunk / T::kWordsPerChunk;
    //! [exercise swizzle_read]
    const int chunk = (p * T::kChunksPerRow + column / T::kElementsPerChunk) ^ (row_chunk % 8);
    //! [exercise swizzle_read]
    Pack<W, T::kWordsPerChunk> stored;
#pragma unroll
    for (int w = 0; w < T::kWordsPerChunk; ++w) {
      const auto* words = reinterpret_cast<const W*>(&tile[row_chunk * T::kWordsPerChunk + w][chunk]);
      stored[w] = words[column % T::kWordsPerChunk];
    }
    const int row = row_chunk * T::kElementsPerChunk;
    if (row < rows && column < columns) {
      store_streaming(reinterpret_cast<Pack<W, T::kWordsPerChunk>*>(dst + column * dst_pitch + row), stored);
    }
  }
}
//! [tile]

//! [kernel]
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    transpose_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src, int rows, int columns,
                     int tiles_down, int tiles_across) {
  using T = Tile<bytes>;
  const int across = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles_across));
  const unsigned rest = blockIdx.x / static_cast<unsigned>(tiles_across);
  const int row0 = static_cast<int>(rest % static_cast<unsigned>(tiles_down)) * T::kRows;
  const std::int64_t matrix = std::int64_t(rest / static_cast<unsigned>(tiles_down)) * rows * columns;
  const int column0 = across * T::kColumns;
  transpose_tile<bytes>(dst + matrix + std::int64_t(column0) * rows + row0, rows,
                        src + matrix + std::int64_t(row0) * columns + column0, columns, rows - row0, columns - column0);
}
//! [kernel]

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& p, const void* src, const void* dst) {
  BatchTranspose m;
  if (const char* reason = as_batch_transpose(p, m)) return reason;
  // Rows and columns are int in the kernel, with room for a tile beyond the edge.
  constexpr std::int64_t kLongest = 0x7fffffff - 128;
  if (m.rows > kLongest || m.columns > kLongest) return "a side of the matrix is too long for 32 bits";
  if (m.rows * p.element_bytes % 16 != 0 || m.columns * p.element_bytes % 16 != 0) {
    return "both sides of the matrix must be multiples of 16 bytes";
  }
  const auto address = reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
  return address % 16 == 0 ? nullptr : "both arrays must be aligned to 16 bytes";
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  if (refuse(p, src, dst) != nullptr) return cudaErrorInvalidValue;
  BatchTranspose m;
  as_batch_transpose(p, m);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    const std::int64_t down = ceil_div<std::int64_t>(m.rows, T::kRows);
    const std::int64_t across = ceil_div<std::int64_t>(m.columns, T::kColumns);
    return launch(transpose_kernel<bytes>, {.grid = m.batch * down * across, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), static_cast<int>(m.rows),
                  static_cast<int>(m.columns), static_cast<int>(down), static_cast<int>(across));
  });
}

}  // namespace warpbook::chapter3::v6a
