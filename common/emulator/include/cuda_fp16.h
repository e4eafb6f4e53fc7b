/// \file
/// `half` and `half2`: IEEE's 16-bit format, rounded after every operation.
#pragma once

#ifndef __clang__
#include "narrow_host.h"
#else
#include <cstdint>

#include "math_functions.h"
#include "narrow_float.h"

/// The bits, for those who handle them.
struct __half_raw {
  unsigned short x;
};
struct alignas(4) __half2_raw {
  unsigned short x, y;
};

struct alignas(2) __half : warpbook::emulator::NarrowFloat<__half> {
  __half() = default;
  constexpr __half(__half_raw raw) : __half(from_bits(raw.x)) {}
  constexpr __half(float value) : __half(nearest(value)) {}
  constexpr __half(double value) : __half(nearest(warpbook::emulator::rounded_to_odd(value))) {}
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  constexpr __half(I value) : __half(nearest(warpbook::emulator::rounded_to_odd(static_cast<long double>(value)))) {}

  // To integers and to double it goes by way of float, which loses nothing.
  constexpr operator float() const { return wide(); }
  constexpr operator __half_raw() const { return {bits()}; }

  /// The value nearest to a float; ties go to even.
  static constexpr __half nearest(float value) {
    return from_bits(__builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value)));
  }
  static constexpr __half from_bits(std::uint16_t bits) {
    __half result;
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }
  constexpr float wide() const { return static_cast<float>(__builtin_bit_cast(_Float16, bits_)); }

private:
  std::uint16_t bits_;
};

struct alignas(4) __half2 : warpbook::emulator::NarrowPair<__half2, __half> {
  __half x, y;
  __half2() = default;
  constexpr __half2(__half low, __half high) : x(low), y(high) {}
  constexpr __half2(__half2_raw raw) : x(__half::from_bits(raw.x)), y(__half::from_bits(raw.y)) {}
  constexpr operator __half2_raw() const { return {x.bits(), y.bits()}; }
};

using half = __half;
using half2 = __half2;

namespace warpbook::emulator {
template <> inline constexpr bool kShuffles<__half> = true;
template <> inline constexpr bool kShuffles<__half2> = true;
template <> inline constexpr bool kHinted<__half> = true;
template <> inline constexpr bool kHinted<__half2> = true;
}  // namespace warpbook::emulator

// ---- Conversions of one value

WARPBOOK_DEVICE_FUNCTION __half __float2half(float x) { return __half::nearest(x); }
WARPBOOK_DEVICE_FUNCTION __half __float2half_rn(float x) { return __half::nearest(x); }
WARPBOOK_DEVICE_FUNCTION __half __float2half_rz(float x) {
  return warpbook::emulator::rounded_toward<__half>(x, warpbook::emulator::Toward::zero);
}
WARPBOOK_DEVICE_FUNCTION __half __float2half_ru(float x) {
  return warpbook::emulator::rounded_toward<__half>(x, warpbook::emulator::Toward::infinity);
}
WARPBOOK_DEVICE_FUNCTION __half __float2half_rd(float x) {
  return warpbook::emulator::rounded_toward<__half>(x, warpbook::emulator::Toward::minus_infinity);
}
WARPBOOK_DEVICE_FUNCTION __half __double2half(double x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION float __half2float(__half x) { return x.wide(); }
WARPBOOK_DEVICE_FUNCTION __half __int2half_rn(int x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION __half __uint2half_rn(unsigned x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION __half __short2half_rn(short x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION __half __ushort2half_rn(unsigned short x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION __half __ll2half_rn(long long x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION __half __ull2half_rn(unsigned long long x) { return __half(x); }
WARPBOOK_DEVICE_FUNCTION int __half2int_rn(__half x) {
  return warpbook::emulator::saturated<int>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION int __half2int_rz(__half x) { return warpbook::emulator::saturated<int>(truncf(x.wide())); }
WARPBOOK_DEVICE_FUNCTION int __half2int_ru(__half x) { return warpbook::emulator::saturated<int>(ceilf(x.wide())); }
WARPBOOK_DEVICE_FUNCTION int __half2int_rd(__half x) { return warpbook::emulator::saturated<int>(floorf(x.wide())); }
WARPBOOK_DEVICE_FUNCTION unsigned __half2uint_rn(__half x) {
  return warpbook::emulator::saturated<unsigned>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __half2uint_rz(__half x) {
  return warpbook::emulator::saturated<unsigned>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __half2uint_ru(__half x) {
  return warpbook::emulator::saturated<unsigned>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned __half2uint_rd(__half x) {
  return warpbook::emulator::saturated<unsigned>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __half2short_rn(__half x) {
  return warpbook::emulator::saturated<short>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __half2short_rz(__half x) {
  return warpbook::emulator::saturated<short>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __half2short_ru(__half x) {
  return warpbook::emulator::saturated<short>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION short __half2short_rd(__half x) {
  return warpbook::emulator::saturated<short>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __half2ushort_rn(__half x) {
  return warpbook::emulator::saturated<unsigned short>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __half2ushort_rz(__half x) {
  return warpbook::emulator::saturated<unsigned short>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __half2ushort_ru(__half x) {
  return warpbook::emulator::saturated<unsigned short>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __half2ushort_rd(__half x) {
  return warpbook::emulator::saturated<unsigned short>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __half2ll_rn(__half x) {
  return warpbook::emulator::saturated<long long>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __half2ll_rz(__half x) {
  return warpbook::emulator::saturated<long long>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __half2ll_ru(__half x) {
  return warpbook::emulator::saturated<long long>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION long long __half2ll_rd(__half x) {
  return warpbook::emulator::saturated<long long>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __half2ull_rn(__half x) {
  return warpbook::emulator::saturated<unsigned long long>(nearbyintf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __half2ull_rz(__half x) {
  return warpbook::emulator::saturated<unsigned long long>(truncf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __half2ull_ru(__half x) {
  return warpbook::emulator::saturated<unsigned long long>(ceilf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __half2ull_rd(__half x) {
  return warpbook::emulator::saturated<unsigned long long>(floorf(x.wide()));
}
WARPBOOK_DEVICE_FUNCTION unsigned short __half_as_ushort(__half x) { return x.bits(); }
WARPBOOK_DEVICE_FUNCTION short __half_as_short(__half x) { return static_cast<short>(x.bits()); }
WARPBOOK_DEVICE_FUNCTION __half __ushort_as_half(unsigned short x) { return __half::from_bits(x); }
WARPBOOK_DEVICE_FUNCTION __half __short_as_half(short x) { return __half::from_bits(static_cast<unsigned short>(x)); }

// ---- Pairs

WARPBOOK_DEVICE_FUNCTION __half2 make_half2(__half x, __half y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION __half2 __float2half2_rn(float x) { return {__half::nearest(x), __half::nearest(x)}; }
WARPBOOK_DEVICE_FUNCTION __half2 __floats2half2_rn(float x, float y) {
  return {__half::nearest(x), __half::nearest(y)};
}
WARPBOOK_DEVICE_FUNCTION __half2 __float22half2_rn(float2 x) { return __floats2half2_rn(x.x, x.y); }
WARPBOOK_DEVICE_FUNCTION float2 __half22float2(__half2 x) { return {x.x.wide(), x.y.wide()}; }
WARPBOOK_DEVICE_FUNCTION __half2 __half2half2(__half x) { return {x, x}; }
WARPBOOK_DEVICE_FUNCTION __half2 __halves2half2(__half x, __half y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION __half __low2half(__half2 x) { return x.x; }
WARPBOOK_DEVICE_FUNCTION __half __high2half(__half2 x) { return x.y; }
WARPBOOK_DEVICE_FUNCTION __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
WARPBOOK_DEVICE_FUNCTION __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
WARPBOOK_DEVICE_FUNCTION __half2 __lows2half2(__half2 x, __half2 y) { return {x.x, y.x}; }
WARPBOOK_DEVICE_FUNCTION __half2 __highs2half2(__half2 x, __half2 y) { return {x.y, y.y}; }

// ---- Atomics. Those of a pair are atomic for each of the two at least.

__attribute__((always_inline, nodebug)) inline __half atomicAdd(__half* address, __half value) {
  return __half::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__half>));
}
__attribute__((always_inline, nodebug)) inline __half2 atomicAdd(__half2* address, __half2 value) {
  return __builtin_bit_cast(__half2,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__half2>));
}
__attribute__((always_inline, nodebug)) inline __half atomicAdd_block(__half* address, __half value) {
  return __half::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__half>));
}
__attribute__((always_inline, nodebug)) inline __half2 atomicAdd_block(__half2* address, __half2 value) {
  return __builtin_bit_cast(__half2,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__half2>));
}
__attribute__((always_inline, nodebug)) inline __half atomicAdd_system(__half* address, __half value) {
  return __half::from_bits(
      warpbook::emulator::atomic_update_16(address, value.bits(), &warpbook::emulator::narrow_sum<__half>));
}
__attribute__((always_inline, nodebug)) inline __half2 atomicAdd_system(__half2* address, __half2 value) {
  return __builtin_bit_cast(__half2,
                            warpbook::emulator::atomic_update_32(address, __builtin_bit_cast(std::uint32_t, value),
                                                                 &warpbook::emulator::narrow_pair_sum<__half2>));
}

#endif
