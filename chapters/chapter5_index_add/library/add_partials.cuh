/// \file
/// add_partials: adds the sums that blocks left in the workspace to dst. The second kernel of private_rows and
/// kept_tiles.
#pragma once

#include "chapters/chapter5_index_add/words.cuh"

namespace warpbook::chapter5::add_partials {

inline constexpr int kThreads = 256;

/// A word's sums lie in pieces of 16 bytes or less, each beside its neighbours' same piece: no bank conflicts. Of `n`
/// elements.
template <int n> inline constexpr int kPerPiece = n < 4 ? n : 4;
template <int n> inline constexpr int kPieces = (n + 3) / 4;

/// A block takes `lanes` pieces of a chunk; its groups share the tiles.
/// \param partial for each tile, chunk, row and piece: the sums of its lanes' words.
template <class T, int n>
__global__ void __launch_bounds__(kThreads) add_kernel(T* dst, const float* __restrict__ partial, RowMap row,
                                                       FastDivisor<std::uint32_t> chunks, int lane_bits, int tiles) {
  using Sums = Pack<float, kPerPiece<n>>;
  __shared__ Sums shared[kThreads];
  const auto [row_piece, chunk] = chunks.divide(blockIdx.x);  // Which row and which piece of the lanes' words.
  const unsigned lanes = 1U << lane_bits;
  const unsigned lane = threadIdx.x & (lanes - 1);
  const int groups = kThreads >> lane_bits;
  const std::int64_t pieces = row.rows * kPieces<n> * lanes;
  const auto* const from = reinterpret_cast<const Sums*>(partial) + chunk * pieces + row_piece * lanes + lane;
  Sums sum;
  for (int k = 0; k < kPerPiece<n>; ++k) sum[k] = nothing<float>();
  const std::int64_t stride = chunks.divisor * pieces;
#pragma unroll 4
  for (int tile = threadIdx.x >> lane_bits; tile < tiles; tile += groups) {
    const Sums more = from[tile * stride];
    for (int k = 0; k < kPerPiece<n>; ++k) sum[k] += more[k];
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  if (threadIdx.x >= lanes || word >= row.words) return;
  for (int g = 1; g < groups; ++g) {
    for (int k = 0; k < kPerPiece<n>; ++k) sum[k] += shared[g * lanes + lane][k];
  }
  T* const to = dst + row.place(word).dst + row_piece / kPieces<n> * row.dst_row_stride;
#pragma unroll
  for (int k = 0; k < kPerPiece<n>; ++k) {
    T& element = to[row_piece % kPieces<n> * kPerPiece<n> + k];
    const float old = widen(element);
    if (!is_nothing<T>(sum[k])) element = narrow<T>(old + sum[k]);  // A row that nothing came to stays.
  }
}

/// \param partial tiles * chunks * rows * lanes words of n floats.
template <class T, int n>
cudaError_t run(const IndexAddArrays& a, const float* partial, const RowMap& row, const Lanes& lanes,
                std::int64_t tiles, cudaStream_t stream) {
  if (lanes.chunks > INT32_MAX / (row.rows * kPieces<n>)) return cudaErrorInvalidValue;
  return launch(add_kernel<T, n>, {.grid = row.rows * kPieces<n> * lanes.chunks, .block = kThreads, .stream = stream},
                static_cast<T*>(a.dst), partial, row,
                FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(lanes.chunks)), lanes.bits,
                static_cast<int>(tiles));
}

}  // namespace warpbook::chapter5::add_partials
