/// \file
/// v7b vector atomics: 16 bytes a load and a reduction, and a place in the row that is computed once.
///
/// v7a asks the memory system for one element at a time: a warp's request carries 128 bytes of float and 64 of half,
/// and each element pays for its own division and its own atomic. Since compute capability 9.0 one instruction adds 16
/// bytes, four floats or eight halves, each of them atomic by itself. So the threads now take words: `lanes` neighbours
/// take neighbouring words of a row, find its place in both tensors once, and then walk over entries; each costs a load
/// of the index, a load of 16 bytes and one reduction. Several entries are loaded before the first is added.
///
/// Where the last dimension is the indexed one a row's words are far apart in memory. There `lanes` is 1, and
/// neighbouring threads take neighbouring entries.
///
/// Expect a quarter of v7a's requests for float and an eighth for half, no divisions, and the largest gain where rows
/// are many, so that the bytes count and not the same row's turn-taking.
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5::v7b {

inline constexpr int kThreads = 256;
inline constexpr int kInFlight = 4;  // Entries that a thread loads before it adds the first.

/// Adds a word atomically; `length` elements are dst's.
template <class T, int n>
__device__ __forceinline__ void add_word(T* dst, std::int64_t offset, std::int64_t length, const Pack<T, n>& value) {
  if constexpr (n == 4 && std::is_same_v<T, float>) {
    reduce_add(reinterpret_cast<float4*>(dst + offset), reinterpret_cast<const float4&>(value));
  } else if constexpr (n == 8 && !std::is_same_v<typename warpbook::detail::PairOf<T>::Type, void>) {
    using Pairs = Pack<typename warpbook::detail::PairOf<T>::Type, 4>;
    reduce_add(reinterpret_cast<Pairs*>(dst + offset), reinterpret_cast<const Pairs&>(value));
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) fast_atomic_add(dst, offset + i, length, value[i]);
  }
}

//! [kernel]
template <class T, int n, class Map>
__global__ void __launch_bounds__(kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, Map row,
                     Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint32_t> chunks, int lane_bits, int turns,
                     int in_flight) {
  const auto [tile, chunk] = chunks.divide(blockIdx.x);
  const int groups = kThreads >> lane_bits;
  const int group = static_cast<int>(threadIdx.x) >> lane_bits;
  const int lane = static_cast<int>(threadIdx.x) - (group << lane_bits);
  const std::int64_t word = (std::int64_t(chunk) << lane_bits) + lane;
  if (word >= row.words) return;
  const Place place = row.place(word);

  std::int64_t entry = std::int64_t(tile) * groups * turns * in_flight + group;
  for (int turn = 0; turn < turns && entry < row.entries; ++turn, entry += std::int64_t(groups) * in_flight) {
    std::int64_t to[kInFlight];
    Pack<T, n> value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = entry + std::int64_t(groups) * i;
      to[i] = i < in_flight && e < row.entries ? index[e] : 0;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = entry + std::int64_t(groups) * i;
      //! [exercise row_guard]
      if (i < in_flight && e < row.entries)
        //! [exercise row_guard]
        value[i] = load_streaming(reinterpret_cast<const Pack<T, n>*>(src + place.src + e * row.src_row_stride));
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = entry + std::int64_t(groups) * i;
      if (i >= in_flight || e >= row.entries || !inside(to[i], row.rows, e, outside)) continue;
      if (alpha != Sum<T>(1)) {
#pragma unroll
        for (int k = 0; k < n; ++k) value[i][k] = narrow<T>(alpha * widen(value[i][k]));
      }
      add_word<T, n>(dst, place.dst + to[i] * row.dst_row_stride, dst_length, value[i]);
    }
  }
}
//! [kernel]

/// Calls `f.template operator()<T>()` for the types that have atomics.
template <class F> cudaError_t with_atomic_type(ElementType type, F&& f) {
  switch (type) {
  case ElementType::float16:
    return f.template operator()<__half>();
  case ElementType::bfloat16:
    return f.template operator()<__nv_bfloat16>();
  case ElementType::float32:
    return f.template operator()<float>();
  case ElementType::float64:
    return f.template operator()<double>();
  case ElementType::int32:
    return f.template operator()<std::uint32_t>();
  case ElementType::int64:
    return f.template operator()<std::uint64_t>();
  default:
    return cudaErrorNotSupported;
  }
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  return element_bytes(p.type) < 4 && p.type != ElementType::float16 && p.type != ElementType::bfloat16
             ? "there are no atomics on integers of 1 and 2 bytes"
             : nullptr;
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const bool across = index_is_major(p.dst, p.dim) || p.row_elements() == 1;
  return with_map<T>(p, a, across, [&]<int n>(const auto& row) {
    const Lanes lanes = lanes_for(row.words, across ? 32 : 1);
    const int groups = kThreads / lanes.lanes;
    // A card full of threads comes first, then several entries in flight, then turns, which share one place in the row.
    const std::int64_t resident = std::int64_t(multiprocessors()) * 1024;
    const std::int64_t walks = row.entries * lanes.chunks * lanes.lanes;
    const int in_flight = static_cast<int>(std::clamp<std::int64_t>(walks / resident, 1, kInFlight));
    const int turns = static_cast<int>(std::clamp<std::int64_t>(walks / (resident * kInFlight * 8), 1, 64));
    const std::int64_t tiles = ceil_div<std::int64_t>(row.entries, std::int64_t(groups) * turns * in_flight);
    if (lanes.chunks > INT32_MAX || tiles > INT32_MAX / lanes.chunks) return cudaErrorInvalidValue;
    using Map = std::remove_cvref_t<decltype(row)>;
    return launch(index_add_kernel<T, n, Map>, {.grid = tiles * lanes.chunks, .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                  alpha_of<T>(p), p.dst.reach() + 1,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(lanes.chunks)), lanes.bits, turns, in_flight);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_atomic_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v7b
