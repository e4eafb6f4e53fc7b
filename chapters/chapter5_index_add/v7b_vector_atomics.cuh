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
/// Not every row is a whole number of 16 bytes: behind dimension 3 of (8,12,20,24,36) lie runs of 36 halves, 72 bytes.
/// Halves and bfloat16 then go in words of 8 or 4 bytes, pairs that the memory system adds at once, and what is odd or
/// misaligned goes by elements. There a thread would spend its time on two divisions for a few bytes; so it takes its
/// place in up to four entries, and divides once for all. Expect a twelfth of the instructions, and by a reckoning
/// it was those that such rows waited for.
///
/// Expect a quarter of v7a's requests for float and an eighth for half, and the largest gain where rows are many, so
/// that the bytes count and not the same row's turn-taking. And expect it of the few entries of the article, too: a
/// thread is a dozen instructions behind two loads, which wait for memory together. (In its general form it is 155, and
/// on a cold device they have to be fetched, too: what is over in four microseconds has a shorter form of its own.)
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5::v7b {

inline constexpr int kThreads = 256;

/// A word of less than 16 bytes: one element, or pairs.
template <class T, int n>
using NarrowWord = std::conditional_t<n == 1, T, std::conditional_t<n == 2, PairOf<T>, Pack<PairOf<T>, n / 2>>>;

/// Adds a word atomically; `length` elements are dst's. What is read once (src) leaves the L2 first, what may be added
/// to again stays.
template <class T, int n>
__device__ __forceinline__ void add_word(T* dst, std::int64_t offset, std::int64_t length, const Pack<T, n>& value) {
  if constexpr (n == 4 && std::is_same_v<T, float>) {
    reduce_add<true>(reinterpret_cast<float4*>(dst + offset), reinterpret_cast<const float4&>(value));
  } else if constexpr (n == 8 && kHasPairs<T>) {
    using Pairs = Pack<PairOf<T>, 4>;
    reduce_add<true>(reinterpret_cast<Pairs*>(dst + offset), reinterpret_cast<const Pairs&>(value));
  } else if constexpr (n > 1 && kHasPairs<T>) {
    using Word = NarrowWord<T, n>;
    reduce_add(reinterpret_cast<Word*>(dst + offset), reinterpret_cast<const Word&>(value));
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

inline constexpr int kTogether = 4;  // Entries that a thread has under way at once.

/// The same for rows without words of 16 bytes. A thread that divides twice to move 8 bytes, 4 or 2 spends its time on
/// that: here it takes its place in `each` entries that follow one another, and finds it once for all.
/// \param each 1 or kTogether: in a short launch threads are wanted more than few instructions.
template <class T, int n>
__global__ void __launch_bounds__(kThreads)
    index_add_narrow_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                            SmallRowMap row, Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint64_t> words,
                            int each) {
  const auto [group, word] = words.divide(std::uint64_t(blockIdx.x) * kThreads + threadIdx.x);
  const std::int64_t begin = static_cast<std::int64_t>(group) * each;
  const Place place = row.place(static_cast<std::int64_t>(word));
  const auto load = [&](std::int64_t entry) {
    return load_streaming(reinterpret_cast<const NarrowWord<T, n>*>(src + place.src + entry * row.src_row_stride));
  };
  const auto add = [&](std::int64_t entry, std::int64_t to, NarrowWord<T, n> value) {
    if (!inside(to, row.rows, entry, outside)) return;
    T* const elements = reinterpret_cast<T*>(&value);
    if (alpha != Sum<T>(1)) {
#pragma unroll
      for (int k = 0; k < n; ++k) elements[k] = narrow<T>(alpha * widen(elements[k]));
    }
    add_word<T, n>(dst, place.dst + to * row.dst_row_stride, dst_length, reinterpret_cast<const Pack<T, n>&>(value));
  };
  if (each == kTogether && begin + kTogether <= row.entries) {
    std::int64_t to[kTogether];  // No condition stands between the loads, or one would wait for the other.
    NarrowWord<T, n> value[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      to[i] = index[begin + i];
      value[i] = load(begin + i);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) add(begin + i, to[i], value[i]);
  } else {
    const std::int64_t end = min(begin + each, row.entries);
#pragma unroll 1
    for (std::int64_t entry = begin; entry < end; ++entry) add(entry, index[entry], load(entry));
  }
}

/// Whether `index_add_row_kernel` takes rows: contiguous ones of wide words, enough for two warps.
template <int n> bool is_short_launch(const SmallRowMap& row, std::int64_t short_launch) {
  return n > 1 && row.dims == 1 && row.dst_stride[0] == n && row.src_stride[0] == n && row.words >= 64 &&
         row.entries * row.words <= short_launch;
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  return element_bytes(p.type) < 4 && p.type != ElementType::float16 && p.type != ElementType::bfloat16
             ? "there are no atomics on integers of 1 and 2 bytes"
             : nullptr;
}

template <class T, int n>
cudaError_t launch_narrow(const IndexAddProblem& p, const IndexAddArrays& a, const SmallRowMap& row,
                          cudaStream_t stream, std::int64_t short_launch) {
  const std::int64_t each = row.entries * row.words <= short_launch ? 1 : kTogether;
  const std::int64_t threads = ceil_div(row.entries, each) * row.words;
  return launch(index_add_narrow_kernel<T, n>,
                {.grid = ceil_div<std::int64_t>(threads, kThreads), .block = kThreads, .stream = stream},
                static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row, alpha_of<T>(p),
                p.dst.reach() + 1, FastDivisor<std::uint64_t>(static_cast<std::uint64_t>(row.words)),
                static_cast<int>(each));
}

template <class T>
cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream,
                   std::int64_t short_launch = kShortLaunch) {
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
      if (across && is_short_launch<n>(row, short_launch)) {
        const std::int64_t threads = row.words < kThreads ? ceil_div<std::int64_t>(row.words, 32) * 32 : kThreads;
        return launch(
            index_add_row_kernel<T, n>,
            {.grid = {row.entries, ceil_div<std::int64_t>(row.words, threads)}, .block = threads, .stream = stream},
            static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row.rows, row.words,
            row.dst_row_stride, row.src_row_stride, alpha_of<T>(p), p.dst.reach() + 1);
      }
    }
    constexpr bool kNarrow = n * sizeof(T) < 16 && std::is_same_v<Map, SmallRowMap>;
    if constexpr (kNarrow) {
      if (across) return launch_narrow<T, n>(p, a, row, stream, short_launch);
    }
    if constexpr (n > 1 && kNarrow) {
      return cudaErrorInvalidValue;  // Words of several elements are `across`.
    } else {
      const std::int64_t blocks = ceil_div<std::int64_t>(row.entries * row.words, kThreads);
      return launch(index_add_kernel<T, n, Map>, {.grid = blocks, .block = kThreads, .stream = stream},
                    static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                    alpha_of<T>(p), p.dst.reach() + 1,
                    FastDivisor<std::uint64_t>(static_cast<std::uint64_t>(across ? row.words : row.entries)), across);
    }
  });
}

/// \param short_launch so many words make a short launch at most.
inline cudaError_t run_with(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream,
                            std::int64_t short_launch) {
  if (p.empty()) return cudaSuccess;
  return with_atomic_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream, short_launch); });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_with(p, a, stream, kShortLaunch);
}

}  // namespace warpbook::chapter5::v7b
