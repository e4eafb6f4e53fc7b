/// \file
/// The problem as kernels take it: element types and how they add up, and the index.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "chapters/chapter5_index_add/index_add.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter5 {

/// Integers are added as unsigned ones: sums wrap around, and the bits are the same.
template <class T>
using BitsOf = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

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
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                               std::conditional_t<std::is_same_v<T, double>, double, float>>;

/// Whether T is summed in float: half, bfloat16 and float.
template <class T> inline constexpr bool kSumsInFloat = std::is_same_v<Sum<T>, float>;

/// Whether the device adds T atomically; integers of 1 and 2 bytes it does not.
template <class T> inline constexpr bool kHasAtomics = sizeof(T) >= 4 || !std::is_integral_v<T>;

/// Whether one instruction adds several T, each atomically: of compute capability 9.0 on.
template <class T> inline constexpr bool kHasWideAtomics = kSumsInFloat<T>;

/// The types that the steps before v7b are built for.
template <class T> inline constexpr bool kEarly = std::is_same_v<T, float> || std::is_same_v<T, __half>;

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

/// Whether nothing was added to a sum that began as `nothing`, or nothing but such.
template <class T> __device__ __forceinline__ bool is_nothing(Sum<T> sum) {
  if constexpr (std::is_integral_v<Sum<T>>) {
    return sum == 0;
  } else {
    return sum == 0 && signbit(sum);
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

/// Which types a kernel is built for.
enum class Types { all, with_atomics, summed_in_float, early };

/// Calls `f.template operator()<T>()` for a type, integers as unsigned ones.
/// \return its result, or cudaErrorNotSupported where the type is not among `types`.
template <Types types = Types::all, class F> cudaError_t with_type(ElementType type, F&& f) {
  const auto call = [&]<class T>() -> cudaError_t {
    if constexpr (types == Types::all || (types == Types::with_atomics && kHasAtomics<T>) ||
                  (types == Types::summed_in_float && kSumsInFloat<T>) || (types == Types::early && kEarly<T>)) {
      return f.template operator()<T>();
    }
    return cudaErrorNotSupported;
  };
  switch (type) {
  case ElementType::float16:
    return call.template operator()<__half>();
  case ElementType::bfloat16:
    return call.template operator()<__nv_bfloat16>();
  case ElementType::float32:
    return call.template operator()<float>();
  case ElementType::float64:
    return call.template operator()<double>();
  case ElementType::int8:
  case ElementType::uint8:
    return call.template operator()<std::uint8_t>();
  case ElementType::int16:
    return call.template operator()<std::uint16_t>();
  case ElementType::int32:
    return call.template operator()<std::uint32_t>();
  case ElementType::int64:
    return call.template operator()<std::uint64_t>();
  }
  return cudaErrorInvalidValue;
}

inline bool has_atomics(ElementType type) {
  return element_bytes(type) >= 4 || type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Why a step that is built for float and half alone refuses a problem; nullptr where it takes it.
inline const char* refuse_other_types(const IndexAddProblem& p) {
  return p.type == ElementType::float32 || p.type == ElementType::float16 ? nullptr
                                                                          : "this step is built for float and half";
}

/// Why a step that adds atomically refuses a problem; nullptr where it takes it.
inline const char* refuse_no_atomics(const IndexAddProblem& p) {
  return has_atomics(p.type) ? nullptr : "there are no atomics on integers of 1 and 2 bytes";
}

/// Why a step that sums in float refuses a problem; nullptr where it takes it.
inline const char* refuse_other_sums(const IndexAddProblem& p) {
  return refuse_other_types(p) == nullptr || p.type == ElementType::bfloat16
             ? nullptr
             : "this step is built for float, half and bfloat16";
}

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

/// Multiprocessors of the current device.
inline int multiprocessors() {
  int device = 0;
  int count = 1;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 1;
  return count;
}

}  // namespace warpbook::chapter5
