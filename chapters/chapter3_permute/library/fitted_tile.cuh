/// \file
/// v7g fitted tile: a tile whose sides divide the matrix, found by multiplications.
///
/// v6a's tile is 64 x 64 for halves and floats. Images have 96 channels: every second tile is half empty, its threads
/// wait for nothing, and its writes are 64 bytes where its neighbour's are 128. Where a side is a multiple of 96 and
/// not of 64, halves get a tile with a side of 96. And the block finds its tile by v7b's multiplications: in v6a two
/// divisions stand before the first load.
///
/// Expect nothing from 1024 x 1024 but the divisions' share, and two to three percent from NHWC to NCHW in half.
#pragma once

#include "chapters/chapter3_permute/v6a_wide_tile.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter3::v7g {

//! [kernel]
template <int bytes, class T, bool keeps = false>
__global__ void __launch_bounds__(T::kThreads)
    transpose_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src, int rows, int columns,
                     FastDivisor<std::uint32_t> tiles_down, FastDivisor<std::uint32_t> tiles_across) {
  const auto [rest, across] = tiles_across.divide(blockIdx.x);
  const auto [batch, down] = tiles_down.divide(rest);
  const std::int64_t matrix = std::int64_t(batch) * rows * columns;
  const int row0 = static_cast<int>(down) * T::kRows;
  const int column0 = static_cast<int>(across) * T::kColumns;
  v6a::transpose_tile<bytes, T, keeps>(dst + matrix + std::int64_t(column0) * rows + row0, rows,
                                       src + matrix + std::int64_t(row0) * columns + column0, columns, rows - row0,
                                       columns - column0);
}
//! [kernel]

/// Transposes matrices that v6a does not refuse.
template <bool keeps>
cudaError_t run_matrices(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  if (v6a::refuse(p, src, dst) != nullptr) return cudaErrorInvalidValue;
  BatchTranspose m;
  as_batch_transpose(p, m);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    const auto run_as = [&]<class T>() {
      const std::int64_t down = ceil_div<std::int64_t>(m.rows, T::kRows);
      const std::int64_t across = ceil_div<std::int64_t>(m.columns, T::kColumns);
      if (m.batch * down * across > 0x7fffffff) return cudaErrorInvalidConfiguration;
      return launch(transpose_kernel<bytes, T, kHinted<keeps, bytes>>,
                    {.grid = m.batch * down * across, .block = T::kThreads, .stream = stream},
                    static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), static_cast<int>(m.rows),
                    static_cast<int>(m.columns), FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(down)),
                    FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(across)));
    };
    if constexpr (bytes == 2) {
      const auto fits_96 = [](std::int64_t side) { return side % 96 == 0 && side % 64 != 0; };
      if (fits_96(m.rows)) return run_as.template operator()<v6a::TileOf<2, 96, 64, 192>>();
      if (fits_96(m.columns)) return run_as.template operator()<v6a::TileOf<2, 64, 96, 192>>();
    }
    return run_as.template operator()<v6a::Tile<bytes>>();
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_matrices<false>(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v7g
