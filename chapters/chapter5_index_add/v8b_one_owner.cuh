/// \file
/// v8b one owner: where the entries are few, the first of each row adds up for all.
///
/// (32,1024,1024) += (15,1024,1024) has 15 entries of 4 MiB. v7b sends all 15 through the L2's adders; yet a block can
/// see with a glance at 15 numbers which entries share a row. So an entry owns its row if no earlier one names it: its
/// blocks sum all entries of that row in registers, in their order, and read and write dst once, plainly. Blocks of the
/// others leave at once.
///
/// With fewer rows than entries most blocks would only come to leave. There each row has its blocks, which look for its
/// entries; whose row it is they know before the glance, so dst is on its way meanwhile. And neighbouring blocks take
/// the same piece of neighbouring rows: rows of short runs, 72 bytes behind a dimension in the middle, share sectors.
/// (One kernel for both needs more registers for what the other does: 15 rows of 4 MiB took 53 us by it instead of 46.)
///
/// No atomics, sums in float, and the same result on every run. Expect the speed of a copy on long rows. The glance is
/// N numbers a block: that limits it to a few thousand entries.
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5::v8b {

inline constexpr int kMostEntries = 2048;

//! [kernel]
/// The entry's own word. Words of 2-byte types are said to be read once: 15 rows of 2 MiB take 2% less time, those of
/// floats do not.
template <class T, int n> __device__ __forceinline__ Pack<T, n> load_first(const T* p) {
  if constexpr (sizeof(T) == 2) return load_streaming(reinterpret_cast<const Pack<T, n>*>(p));
  return load_word<T, n>(p);
}

template <class T, int n, class Map>
__global__ void __launch_bounds__(256)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, Map row,
                     Sum<T> alpha, FastDivisor<std::uint32_t> chunks) {
  __shared__ unsigned same[kMostEntries / 32];  // A bit for each entry: it names the same row as the block's.
  const auto [entry, chunk] = chunks.divide(blockIdx.x);
  const std::int64_t own_row = index[entry];
  if (!inside(own_row, row.rows, entry, outside)) return;

  // The entry's own word is on its way during the glance.
  const std::int64_t word = std::int64_t(chunk) * blockDim.x + threadIdx.x;
  const bool active = word < row.words;
  const Place place = row.place(active ? word : 0);
  const T* const from = src + place.src;
  Pack<T, n> value;
  if (active) value = load_first<T, n>(from + entry * row.src_row_stride);

  const int entries = static_cast<int>(row.entries);
  //! [exercise glance]
  bool earlier = false;
  for (int first = static_cast<int>(threadIdx.x) / 32 * 32; first < entries; first += static_cast<int>(blockDim.x)) {
    const int e = first + static_cast<int>(threadIdx.x) % 32;
    const bool match = e < entries && index[e] == own_row;
    earlier = earlier || (match && e < static_cast<int>(entry));
    const unsigned mask = __ballot_sync(0xffffffffU, match);
    if (threadIdx.x % 32 == 0) same[first / 32] = mask;
  }
  //! [exercise glance]
  if (__syncthreads_or(earlier) || !active) return;

  T* const to = dst + own_row * row.dst_row_stride + place.dst;
  Pack<T, n> old = load_word<T, n>(to);
  Sum<T> sum[n];
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] = alpha * widen(value[k]);
  const unsigned later = static_cast<unsigned>(~std::uint64_t{0} << (entry % 32 + 1));  // Of the first 32 entries.
  for (int group = static_cast<int>(entry) / 32; group * 32 < entries; ++group) {
    unsigned mask = same[group];
    if (group == static_cast<int>(entry) / 32) mask &= later;
    for (; mask != 0; mask &= mask - 1) {
      value = load_word<T, n>(from + (group * 32 + __ffs(static_cast<int>(mask)) - 1) * row.src_row_stride);
#pragma unroll
      for (int k = 0; k < n; ++k) sum[k] += alpha * widen(value[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < n; ++k) old[k] = narrow<T>(widen(old[k]) + sum[k]);
  *reinterpret_cast<Pack<T, n>*>(to) = old;
}

/// The same where rows are fewer than entries: a row has the block, and knows before the glance which word of dst it
/// adds to.
/// \param together entries that a thread has under way at once: the more, the more registers.
template <class T, int n, int together>
__global__ void __launch_bounds__(256)
    index_add_row_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                         SmallRowMap row, Sum<T> alpha, FastDivisor<std::uint32_t> rows) {
  __shared__ unsigned named[kMostEntries / 32];  // A bit for each entry: it names this row.
  const auto [chunk, own_row] = rows.divide(blockIdx.x);
  const std::int64_t word = std::int64_t(chunk) * blockDim.x + threadIdx.x;
  const bool active = word < row.words;
  const Place place = row.place(active ? word : 0);
  const T* const from = src + place.src;
  T* const to = dst + own_row * row.dst_row_stride + place.dst;
  Pack<T, n> old;
  if (active) old = load_word<T, n>(to);

  const int entries = static_cast<int>(row.entries);
  bool any = false;
  for (int first = static_cast<int>(threadIdx.x) / 32 * 32; first < entries; first += static_cast<int>(blockDim.x)) {
    const int e = first + static_cast<int>(threadIdx.x) % 32;
    const std::int64_t names = e < entries ? index[e] : static_cast<std::int64_t>(own_row);
    if (blockIdx.x == 0) inside(names, row.rows, e, outside);  // Nobody else sees an entry without a row.
    const bool match = e < entries && names == own_row;
    any = any || match;
    const unsigned mask = __ballot_sync(0xffffffffU, match);
    if (threadIdx.x % 32 == 0) named[first / 32] = mask;
  }
  if (!__syncthreads_or(any) || !active) return;

  Sum<T> sum[n];
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] = nothing<T>();
  for (int group = 0; group * 32 < entries; ++group) {
    unsigned mask = named[group];
    while (mask != 0) {
      Pack<T, n> value[together];  // All loads before the first sum, or one would wait for the other.
      bool taken[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int e = group * 32 + __ffs(static_cast<int>(mask)) - 1;
        taken[i] = mask != 0;
        if (taken[i]) value[i] = load_word<T, n>(from + e * row.src_row_stride);
        mask &= mask - 1;
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (!taken[i]) break;
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += alpha * widen(value[i][k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < n; ++k) old[k] = narrow<T>(widen(old[k]) + sum[k]);
  *reinterpret_cast<Pack<T, n>*>(to) = old;
}
//! [kernel]

/// Whether rows have blocks, not entries.
inline bool is_by_row(const IndexAddProblem& p) { return p.rows() > 0 && p.rows() < p.entries(); }

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  return p.entries() <= kMostEntries ? nullptr : "a block looks at every entry: 2048 at most";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return with_map<T>(p, a, true, [&]<int n>(const auto& row) {
    using Map = std::remove_cvref_t<decltype(row)>;
    int threads = 32;
    while (threads < 256 && threads < row.words) threads *= 2;
    const std::int64_t chunks = ceil_div<std::int64_t>(row.words, threads);
    const bool by_row = is_by_row(p) && std::is_same_v<Map, SmallRowMap>;
    const std::int64_t owners = by_row ? row.rows : row.entries;
    if (chunks > INT32_MAX / owners) return cudaErrorInvalidValue;
    const LaunchConfig config{.grid = owners * chunks, .block = threads, .stream = stream};
    const FastDivisor<std::uint32_t> split(static_cast<std::uint32_t>(by_row ? owners : chunks));
    if constexpr (std::is_same_v<Map, SmallRowMap>) {
      if (by_row) {
        return launch(index_add_row_kernel < T, n, n * sizeof(T) == 16 ? 2 : 4 >, config, static_cast<T*>(a.dst),
                      index_view(p, a), static_cast<const T*>(a.src), a.outside, row, alpha_of<T>(p), split);
      }
    }
    return launch(index_add_kernel<T, n, Map>, config, static_cast<T*>(a.dst), index_view(p, a),
                  static_cast<const T*>(a.src), a.outside, row, alpha_of<T>(p), split);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  return with_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v8b
