/// \file
/// v7 kept input: loads ask the L2 to keep what they read.
///
/// v6 reads and writes whole lines, and each of them once. When the L2 needs room, it gives up what is old, read or
/// written. Here the loads carry a hint, evict_last: keep this line before others. torch.compile's kernels load in the
/// same way. We do not know why it helps: nobody reads a kept line again.
///
/// A kept line stays until other kept lines need its place. Whoever times a kernel twice on one input must free them in
/// between (cudaCtxResetPersistingL2Cache), or the second run finds them.
///
/// Expect the same traffic, and two or three percent less time.
#pragma once

#include "chapters/chapter3_permute/v6_wide_tile.cuh"

namespace warpbook::chapter3::v7 {

using v6::place_chunks;
using v6::store_columns;

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
      loaded[i][p] = inside ? load_keeping<true>(from) : uint4{};
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

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v6::run_tiles(p, src, dst, stream, [](auto tile) { return transpose_kernel<decltype(tile)>; });
}

}  // namespace warpbook::chapter3::v7
