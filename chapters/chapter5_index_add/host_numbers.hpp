/// \file
/// Elements of any type as the host's numbers: how chapter 5's reference reads and writes them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chapters/chapter5_index_add/index_add.hpp"

namespace warpbook::chapter5 {

/// How elements of T are read as the reference's numbers (double, or 64 bits that wrap around) and written, rounded to
/// nearest.
template <class T> struct Codec {
  using Bits = T;
  using Number = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

  static Number load(T value) {
    if constexpr (std::is_same_v<T, __half>) return static_cast<double>(__half2float(value));
    if constexpr (std::is_same_v<T, __nv_bfloat16>) return static_cast<double>(__bfloat162float(value));
    if constexpr (std::is_arithmetic_v<T>) return static_cast<Number>(value);
  }
  static T store(Number value) {
    if constexpr (std::is_same_v<T, __half>) return __double2half(value);
    if constexpr (std::is_same_v<T, __nv_bfloat16>) return __double2bfloat16(value);
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
  }
};

/// The element at p.
template <class C> typename C::Number load(const std::byte* p) {
  typename C::Bits bits{};
  std::memcpy(&bits, p, sizeof(bits));
  return C::load(bits);
}

/// Writes the element at p.
template <class C> void store(std::byte* p, typename C::Number value) {
  const typename C::Bits bits = C::store(value);
  std::memcpy(p, &bits, sizeof(bits));
}

/// Calls `f(C{})` with the type's codec.
template <class F> auto with_codec(ElementType type, F&& f) {
  switch (type) {
  case ElementType::float16:
    return f(Codec<__half>{});
  case ElementType::bfloat16:
    return f(Codec<__nv_bfloat16>{});
  case ElementType::float64:
    return f(Codec<double>{});
  case ElementType::int8:
    return f(Codec<std::int8_t>{});
  case ElementType::uint8:
    return f(Codec<std::uint8_t>{});
  case ElementType::int16:
    return f(Codec<std::int16_t>{});
  case ElementType::int32:
    return f(Codec<std::int32_t>{});
  case ElementType::int64:
    return f(Codec<std::int64_t>{});
  default:
    return f(Codec<float>{});
  }
}

}  // namespace warpbook::chapter5
