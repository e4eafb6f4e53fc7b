/// \file
/// sorted_segments: sort the index once, then add each row's entries without an atomic; for types that are not summed
/// in float, where many entries queue, and where the result must be the same on every run.
///
/// The 8 bytes of an entry's row and place move instead of its row of src. Each group of threads (a walker) takes a
/// stretch of sorted entries, sums in registers while the row stays the same, and adds to dst once, plainly, when it
/// changes. Where a row's entries go on in the next stretch, nobody may write dst: the stretch leaves its sum in the
/// workspace, and a last kernel adds the sums of each such row. Radix sort keeps the order of equal keys, and each sum
/// has one order of additions.
#pragma once

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "chapters/chapter5_index_add/words.cuh"

namespace warpbook::chapter5::sorted_segments {

inline constexpr int kThreads = 256;
inline constexpr int kInFlight = 4;        // Entries that a thread loads before it adds the first.
inline constexpr int kTile = 2048;         // Sorted entries of a block at most.
inline constexpr int kTilesPerBlock = 32;  // Stretches that one block of the last kernel looks at.

/// What the sort is given: rows as keys, places as values. An index outside sorts behind all rows.
static __global__ void prepare_kernel(std::uint32_t* __restrict__ keys, std::uint32_t* __restrict__ places,
                                      IndexView index, unsigned long long* outside, std::int64_t rows, int entries) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= entries) return;
  const std::int64_t row = index[e];
  keys[e] = inside(row, rows, e, outside) ? std::uint32_t(row) : std::uint32_t(rows);
  places[e] = e;
}

/// Sums that a stretch leaves: of the row that came from the stretch before, and of the one that goes on in the next.
template <class T, int n> struct Partials {
  Pack<Sum<T>, n>* came;
  Pack<Sum<T>, n>* goes;
};

/// Adds sums to a word of dst that nobody else writes.
template <class T, int n> __device__ __forceinline__ void add_plainly(T* to, const Pack<Sum<T>, n>& sum) {
  *reinterpret_cast<Pack<T, n>*>(to) = added(load_word<T, n>(to), sum);
}

/// Walks over a tile's entries `begin` to `end`: whole rows go to dst, what came or goes on to `partials`.
/// \param key the tile's keys, with the one before and the one behind. \param none the key of what is outside.
template <class T, int n>
__device__ __forceinline__ void walk(T* dst, std::int64_t dst_row_stride, const Partials<T, n>& partials,
                                     std::int64_t own_partial, const std::uint32_t* key, std::uint32_t none,
                                     const std::uint32_t* place, int begin, int end, const T* src,
                                     std::int64_t src_row_stride, Sum<T> alpha) {
  bool came = key[begin - 1] == key[begin];
  Pack<Sum<T>, n> sum = no_sum<T, n>();
  for (int first = begin; first < end; first += kInFlight) {
    Pack<T, n> value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i >= end) continue;
      value[i] = load_word<T, n>(src + std::int64_t(place[first + i]) * src_row_stride);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int e = first + i;
      if (e >= end) break;
      add_scaled(sum, alpha, value[i]);
      const bool ends = key[e + 1] != key[e];
      if (!ends && e + 1 < end) continue;
      if (key[e] == none) return;  // Nothing but what is outside follows.
      if (came) {
        partials.came[own_partial] = sum;
      } else if (!ends) {
        partials.goes[own_partial] = sum;
      } else {
        add_plainly<T, n>(dst + std::int64_t(key[e]) * dst_row_stride, sum);
      }
      came = false;
      sum = no_sum<T, n>();
    }
  }
}

template <class T, int n>
__global__ void __launch_bounds__(kThreads)
    segment_kernel(T* __restrict__ dst, Partials<T, n> partials, const std::uint32_t* __restrict__ keys,
                   const std::uint32_t* __restrict__ places, const T* __restrict__ src, RowMap row, Sum<T> alpha,
                   FastDivisor<std::uint32_t> chunks, int lane_bits, int stretch) {
  __shared__ std::uint32_t tile_keys[kTile + 2];  // With the one before and the one behind.
  __shared__ std::uint32_t tile_places[kTile];
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const int thread = threadIdx.x;
  const int entries = int(row.entries);
  const int per_tile = (kThreads >> lane_bits) * stretch;
  const int tile_begin = tile * per_tile;
  const int tile_entries = min(per_tile, entries - tile_begin);
  const std::uint32_t none = std::uint32_t(row.rows);  // The key of what is outside, and beyond the ends.
  for (int i = thread; i < tile_entries + 2; i += kThreads) {
    const int e = tile_begin + i - 1;
    tile_keys[i] = e >= 0 && e < entries ? keys[e] : none;
  }
  for (int i = thread; i < tile_entries; i += kThreads) tile_places[i] = places[tile_begin + i];
  __syncthreads();

  const int walker = thread >> lane_bits;
  const std::int64_t word = (std::int64_t(chunk) << lane_bits) + (thread & ((1 << lane_bits) - 1));
  const int begin = walker * stretch;
  const int end = min(begin + stretch, tile_entries);
  if (word >= row.words || begin >= end) return;
  const Place place = row.place(word);
  const std::int64_t own_partial = (std::int64_t(tile) * (kThreads >> lane_bits) + walker) * row.words + word;
  walk(dst + place.dst, row.dst_row_stride, partials, own_partial, tile_keys + 1, none, tile_places, begin, end,
       src + place.src, row.src_row_stride, alpha);
}

/// The last stretch that begins with `key`, given that stretch number `from` does: by doubled steps, then halved ones.
__device__ __forceinline__ int last_with(const std::uint32_t* keys, std::uint32_t key, int from, int stretch,
                                         int walkers) {
  int step = 1;
  while (from + step < walkers && keys[(from + step) * stretch] == key) step *= 2;
  int low = from + step / 2;  // Begins with the key; `high` does not.
  int high = min(from + step, walkers);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (keys[middle * stretch] == key ? low : high) = middle;
  }
  return low;
}

/// The last stretch of a row that begins in a walker's stretch and goes on behind it; -1 where there is no such row.
__device__ __forceinline__ int last_of_row(const std::uint32_t* keys, std::uint32_t none, int walker, int stretch,
                                           int walkers) {
  if (walker + 1 >= walkers) return -1;
  const int begin = walker * stretch;
  const std::uint32_t key = keys[begin + stretch - 1];
  const bool goes = keys[begin + stretch] == key && key != none;
  const bool came = begin > 0 && keys[begin - 1] == key;  // Then all of the stretch has this key.
  return goes && !came ? last_with(keys, key, walker + 1, stretch, walkers) : -1;
}

/// Adds the sums of rows that lie in several stretches. A block looks at so many stretches, a thread at each, and then
/// adds the rows that begin there and go on behind, one after another.
template <class T, int n>
__global__ void __launch_bounds__(kThreads)
    join_kernel(T* __restrict__ dst, Partials<T, n> partials, const std::uint32_t* __restrict__ keys, RowMap row,
                FastDivisor<std::uint32_t> chunks, int lane_bits, int stretch, int walkers) {
  __shared__ Pack<Sum<T>, n> shared[kThreads];
  __shared__ int last_of[kTilesPerBlock];
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const int thread = threadIdx.x;
  const std::int64_t word = (std::int64_t(chunk) << lane_bits) + (thread & ((1 << lane_bits) - 1));
  const int group = thread >> lane_bits;
  const int groups = kThreads >> lane_bits;
  const int first_walker = tile * kTilesPerBlock;
  if (thread < kTilesPerBlock)
    last_of[thread] = last_of_row(keys, std::uint32_t(row.rows), first_walker + thread, stretch, walkers);
  __syncthreads();

  for (int i = 0; i < kTilesPerBlock; ++i) {
    const int last = last_of[i];
    if (last < 0) continue;
    const int walker = first_walker + i;
    Pack<Sum<T>, n> sum = no_sum<T, n>();
    if (word < row.words) {
#pragma unroll 4
      for (std::int64_t w = walker + 1 + group; w <= last; w += groups) {
        const Pack<Sum<T>, n> more = partials.came[w * row.words + word];
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += more[k];
      }
    }
    shared[thread] = sum;
    __syncthreads();
    if (group == 0 && word < row.words) {
      sum = partials.goes[walker * row.words + word];
      const int used = min(groups, last - walker);
      for (int g = 0; g < used; ++g) {
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += shared[(g << lane_bits) + thread][k];
      }
      const std::uint32_t key = keys[walker * stretch + stretch - 1];
      add_plainly<T, n>(dst + row.place(word).dst + std::int64_t(key) * row.dst_row_stride, sum);
    }
    __syncthreads();
  }
}

/// Where things lie in the workspace.
struct Plan {
  Lanes lanes;
  int stretch = 0;  ///< Entries of one walker.
  std::int64_t walkers = 0;
  int bits = 1;
  std::size_t sort_bytes = 0;
  std::size_t array_bytes = 0;  ///< Of keys or places, rounded up to 256.
  std::size_t partial_bytes = 0;
  std::size_t workspace_bytes = 0;
};

inline std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

inline cudaError_t plan(Plan& result, const IndexAddProblem& p, const RowMap& row) {
  result.lanes = lanes_for(row.words, 32);
  result.stretch = std::min(32, kTile / (kThreads / result.lanes.lanes));
  result.walkers = ceil_div<std::int64_t>(row.entries, result.stretch);
  result.bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(row.rows))));
  std::uint32_t* const none = nullptr;
  const cudaError_t error = cub::DeviceRadixSort::SortPairs(nullptr, result.sort_bytes, none, none, none, none,
                                                            static_cast<int>(row.entries), 0, result.bits);
  result.sort_bytes = rounded(result.sort_bytes);
  result.array_bytes = rounded(static_cast<std::size_t>(row.entries) * 4);
  result.partial_bytes = rounded(static_cast<std::size_t>(result.walkers) * static_cast<std::size_t>(p.row_elements()) *
                                 static_cast<std::size_t>(std::max(4, element_bytes(p.type))));
  result.workspace_bytes = result.sort_bytes + 4 * result.array_bytes + 2 * result.partial_bytes;
  return error;
}

inline const char* refuse(const IndexAddProblem& p) {
  if (p.entries() > (1 << 30)) return "the sort takes 2^30 entries at most";
  if (p.rows() > 0xfffffffe) return "the sort takes rows up to 2^32 - 2";
  return nullptr;
}

inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  if (p.empty() || refuse(p) != nullptr) return 0;
  Plan result;
  return plan(result, p, row_map(p)) == cudaSuccess ? result.workspace_bytes : 0;
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  const RowMap row = row_map(p);
  Plan plan;
  cudaError_t error = sorted_segments::plan(plan, p, row);
  if (error != cudaSuccess) return error;
  if (plan.workspace_bytes > a.workspace_bytes) return cudaErrorInvalidValue;
  auto* room = static_cast<std::byte*>(a.workspace);
  const auto take = [&](std::size_t bytes) {
    std::byte* const result = room;
    room += bytes;
    return result;
  };
  void* const sort_room = take(plan.sort_bytes);
  const auto take_array = [&] { return reinterpret_cast<std::uint32_t*>(take(plan.array_bytes)); };
  std::uint32_t* const keys = take_array();
  std::uint32_t* const places = take_array();
  std::uint32_t* const sorted_keys = take_array();
  std::uint32_t* const sorted_places = take_array();
  std::byte* const came = take(plan.partial_bytes);
  std::byte* const goes = take(plan.partial_bytes);

  const int entries = static_cast<int>(row.entries);
  error = launch(prepare_kernel, {.grid = ceil_div(entries, 256), .block = 256, .stream = stream}, keys, places,
                 index_view(p, a), a.outside, row.rows, entries);
  if (error != cudaSuccess) return error;
  error = cub::DeviceRadixSort::SortPairs(sort_room, plan.sort_bytes, keys, sorted_keys, places, sorted_places, entries,
                                          0, plan.bits, stream);
  if (error != cudaSuccess) return error;

  const std::int64_t chunk_count = plan.lanes.chunks;
  const std::int64_t tiles = ceil_div<std::int64_t>(plan.walkers, kThreads / plan.lanes.lanes);
  if (chunk_count > INT32_MAX / std::max(tiles, plan.walkers)) return cudaErrorInvalidValue;
  const FastDivisor<std::uint32_t> chunks(static_cast<std::uint32_t>(chunk_count));
  return with_word<T>(row.word_elements, [&]<int n>() {
    const Partials<T, n> partials{reinterpret_cast<Pack<Sum<T>, n>*>(came), reinterpret_cast<Pack<Sum<T>, n>*>(goes)};
    const cudaError_t launched =
        launch(segment_kernel<T, n>, {.grid = tiles * chunk_count, .block = kThreads, .stream = stream},
               static_cast<T*>(a.dst), partials, sorted_keys, sorted_places, static_cast<const T*>(a.src), row,
               alpha_of<T>(p), chunks, plan.lanes.bits, plan.stretch);
    if (launched != cudaSuccess || plan.walkers == 1) return launched;
    return launch(join_kernel<T, n>,
                  {.grid = ceil_div<std::int64_t>(plan.walkers, kTilesPerBlock) * chunk_count,
                   .block = kThreads,
                   .stream = stream},
                  static_cast<T*>(a.dst), partials, sorted_keys, row, chunks, plan.lanes.bits, plan.stretch,
                  static_cast<int>(plan.walkers));
  });
}

}  // namespace warpbook::chapter5::sorted_segments
