/// \file
/// v8 strided tile: a tile in shared memory, between two sides that disagree on which elements are neighbours.
///
/// v5 goes through the contiguous side in order. In a transposed slice, 32 neighbours of the result lie in 32 sectors
/// of the view: 32 sectors per load request. So a block takes a tile: some elements along the dimension that is fastest
/// in the source, times some along the one that is fastest in the destination. It reads with its lanes along the first
/// and writes with its lanes along the second, as chapter 3's padded tile, with any strides. Where all rows of the
/// source begin alike, the first tile begins some columns early, at a cache line.
///
/// Expect four sectors per request on both sides, and three times v5's speed on transposes.
#pragma once

#include "chapters/chapter2_strided/matrices.cuh"
#include "chapters/chapter2_strided/v5_fast_division.cuh"

namespace warpbook::chapter2::v8 {

template <int bytes> struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kColumns = 32;                                    // Elements along the source,
  static constexpr int kRows = bytes <= 4 ? 128 : bytes == 8 ? 64 : 32;  // and along the destination.
  static constexpr int kPitch = kColumns + (bytes < 4 ? 4 / bytes : 1);  // An odd number of 4-byte words or elements.
  static constexpr int kLoads = kRows / kWarps;                          // Per thread, all under way at once.
};

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
  const int end = bytes == 8 ? min(T::kColumns, columns) : T::kColumns;  // A known end is faster, but not for 8 bytes.
#pragma unroll 2
  for (int c = warp; c < end; c += T::kWarps) {
    if (c < early || c >= columns) continue;
    W* const to = dst + c * m.column.dst_stride;
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

inline const char* refuse(const StridedProblem& q) {
  constexpr std::uint32_t kShort = 8;  // Shorter sides leave most lanes of a tile idle.
  if (q.count() > INT32_MAX - 128) return "2^31 elements or more";
  const Matrices m = matrices_of(q);
  return m.column.size.divisor >= kShort && m.row.size.divisor >= kShort
             ? nullptr
             : "each side needs a fastest dimension of its own, of 8 elements or more";
}

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

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using T = Tile<bytes>;
    Matrices m = matrices_of(q.problem);
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
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::v8
