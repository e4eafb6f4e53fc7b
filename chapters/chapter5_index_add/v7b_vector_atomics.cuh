/// \file
/// v7b vector atomics: 16 bytes per load and per reduction.
///
/// v7a asks the memory system for one element at a time, and each element pays for its own division and its own atomic.
/// Since compute capability 9.0 one instruction adds 16 bytes: four floats or eight halves, each of them atomic by
/// itself. So a thread takes a word of 16 bytes: one load of the index, one load of src, one reduction, and its number
/// is divided for all of the word. Where runs are no whole number of 16 bytes, halves go in words of 8 or 4 bytes, and
/// floats by elements. So do doubles and integers, which no instruction adds several of, and rows whose elements lie
/// further apart than the rows do.
///
/// Expect a quarter of v7a's requests for float and an eighth for half.
/// Source: PTX ISA 8.1, red with .v4.f32 and .v4.f16x2 (common/cuda/reductions.cuh).
#pragma once

#include "chapters/chapter5_index_add/words.cuh"

namespace warpbook::chapter5::v7b {

inline constexpr int kThreads = 256;

/// Adds a word atomically; `length` elements are dst's. Words of 16 bytes may be added to again, and stay in the L2.
template <class T, int n>
__device__ __forceinline__ void add_word(T* dst, std::int64_t offset, std::int64_t length, const Pack<T, n>& value) {
  if constexpr (n == 4 && std::is_same_v<T, float>) {
    reduce_add<true>(reinterpret_cast<float4*>(dst + offset), reinterpret_cast<const float4&>(value));
  } else if constexpr (n > 1 && kHasPairs<T>) {
    using Pairs = std::conditional_t<n == 2, PairOf<T>, Pack<PairOf<T>, n / 2>>;
    reduce_add(reinterpret_cast<Pairs*>(dst + offset), reinterpret_cast<const Pairs&>(value));
  } else {
    fast_atomic_add(dst, offset, length, value[0]);
  }
}

//! [kernel]
template <class T, int n> __device__ __forceinline__ void scale(Pack<T, n>& value, Sum<T> alpha) {
  if (alpha == Sum<T>(1)) return;
#pragma unroll
  for (int k = 0; k < n; ++k) value[k] = narrow<T>(alpha * widen(value[k]));
}

/// \param run words that thread numbers count before the next entry: a row's, those of its last dimension, or one.
template <class T, int n, class Map>
__global__ void __launch_bounds__(kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, Map row,
                     Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint64_t> run,
                     FastDivisor<std::uint64_t> entries) {
  Division<std::uint64_t> by_run{std::uint64_t(blockIdx.x) * kThreads + threadIdx.x, 0};
  if (run.divisor > 1) by_run = run.divide(by_run.quotient);
  Division<std::uint64_t> by_entry{0, by_run.quotient};
  if (run.divisor < std::uint64_t(row.words)) by_entry = entries.divide(by_run.quotient);
  const std::int64_t entry = by_entry.remainder;
  const std::int64_t word = by_entry.quotient * run.divisor + by_run.remainder;
  //! [exercise row_guard]
  if (entry >= row.entries || word >= row.words) return;
  //! [exercise row_guard]
  const Place place = row.place(word);
  const std::int64_t to = index[entry];
  auto value = load_streaming(reinterpret_cast<const Pack<T, n>*>(src + place.src + entry * row.src_row_stride));
  if (!inside(to, row.rows, entry, outside)) return;
  scale(value, alpha);
  add_word<T, n>(dst, place.dst + to * row.dst_row_stride, dst_length, value);
}
//! [kernel]

inline const char* refuse(const IndexAddProblem& p) { return refuse_no_atomics(p); }

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const bool across = index_is_major(p.dst, p.dim);
  const auto run = [&]<int n>(const auto& row) {
    using Divisor = FastDivisor<std::uint64_t>;
    // Entries lie between the row's last dimension and the others, so neighbours of src are neighbouring threads.
    const auto words = row.dims > 1 ? row.size[row.dims - 1].divisor : static_cast<std::uint64_t>(row.words);
    return launch(
        index_add_kernel<T, n, std::remove_cvref_t<decltype(row)>>,
        {.grid = ceil_div<std::int64_t>(row.entries * row.words, kThreads), .block = kThreads, .stream = stream},
        static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row, alpha_of<T>(p),
        p.dst.reach() + 1, Divisor(across ? words : 1), Divisor(static_cast<std::uint64_t>(row.entries)));
  };
  if constexpr (kHasWideAtomics<T>) {
    if (across) return with_words<T>(p, run);
  }
  return with_elements(p, run);
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_type<Types::with_atomics>(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v7b
