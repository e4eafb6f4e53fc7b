/// \file
/// Rows in words of one or more elements: where each word lies, and how threads share them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "chapters/chapter5_index_add/elements.cuh"
#include "chapters/chapter5_index_add/index_add.hpp"
#include "common/cuda/fast_atomic_add.cuh"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter5 {

/// Where a place of the row lies in both tensors, in elements.
struct Place {
  std::int64_t dst;
  std::int64_t src;
};

/// A row in words of one or more elements: which word lies where. A thread divides once for all entries that it adds.
/// \tparam room dimensions that there is room for. A launch of a few microseconds notices a kilobyte of arguments.
/// \tparam Number what words are numbered by.
template <int room, class Number = std::uint64_t> struct RowMapOf {
  std::int64_t words = 1;           ///< Of a row.
  std::int64_t dst_row_stride = 0;  ///< Elements from a row to the next.
  std::int64_t src_row_stride = 0;
  std::int64_t rows = 0;     ///< R.
  std::int64_t entries = 0;  ///< N.
  int dims = 0;
  int word_elements = 1;
  FastDivisor<Number> size[room];
  std::int64_t dst_stride[room];
  std::int64_t src_stride[room];

  __device__ __forceinline__ Place place(std::int64_t word) const {
    Place result{0, 0};
    auto rest = static_cast<Number>(word);
    if constexpr (room == 2) {
      // Without a subscript that is known at run time only: nvcc would copy the arrays to local memory for it, in every
      // thread, and local memory is no faster than the device memory that it lies in.
      if (dims == 2) {
        const auto [quotient, remainder] = size[1].divide(rest);
        result = {static_cast<std::int64_t>(remainder) * dst_stride[1],
                  static_cast<std::int64_t>(remainder) * src_stride[1]};
        rest = quotient;
      }
    } else {
      for (int d = dims - 1; d > 0; --d) {
        const auto [quotient, remainder] = size[d].divide(rest);
        result.dst += static_cast<std::int64_t>(remainder) * dst_stride[d];
        result.src += static_cast<std::int64_t>(remainder) * src_stride[d];
        rest = quotient;
      }
    }
    if (dims > 0) {
      result.dst += static_cast<std::int64_t>(rest) * dst_stride[0];
      result.src += static_cast<std::int64_t>(rest) * src_stride[0];
    }
    return result;
  }
};

using RowMap = RowMapOf<kMaxViewDims - 1>;
/// Room for all contiguous tensors, and most views.
using SmallRowMap = RowMapOf<2>;

/// The map of a problem's rows, which have `room` dimensions at most, in words of so many elements.
template <int room, class Number = std::uint64_t>
RowMapOf<room, Number> map_in_words(const IndexAddProblem& p, const RowDims& row, int word_elements) {
  RowMapOf<room, Number> map;
  map.word_elements = word_elements;
  map.words = p.row_elements() / word_elements;
  map.dst_row_stride = p.dst.strides[p.dim];
  map.src_row_stride = p.src.strides[p.dim];
  map.rows = p.rows();
  map.entries = p.entries();
  map.dims = row.dims;
  for (int d = 0; d < row.dims; ++d) {
    const int elements = d == row.dims - 1 ? word_elements : 1;
    map.size[d] = FastDivisor<Number>(static_cast<Number>(row.dim[d].size / elements));
    map.dst_stride[d] = row.dim[d].dst_stride * elements;
    map.src_stride[d] = row.dim[d].src_stride * elements;
  }
  return map;
}

inline RowMap row_map(const IndexAddProblem& p) {
  const RowDims row = row_dims(p);
  return map_in_words<kMaxViewDims - 1>(p, row, widest_word(p, row));
}

/// How a block's threads share the work: `lanes` neighbours, a power of two, take neighbouring words of a row, and
/// groups of so many take different entries.
struct Lanes {
  int lanes = 1;
  int bits = 0;             ///< lanes = 1 << bits: kernels shift where they would divide.
  std::int64_t chunks = 1;  ///< How many times `lanes` words make a row.
};

inline Lanes lanes_for(std::int64_t words, int most) {
  Lanes result;
  while (result.lanes < most && result.lanes < words) result.lanes = 1 << ++result.bits;
  result.chunks = ceil_div<std::int64_t>(words, result.lanes);
  return result;
}

/// Threads of a block that takes words of one row: 32 to 256.
inline int threads_for(std::int64_t words) {
  int threads = 32;
  while (threads < 256 && threads < words) threads *= 2;
  return threads;
}

/// One or several elements of 16 bytes together.
template <class T, int n> __device__ __forceinline__ Pack<T, n> load_word(const T* p) {
  return *reinterpret_cast<const Pack<T, n>*>(p);
}

/// Pairs of T, which the memory system adds in one operation; void where it has none.
template <class T> using PairOf = typename warpbook::detail::PairOf<T>::Type;

/// Whether T has pairs: words of 4 and 8 bytes, too, are worth a kernel.
template <class T> inline constexpr bool kHasPairs = !std::is_same_v<PairOf<T>, void>;

/// Calls `f.template operator()<n>()` for a word of one element, of 16 bytes, or of pairs.
template <class T, class F> cudaError_t with_word(int word_elements, F&& f) {
  if (word_elements == 1) return f.template operator()<1>();
  if constexpr (kHasPairs<T>) {
    if (word_elements == 2) return f.template operator()<2>();
    if (word_elements == 4) return f.template operator()<4>();
  }
  return f.template operator()<static_cast<int>(16 / sizeof(T))>();
}

/// Calls `f.template operator()<1>(map)` with the map of single elements: a small one, if the row's dimensions fit.
template <class F> cudaError_t with_elements(const IndexAddProblem& p, F&& f) {
  const RowDims row = row_dims(p);
  if (row.dims > 2) return f.template operator()<1>(map_in_words<kMaxViewDims - 1>(p, row, 1));
  return f.template operator()<1>(map_in_words<2>(p, row, 1));
}

/// Calls `f.template operator()<n>(map)` with a small map of the widest words, or of single elements if none fits.
template <class T, class F> cudaError_t with_words(const IndexAddProblem& p, F&& f) {
  const RowDims row = row_dims(p);
  if (row.dims > 2) return with_elements(p, f);
  const int elements = widest_word(p, row);
  return with_word<T>(elements, [&]<int n>() { return f.template operator()<n>(map_in_words<2>(p, row, elements)); });
}

template <class T, int n> __device__ __forceinline__ Pack<Sum<T>, n> no_sum() {
  Pack<Sum<T>, n> sum;
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] = nothing<T>();
  return sum;
}

template <class T, int n>
__device__ __forceinline__ void add_scaled(Pack<Sum<T>, n>& sum, Sum<T> alpha, const Pack<T, n>& value) {
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] += alpha * widen(value[k]);
}

/// A word of dst with sums added to it.
template <class T, int n> __device__ __forceinline__ Pack<T, n> added(Pack<T, n> old, const Pack<Sum<T>, n>& sum) {
#pragma unroll
  for (int k = 0; k < n; ++k) old[k] = narrow<T>(widen(old[k]) + sum[k]);
  return old;
}

inline constexpr std::uint32_t kNoRow = 0xffffffffU;

/// Walks over the entries `sorted[begin]` to `sorted[end - 1]`, whose `rows` stand together: adds up their words, and
/// calls `leave(row, sum)` where a row ends.
template <class T, int n, class Leave>
__device__ __forceinline__ void walk(const std::uint16_t* sorted, const std::uint32_t* rows, int begin, int end,
                                     const T* from, std::int64_t stride, float alpha, Leave leave) {
  constexpr int kInFlight = 4;  // Entries that a thread loads before it adds the first.
  Pack<float, n> sum = no_sum<T, n>();
  for (int first = begin; first < end; first += kInFlight) {
    std::uint32_t own[kInFlight + 1];
    Pack<T, n> value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      own[i] = kNoRow;
      if (first + i >= end) continue;
      const int e = sorted[first + i];
      own[i] = rows[e];
      value[i] = load_word<T, n>(from + e * stride);
    }
    own[kInFlight] = first + kInFlight < end ? rows[sorted[first + kInFlight]] : kNoRow;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i >= end) break;
      add_scaled(sum, alpha, value[i]);
      if (own[i] == own[i + 1]) continue;
      leave(own[i], sum);
      sum = no_sum<T, n>();
    }
  }
}

/// Launches blocks for so many `parts` of the work, and `chunks` of each. A kernel begins its parameters by where sums
/// go, the index, src, `outside`, the map, alpha, and the divisor by chunks.
template <class T, class To, class Map, class... More>
cudaError_t launch_parts(void (*kernel)(To*, IndexView, const T*, unsigned long long*, Map, Sum<T>,
                                        FastDivisor<std::uint32_t>, More...),
                         std::int64_t parts, std::int64_t chunks, LaunchConfig config, void* to,
                         const IndexAddProblem& p, const IndexAddArrays& a, const std::type_identity_t<Map>& row,
                         std::type_identity_t<More>... more) {
  if (chunks > INT32_MAX / parts) return cudaErrorInvalidValue;
  config.grid = parts * chunks;
  return launch(kernel, config, static_cast<To*>(to), index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                alpha_of<T>(p), FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(chunks)), more...);
}

}  // namespace warpbook::chapter5
