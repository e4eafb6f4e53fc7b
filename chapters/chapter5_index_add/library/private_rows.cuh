/// \file
/// private_rows: where the rows are few, each group of threads has a float copy of them in shared memory. A sum has one
/// owner, the thread with that word, so nothing is atomic. A block adds its groups' copies together, a second kernel
/// the blocks' copies and dst. The order of additions depends on nothing but the launch: the same result on every run.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/library/add_partials.cuh"

namespace warpbook::chapter5::private_rows {

using add_partials::kPerPiece;
using add_partials::kPieces;

inline constexpr int kInFlight = 4;  // Entries that a thread loads before it adds the first.
inline constexpr int kMostThreads = 512;
inline constexpr int kSharedBytes = 96 * 1024;  // Of a block: two fit a multiprocessor with 228 KiB.

/// Adds an entry's word to a row's sums, whose pieces lie `lanes` apart.
template <class T, int n>
__device__ __forceinline__ void add_entry(Pack<float, kPerPiece<n>>* row_sums, int lanes, const Pack<T, n>& value,
                                          float alpha) {
#pragma unroll
  for (int piece = 0; piece < kPieces<n>; ++piece) {
    auto sum = row_sums[piece * lanes];
#pragma unroll
    for (int k = 0; k < kPerPiece<n>; ++k) sum[k] += alpha * widen(value[piece * kPerPiece<n> + k]);
    row_sums[piece * lanes] = sum;
  }
}

/// The block's copies become one: thread by thread a piece of all groups.
template <int per_piece>
__device__ __forceinline__ void join_copies(Pack<float, per_piece>* to, const Pack<float, per_piece>* sums, int pieces,
                                            int groups) {
  for (int i = threadIdx.x; i < pieces; i += blockDim.x) {
    auto sum = sums[i];
    for (int g = 1; g < groups; ++g) {
#pragma unroll
      for (int k = 0; k < per_piece; ++k) sum[k] += sums[g * pieces + i][k];
    }
    to[i] = sum;
  }
}

template <class T, int n>
__global__ void __launch_bounds__(kMostThreads, 2)
    sum_kernel(float* __restrict__ partial, IndexView index, const T* __restrict__ src, unsigned long long* outside,
               RowMap row, float alpha, FastDivisor<std::uint32_t> chunks, int lane_bits,
               std::int64_t entries_per_block) {
  using Sums = Pack<float, kPerPiece<n>>;
  auto* const sums = dynamic_shared<Sums>();
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const int rows = int(row.rows);
  const int lanes = 1 << lane_bits;
  const int groups = blockDim.x >> lane_bits;
  const int group = threadIdx.x >> lane_bits;
  const int lane = threadIdx.x & (lanes - 1);
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  const bool active = word < row.words;
  Sums* const own = sums + group * rows * kPieces<n> * lanes + lane;

  Sums none;
  for (int k = 0; k < kPerPiece<n>; ++k) none[k] = nothing<float>();
  for (int i = 0; i < rows * kPieces<n>; ++i) own[i * lanes] = none;

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
      add_entry(own + int(to[i]) * kPieces<n> * lanes, lanes, value[i], alpha);
    }
  }
  __syncthreads();
  const int pieces = rows * kPieces<n> * lanes;
  join_copies(reinterpret_cast<Sums*>(partial) + std::int64_t(blockIdx.x) * pieces, sums, pieces, groups);
}

struct Plan {
  Lanes lanes;
  int threads = 0;         ///< Of a block; 0: the rows do not fit.
  std::int64_t tiles = 0;  ///< Of entries, one per block and chunk.
  std::int64_t entries_per_block = 0;
  std::size_t shared_bytes = 0;
  std::size_t workspace_bytes = 0;
};

inline Plan plan(const RowMap& row) {
  Plan result;
  result.lanes = lanes_for(row.words, 32);
  const std::int64_t group_bytes = row.rows * result.lanes.lanes * row.word_elements * 4;
  if (row.rows > kSharedBytes || group_bytes > kSharedBytes) return result;
  const std::int64_t groups = std::min<std::int64_t>(kSharedBytes / group_bytes, kMostThreads / result.lanes.lanes);
  const std::int64_t threads = groups * result.lanes.lanes / 32 * 32;
  if (threads == 0) return result;
  const std::int64_t used_groups = threads / result.lanes.lanes;
  const std::int64_t shared_bytes = used_groups * group_bytes;
  const std::int64_t resident = std::clamp<std::int64_t>(2 * kSharedBytes / (shared_bytes + 1024), 1, 1024 / threads);
  const std::int64_t blocks = multiprocessors() * resident;
  const std::int64_t tiles = std::max<std::int64_t>(
      1, std::min(blocks / result.lanes.chunks, ceil_div<std::int64_t>(row.entries, used_groups * kInFlight)));
  result.threads = static_cast<int>(threads);
  result.entries_per_block = ceil_div(row.entries, tiles);
  result.tiles = ceil_div(row.entries, result.entries_per_block);
  result.shared_bytes = static_cast<std::size_t>(shared_bytes);
  result.workspace_bytes = static_cast<std::size_t>(result.tiles * result.lanes.chunks * group_bytes);
  return result;
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_sums(p)) return reason;
  if (p.empty()) return nullptr;
  if (p.rows() == 0) return "there are no rows";
  return plan(row_map(p)).threads > 0 ? nullptr : "a copy of all rows does not fit shared memory";
}

inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  return p.empty() || refuse(p) != nullptr ? 0 : plan(row_map(p)).workspace_bytes;
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const RowMap row = row_map(p);
  const Plan plan = private_rows::plan(row);
  if (plan.workspace_bytes > a.workspace_bytes) return cudaErrorInvalidValue;
  auto* const partial = static_cast<float*>(a.workspace);
  return with_word<T>(row.word_elements, [&]<int n>() {
    const cudaError_t error = launch_parts(sum_kernel<T, n>, plan.tiles, plan.lanes.chunks,
                                           {.block = plan.threads, .shared_bytes = plan.shared_bytes, .stream = stream},
                                           partial, p, a, row, plan.lanes.bits, plan.entries_per_block);
    if (error != cudaSuccess) return error;
    return add_partials::run<T, n>(a, partial, row, plan.lanes, plan.tiles, stream);
  });
}

}  // namespace warpbook::chapter5::private_rows
