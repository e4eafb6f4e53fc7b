/// \file
/// v8b sorted tiles: a block sorts its own entries by row, and adds up in registers what meets.
///
/// v7b's reductions queue where a row is named often, and v8a looks at all entries from every block. Most cases
/// lie between: a thousand rows, each named many times. So a block takes some hundred or thousand entries (a tile) and
/// sorts their numbers by row in shared memory: it counts per row, sums the counts, and writes each entry's number to
/// its row's place. That moves a few bytes per entry, not its row of src. Then each group of threads walks over a
/// stretch of the sorted entries, adds in registers while the row stays the same, and leaves one sum where it changes.
///
/// Expect as many fewer reductions as a tile names a row more than once, and v7b's time and more where it does not.
/// Source: sorting before a segmented sum is PyTorch's way for embeddings; here a tile at a time.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"
#include "common/cuda/block_scan.cuh"

namespace warpbook::chapter5::v8b {

inline constexpr int kThreadBits = 9;
inline constexpr int kThreads = 1 << kThreadBits;
inline constexpr int kBuckets = 4096;      // That a tile's entries are sorted into: rows, or hashes of rows.
inline constexpr int kMostEntries = 8192;  // Of a tile.

/// A tile in shared memory; `entries`, a multiple of 8, is the room for them.
struct Tile {
  std::uint32_t* buckets;  // How many entries a bucket has, then where they begin.
  std::uint32_t* rows;     // By entry.
  std::uint16_t* ranks;    // By entry: which of its bucket's it is.
  std::uint16_t* sorted;   // The entries' numbers, bucket by bucket.

  __device__ Tile(std::uint32_t* shared, int entries)
      : buckets(shared), rows(buckets + kBuckets), ranks(reinterpret_cast<std::uint16_t*>(rows + entries)),
        sorted(ranks + entries) {}
  static std::size_t bytes(int entries) { return (kBuckets + 2 * static_cast<std::size_t>(entries)) * 4; }
};

/// The bucket of a row. All of a row's entries have one; of more rows than buckets, several share one.
__device__ __forceinline__ int bucket_of(std::uint32_t row, bool few_rows) {
  return few_rows ? row : (row * 2654435761U) >> 20U;  // 2^32 / golden ratio; 12 bits.
}

//! [sort]
/// Sorts a tile's entries by row. \return how many of them name a row.
__device__ __forceinline__ int sort_tile(const Tile& tile, IndexView index, std::int64_t begin, int entries,
                                         std::int64_t rows, unsigned long long* outside) {
  const bool few_rows = rows <= kBuckets;
  for (int i = threadIdx.x; i < kBuckets; i += kThreads) tile.buckets[i] = 0;
  __syncthreads();
  for (int e = threadIdx.x; e < entries; e += kThreads) {
    const std::int64_t row = index[begin + e];
    tile.rows[e] = inside(row, rows, begin + e, outside) ? std::uint32_t(row) : kNoRow;
    if (tile.rows[e] != kNoRow)
      tile.ranks[e] = std::uint16_t(atomicAdd(tile.buckets + bucket_of(tile.rows[e], few_rows), 1U));
  }
  __syncthreads();
  const int named = exclusive_scan<kThreads, kBuckets / kThreads>(tile.buckets);
  __syncthreads();
  for (int e = threadIdx.x; e < entries; e += kThreads) {
    if (tile.rows[e] == kNoRow) continue;
    tile.sorted[tile.buckets[bucket_of(tile.rows[e], few_rows)] + tile.ranks[e]] = std::uint16_t(e);
  }
  //! [exercise sorted_barrier]
  __syncthreads();
  //! [exercise sorted_barrier]
  return named;
}
//! [sort]

//! [kernel]
template <class T, int n>
__global__ void __launch_bounds__(kThreads, 2)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, RowMap row,
                     float alpha, FastDivisor<std::uint32_t> chunks, std::int64_t dst_length, int lane_bits, int room) {
  const Tile tile(dynamic_shared<std::uint32_t>(), room);
  const auto [number, chunk] = chunks.divide(blockIdx.x);
  const std::int64_t begin = std::int64_t(number) * room;
  const int named = sort_tile(tile, index, begin, int(min(std::int64_t(room), row.entries - begin)), row.rows, outside);

  const int groups = kThreads >> lane_bits;
  const std::int64_t word = (std::int64_t(chunk) << lane_bits) + (threadIdx.x & ((1 << lane_bits) - 1));
  const int stretch = (named + groups - 1) >> (kThreadBits - lane_bits);
  const int first = (threadIdx.x >> lane_bits) * stretch;
  if (word >= row.words) return;
  const Place place = row.place(word);
  const T* const from = src + place.src + begin * row.src_row_stride;
  walk<T, n>(tile.sorted, tile.rows, first, min(first + stretch, named), from, row.src_row_stride, alpha,
             [&](std::uint32_t to, const Pack<float, n>& sum) {
               Pack<T, n> total;
#pragma unroll
               for (int k = 0; k < n; ++k) total[k] = narrow<T>(sum[k]);
               v7b::add_word<T, n>(dst, place.dst + std::int64_t(to) * row.dst_row_stride, dst_length, total);
             });
}
//! [kernel]

/// How the step is launched: about one tile for every block that is resident, so that all start at once.
struct Plan {
  Lanes lanes;
  int entries = 0;  ///< Of a tile.
  std::int64_t tiles = 0;
};

inline Plan plan(const RowMap& row) {
  Plan result;
  result.lanes = lanes_for(row.words, 32);
  const std::int64_t wanted = std::max<std::int64_t>(1, std::int64_t(multiprocessors()) * 2 / result.lanes.chunks);
  const std::int64_t entries = std::clamp<std::int64_t>(ceil_div(row.entries, wanted), 256, kMostEntries);
  result.entries = static_cast<int>((entries + 7) / 8 * 8);
  result.tiles = ceil_div<std::int64_t>(row.entries, result.entries);
  return result;
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_sums(p)) return reason;
  return p.rows() < kNoRow ? nullptr : "rows must fit 32 bits";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const RowMap row = row_map(p);
  const auto [lanes, entries, tiles] = plan(row);
  return with_word<T>(row.word_elements, [&]<int n>() {
    return launch_parts(index_add_kernel<T, n>, tiles, lanes.chunks,
                        {.block = kThreads, .shared_bytes = Tile::bytes(entries), .stream = stream}, a.dst, p, a, row,
                        p.dst.reach() + 1, lanes.bits, entries);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  return with_type<Types::summed_in_float>(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v8b
