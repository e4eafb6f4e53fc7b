/// \file
/// `half` and `bfloat16` for the host's own compiler, of whatever standard: what files without kernels do with them. They
/// lie in memory and are rounded as in files with kernels.
#pragma once

#include <cstdint>
#include <cstring>

#include "vector_types.h"

struct __half_raw {
  unsigned short x;
};
struct __nv_bfloat16_raw {
  unsigned short x;
};

namespace warpbook {
namespace emulator {

inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A double as a float that is exact or odd in its last bit: rounding it again gives what rounding the double would.
inline float odd_float(double value) {
  const float nearest = static_cast<float>(value);
  if (value != value || static_cast<double>(nearest) == value) return nearest;
  const double magnitude = value < 0 ? -value : value;
  const double reached = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  const std::uint32_t bits = bits_of_float(nearest);
  return float_of_bits((reached > magnitude ? bits - 1 : bits) | 1U);
}

/// Without its last bits, rounded to nearest even.
inline std::uint32_t shifted(std::uint32_t bits, unsigned by) {
  const std::uint32_t rest = bits & ((1U << by) - 1);
  const std::uint32_t middle = 1U << (by - 1);
  const std::uint32_t result = bits >> by;
  return rest > middle || (rest == middle && (result & 1U) != 0) ? result + 1 : result;
}

struct HalfFormat {
  static std::uint16_t narrowed(float value) {
    const std::uint32_t all = bits_of_float(value);
    const std::uint32_t sign = all >> 16 & 0x8000U;
    const std::uint32_t bits = all & 0x7fffffffU;
    constexpr std::uint32_t kInfinite = 0x7f800000U;
    constexpr std::uint32_t kTooLarge = 0x47800000U;  // 65536
    constexpr std::uint32_t kNormal = 0x38800000U;    // the least that has all bits
    constexpr std::uint32_t kNothing = 0x33000000U;   // half of the least
    std::uint32_t result = 0;
    if (bits > kInfinite)
      result = 0x7e00U | (bits >> 13 & 0x3ffU);
    else if (bits >= kTooLarge)
      result = 0x7c00U;
    else if (bits >= kNormal)
      result = shifted(bits - 0x38000000U, 13);
    else if (bits >= kNothing)
      result = shifted((bits & 0x7fffffU) | 0x800000U, 126 - (bits >> 23));
    return static_cast<std::uint16_t>(sign | result);
  }
  static float widened(std::uint16_t narrow) {
    const std::uint32_t sign = (narrow & 0x8000U) << 16;
    const std::uint32_t exponent = narrow >> 10 & 31U;
    const std::uint32_t fraction = narrow & 0x3ffU;
    if (exponent == 0) {
      const float value = static_cast<float>(fraction) * (1.0F / 16777216);
      return sign != 0 ? -value : value;
    }
    return float_of_bits(sign | (exponent == 31 ? 0x7f800000U : (exponent + 112) << 23) | fraction << 13);
  }
};

struct BfloatFormat {
  static std::uint16_t narrowed(float value) {
    return value != value ? std::uint16_t{0x7fff} : static_cast<std::uint16_t>(shifted(bits_of_float(value), 16));
  }
  static float widened(std::uint16_t narrow) { return float_of_bits(static_cast<std::uint32_t>(narrow) << 16); }
};

}  // namespace emulator
}  // namespace warpbook

#define WARPBOOK_NARROW_TYPE(T, Format, Pair)                                                                          \
  struct alignas(2) T {                                                                                                \
    T() = default;                                                                                                     \
    T(T##_raw raw) : bits_(raw.x) {}                                                                                   \
    T(float value) : bits_(warpbook::emulator::Format::narrowed(value)) {}                                             \
    T(double value) : bits_(warpbook::emulator::Format::narrowed(warpbook::emulator::odd_float(value))) {}             \
    T(int value) : T(static_cast<double>(value)) {}                                                                    \
    T(unsigned value) : T(static_cast<double>(value)) {}                                                               \
    T(long value) : T(static_cast<double>(value)) {}                                                                   \
    T(unsigned long value) : T(static_cast<double>(value)) {}                                                          \
    operator float() const { return warpbook::emulator::Format::widened(bits_); }                                      \
    operator T##_raw() const { return {bits_}; }                                                                       \
    friend T operator+(T a, T b) { return T(float(a) + float(b)); }                                                    \
    friend T operator-(T a, T b) { return T(float(a) - float(b)); }                                                    \
    friend T operator*(T a, T b) { return T(float(a) * float(b)); }                                                    \
    friend T operator/(T a, T b) { return T(float(a) / float(b)); }                                                    \
    friend T operator-(T a) { return T(-float(a)); }                                                                   \
    friend bool operator==(T a, T b) { return float(a) == float(b); }                                                  \
    friend bool operator!=(T a, T b) { return float(a) != float(b); }                                                  \
    friend bool operator<(T a, T b) { return float(a) < float(b); }                                                    \
    friend bool operator>(T a, T b) { return float(a) > float(b); }                                                    \
    friend bool operator<=(T a, T b) { return float(a) <= float(b); }                                                  \
    friend bool operator>=(T a, T b) { return float(a) >= float(b); }                                                  \
    T& operator+=(T other) { return *this = *this + other; }                                                           \
    T& operator-=(T other) { return *this = *this - other; }                                                           \
    T& operator*=(T other) { return *this = *this * other; }                                                           \
    T& operator/=(T other) { return *this = *this / other; }                                                           \
                                                                                                                       \
  private:                                                                                                             \
    std::uint16_t bits_;                                                                                               \
  };                                                                                                                   \
  struct alignas(4) Pair {                                                                                             \
    T x, y;                                                                                                            \
    Pair() = default;                                                                                                  \
    Pair(T low, T high) : x(low), y(high) {}                                                                           \
  };                                                                                                                   \
  inline float __low2float(Pair pair) { return pair.x; }                                                               \
  inline float __high2float(Pair pair) { return pair.y; }                                                              \
  inline T __low2half(Pair pair) { return pair.x; }                                                                    \
  inline T __high2half(Pair pair) { return pair.y; }
WARPBOOK_NARROW_TYPE(__half, HalfFormat, __half2)
WARPBOOK_NARROW_TYPE(__nv_bfloat16, BfloatFormat, __nv_bfloat162)
#undef WARPBOOK_NARROW_TYPE

typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline __half __double2half(double value) { return __half(value); }
inline __half __int2half_rn(int value) { return __half(value); }
inline float __half2float(__half value) { return value; }
inline __half2 __floats2half2_rn(float low, float high) { return __half2(low, high); }
inline __half2 __float2half2_rn(float value) { return __half2(value, value); }
inline __half2 __float22half2_rn(float2 pair) { return __half2(pair.x, pair.y); }
inline __half2 __halves2half2(__half low, __half high) { return __half2(low, high); }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
inline __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
inline unsigned short __half_as_ushort(__half value) { return static_cast<__half_raw>(value).x; }

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __double2bfloat16(double value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return __nv_bfloat162(low, high); }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
