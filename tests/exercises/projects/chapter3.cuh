#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::project {

constexpr int kTile = 32;
constexpr int kThreadRows = 8;

struct Layout {
  int rank;
  std::int64_t dst_stride[kMaxRank];
  std::int64_t src_stride[kMaxRank];
};

template <class W> __global__ void any_kernel(W* dst, const W* src, Layout layout, std::int64_t count) {
  const std::int64_t place = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (place >= count) return;
  std::int64_t left = place;
  std::int64_t from = 0;
  for (int d = 0; d + 1 < layout.rank; ++d) {
    from += left / layout.dst_stride[d] * layout.src_stride[d];
    left %= layout.dst_stride[d];
  }
  if (layout.rank > 0) from += left * layout.src_stride[layout.rank - 1];
  dst[place] = src[from];
}

template <class W> __global__ void tile_kernel(W* dst, const W* src, int rows, int columns) {
  __shared__ W tile[kTile][kTile + 1];
  const std::int64_t matrix = std::int64_t(blockIdx.z) * rows * columns;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int x = threadIdx.x, y = threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += kThreadRows) {
    if (row0 + y + k < rows && column0 + x < columns) {
      tile[y + k][x] = src[matrix + std::int64_t(row0 + y + k) * columns + column0 + x];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; k += kThreadRows) {
    if (column0 + y + k < columns && row0 + x < rows) {
      dst[matrix + std::int64_t(column0 + y + k) * rows + row0 + x] = tile[x][y + k];
    }
  }
}

static __global__ void pairs_kernel(std::uint32_t* dst, const std::uint32_t* src, int rows, int columns) {
  __shared__ std::uint32_t low[kTile][kTile + 1], high[kTile][kTile + 1];  // Of a pair of columns: its first, its second.
  const std::int64_t matrix = std::int64_t(blockIdx.z) * (rows / 2) * columns;
  const int row0 = blockIdx.y * 2 * kTile, column0 = blockIdx.x * 2 * kTile;
  const int x = threadIdx.x, y = threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += kThreadRows) {
    const int row = row0 + 2 * (y + k);
    if (row < rows && column0 + 2 * x < columns) {
      const std::uint32_t* const from = src + matrix + std::int64_t(row) * (columns / 2) + column0 / 2 + x;
      const std::uint32_t above = from[0], below = from[columns / 2];
      low[x][y + k] = __byte_perm(above, below, 0x5410);
      high[x][y + k] = __byte_perm(above, below, 0x7632);
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 2 * kTile; k += kThreadRows) {
    const int column = column0 + y + k;
    if (column < columns && row0 + 2 * x < rows) {
      dst[matrix + std::int64_t(column) * (rows / 2) + row0 / 2 + x] = (column % 2 == 0 ? low : high)[(y + k) / 2][x];
    }
  }
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p);  // Rows that stay whole move in wide words.
  return with_word_bytes(q.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    auto* const to = static_cast<W*>(dst);
    const auto* const from = static_cast<const W*>(src);
    BatchTranspose m;
    if (bytes == 2 && q.alignment >= 4 && as_batch_transpose(q, m) == nullptr && m.rows % 2 == 0 && m.columns % 2 == 0 && m.batch < 60000 &&
        m.rows < 4000000) {
      return launch(pairs_kernel,
                    {.grid = {ceil_div<std::int64_t>(m.columns, 2 * kTile), ceil_div<std::int64_t>(m.rows, 2 * kTile), m.batch},
                     .block = {kTile, kThreadRows},
                     .stream = stream},
                    static_cast<std::uint32_t*>(dst), static_cast<const std::uint32_t*>(src), int(m.rows), int(m.columns));
    }
    if (as_batch_transpose(q, m) == nullptr && m.batch < 65536 && m.rows < 2000000) {
      return launch(tile_kernel<W>,
                    {.grid = {ceil_div<std::int64_t>(m.columns, kTile), ceil_div<std::int64_t>(m.rows, kTile), m.batch},
                     .block = {kTile, kThreadRows},
                     .stream = stream},
                    to, from, int(m.rows), int(m.columns));
    }
    const Strides dst_by = dst_strides(q), src_by = src_strides(q);
    Layout layout{q.rank, {}, {}};
    for (int d = 0; d < q.rank; ++d) {
      layout.dst_stride[d] = dst_by[d];
      layout.src_stride[d] = src_by[q.permutation[d]];
    }
    return launch(any_kernel<W>, {.grid = ceil_div<std::int64_t>(q.count(), 256), .block = 256, .stream = stream}, to, from,
                  layout, q.count());
  });
}

}  // namespace warpbook::chapter3::project
