/// \file
/// Elements of any type as the host's numbers: how chapter 5's reference reads and writes them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "chapters/chapter5_index_add/index_add.hpp"

namespace warpbook::chapter5 {

/// A half as a float, by its bits.
inline float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const int exponent = (bits >> 10U) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13U));
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : std::ldexp(static_cast<float>(fraction | 0x400U), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

/// A bfloat16 as a float, by its bits.
inline float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

/// Rounds to nearest, ties to even.
inline std::uint16_t half_from(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < std::ldexp(1.0, -14)) return static_cast<std::uint16_t>(sign | std::lrint(std::ldexp(magnitude, 24)));
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);           // 0.5 to 1.
  const auto scaled = static_cast<int>(std::lrint(fraction * 2048));  // 1024 to 2048: may carry into the exponent.
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + scaled));
}

/// Rounds to nearest, ties to even.
inline std::uint16_t bfloat16_from(double value) {
  // Through float to odd, so that rounding twice is rounding once.
  float nearest = static_cast<float>(value);
  if (std::isnan(value)) return 0x7fc0;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (static_cast<double>(nearest) != value) {
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
    bits |= 1;
  }
  bits += 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>(bits >> 16U);
}

/// How elements of a type are read as the reference's numbers (double, or 64 bits that wrap around) and written.
template <class T> struct Codec {
  using Bits = T;
  using Number = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  static Number load(T bits) { return static_cast<Number>(bits); }
  static T store(Number value) { return static_cast<T>(value); }
};
struct HalfCodec {
  using Bits = std::uint16_t;
  using Number = double;
  static double load(std::uint16_t bits) {
    static const std::vector<float> kValues = [] {
      std::vector<float> values(65536);
      for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = half_to_float(static_cast<std::uint16_t>(i));
      return values;
    }();
    return kValues[bits];
  }
  static std::uint16_t store(double value) { return half_from(value); }
};
struct BFloat16Codec {
  using Bits = std::uint16_t;
  using Number = double;
  static double load(std::uint16_t bits) { return bfloat16_to_float(bits); }
  static std::uint16_t store(double value) { return bfloat16_from(value); }
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
    return f(HalfCodec{});
  case ElementType::bfloat16:
    return f(BFloat16Codec{});
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
