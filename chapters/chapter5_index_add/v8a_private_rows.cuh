/// \file
/// v8a private rows: where the rows are few, everyone gets a copy of them in shared memory.
///
/// With R = 16 every reduction of v7b meets the same few rows, and the L2 takes them one after another: same bytes as
/// with R = 1024, several times the time. So each group of threads keeps sums of its own for all R rows in shared
/// memory. A sum has one owner, the thread with that word: no atomics, no barrier until the end. Then a block adds its
/// groups' copies together and writes them to the workspace, and a second kernel adds the blocks' copies and dst.
///
/// The sums are float, for half and bfloat16 too: a half that a million halves are added to stops changing long before
/// the last. And the order of additions depends on nothing but the launch: the result is the same on every run.
///
/// Expect the speed of reading src for as long as R copies fit (a few dozen rows of 64 floats), from then on fewer
/// threads, and finally none.
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5::v8a {

inline constexpr int kInFlight = 4;  // Entries that a thread loads before it adds the first.
inline constexpr int kMostThreads = 512;
inline constexpr int kSharedBytes = 96 * 1024;  // Of a block: two fit a multiprocessor with 228 KiB.

/// A thread's sums for one row lie in pieces of 16 bytes, each piece beside its neighbours' same piece: no conflicts.
using Piece = Pack<float, 4>;

//! [kernel]
template <class T, int n>
__global__ void __launch_bounds__(kMostThreads, 2)
    sum_kernel(float* __restrict__ partial, IndexView index, const T* __restrict__ src, unsigned long long* outside,
               RowMap row, float alpha, FastDivisor<std::uint32_t> chunks, int lane_bits,
               std::int64_t entries_per_block) {
  constexpr int kPieces = (n + 3) / 4;
  constexpr int kPerPiece = n < 4 ? n : 4;
  auto* const sums = dynamic_shared<Pack<float, kPerPiece>>();
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const int rows = static_cast<int>(row.rows);
  const int lanes = 1 << lane_bits;
  const int groups = static_cast<int>(blockDim.x) >> lane_bits;
  const int group = static_cast<int>(threadIdx.x) >> lane_bits;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  const bool active = word < row.words;
  auto* const own = sums + group * rows * kPieces * lanes + lane;

  Pack<float, kPerPiece> none;
  for (int k = 0; k < kPerPiece; ++k) none[k] = nothing<float>();
  for (int i = 0; i < rows * kPieces; ++i) own[i * lanes] = none;

  const std::int64_t begin = std::int64_t(tile) * entries_per_block;
  const std::int64_t end = min(begin + entries_per_block, row.entries);
  const Place place = row.place(active ? word : 0);
  for (std::int64_t entry = begin + group; active && entry < end; entry += std::int64_t(groups) * kInFlight) {
    std::int64_t to[kInFlight];
    Pack<T, n> value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = entry + std::int64_t(groups) * i;
      to[i] = e < end ? index[e] : 0;
      if (e < end) value[i] = load_word<T, n>(src + place.src + e * row.src_row_stride);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = entry + std::int64_t(groups) * i;
      if (e >= end || !inside(to[i], row.rows, e, outside)) continue;
      auto* const row_sums = own + static_cast<int>(to[i]) * kPieces * lanes;
      //! [exercise private_sum]
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        auto sum = row_sums[piece * lanes];
#pragma unroll
        for (int k = 0; k < kPerPiece; ++k) sum[k] += alpha * widen(value[i][piece * kPerPiece + k]);
        row_sums[piece * lanes] = sum;
      }
      //! [exercise private_sum]
    }
  }
  //! [exercise copies_barrier]
  __syncthreads();
  //! [exercise copies_barrier]

  // The block's copies become one: thread by thread a piece of all groups.
  const int pieces = rows * kPieces * lanes;
  for (int i = static_cast<int>(threadIdx.x); i < pieces; i += static_cast<int>(blockDim.x)) {
    auto sum = sums[i];
    for (int g = 1; g < groups; ++g) {
#pragma unroll
      for (int k = 0; k < kPerPiece; ++k) sum[k] += sums[g * pieces + i][k];
    }
    reinterpret_cast<Pack<float, kPerPiece>*>(partial)[std::int64_t(blockIdx.x) * pieces + i] = sum;
  }
}

/// Adds the blocks' sums to dst. A block takes `lanes` pieces of a chunk; its groups share the tiles.
template <class T, int n>
__global__ void __launch_bounds__(256) finish_kernel(T* dst, const float* __restrict__ partial, RowMap row,
                                                     FastDivisor<std::uint32_t> chunks, int lane_bits, int tiles) {
  constexpr int kPieces = (n + 3) / 4;
  constexpr int kPerPiece = n < 4 ? n : 4;
  using Sums = Pack<float, kPerPiece>;
  __shared__ Sums shared[256];
  const auto [row_piece, chunk] = chunks.divide(blockIdx.x);  // Which row and which piece of the lanes' words.
  const int lanes = 1 << lane_bits;
  const int pieces = static_cast<int>(row.rows) * kPieces * lanes;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int groups = 256 >> lane_bits;
  const auto* from =
      reinterpret_cast<const Sums*>(partial) + std::int64_t(chunk) * pieces + std::int64_t(row_piece) * lanes + lane;
  Sums sum;
  for (int k = 0; k < kPerPiece; ++k) sum[k] = nothing<float>();
  const std::int64_t stride = std::int64_t(chunks.divisor) * pieces;
#pragma unroll 4
  for (int tile = static_cast<int>(threadIdx.x) >> lane_bits; tile < tiles; tile += groups) {
    const Sums more = from[tile * stride];
    for (int k = 0; k < kPerPiece; ++k) sum[k] += more[k];
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  if (static_cast<int>(threadIdx.x) >= lanes || word >= row.words) return;
  for (int g = 1; g < groups; ++g) {
    for (int k = 0; k < kPerPiece; ++k) sum[k] += shared[g * lanes + lane][k];
  }
  const int piece = static_cast<int>(row_piece) % kPieces;
  T* const to = dst + row.place(word).dst + static_cast<int>(row_piece) / kPieces * row.dst_row_stride;
#pragma unroll
  for (int k = 0; k < kPerPiece; ++k) {
    T& element = to[piece * kPerPiece + k];
    const float old = widen(element);
    if (__float_as_uint(sum[k]) != 0x80000000U) element = narrow<T>(old + sum[k]);  // A row that nothing came to stays.
  }
}
//! [kernel]

/// How the step is launched.
struct Plan {
  Lanes lanes;
  int threads = 0;  ///< Of a block; 0: the rows do not fit.
  int tiles = 0;    ///< Of entries, one a block and chunk.
  std::int64_t entries_per_block = 0;
  std::size_t shared_bytes = 0;
  std::size_t workspace_bytes = 0;
};

inline Plan plan(const IndexAddProblem& p, const RowMap& row) {
  Plan result;
  result.lanes = lanes_for(row.words, 32);
  const std::int64_t group_bytes = row.rows * result.lanes.lanes * row.word_elements * 4;
  if (row.rows > kSharedBytes || group_bytes > kSharedBytes) return result;
  const std::int64_t groups = std::min<std::int64_t>(kSharedBytes / group_bytes, kMostThreads / result.lanes.lanes);
  result.threads = static_cast<int>(groups) * result.lanes.lanes;
  if (result.threads >= 32) result.threads = result.threads / 32 * 32;
  const std::int64_t used_groups = result.threads / result.lanes.lanes;
  if (result.threads < 32) {
    result.threads = 0;
    return result;
  }
  result.shared_bytes = static_cast<std::size_t>(used_groups * group_bytes);
  const std::int64_t resident = std::max<std::int64_t>(
      1, std::min<std::int64_t>(2 * kSharedBytes / static_cast<std::int64_t>(result.shared_bytes + 1024),
                                1024 / result.threads));
  const std::int64_t blocks = std::int64_t(multiprocessors()) * resident;
  const std::int64_t tiles = std::max<std::int64_t>(
      1, std::min(blocks / result.lanes.chunks, ceil_div<std::int64_t>(row.entries, used_groups * kInFlight)));
  result.entries_per_block = ceil_div(row.entries, tiles);
  result.tiles = static_cast<int>(ceil_div(row.entries, result.entries_per_block));
  result.workspace_bytes = static_cast<std::size_t>(result.tiles) * static_cast<std::size_t>(result.lanes.chunks) *
                           static_cast<std::size_t>(group_bytes);
  static_cast<void>(p);
  return result;
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  if (p.type != ElementType::float16 && p.type != ElementType::bfloat16 && p.type != ElementType::float32) {
    return "this step is built for float, half and bfloat16";
  }
  if (p.empty()) return nullptr;
  if (p.rows() == 0) return "there are no rows";
  bool fits = true;
  for_each_map(p, [&](const RowMap& row) { fits = fits && plan(p, row).threads > 0; });
  return fits ? nullptr : "a copy of all rows does not fit shared memory";
}

inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  if (p.empty() || refuse(p) != nullptr) return 0;
  std::size_t bytes = 0;
  for_each_map(p, [&](const RowMap& row) { bytes = std::max(bytes, plan(p, row).workspace_bytes); });
  return bytes;
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const RowMap row = row_map(p, a);
  const Plan plan = v8a::plan(p, row);
  if (plan.workspace_bytes > a.workspace_bytes) return cudaErrorInvalidValue;
  if (plan.lanes.chunks * std::max<std::int64_t>(plan.tiles, row.rows * 2) > INT32_MAX) return cudaErrorInvalidValue;
  const FastDivisor<std::uint32_t> chunks(static_cast<std::uint32_t>(plan.lanes.chunks));
  auto* const partial = static_cast<float*>(a.workspace);
  return with_word<T>(row.word_elements, [&]<int n>() {
    const cudaError_t error = launch(sum_kernel<T, n>,
                                     {.grid = plan.tiles * plan.lanes.chunks,
                                      .block = plan.threads,
                                      .shared_bytes = plan.shared_bytes,
                                      .stream = stream},
                                     partial, index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                                     alpha_of<T>(p), chunks, plan.lanes.bits, plan.entries_per_block);
    if (error != cudaSuccess) return error;
    constexpr int kPieces = (n + 3) / 4;
    return launch(finish_kernel<T, n>, {.grid = row.rows * kPieces * plan.lanes.chunks, .block = 256, .stream = stream},
                  static_cast<T*>(a.dst), partial, row, chunks, plan.lanes.bits, plan.tiles);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  return with_float_sums(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v8a
