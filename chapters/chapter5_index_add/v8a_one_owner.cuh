/// \file
/// v8a one owner: where the entries are few, the first entry of each row adds up for all.
///
/// (32,1024,1024) += (15,1024,1024) has 15 entries of 4 MiB. v7b sends all of them through the L2's adders. But a block
/// can see with one glance at 15 numbers which entries share a row. So an entry owns its row if no earlier one names
/// it: its blocks sum all entries of the row in registers, in their order, and read and write dst once, plainly. The
/// blocks of all other entries leave at once.
///
/// Expect no atomics, sums in float, the same result on every run, and the speed of a copy on long rows. The glance
/// reads all N numbers in every block: that limits it to a few thousand entries.
#pragma once

#include "chapters/chapter5_index_add/words.cuh"

namespace warpbook::chapter5::v8a {

inline constexpr int kMostEntries = 2048;

/// The entry's own word. Words of 2-byte types are said to be read once, which helps them and no others.
template <class T, int n> __device__ __forceinline__ Pack<T, n> load_first(const T* p) {
  if constexpr (sizeof(T) == 2) return load_streaming(reinterpret_cast<const Pack<T, n>*>(p));
  return load_word<T, n>(p);
}

//! [kernel]
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

  const int own = entry;
  const int entries = int(row.entries);
  bool earlier = false;
  for (int first = threadIdx.x / 32 * 32; first < entries; first += blockDim.x) {
    const int e = first + threadIdx.x % 32;
    const bool match = e < entries && index[e] == own_row;
    earlier = earlier || (match && e < own);
    const unsigned mask = __ballot_sync(0xffffffffU, match);
    if (threadIdx.x % 32 == 0) same[first / 32] = mask;
  }
  if (__syncthreads_or(earlier) || !active) return;

  T* const to = dst + own_row * row.dst_row_stride + place.dst;
  const Pack<T, n> old = load_word<T, n>(to);
  Pack<Sum<T>, n> sum;
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] = alpha * widen(value[k]);
  const unsigned later = unsigned(~std::uint64_t{0} << (own % 32 + 1));  // Of the own group's 32 entries.
  for (int group = own / 32; group * 32 < entries; ++group) {
    unsigned mask = same[group];
    if (group == own / 32) mask &= later;
    for (; mask != 0; mask &= mask - 1) {
      value = load_word<T, n>(from + (group * 32 + __ffs(mask) - 1) * row.src_row_stride);
      add_scaled(sum, alpha, value);
    }
  }
  *reinterpret_cast<Pack<T, n>*>(to) = added(old, sum);
}
//! [kernel]

inline const char* refuse(const IndexAddProblem& p) {
  return p.entries() <= kMostEntries ? nullptr : "a block looks at every entry: 2048 at most";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return with_words<T>(p, [&]<int n>(const auto& row) {
    const int threads = threads_for(row.words);
    return launch_parts(index_add_kernel<T, n, std::remove_cvref_t<decltype(row)>>, row.entries,
                        ceil_div<std::int64_t>(row.words, threads), {.block = threads, .stream = stream}, a.dst, p, a,
                        row);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  return with_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v8a
