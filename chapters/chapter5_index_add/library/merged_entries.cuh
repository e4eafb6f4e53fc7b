/// \file
/// merged_entries: v7b with several neighbouring entries per thread, which adds up first what goes to one row.
///
/// v7b's thread divides twice, works out a place, and adds one word. Here it does so once for four entries, whose loads
/// are under way together, and leaves one reduction where the row changes. Numbers have 32 bits, which are divided by
/// fewer instructions. Words of 8 bytes and more probably keep enough under way one by one, and where a thread's
/// runs are shorter than a sector, its four loads ask for most of the same sectors: there, only what is likely to meet
/// is merged.
#pragma once

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"

namespace warpbook::chapter5::merged_entries {

using Map = RowMapOf<2, std::uint32_t>;

inline constexpr int kMerged = 4;                        // Entries of a thread.
inline constexpr std::int64_t kFewThreads = 1 << 21;     // With one entry each: a quarter of them would be too few.
inline constexpr int kWideBytes = 8;                     // Words so wide are merged where entries meet.
inline constexpr std::int64_t kSectorBytes = 32;         // Which the L2 gives as one.
inline constexpr std::int64_t kMostThreads = INT32_MAX;  // FastDivisor's limit.

/// Adds a word atomically: v7b's, and two floats.
template <class T, int n>
__device__ __forceinline__ void add_word(T* dst, std::int64_t offset, std::int64_t length, const Pack<T, n>& value) {
  if constexpr (n == 2 && std::is_same_v<T, float>) {
#if defined(WARPBOOK_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010)
    atomicAdd(reinterpret_cast<float2*>(dst + offset), reinterpret_cast<const float2&>(value));
#else
    for (int k = 0; k < n; ++k) atomicAdd(dst + offset + k, value[k]);
#endif
  } else {
    v7b::add_word<T, n>(dst, offset, length, value);
  }
}

/// The sums of entries of one row as a word; of one entry, its value times alpha.
template <class T, int n> __device__ __forceinline__ Pack<T, n> rounded(const Pack<Sum<T>, n>& sum) {
  Pack<T, n> word;
#pragma unroll
  for (int k = 0; k < n; ++k) word[k] = narrow<T>(sum[k]);
  return word;
}

/// \tparam merged entries of a thread.
/// \param run as in v7b. \param groups sets of `merged` entries.
template <class T, int n, int merged>
__global__ void __launch_bounds__(v7b::kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, Map row,
                     Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint32_t> run,
                     FastDivisor<std::uint32_t> groups) {
  Division<std::uint32_t> by_run{blockIdx.x * v7b::kThreads + threadIdx.x, 0};
  if (run.divisor > 1) by_run = run.divide(by_run.quotient);
  Division<std::uint32_t> by_group{0, by_run.quotient};
  if (run.divisor < row.words) by_group = groups.divide(by_run.quotient);
  const std::int64_t first = std::int64_t(by_group.remainder) * merged;
  const std::uint32_t word = by_group.quotient * run.divisor + by_run.remainder;
  if (first >= row.entries || word >= row.words) return;
  const Place place = row.place(word);
  const T* const from = src + place.src + first * row.src_row_stride;

  std::int64_t to[merged];
  Pack<T, n> value[merged];
#pragma unroll
  for (int i = 0; i < merged; ++i) {
    if (first + i >= row.entries) continue;
    to[i] = index[first + i];
    value[i] = load_streaming(reinterpret_cast<const Pack<T, n>*>(from + i * row.src_row_stride));
  }
  Pack<Sum<T>, n> sum = no_sum<T, n>();
#pragma unroll
  for (int i = 0; i < merged; ++i) {
    if (first + i >= row.entries) return;
    add_scaled(sum, alpha, value[i]);
    if (i + 1 < merged && first + i + 1 < row.entries && to[i] == to[i + 1]) continue;
    if (inside(to[i], row.rows, first + i, outside))
      add_word<T, n>(dst, place.dst + to[i] * row.dst_row_stride, dst_length, rounded<T, n>(sum));
    sum = no_sum<T, n>();
  }
}

struct Plan {
  bool fits = false;      ///< 32 bits and two dimensions.
  int word_elements = 1;  ///< Of v7b's word, or two floats.
  int merged = 1;         ///< Entries of a thread.
};

inline Plan plan(const IndexAddProblem& p) {
  const RowDims row = row_dims(p);
  const bool across = index_is_major(p.dst, p.dim);
  Plan result;
  if (across && refuse_other_sums(p) == nullptr) {
    result.word_elements = widest_word(p, row);
    if (result.word_elements == 1 && p.type == ElementType::float32) result.word_elements = word_elements(p, row, 8);
  }
  const std::int64_t words = p.row_elements() / result.word_elements;
  result.fits = row.dims <= 2 && p.entries() <= kMostThreads / words - v7b::kThreads;
  const bool wide = result.word_elements * element_bytes(p.type) >= kWideBytes;
  if (!result.fits || p.entries() * words <= (wide ? 2 : 1) * kFewThreads) return result;
  const bool in_sectors = across && row.dim[row.dims - 1].size * std::int64_t{element_bytes(p.type)} >= kSectorBytes;
  if ((in_sectors && !wide) || p.entries() >= kMerged * p.rows()) result.merged = kMerged;
  return result;
}

inline const char* refuse(const IndexAddProblem& p) { return v7b::refuse(p); }

template <class T>
cudaError_t run_planned(const Plan& plan, const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const auto launch_with = [&]<int n, int merged>() {
    using Divisor = FastDivisor<std::uint32_t>;
    const Map row = map_in_words<2, std::uint32_t>(p, row_dims(p), n);
    const auto run = row.dims > 1 ? row.size[row.dims - 1].divisor : static_cast<std::uint32_t>(row.words);
    const std::int64_t groups = ceil_div<std::int64_t>(row.entries, merged);
    return launch(
        index_add_kernel<T, n, merged>,
        {.grid = ceil_div<std::int64_t>(groups * row.words, v7b::kThreads), .block = v7b::kThreads, .stream = stream},
        static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row, alpha_of<T>(p),
        p.dst.reach() + 1, Divisor(index_is_major(p.dst, p.dim) ? run : 1),
        Divisor(static_cast<std::uint32_t>(groups)));
  };
  const auto with_merged = [&]<int n>() {
    return plan.merged == 1 ? launch_with.template operator()<n, 1>() : launch_with.template operator()<n, kMerged>();
  };
  if constexpr (std::is_same_v<T, float>) {
    if (plan.word_elements == 2) return with_merged.template operator()<2>();
  }
  if constexpr (kHasWideAtomics<T>) return with_word<T>(plan.word_elements, with_merged);
  return with_merged.template operator()<1>();
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const Plan plan = merged_entries::plan(p);
  return plan.fits ? run_planned<T>(plan, p, a, stream) : v7b::run_as<T>(p, a, stream);
}

/// With kMerged entries per thread, however few threads that leaves: what is named and not chosen.
inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  Plan plan = merged_entries::plan(p);
  plan.merged = kMerged;
  return with_type<Types::with_atomics>(
      p.type, [&]<class T>() { return plan.fits ? run_planned<T>(plan, p, a, stream) : v7b::run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::merged_entries
