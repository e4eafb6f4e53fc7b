/// \file
/// row_owner: v8a where rows are fewer than entries: each row has its blocks, which look for its entries. A block knows
/// its row before the glance, so dst is on its way meanwhile. Neighbouring blocks take the same piece of neighbouring
/// rows, so rows of short runs (72 bytes behind a dimension in the middle) share sectors.
#pragma once

#include "chapters/chapter5_index_add/words.cuh"

namespace warpbook::chapter5::row_owner {

inline constexpr int kMostEntries = 2048;

/// Adds up a word of all entries that have a bit in `named`, `together` at a time: the more, the more registers.
template <class T, int n, int together>
__device__ __forceinline__ void add_named(Pack<Sum<T>, n>& sum, const unsigned* named, int entries, const T* from,
                                          std::int64_t stride, Sum<T> alpha) {
  for (int group = 0; group * 32 < entries; ++group) {
    unsigned mask = named[group];
    while (mask != 0) {
      Pack<T, n> value[together];  // All loads before the first sum, or one would wait for the other.
      bool taken[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int e = group * 32 + __ffs(mask) - 1;
        taken[i] = mask != 0;
        if (taken[i]) value[i] = load_word<T, n>(from + e * stride);
        mask &= mask - 1;
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (!taken[i]) break;
        add_scaled(sum, alpha, value[i]);
      }
    }
  }
}

template <class T, int n>
__global__ void __launch_bounds__(256)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, SmallRowMap row,
                     Sum<T> alpha, FastDivisor<std::uint32_t> rows) {
  __shared__ unsigned named[kMostEntries / 32];  // A bit for each entry: it names this row.
  const auto [chunk, own_row] = rows.divide(blockIdx.x);
  const std::int64_t word = std::int64_t(chunk) * blockDim.x + threadIdx.x;
  const bool active = word < row.words;
  const Place place = row.place(active ? word : 0);
  const T* const from = src + place.src;
  T* const to = dst + own_row * row.dst_row_stride + place.dst;
  Pack<T, n> old;
  if (active) old = load_word<T, n>(to);

  const int entries = int(row.entries);
  bool any = false;
  for (int first = threadIdx.x / 32 * 32; first < entries; first += blockDim.x) {
    const int e = first + threadIdx.x % 32;
    const std::int64_t names = e < entries ? index[e] : own_row;
    if (blockIdx.x == 0) inside(names, row.rows, e, outside);  // Nobody else sees an entry without a row.
    const bool match = e < entries && names == own_row;
    any = any || match;
    const unsigned mask = __ballot_sync(0xffffffffU, match);
    if (threadIdx.x % 32 == 0) named[first / 32] = mask;
  }
  if (!__syncthreads_or(any) || !active) return;

  Pack<Sum<T>, n> sum = no_sum<T, n>();
  add_named<T, n, n * sizeof(T) == 16 ? 2 : 4>(sum, named, entries, from, row.src_row_stride, alpha);
  *reinterpret_cast<Pack<T, n>*>(to) = added(old, sum);
}

inline const char* refuse(const IndexAddProblem& p) {
  if (p.entries() > kMostEntries) return "a block looks at every entry: 2048 at most";
  if (p.rows() == 0 || p.rows() >= p.entries()) return "rows must be fewer than entries";
  return row_dims(p).dims <= 2 ? nullptr : "rows must have two dimensions at most";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  const RowDims dims = row_dims(p);
  const int elements = widest_word(p, dims);
  const SmallRowMap row = map_in_words<2>(p, dims, elements);
  const int threads = threads_for(row.words);
  return with_word<T>(elements, [&]<int n>() {
    return launch_parts(index_add_kernel<T, n>, ceil_div<std::int64_t>(row.words, threads), row.rows,
                        {.block = threads, .stream = stream}, a.dst, p, a, row);
  });
}

}  // namespace warpbook::chapter5::row_owner
