/// \file
/// Floating-point numbers of 8 bits: `__nv_fp8_e4m3`, `__nv_fp8_e5m2`, and the scales `__nv_fp8_e8m0`. They are for
/// keeping: what computes converts them first.
#pragma once

#ifndef __clang__
#error <cuda_fp8.h> is for files that the toolkit's nvcc compiles
#endif

#define __CUDA_FP8_TYPES_EXIST__

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "driver_types.h"
#include "math_functions.h"
#include "vector_types.h"

/// A number's code. Two and four have the first in their lowest byte.
using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;

/// What becomes of values beyond the greatest number: infinity, or NaN where the format has none; or that number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };

/// The format of a code: bits of the exponent, bits of the mantissa.
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace warpbook::emulator {

/// A sign, an exponent and a mantissa. With 5 bits of exponent it is IEEE's way; with 4, the codes of infinity and of
/// all NaNs but the last are numbers.
template <unsigned kExponentBits, unsigned kMantissaBits> struct SignedByte {
  static constexpr unsigned kBias = (1U << (kExponentBits - 1)) - 1;
  static constexpr bool kHasInfinity = kExponentBits == 5;
  static constexpr unsigned kGreatest = kHasInfinity ? 0x7b : 0x7e;

  /// The code nearest to a float; ties go to even, and every NaN to 0x7f.
  static constexpr __nv_fp8_storage_t rounded(float value, __nv_saturation_t saturation) {
    if (value != value) {
      return 0x7f;
    }
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
    const unsigned exponent = bits >> 23 & 0xffU;
    // What is smaller than the format's normal numbers has the least one's exponent, and fewer bits.
    constexpr unsigned kLeast = 128 - kBias;
    const unsigned shared = exponent < kLeast ? kLeast : exponent;
    const unsigned dropped = 23 - kMantissaBits + shared - exponent;
    const unsigned shift = dropped < 25 ? dropped : 25;  // of 24 bits
    const unsigned significand = (bits & 0x7fffffU) | 0x800000U;
    const unsigned kept = (significand + (1U << (shift - 1)) - 1 + (significand >> shift & 1U)) >> shift;
    unsigned code = ((shared - kLeast) << kMantissaBits) + kept;  // the leading bit counts for an exponent
    if (code > kGreatest) {
      code = saturation == __NV_SATFINITE ? kGreatest : kGreatest + 1;  // infinity or NaN
    }
    return static_cast<__nv_fp8_storage_t>((bits >> 24 & 0x80U) | code);
  }

  /// A double's NaN keeps its sign and, with 5 bits of exponent, its mantissa's beginning.
  static constexpr __nv_fp8_storage_t rounded(double value, __nv_saturation_t saturation) {
    if (value == value) {
      return rounded(rounded_to_odd(value), saturation);
    }
    const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, value);
    const std::uint64_t last = kHasInfinity ? bits >> 50 & 1U : 1U;
    return static_cast<__nv_fp8_storage_t>((bits >> 56 & 0x80U) | 0x7eU | last);
  }

  static constexpr float wide(__nv_fp8_storage_t code) {
    const unsigned magnitude = code & 0x7fU;
    if (magnitude > kGreatest + kHasInfinity) {
      return __builtin_bit_cast(float, 0x7fffffffU);
    }
    // Half's exponent has 5 bits. If there are 4, the bits mean a smaller number there.
    const unsigned half_bits = (code & 0x80U) << 8 | magnitude << (10 - kMantissaBits);
    return __half::from_bits(static_cast<std::uint16_t>(half_bits)).wide() * static_cast<float>(1U << (15 - kBias));
  }
};

/// A power of two, or NaN: the exponent of a float. The sign of what is rounded is dropped.
struct ScaleByte {
  static constexpr __nv_fp8_storage_t rounded(float value, __nv_saturation_t saturation,
                                              cudaRoundMode rounding = cudaRoundPosInf) {
    assert(rounding == cudaRoundZero || rounding == cudaRoundPosInf);
    if (value != value) {
      return 0xff;
    }
    constexpr unsigned kLeast = 0x00400000;  // 2^-127 as a float
    const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, value) & 0x7fffffffU;
    const bool is_between = (magnitude & 0x7fffffU) != 0 && magnitude > kLeast;
    const unsigned code = (magnitude >> 23) + (is_between && rounding == cudaRoundPosInf);
    return static_cast<__nv_fp8_storage_t>(code == 0xff && saturation == __NV_SATFINITE ? 0xfe : code);
  }
  static constexpr __nv_fp8_storage_t rounded(double value, __nv_saturation_t saturation,
                                              cudaRoundMode rounding = cudaRoundPosInf) {
    return rounded(rounded_to_odd(value), saturation, rounding);
  }

  static constexpr float wide(__nv_fp8_storage_t code) {
    const std::uint32_t bits = code == 0xff ? 0x7fff0000U : code == 0 ? 0x00400000U : std::uint32_t{code} << 23;
    return __builtin_bit_cast(float, bits);
  }
};

using E4m3 = SignedByte<4, 3>;
using E5m2 = SignedByte<5, 2>;

/// The codes of several values, the first one lowest.
template <class Format, class Value, class... Values>
constexpr unsigned packed(__nv_saturation_t saturation, Value first, Values... others) {
  const unsigned code = Format::rounded(first, saturation);
  if constexpr (sizeof...(others) == 0) {
    return code;
  } else {
    return code | packed<Format>(saturation, others...) << 8;
  }
}
template <class Codes, class... Values>
constexpr Codes packed_as(__nv_fp8_interpretation_t format, __nv_saturation_t saturation, Values... values) {
  return static_cast<Codes>(format == __NV_E5M2 ? packed<E5m2>(saturation, values...)
                                                : packed<E4m3>(saturation, values...));
}

/// One of several codes as a float.
template <class Format> constexpr float unpacked(unsigned codes, unsigned at) {
  return Format::wide(static_cast<__nv_fp8_storage_t>(codes >> (8 * at)));
}

/// One number. What is too great for the format becomes its greatest.
template <class Format> struct ByteFloat {
  __nv_fp8_storage_t __x;

  ByteFloat() = default;
  explicit constexpr ByteFloat(__half value) : ByteFloat(value.wide()) {}
  explicit constexpr ByteFloat(__nv_bfloat16 value) : ByteFloat(value.wide()) {}
  explicit constexpr ByteFloat(float value) : __x(Format::rounded(value, __NV_SATFINITE)) {}
  explicit constexpr ByteFloat(double value) : __x(Format::rounded(value, __NV_SATFINITE)) {}
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  explicit constexpr ByteFloat(I value) : ByteFloat(rounded_to_odd(static_cast<long double>(value))) {}

  explicit constexpr operator float() const { return Format::wide(__x); }
  explicit constexpr operator double() const { return static_cast<double>(Format::wide(__x)); }
  explicit constexpr operator __half() const { return __half::nearest(Format::wide(__x)); }
  explicit constexpr operator __nv_bfloat16() const { return __nv_bfloat16::nearest(Format::wide(__x)); }
  /// Toward zero and into the range; NaN becomes 0, in 64 bits their highest.
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0> explicit operator I() const {
    return saturated<I>(truncf(Format::wide(__x)));
  }
  explicit constexpr operator bool() const { return Format::wide(__x) != 0; }
};

template <class Format> struct BytePair {
  __nv_fp8x2_storage_t __x;

  BytePair() = default;
  explicit constexpr BytePair(__half2 values) : BytePair(values.x, values.y) {}
  explicit constexpr BytePair(__nv_bfloat162 values) : BytePair(values.x, values.y) {}
  explicit constexpr BytePair(float2 values) : BytePair(values.x, values.y) {}
  explicit constexpr BytePair(double2 values) : BytePair(values.x, values.y) {}

  explicit constexpr operator float2() const { return {unpacked<Format>(__x, 0), unpacked<Format>(__x, 1)}; }
  explicit constexpr operator __half2() const {
    return {__half::nearest(unpacked<Format>(__x, 0)), __half::nearest(unpacked<Format>(__x, 1))};
  }

private:
  template <class Value>
  constexpr BytePair(Value low, Value high)
      : __x(static_cast<__nv_fp8x2_storage_t>(packed<Format>(__NV_SATFINITE, low, high))) {}
};

template <class Format> struct ByteQuartet {
  __nv_fp8x4_storage_t __x;

  ByteQuartet() = default;
  explicit constexpr ByteQuartet(__half2 low, __half2 high) : ByteQuartet(low.x, low.y, high.x, high.y) {}
  explicit constexpr ByteQuartet(__nv_bfloat162 low, __nv_bfloat162 high) : ByteQuartet(low.x, low.y, high.x, high.y) {}
  explicit constexpr ByteQuartet(float4 values) : ByteQuartet(values.x, values.y, values.z, values.w) {}
  explicit constexpr ByteQuartet(double4 values) : ByteQuartet(values.x, values.y, values.z, values.w) {}
  explicit constexpr ByteQuartet(double4_16a values) : ByteQuartet(values.x, values.y, values.z, values.w) {}
  explicit constexpr ByteQuartet(double4_32a values) : ByteQuartet(values.x, values.y, values.z, values.w) {}

  explicit constexpr operator float4() const {
    return {unpacked<Format>(__x, 0), unpacked<Format>(__x, 1), unpacked<Format>(__x, 2), unpacked<Format>(__x, 3)};
  }

private:
  template <class Value>
  constexpr ByteQuartet(Value x, Value y, Value z, Value w) : __x(packed<Format>(__NV_SATFINITE, x, y, z, w)) {}
};

}  // namespace warpbook::emulator

// ---- The types. They take CUDA's conversions, and no others: none is implicit.

struct alignas(1) __nv_fp8_e4m3 : warpbook::emulator::ByteFloat<warpbook::emulator::E4m3> {
  using ByteFloat::ByteFloat;
};
struct alignas(1) __nv_fp8_e5m2 : warpbook::emulator::ByteFloat<warpbook::emulator::E5m2> {
  using ByteFloat::ByteFloat;
};
struct alignas(1) __nv_fp8_e8m0 : warpbook::emulator::ByteFloat<warpbook::emulator::ScaleByte> {
  using ByteFloat::ByteFloat;
};

struct alignas(2) __nv_fp8x2_e4m3 : warpbook::emulator::BytePair<warpbook::emulator::E4m3> {
  using BytePair::BytePair;
};
struct alignas(2) __nv_fp8x2_e5m2 : warpbook::emulator::BytePair<warpbook::emulator::E5m2> {
  using BytePair::BytePair;
};
struct alignas(2) __nv_fp8x2_e8m0 : warpbook::emulator::BytePair<warpbook::emulator::ScaleByte> {
  using BytePair::BytePair;
  explicit constexpr operator __nv_bfloat162() const {
    const float2 values(*this);
    return {__nv_bfloat16::nearest(values.x), __nv_bfloat16::nearest(values.y)};
  }
};

struct alignas(4) __nv_fp8x4_e4m3 : warpbook::emulator::ByteQuartet<warpbook::emulator::E4m3> {
  using ByteQuartet::ByteQuartet;
};
struct alignas(4) __nv_fp8x4_e5m2 : warpbook::emulator::ByteQuartet<warpbook::emulator::E5m2> {
  using ByteQuartet::ByteQuartet;
};
struct alignas(4) __nv_fp8x4_e8m0 : warpbook::emulator::ByteQuartet<warpbook::emulator::ScaleByte> {
  using ByteQuartet::ByteQuartet;
};

// ---- Conversions to codes of E4M3 and E5M2

WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                                   __nv_fp8_interpretation_t format) {
  return warpbook::emulator::packed_as<__nv_fp8_storage_t>(format, saturation, x);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturation,
                                                                        __nv_fp8_interpretation_t format) {
  return warpbook::emulator::packed_as<__nv_fp8x2_storage_t>(format, saturation, x.x, x.y);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                                  __nv_fp8_interpretation_t format) {
  return warpbook::emulator::packed_as<__nv_fp8_storage_t>(format, saturation, x);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                                       __nv_fp8_interpretation_t format) {
  return warpbook::emulator::packed_as<__nv_fp8x2_storage_t>(format, saturation, x.x, x.y);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                                    __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__half(x), saturation, format);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                                         __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(x), saturation, format);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                                        __nv_saturation_t saturation,
                                                                        __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturation, format);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x,
                                                                             __nv_saturation_t saturation,
                                                                             __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(x), saturation, format);
}

// ---- Conversions from them; each NaN becomes CUDA's own

WARPBOOK_DEVICE_FUNCTION __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t format) {
  using namespace warpbook::emulator;
  return __half::nearest(format == __NV_E5M2 ? E5m2::wide(x) : E4m3::wide(x));
}
WARPBOOK_DEVICE_FUNCTION __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                                                __nv_fp8_interpretation_t format) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), format).x,
          __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), format).x};
}

// ---- Scales, rounded by `cudaRoundZero` or `cudaRoundPosInf`: to the power of two below or above

WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturation,
                                                                   cudaRoundMode rounding) {
  return warpbook::emulator::ScaleByte::rounded(x, saturation, rounding);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(float2 x, __nv_saturation_t saturation,
                                                                        cudaRoundMode rounding) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_e8m0(x.x, saturation, rounding) |
                                           __nv_cvt_float_to_e8m0(x.y, saturation, rounding) << 8);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturation,
                                                                    cudaRoundMode rounding) {
  return warpbook::emulator::ScaleByte::rounded(x, saturation, rounding);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(double2 x, __nv_saturation_t saturation,
                                                                         cudaRoundMode rounding) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_double_to_e8m0(x.x, saturation, rounding) |
                                           __nv_cvt_double_to_e8m0(x.y, saturation, rounding) << 8);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x,
                                                                         __nv_saturation_t saturation,
                                                                         cudaRoundMode rounding) {
  return __nv_cvt_float_to_e8m0(__nv_bfloat16(x), saturation, rounding);
}
WARPBOOK_DEVICE_FUNCTION __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(__nv_bfloat162_raw x,
                                                                              __nv_saturation_t saturation,
                                                                              cudaRoundMode rounding) {
  return __nv_cvt_float2_to_e8m0x2(__bfloat1622float2(x), saturation, rounding);
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  return __nv_bfloat16::nearest(warpbook::emulator::ScaleByte::wide(x));
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  return {__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x,
          __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x};
}
