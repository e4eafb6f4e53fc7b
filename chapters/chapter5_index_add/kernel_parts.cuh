/// \file
/// What the kernels of chapter 5 share: types and how they add up, the index, views and rows as kernels take them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "common/cuda/fast_atomic_add.cuh"
#include "chapters/chapter5_index_add/index_add.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter5 {

// ---- Types.

namespace detail {
template <class T> struct SumOf {
  using Type = float;
};
template <> struct SumOf<double> {
  using Type = double;
};
template <class T>
  requires std::is_integral_v<T>
struct SumOf<T> {  // Unsigned: a signed overflow has no meaning, and the bits are the same.
  using Type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <class T> struct BitsOf {
  using Type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct BitsOf<T> {
  using Type = std::make_unsigned_t<T>;
};
}  // namespace detail

/// Integers are added as unsigned ones: sums wrap around, and the bits are the same.
template <class T> using BitsOf = typename detail::BitsOf<T>::Type;

/// The name of T.
template <class T> constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, __half>) return ElementType::float16;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return ElementType::bfloat16;
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 1) return ElementType::uint8;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 2) return ElementType::int16;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 4) return ElementType::int32;
  return ElementType::int64;
}

/// What values of T are summed in, where a step sums in registers or shared memory.
template <class T> using Sum = typename detail::SumOf<T>::Type;

/// A value as a summand.
template <class T> __device__ __forceinline__ Sum<T> widen(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return static_cast<Sum<T>>(value);
  }
}

/// A sum as a value, rounded to nearest.
template <class T> __device__ __forceinline__ T narrow(Sum<T> sum) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half(sum);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16(sum);
  } else {
    return static_cast<T>(sum);
  }
}

/// What a sum of no values is: x + -0.0 is x for every x, also for -0.0.
template <class T> __device__ __forceinline__ Sum<T> nothing() {
  if constexpr (std::is_integral_v<Sum<T>>) {
    return 0;
  } else {
    return static_cast<Sum<T>>(-0.0);
  }
}

/// The factor as the kernels take it.
template <class T> Sum<T> alpha_of(const IndexAddProblem& p) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<Sum<T>>(p.alpha_integer);
  } else {
    return static_cast<Sum<T>>(p.alpha);
  }
}

/// Calls `f.template operator()<T>()` for every type, integers as unsigned ones.
template <class F> cudaError_t with_type(ElementType type, F&& f) {
  switch (type) {
  case ElementType::float16:
    return f.template operator()<__half>();
  case ElementType::bfloat16:
    return f.template operator()<__nv_bfloat16>();
  case ElementType::float32:
    return f.template operator()<float>();
  case ElementType::float64:
    return f.template operator()<double>();
  case ElementType::int8:
  case ElementType::uint8:
    return f.template operator()<std::uint8_t>();
  case ElementType::int16:
    return f.template operator()<std::uint16_t>();
  case ElementType::int32:
    return f.template operator()<std::uint32_t>();
  case ElementType::int64:
    return f.template operator()<std::uint64_t>();
  }
  return cudaErrorInvalidValue;
}

/// Whether the device adds T atomically; integers of 1 and 2 bytes it does not.
template <class T> inline constexpr bool kHasAtomics = sizeof(T) >= 4 || !std::is_integral_v<T>;

/// Whether T is summed in float.
template <class T> inline constexpr bool kSumsInFloat = std::is_same_v<Sum<T>, float>;

/// `with_type` for the types that have atomics.
template <class F> cudaError_t with_atomic_type(ElementType type, F&& f) {
  return with_type(type, [&]<class T>() -> cudaError_t {
    if constexpr (kHasAtomics<T>) return f.template operator()<T>();
    return cudaErrorNotSupported;
  });
}

/// `with_type` for the types that are summed in float.
template <class F> cudaError_t with_float_sums(ElementType type, F&& f) {
  return with_type(type, [&]<class T>() -> cudaError_t {
    if constexpr (kSumsInFloat<T>) return f.template operator()<T>();
    return cudaErrorNotSupported;
  });
}

/// Calls `f.template operator()<T>()` for the steps before v7b, which are built for two types only.
template <class F> cudaError_t with_early_type(ElementType type, F&& f) {
  if (type == ElementType::float32) return f.template operator()<float>();
  if (type == ElementType::float16) return f.template operator()<__half>();
  return cudaErrorNotSupported;
}

/// Why a step that is built for float and half alone refuses a problem; nullptr where it takes it.
inline const char* refuse_other_types(const IndexAddProblem& p) {
  return p.type == ElementType::float32 || p.type == ElementType::float16 ? nullptr
                                                                          : "this step is built for float and half";
}

// ---- The index.

/// int32 or int64, which every thread tells by the same branch: no kernel is built twice for it.
struct IndexView {
  const void* data;
  bool wide;  // int64.

  __device__ __forceinline__ std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
};

inline IndexView index_view(const IndexAddProblem& p, const IndexAddArrays& a) { return {a.index, p.index_bytes == 8}; }

/// Whether `row`, which stands at `position` of the index, is one of `rows`; where it is not, says so to `outside`.
__device__ __forceinline__ bool inside(std::int64_t row, std::int64_t rows, std::int64_t position,
                                       unsigned long long* outside) {
  if (static_cast<std::uint64_t>(row) < static_cast<std::uint64_t>(rows)) return true;
  if (outside != nullptr) atomicMax(outside, static_cast<unsigned long long>(position) + 1);
  return false;
}

// ---- The device.

/// Multiprocessors of the current device.
inline int multiprocessors() {
  int device = 0;
  int count = 1;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 1;
  return count;
}

// ---- Rows.

/// Where a place of the row lies in both tensors, in elements.
struct Place {
  std::int64_t dst;
  std::int64_t src;
};

/// A row in words of one or more elements: which word lies where. Dividing takes a few instructions, and a thread does
/// it once for all entries that it adds: the general case costs what the contiguous one does.
/// \tparam room dimensions that there is room for. A launch of a few microseconds notices a kilobyte of arguments.
template <int room> struct RowMapOf {
  std::int64_t words = 1;           ///< Of a row.
  std::int64_t dst_row_stride = 0;  ///< Elements from a row to the next.
  std::int64_t src_row_stride = 0;
  std::int64_t rows = 0;     ///< R.
  std::int64_t entries = 0;  ///< N.
  int dims = 0;
  int word_elements = 1;
  FastDivisor<std::uint64_t> size[room];
  std::int64_t dst_stride[room];
  std::int64_t src_stride[room];

  __device__ __forceinline__ Place place(std::int64_t word) const {
    Place result{0, 0};
    auto rest = static_cast<std::uint64_t>(word);
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

/// Room for every problem.
using RowMap = RowMapOf<kMaxViewDims - 1>;
/// Room for all contiguous tensors, and most views.
using SmallRowMap = RowMapOf<2>;

/// The same map in less room; it has at most two dimensions.
inline SmallRowMap small_map(const RowMap& map) {
  SmallRowMap result;
  result.words = map.words;
  result.dst_row_stride = map.dst_row_stride;
  result.src_row_stride = map.src_row_stride;
  result.rows = map.rows;
  result.entries = map.entries;
  result.dims = map.dims;
  result.word_elements = map.word_elements;
  for (int d = 0; d < map.dims; ++d) {
    result.size[d] = map.size[d];
    result.dst_stride[d] = map.dst_stride[d];
    result.src_stride[d] = map.src_stride[d];
  }
  return result;
}

/// The map of a problem's rows in words of so many elements.
inline RowMap map_in_words(const IndexAddProblem& p, const RowDims& row, int word_elements) {
  RowMap map;
  map.word_elements = word_elements;
  map.words = p.row_elements() / map.word_elements;
  map.dst_row_stride = p.dst.strides[p.dim];
  map.src_row_stride = p.src.strides[p.dim];
  map.rows = p.rows();
  map.entries = p.entries();
  map.dims = row.dims;
  for (int d = 0; d < row.dims; ++d) {
    const bool last = d == row.dims - 1;
    map.size[d] =
        FastDivisor<std::uint64_t>(static_cast<std::uint64_t>(row.dim[d].size / (last ? map.word_elements : 1)));
    map.dst_stride[d] = row.dim[d].dst_stride * (last ? map.word_elements : 1);
    map.src_stride[d] = row.dim[d].src_stride * (last ? map.word_elements : 1);
  }
  return map;
}

/// The widest word that a problem and its arrays allow, in elements: of `most_bytes`, for half and bfloat16 else of 8
/// or 4 bytes, or a single element.
inline int widest_word(const IndexAddProblem& p, const RowDims& row, const IndexAddArrays& a, int most_bytes = 16) {
  const bool pairs = p.type == ElementType::float16 || p.type == ElementType::bfloat16;
  for (int bytes = most_bytes; bytes >= (pairs ? 4 : 16); bytes /= 2) {
    const int elements = word_elements(p, row, a.dst, a.src, bytes);
    if (elements > 1) return elements;
  }
  return 1;
}

/// The map of a problem's rows in the widest words.
inline RowMap row_map(const IndexAddProblem& p, const IndexAddArrays& a) {
  const RowDims row = row_dims(p);
  return map_in_words(p, row, widest_word(p, row, a));
}

/// Calls `f(map)` with each map that the problem's rows may have, where the arrays' alignment is not known.
template <class F> void for_each_map(const IndexAddProblem& p, F&& f) {
  const RowDims row = row_dims(p);
  int before = 0;
  for (int bytes = 16; bytes > 1; bytes /= 2) {
    const int elements = widest_word(p, row, {}, bytes);
    if (elements != before) f(map_in_words(p, row, elements));
    before = elements;
  }
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

/// Calls `f.template operator()<n>(map)` with a problem's map and word: a small map and, where `wide` is set, the
/// widest word. Where the small map has no room for the row's dimensions: single elements and room for all.
template <class T, class F> cudaError_t with_map(const IndexAddProblem& p, const IndexAddArrays& a, bool wide, F&& f) {
  const RowDims row = row_dims(p);
  if (row.dims > 2) return f.template operator()<1>(map_in_words(p, row, 1));
  const int elements = wide ? widest_word(p, row, a) : 1;
  const SmallRowMap map = small_map(map_in_words(p, row, elements));
  return with_word<T>(elements, [&]<int n>() { return f.template operator()<n>(map); });
}

}  // namespace warpbook::chapter5
