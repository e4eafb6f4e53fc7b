/// \file
/// v7b vector atomics: 16 bytes a load and a reduction, and a place in the row that is computed once.
///
/// v7a asks the memory system for one element at a time: a warp's request carries 128 bytes of float and 64 of half,
/// and each element pays for its own divisions and its own atomic. Since compute capability 9.0 one instruction adds 16
/// bytes, four floats or eight halves, each of them atomic by itself. So a thread takes a word of 16 bytes: a load of
/// the index, a load of src, one reduction. Its number is divided once, into the entry and the place in the row.
///
/// Where the last dimension is the indexed one a row's words are far apart in memory. There words are single elements,
/// and neighbouring threads take neighbouring entries.
///
/// Expect a quarter of v7a's requests for float and an eighth for half, and the largest gain where rows are many, so
/// that the bytes count and not the same row's turn-taking. And expect it of the few entries of the article, too: a
/// thread is a dozen instructions behind two loads, which wait for memory together. (In its general form it is 155, and
/// on a cold device they have to be fetched, too: what is over in four microseconds has a shorter form of its own.)
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5::v7b {

inline constexpr int kThreads = 256;

/// Adds a word atomically; `length` elements are dst's. What is read once (src) leaves the L2 first, what may be added
/// to again stays.
template <class T, int n>
__device__ __forceinline__ void add_word(T* dst, std::int64_t offset, std::int64_t length, const Pack<T, n>& value) {
  if constexpr (n == 4 && std::is_same_v<T, float>) {
    reduce_add<true>(reinterpret_cast<float4*>(dst + offset), reinterpret_cast<const float4&>(value));
  } else if constexpr (n == 8 && !std::is_same_v<typename warpbook::detail::PairOf<T>::Type, void>) {
    using Pairs = Pack<typename warpbook::detail::PairOf<T>::Type, 4>;
    reduce_add<true>(reinterpret_cast<Pairs*>(dst + offset), reinterpret_cast<const Pairs&>(value));
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) fast_atomic_add(dst, offset + i, length, value[i]);
  }
}

//! [kernel]
/// \param inner what thread numbers count first: a row's words where `across`, else the entries.
template <class T, int n, class Map>
__global__ void __launch_bounds__(kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, Map row,
                     Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint64_t> inner, bool across) {
  const auto [slow, fast] = inner.divide(std::uint64_t(blockIdx.x) * kThreads + threadIdx.x);
  const auto entry = static_cast<std::int64_t>(across ? slow : fast);
  const auto word = static_cast<std::int64_t>(across ? fast : slow);
  //! [exercise row_guard]
  if (entry >= row.entries || word >= row.words) return;
  //! [exercise row_guard]
  const Place place = row.place(word);
  const std::int64_t to = index[entry];
  auto value = load_streaming(reinterpret_cast<const Pack<T, n>*>(src + place.src + entry * row.src_row_stride));
  if (!inside(to, row.rows, entry, outside)) return;
  if (alpha != Sum<T>(1)) {
#pragma unroll
    for (int k = 0; k < n; ++k) value[k] = narrow<T>(alpha * widen(value[k]));
  }
  add_word<T, n>(dst, place.dst + to * row.dst_row_stride, dst_length, value);
}
//! [kernel]

/// The same for rows of one element, where there is nothing to divide: a launch that is over in some microseconds waits
/// for its instructions, too.
template <class T>
__global__ void __launch_bounds__(kThreads)
    index_add_element_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                             std::int64_t rows, std::int64_t entries, std::int64_t dst_stride, std::int64_t src_stride,
                             Sum<T> alpha, std::int64_t dst_length) {
  const std::int64_t entry = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (entry >= entries) return;
  const std::int64_t to = index[entry];
  auto value = load_streaming(reinterpret_cast<const Pack<T, 1>*>(src + entry * src_stride));
  if (!inside(to, rows, entry, outside)) return;
  if (alpha != Sum<T>(1)) value[0] = narrow<T>(alpha * widen(value[0]));
  add_word<T, 1>(dst, to * dst_stride, dst_length, value);
}

/// The same for a short launch with contiguous rows: a block takes words of one entry, and again there is nothing to
/// divide.
template <class T, int n>
__global__ void __launch_bounds__(kThreads)
    index_add_row_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                         std::int64_t rows, std::int64_t words, std::int64_t dst_row_stride,
                         std::int64_t src_row_stride, Sum<T> alpha, std::int64_t dst_length) {
  const auto entry = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t word = std::int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  if (word >= words) return;
  const std::int64_t to = index[entry];
  auto value = load_streaming(reinterpret_cast<const Pack<T, n>*>(src + entry * src_row_stride) + word);
  if (!inside(to, rows, entry, outside)) return;
  if (alpha != Sum<T>(1)) {
#pragma unroll
    for (int k = 0; k < n; ++k) value[k] = narrow<T>(alpha * widen(value[k]));
  }
  add_word<T, n>(dst, to * dst_row_stride + word * n, dst_length, value);
}

/// Words that are all under way at once, on a large GPU: with more, the bytes decide and not how a thread begins.
inline constexpr std::int64_t kShortLaunch = 1 << 18;

/// Whether `index_add_row_kernel` takes rows: contiguous ones of wide words, enough for two warps.
template <int n> bool is_short_launch(const SmallRowMap& row) {
  return n > 1 && row.dims == 1 && row.dst_stride[0] == n && row.src_stride[0] == n && row.words >= 64 &&
         row.entries * row.words <= kShortLaunch;
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  return element_bytes(p.type) < 4 && p.type != ElementType::float16 && p.type != ElementType::bfloat16
             ? "there are no atomics on integers of 1 and 2 bytes"
             : nullptr;
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.row_elements() == 1) {
    return launch(index_add_element_kernel<T>,
                  {.grid = ceil_div<std::int64_t>(p.entries(), kThreads), .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, p.rows(),
                  p.entries(), p.dst.strides[p.dim], p.src.strides[p.dim], alpha_of<T>(p), p.dst.reach() + 1);
  }
  const bool across = index_is_major(p.dst, p.dim);
  return with_map<T>(p, a, across, [&]<int n>(const auto& row) {
    using Map = std::remove_cvref_t<decltype(row)>;
    if constexpr (n > 1 && std::is_same_v<Map, SmallRowMap>) {
      if (across && is_short_launch<n>(row)) {
        const std::int64_t threads = row.words < kThreads ? ceil_div<std::int64_t>(row.words, 32) * 32 : kThreads;
        return launch(
            index_add_row_kernel<T, n>,
            {.grid = {row.entries, ceil_div<std::int64_t>(row.words, threads)}, .block = threads, .stream = stream},
            static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row.rows, row.words,
            row.dst_row_stride, row.src_row_stride, alpha_of<T>(p), p.dst.reach() + 1);
      }
    }
    const std::int64_t blocks = ceil_div<std::int64_t>(row.entries * row.words, kThreads);
    return launch(index_add_kernel<T, n, Map>, {.grid = blocks, .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                  alpha_of<T>(p), p.dst.reach() + 1,
                  FastDivisor<std::uint64_t>(static_cast<std::uint64_t>(across ? row.words : row.entries)), across);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_atomic_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v7b
