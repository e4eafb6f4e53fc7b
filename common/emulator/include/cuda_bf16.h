/// \file
/// `__nv_bfloat16` and `__nv_bfloat162`: a float's upper half, rounded after every operation.
#pragma once

#ifndef __clang__
#include "narrow_host.h"
#else
#include <cstdint>

#include "math_functions.h"
#include "narrow_float.h"

/// The bits, for those who handle them.
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct alignas(4) __nv_bfloat162_raw {
  unsigned short x, y;
};

struct alignas(2) __nv_bfloat16 : warpbook::emulator::NarrowFloat<__nv_bfloat16> {
  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : __nv_bfloat16(from_bits(raw.x)) {}
  constexpr __nv_bfloat16(float value) : __nv_bfloat16(nearest(value)) {}
  constexpr __nv_bfloat16(double value) : __nv_bfloat16(nearest(warpbook::emulator::rounded_to_odd(value))) {}
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  constexpr __nv_bfloat16(I value)
      : __nv_bfloat16(nearest(warpbook::emulator::rounded_to_odd(static_cast<long double>(value)))) {}

  // To integers and to double it goes by way of float, which loses nothing.
  constexpr operator float() const { return wide(); }
  constexpr operator __nv_bfloat16_raw() const { return {bits()}; }

  /// The value nearest to a float; ties go to even, NaN to CUDA's own.
  static constexpr __nv_bfloat16 nearest(float value) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
    return from_bits(value != value ? std::uint16_t{0x7fff}
                                    : static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16));
  }
  static constexpr __nv_bfloat16 from_bits(std::uint16_t bits) {
    __nv_bfloat16 result;
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }
  constexpr float wide() const { return __builtin_bit_cast(float, std::uint32_t{bits_} << 16); }

private:
  std::uint16_t bits_;
};

struct alignas(4) __nv_bfloat162 : warpbook::emulator::NarrowPair<__nv_bfloat162, __nv_bfloat16> {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  constexpr __nv_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) : x(low), y(high) {}
  constexpr __nv_bfloat162(__nv_bfloat162_raw raw)
      : x(__nv_bfloat16::from_bits(raw.x)), y(__nv_bfloat16::from_bits(raw.y)) {}
  constexpr operator __nv_bfloat162_raw() const { return {x.bits(), y.bits()}; }
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

namespace warpbook::emulator {
template <> inline constexpr bool kShuffles<__nv_bfloat16> = true;
template <> inline constexpr bool kShuffles<__nv_bfloat162> = true;
template <> inline constexpr bool kHinted<__nv_bfloat16> = true;
template <> inline constexpr bool kHinted<__nv_bfloat162> = true;
}  // namespace warpbook::emulator

// ---- Conversions of one value

WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16::nearest(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16::nearest(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __float2bfloat16_rz(float x) {
  return warpbook::emulator::rounded_toward<__nv_bfloat16>(x, warpbook::emulator::Toward::zero);
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __float2bfloat16_ru(float x) {
  return warpbook::emulator::rounded_toward<__nv_bfloat16>(x, warpbook::emulator::Toward::infinity);
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __float2bfloat16_rd(float x) {
  return warpbook::emulator::rounded_toward<__nv_bfloat16>(x, warpbook::emulator::Toward::minus_infinity);
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION float __bfloat162float(__nv_bfloat16 x) { return x.wide(); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __short2bfloat16_rn(short x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __ll2bfloat16_rn(long long x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return __nv_bfloat16(x); }
WARPBOOK_DEVICE_FUNCTION int __bfloat162int_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<int>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION int __bfloat162int_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<int>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION int __bfloat162int_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<int>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION int __bfloat162int_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<int>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __bfloat162uint_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __bfloat162uint_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __bfloat162uint_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __bfloat162uint_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __bfloat162short_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<short>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __bfloat162short_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<short>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __bfloat162short_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<short>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __bfloat162short_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<short>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __bfloat162ushort_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned short>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __bfloat162ushort_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned short>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __bfloat162ushort_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned short>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __bfloat162ushort_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned short>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __bfloat162ll_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<long long>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __bfloat162ll_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<long long>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __bfloat162ll_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<long long>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __bfloat162ll_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<long long>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __bfloat162ull_rn(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned long long>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __bfloat162ull_rz(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned long long>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __bfloat162ull_ru(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned long long>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __bfloat162ull_rd(__nv_bfloat16 x) {
  return warpbook::emulator::saturated<unsigned long long>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits(); }
WARPBOOK_DEVICE_FUNCTION short __bfloat16_as_short(__nv_bfloat16 x) { return static_cast<short>(x.bits()); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16::from_bits(x); }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __short_as_bfloat16(short x) {
  return __nv_bfloat16::from_bits(static_cast<unsigned short>(x));
}

// ---- Pairs

WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {__nv_bfloat16::nearest(x), __nv_bfloat16::nearest(x)};
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16::nearest(x), __nv_bfloat16::nearest(y)};
}
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __float22bfloat162_rn(float2 x) { return __floats2bfloat162_rn(x.x, x.y); }
WARPBOOK_DEVICE_FUNCTION float2 __bfloat1622float2(__nv_bfloat162 x) { return {x.x.wide(), x.y.wide()}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) { return {x.x, x.x}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) { return {x.y, x.y}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 x, __nv_bfloat162 y) { return {x.x, y.x}; }
WARPBOOK_DEVICE_FUNCTION __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 x, __nv_bfloat162 y) { return {x.y, y.y}; }

// ---- Atomics. Those of a pair are atomic for each of the two at least.

__attribute__((always_inline, nodebug)) inline __nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value) {
  return __nv_bfloat16::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__nv_bfloat16>));
}
__attribute__((always_inline, nodebug)) inline __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
  return __builtin_bit_cast(__nv_bfloat162,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__nv_bfloat162>));
}
__attribute__((always_inline, nodebug)) inline __nv_bfloat16 atomicAdd_block(__nv_bfloat16* address,
                                                                             __nv_bfloat16 value) {
  return __nv_bfloat16::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__nv_bfloat16>));
}
__attribute__((always_inline, nodebug)) inline __nv_bfloat162 atomicAdd_block(__nv_bfloat162* address,
                                                                              __nv_bfloat162 value) {
  return __builtin_bit_cast(__nv_bfloat162,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__nv_bfloat162>));
}
__attribute__((always_inline, nodebug)) inline __nv_bfloat16 atomicAdd_system(__nv_bfloat16* address,
                                                                              __nv_bfloat16 value) {
  return __nv_bfloat16::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__nv_bfloat16>));
}
__attribute__((always_inline, nodebug)) inline __nv_bfloat162 atomicAdd_system(__nv_bfloat162* address,
                                                                               __nv_bfloat162 value) {
  return __builtin_bit_cast(__nv_bfloat162,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__nv_bfloat162>));
}

#endif
