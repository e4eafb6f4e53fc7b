/// \file
/// kept_tiles: v8b with a float copy of all rows in shared memory, for rows that get so many entries that sums rounded
/// to halves would lose the last ones. A second kernel adds the blocks' sums to dst, rounded once.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/library/add_partials.cuh"
#include "chapters/chapter5_index_add/v8b_sorted_tiles.cuh"

namespace warpbook::chapter5::kept_tiles {

using v8b::kThreads;

inline constexpr std::int64_t kMostFloats = 16384;  // Of a block's sums.

/// \param sum_floats of the copy of all rows, which lies before the tile in shared memory.
template <class T, int n>
__global__ void __launch_bounds__(kThreads, 2)
    sum_kernel(float* __restrict__ partial, IndexView index, const T* __restrict__ src, unsigned long long* outside,
               RowMap row, float alpha, FastDivisor<std::uint32_t> chunks, int lane_bits, int room, int sum_floats) {
  constexpr int kPerPiece = add_partials::kPerPiece<n>;
  constexpr int kPieces = add_partials::kPieces<n>;
  auto* const sums = dynamic_shared<float>();
  const v8b::Tile tile(reinterpret_cast<std::uint32_t*>(sums + sum_floats), room);
  const auto [number, chunk] = chunks.divide(blockIdx.x);
  const std::int64_t begin = std::int64_t(number) * room;
  for (int i = threadIdx.x; i < sum_floats; i += kThreads) sums[i] = nothing<float>();
  const int named =
      v8b::sort_tile(tile, index, begin, int(min(std::int64_t(room), row.entries - begin)), row.rows, outside);

  const int lanes = 1 << lane_bits;
  const int groups = kThreads >> lane_bits;
  const int lane = threadIdx.x & (lanes - 1);
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  const int stretch = (named + groups - 1) >> (v8b::kThreadBits - lane_bits);
  const int first = (threadIdx.x >> lane_bits) * stretch;
  if (word < row.words) {
    const T* const from = src + row.place(word).src + begin * row.src_row_stride;
    walk<T, n>(tile.sorted, tile.rows, first, min(first + stretch, named), from, row.src_row_stride, alpha,
               [&](std::uint32_t row_number, const Pack<float, n>& sum) {
                 float* const to = sums + (int(row_number) * kPieces * lanes + lane) * kPerPiece;
#pragma unroll
                 for (int k = 0; k < n; ++k) {
                   atomicAdd(to + (k / kPerPiece * lanes) * kPerPiece + k % kPerPiece, sum[k]);
                 }
               });
  }
  __syncthreads();
  for (int i = threadIdx.x; i < sum_floats; i += kThreads) partial[std::int64_t(blockIdx.x) * sum_floats + i] = sums[i];
}

inline std::int64_t sum_floats(const RowMap& row) { return row.rows * v8b::plan(row).lanes.lanes * row.word_elements; }

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = v8b::refuse(p)) return reason;
  if (p.empty()) return nullptr;
  if (p.rows() == 0) return "there are no rows";
  return p.rows() < 65536 && sum_floats(row_map(p)) <= kMostFloats ? nullptr
                                                                   : "a copy of all rows does not fit shared memory";
}

inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  if (p.empty() || refuse(p) != nullptr) return 0;
  const RowMap row = row_map(p);
  const v8b::Plan plan = v8b::plan(row);
  return static_cast<std::size_t>(plan.tiles * plan.lanes.chunks * sum_floats(row) * 4);
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (workspace_bytes(p) > a.workspace_bytes) return cudaErrorInvalidValue;
  const RowMap row = row_map(p);
  const auto plan = v8b::plan(row);
  const int floats = static_cast<int>(sum_floats(row));
  auto* const partial = static_cast<float*>(a.workspace);
  return with_word<T>(row.word_elements, [&]<int n>() {
    const std::size_t shared_bytes = static_cast<std::size_t>(floats) * 4 + v8b::Tile::bytes(plan.entries);
    const cudaError_t error = launch_parts(sum_kernel<T, n>, plan.tiles, plan.lanes.chunks,
                                           {.block = kThreads, .shared_bytes = shared_bytes, .stream = stream}, partial,
                                           p, a, row, plan.lanes.bits, plan.entries, floats);
    if (error != cudaSuccess) return error;
    return add_partials::run<T, n>(a, partial, row, plan.lanes, plan.tiles, stream);
  });
}

}  // namespace warpbook::chapter5::kept_tiles
