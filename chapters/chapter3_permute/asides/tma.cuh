/// \file
/// Aside: Hopper's copy engine (TMA) fetches the tile.
///
/// In v6 every thread computes addresses, holds what it loaded in registers and stores it to shared memory. On Hopper
/// one thread names a box of the tensor, and the copy engine brings it to shared memory by itself. The engine also
/// swizzles, but by one fixed pattern: within rows of 128 bytes, chunk c of row r stands at c XOR (r mod 8). A column
/// of such a tile lies in 8 places, so threads that gather from a column take turns and put their elements in order
/// afterwards, in registers.
///
/// We expected far fewer instructions than v6 and the same time. It is slower, with more instructions: gathering from
/// the fixed swizzle costs more than the loads save.
#pragma once

#include "chapters/chapter3_permute/v6_wide_tile.cuh"
#include "common/cuda/tma.cuh"

namespace warpbook::chapter3::tma {

#ifdef WARPBOOK_EMULATED

inline cudaError_t run(const PermuteProblem&, const void*, void*, cudaStream_t) { return cudaErrorNotSupported; }

#else

/// The tile for elements of `bytes`: boxes of 128 bytes a row, side by side.
template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kBoxes = bytes == 1 ? 1 : 2;
  static constexpr int kColumnsPerBox = 128 / bytes;
  static constexpr int kColumns = kBoxes * kColumnsPerBox;
  static constexpr int kRows = bytes == 1 ? 128 : 256 / bytes;
  static constexpr int kElementsPerChunk = 16 / bytes;
  static constexpr int kRowChunks = kRows / kElementsPerChunk;
};

/// Turns v[0..n) so that v[i] becomes v[(i - by) mod n]; by < n, a power of two. Selects, so that v stays in registers.
template <class W, int n> __device__ __forceinline__ void rotate(W (&v)[n], int by) {
#pragma unroll
  for (int bit = 1; bit < n; bit *= 2) {
    W turned[n];
#pragma unroll
    for (int i = 0; i < n; ++i) turned[i] = (by & bit) != 0 ? v[(i + n - bit) % n] : v[i];
#pragma unroll
    for (int i = 0; i < n; ++i) v[i] = turned[i];
  }
}

//! [kernel]
template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads)
    transpose_kernel(Word<bytes>* __restrict__ dst, const __grid_constant__ CUtensorMap src, MatrixTiles tiles) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  constexpr int kPerChunk = T::kElementsPerChunk;
  __shared__ __align__(1024) unsigned char tile[T::kBoxes][T::kRows][128];
  __shared__ CopyBarrier barrier;

  const auto [matrix, row0, column0] = tiles.origin();
  const int rows = tiles.rows;
  const int columns = tiles.columns;
  const int batch = blockIdx.x / (tiles.down.divisor * tiles.across.divisor);

  if (threadIdx.x == 0) init_copy_barrier(&barrier);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect_copied_bytes(&barrier, sizeof(tile));
    for (int box = 0; box < T::kBoxes; ++box) {
      copy_box(tile[box], &src, column0 * bytes + box * 128, row0, batch, &barrier);
    }
  }
  wait_for_copies(&barrier);

  W* to = dst + matrix;
#pragma unroll
  for (int unit = threadIdx.x; unit < T::kColumns * T::kRowChunks; unit += T::kThreads) {
    // Eight lanes share a column and write 128 bytes of it; the next eight take the next column.
    const int q = unit % 8;
    const int column = unit / 8 % T::kColumns;
    const int row = (unit / (8 * T::kColumns) * 8 + q) * kPerChunk;
    const int turn = kPerChunk >= 8 ? q % kPerChunk : q * kPerChunk / 8;
    const int byte = column % T::kColumnsPerBox * bytes;
    W gathered[kPerChunk];
#pragma unroll
    for (int i = 0; i < kPerChunk; ++i) {
      const int r = row + (i + turn) % kPerChunk;
      const int swizzled = ((byte / 16) ^ (r % 8)) * 16 + byte % 16;
      gathered[i] = *reinterpret_cast<const W*>(&tile[column / T::kColumnsPerBox][r][swizzled]);
    }
    rotate(gathered, turn);
    if (row0 + row < rows && column0 + column < columns) {
      Pack<W, kPerChunk> stored;
#pragma unroll
      for (int i = 0; i < kPerChunk; ++i) stored[i] = gathered[i];
      store_streaming(reinterpret_cast<Pack<W, kPerChunk>*>(to + std::int64_t(column0 + column) * rows + row0 + row),
                      stored);
    }
  }
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  if (v6::refuse(p) != nullptr) return cudaErrorInvalidValue;
  BatchTranspose m;
  as_batch_transpose(p, m);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    CUtensorMap map;
    const cudaError_t error =
        make_swizzled_row_map(map, src, static_cast<std::uint64_t>(m.columns * bytes),
                              static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.batch), T::kRows);
    if (error != cudaSuccess) return error;
    const MatrixTiles tiles(m.batch, m.rows, m.columns, T::kRows, T::kColumns);
    return launch(transpose_kernel<bytes>, {.grid = tiles.blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), map, tiles);
  });
}

#endif

inline const char* refuse(const PermuteProblem& p) {
  if (const char* reason = tensor_copies_missing()) return reason;
  if (const char* reason = v6::refuse(p)) return reason;
  BatchTranspose m;
  as_batch_transpose(p, m);
  // A box's first byte is an int in the instruction.
  constexpr std::int64_t kLongest = 0x7fffff00;
  return m.rows < kLongest && m.columns * p.element_bytes < kLongest && m.batch < kLongest
             ? nullptr
             : "a side is too long for a tensor copy's 32-bit coordinates";
}

}  // namespace warpbook::chapter3::tma
