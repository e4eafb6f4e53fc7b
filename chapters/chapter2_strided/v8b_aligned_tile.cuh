/// \file
/// v8b aligned tile: tiles that begin where the source's cache lines begin.
///
/// v8a's tiles begin at the view's first element. In x[:, 1:, 1:].transpose(1, 2) every row of a tile begins one float
/// behind a line of 128 bytes, so a warp's 128 bytes lie in 5 sectors instead of 4, and a neighbouring tile reads the
/// fifth again. Where all rows of the source begin alike, we let the first tile begin some columns early, at a line.
/// Lanes in front of the matrix do nothing.
///
/// Expect four sectors per load request instead of five.
#pragma once

#include "chapters/chapter2_strided/v8a_strided_tile.cuh"

namespace warpbook::chapter2::v8b {

using v8a::Matrices;
using v8a::Tile;

//! [kernel]
/// Moves a tile of so many rows and columns, without the first `early` columns; more than it holds count as all.
template <int bytes>
__device__ __forceinline__ void move_tile(Word<bytes>* dst, const Word<bytes>* src, const Matrices& m, int rows,
                                          int columns, int early) {
  using T = Tile<bytes>;
  using W = Word<bytes>;
  __shared__ W tile[T::kRows * T::kPitch];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  W word[T::kLoads];
  const W* from = src + lane * m.column.src_stride + warp * m.row.src_stride;
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) {
    if (lane >= early && lane < columns && warp + i * T::kWarps < rows) word[i] = load_keeping<true>(from);
    from += T::kWarps * m.row.src_stride;
  }
#pragma unroll
  for (int i = 0; i < T::kLoads; ++i) tile[(warp + i * T::kWarps) * T::kPitch + lane] = word[i];
  __syncthreads();
#pragma unroll 2
  for (int c = warp; c < min(T::kColumns, columns); c += T::kWarps) {
    W* const to = dst + c * m.column.dst_stride;
    if (c < early) continue;
#pragma unroll
    for (int r = lane; r < T::kRows; r += 32) {
      if (r < rows) to[r * m.row.dst_stride] = tile[r * T::kPitch + c];
    }
  }
}

template <int bytes>
__global__ void __launch_bounds__(Tile<bytes>::kThreads, 6)
    tile_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src, const __grid_constant__ Matrices m,
                int early) {
  using T = Tile<bytes>;
  const auto [rest, across] = m.across.divide(blockIdx.x);
  auto [matrix, down] = m.down.divide(rest);
  const int column = int(across) * T::kColumns - early;
  const int row = down * T::kRows;
  std::int64_t from = column * m.column.src_stride + row * m.row.src_stride;
  std::int64_t to = column * m.column.dst_stride + row * m.row.dst_stride;
  for (int d = 0; d < m.others; ++d) {
    const auto [quotient, index] = m.other[d].size.divide(matrix);
    from += index * m.other[d].src_stride;
    to += index * m.other[d].dst_stride;
    matrix = quotient;
  }
  move_tile<bytes>(dst + to, src + from, m, int(m.row.size.divisor) - row, int(m.column.size.divisor) - column,
                   -column);
}
//! [kernel]

/// How many columns before a matrix's first its line of 128 bytes begins; 0 where the source's rows do not all begin
/// alike. Where they do so modulo fewer bytes, the boundary before that.
inline int early_columns(const Prepared& q, const Matrices& m) {
  if (m.column.src_stride != 1) return 0;
  const int bytes = q.problem.element_bytes;
  std::int64_t steps = 128 | m.row.src_stride * bytes;
  for (int d = 0; d < m.others; ++d) steps |= m.other[d].src_stride * bytes;
  const auto alike = static_cast<std::uintptr_t>(steps & -steps);
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(q.src) % alike) / bytes;
}

/// Moves a simplified problem that v8a does not refuse.
inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    Matrices m = v8a::matrices_of(q.problem);
    const int early = early_columns(q, m);
    const std::uint32_t across = ceil_div<std::uint32_t>(m.column.size.divisor + early, T::kColumns);
    const std::uint32_t down = ceil_div<std::uint32_t>(m.row.size.divisor, T::kRows);
    m.across = FastDivisor<std::uint32_t>(across);
    m.down = FastDivisor<std::uint32_t>(down);
    std::int64_t blocks = std::int64_t(across) * down;
    for (int d = 0; d < m.others; ++d) blocks *= m.other[d].size.divisor;
    return launch(tile_kernel<bytes>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                  reinterpret_cast<Word<bytes>*>(q.dst), reinterpret_cast<const Word<bytes>*>(q.src), m, early);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, v8a::refuse, run_prepared);
}

}  // namespace warpbook::chapter2::v8b
