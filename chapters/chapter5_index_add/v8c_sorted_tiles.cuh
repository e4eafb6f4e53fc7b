/// \file
/// v8c sorted tiles: a block sorts its own entries by row, and adds up in registers what meets.
///
/// v8a needs room for all rows a group of threads, v8b looks at all entries from every block. Between them lies most of
/// practice: a thousand rows and more, each named many times, some far more often than others (the words of a language:
/// Zipf's law). There v7b's reductions queue at the popular rows, and even without a queue the L2 adds no faster than
/// about 2 TB/s. So a block takes a few thousand entries and sorts their numbers by row in shared memory: it counts per
/// row, sums the counts, and writes each entry's number to its row's place. That moves 8 bytes an entry and not its
/// row of src. Then each group of threads walks over a stretch of the sorted entries, adds in registers while the row
/// stays the same, and leaves one sum where it changes: a tile of 4096 entries of 1024 rows makes a quarter of the
/// reductions.
///
/// Where a block has room for one copy of all rows, the sums go there, and v8a's second kernel adds the blocks' copies:
/// no reduction at all, and sums in float to the end.
///
/// Expect the speed of reading src as soon as a row is named several times a tile, and v7b's where it is not.
#pragma once

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"
#include "chapters/chapter5_index_add/v8a_private_rows.cuh"

namespace warpbook::chapter5::v8c {

inline constexpr int kThreadBits = 9;
inline constexpr int kThreads = 1 << kThreadBits;
inline constexpr int kBuckets = 4096;      // That a tile's entries are sorted into: rows, or hashes of rows.
inline constexpr int kMostEntries = 8192;  // Of a tile.
inline constexpr int kInFlight = 4;        // Entries that a thread loads before it adds the first.

/// The bucket of a row. All of a row's entries have one; of more rows than buckets, several share one.
__device__ __forceinline__ int bucket_of(std::uint32_t row, bool few_rows) {
  return static_cast<int>(few_rows ? row : (row * 2654435761U) >> 20U);  // 2^32 / golden ratio; 12 bits.
}

/// Turns kBuckets counts into the sums of those before; the block synchronises around it.
__device__ __forceinline__ void scan_buckets(std::uint32_t* counts) {
  __shared__ std::uint32_t warp_sums[kThreads / 32];
  constexpr int kPerThread = kBuckets / kThreads;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  std::uint32_t* const own = counts + threadIdx.x * kPerThread;
  //! [exercise scan]
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) sum += own[i];
  std::uint32_t before = sum;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffffU, before, static_cast<unsigned>(step));
    if (lane >= step) before += other;
  }
  if (lane == 31) warp_sums[warp] = before;
  __syncthreads();
  before -= sum;
  for (int w = 0; w < warp; ++w) before += warp_sums[w];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const std::uint32_t count = own[i];
    own[i] = before;
    before += count;
  }
  //! [exercise scan]
}

/// How a block's shared memory is divided. In this order: the rows' sums (if kept), buckets, the entries' rows, their
/// ranks within the bucket, and the sorted entries.
struct Room {
  int sum_floats = 0;
  int entries = 0;

  std::size_t bytes() const {
    return static_cast<std::size_t>(sum_floats) * 4 + kBuckets * 4 + static_cast<std::size_t>(entries) * 8;
  }
};

//! [kernel]
template <class T, int n>
__global__ void __launch_bounds__(kThreads, 2)
    index_add_kernel(T* dst, float* __restrict__ partial, IndexView index, const T* __restrict__ src,
                     unsigned long long* outside, RowMap row, float alpha, std::int64_t dst_length,
                     FastDivisor<std::uint32_t> chunks, int lane_bits, Room room) {
  constexpr int kPerPiece = n < 4 ? n : 4;
  constexpr int kPieces = n / kPerPiece;
  auto* const sums = dynamic_shared<float>();
  auto* const buckets = reinterpret_cast<std::uint32_t*>(sums + room.sum_floats);
  auto* const rows = buckets + kBuckets;
  auto* const ranks = reinterpret_cast<std::uint16_t*>(rows + room.entries);
  auto* const sorted = ranks + room.entries;
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const std::int64_t tile_begin = std::int64_t(tile) * room.entries;
  const int tile_entries = static_cast<int>(min(std::int64_t(room.entries), row.entries - tile_begin));
  const bool few_rows = row.rows <= kBuckets;
  const auto thread = static_cast<int>(threadIdx.x);

  for (int i = thread; i < kBuckets; i += kThreads) buckets[i] = 0;
  for (int i = thread; i < room.sum_floats; i += kThreads) sums[i] = nothing<float>();
  __syncthreads();
  int valid = 0;
  for (int e = thread; e < tile_entries; e += kThreads) {
    const std::int64_t to = index[tile_begin + e];
    const bool good = inside(to, row.rows, tile_begin + e, outside);
    rows[e] = good ? static_cast<std::uint32_t>(to) : 0xffffffffU;
    if (good) ranks[e] = static_cast<std::uint16_t>(atomicAdd(&buckets[bucket_of(rows[e], few_rows)], 1U));
    valid += good ? 1 : 0;
  }
  __syncthreads();
  scan_buckets(buckets);
  __shared__ int all_valid;
  if (thread == 0) all_valid = 0;
  __syncthreads();
  if (valid > 0) atomicAdd(&all_valid, valid);
  for (int e = thread; e < tile_entries; e += kThreads) {
    if (rows[e] == 0xffffffffU) continue;
    sorted[buckets[bucket_of(rows[e], few_rows)] + ranks[e]] = static_cast<std::uint16_t>(e);
  }
  __syncthreads();

  const int lanes = 1 << lane_bits;
  const int groups = kThreads >> lane_bits;
  const int lane = thread & (lanes - 1);
  const std::int64_t word = std::int64_t(chunk) * lanes + lane;
  const int stretch = (all_valid + groups - 1) >> (kThreadBits - lane_bits);
  const int begin = (thread >> lane_bits) * stretch;
  const int end = min(begin + stretch, all_valid);
  if (word < row.words && begin < end) {
    const Place place = row.place(word);
    const T* const from = src + place.src + tile_begin * row.src_row_stride;
    float sum[n];
#pragma unroll
    for (int k = 0; k < n; ++k) sum[k] = nothing<float>();
    for (int first = begin; first < end; first += kInFlight) {
      std::uint32_t own[kInFlight + 1];
      Pack<T, n> value[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (first + i < end) {
          const int e = sorted[first + i];
          own[i] = rows[e];
          value[i] = load_word<T, n>(from + e * row.src_row_stride);
        } else {
          own[i] = 0xffffffffU;
        }
      }
      own[kInFlight] = first + kInFlight < end ? rows[sorted[first + kInFlight]] : 0xffffffffU;
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (first + i >= end) break;
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += alpha * widen(value[i][k]);
        if (own[i] == own[i + 1]) continue;
        if (partial != nullptr) {
          float* const to = sums + (static_cast<int>(own[i]) * kPieces * lanes + lane) * kPerPiece;
#pragma unroll
          for (int k = 0; k < n; ++k) atomicAdd(to + (k / kPerPiece * lanes) * kPerPiece + k % kPerPiece, sum[k]);
        } else {
          Pack<T, n> total;
#pragma unroll
          for (int k = 0; k < n; ++k) total[k] = narrow<T>(sum[k]);
          v7b::add_word<T, n>(dst, place.dst + std::int64_t(own[i]) * row.dst_row_stride, dst_length, total);
        }
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] = nothing<float>();
      }
    }
  }
  if (partial == nullptr) return;
  __syncthreads();
  for (int i = thread; i < room.sum_floats; i += kThreads) {
    partial[std::int64_t(blockIdx.x) * room.sum_floats + i] = sums[i];
  }
}
//! [kernel]

inline constexpr std::size_t kMostSharedBytes = 110 * 1024;  // Two blocks fit a multiprocessor with 228 KiB.

/// How the step is launched.
struct Plan {
  Lanes lanes;
  Room room;
  std::int64_t tiles = 0;
  bool keeps_sums = false;
  std::size_t workspace_bytes = 0;
};

inline Plan plan(const IndexAddProblem& p, const RowMap& row) {
  const bool narrow_type = element_bytes(p.type) == 2;
  Plan result;
  result.lanes = lanes_for(row.words, 32);
  // About one tile for every block that is resident: all start at once, and none is left over.
  const std::int64_t wanted = std::max<std::int64_t>(1, std::int64_t(multiprocessors()) * 2 / result.lanes.chunks);
  const std::int64_t entries = std::clamp<std::int64_t>(ceil_div(row.entries, wanted), 256, kMostEntries);
  result.room.entries = static_cast<int>((entries + 7) / 8 * 8);
  result.tiles = ceil_div<std::int64_t>(row.entries, result.room.entries);
  // Reductions of a tile's sums are a little faster than keeping them. But where a row gets so many that a half or a
  // bfloat16 would lose them, the sums are kept, and rounded once.
  const std::int64_t floats = row.rows * result.lanes.lanes * row.word_elements;
  const bool many = row.entries / std::max<std::int64_t>(row.rows, 1) >= (narrow_type ? 128 : 16384);
  if (row.rows > 0 && row.rows < 65536 && floats <= 16384 && many) {
    result.keeps_sums = true;
    result.room.sum_floats = static_cast<int>(floats);
    result.workspace_bytes = static_cast<std::size_t>(result.tiles * result.lanes.chunks * floats * 4);
  }
  return result;
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  if (p.type != ElementType::float16 && p.type != ElementType::bfloat16 && p.type != ElementType::float32) {
    return "this step is built for float, half and bfloat16";
  }
  return p.rows() < 0xffffffff ? nullptr : "rows must fit 32 bits";
}

/// Entries of a tile, where all is aligned.
inline std::int64_t tile_entries(const IndexAddProblem& p) {
  const RowDims row = row_dims(p);
  return plan(p, map_in_words(p, row, widest_word(p, row, {}))).room.entries;
}

/// True where no narrow type is summed in.
inline bool sums_in_float(const IndexAddProblem& p) {
  bool keep = true;
  if (!p.empty()) for_each_map(p, [&](const RowMap& row) { keep = keep && plan(p, row).keeps_sums; });
  return keep;
}

inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  if (p.empty() || refuse(p) != nullptr) return 0;
  std::size_t bytes = 0;
  for_each_map(p, [&](const RowMap& row) { bytes = std::max(bytes, plan(p, row).workspace_bytes); });
  return bytes;
}

template <class T>
cudaError_t run_with(const IndexAddProblem& p, const IndexAddArrays& a, const RowMap& row, const Plan& plan,
                     cudaStream_t stream) {
  if (plan.workspace_bytes > a.workspace_bytes) return cudaErrorInvalidValue;
  if (plan.lanes.chunks > INT32_MAX / std::max(plan.tiles, plan.keeps_sums ? row.rows * 2 : 1)) {
    return cudaErrorInvalidValue;
  }
  const FastDivisor<std::uint32_t> chunks(static_cast<std::uint32_t>(plan.lanes.chunks));
  auto* const partial = plan.keeps_sums ? static_cast<float*>(a.workspace) : nullptr;
  return with_word<T>(row.word_elements, [&]<int n>() {
    const cudaError_t error =
        launch(index_add_kernel<T, n>,
               {.grid = plan.tiles * plan.lanes.chunks,
                .block = kThreads,
                .shared_bytes = plan.room.bytes(),
                .stream = stream},
               static_cast<T*>(a.dst), partial, index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
               alpha_of<T>(p), p.dst.reach() + 1, chunks, plan.lanes.bits, plan.room);
    if (error != cudaSuccess || !plan.keeps_sums) return error;
    constexpr int kPieces = (n + 3) / 4;
    return launch(v8a::finish_kernel<T, n>,
                  {.grid = row.rows * kPieces * plan.lanes.chunks, .block = 256, .stream = stream},
                  static_cast<T*>(a.dst), partial, row, chunks, plan.lanes.bits, static_cast<int>(plan.tiles));
  });
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const RowMap row = row_map(p, a);
  return run_with<T>(p, a, row, plan(p, row), stream);
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  return with_float_sums(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v8c
