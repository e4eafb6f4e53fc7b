/// \file
/// What half and bfloat16 have in common: arithmetic that rounds after every operation, as a GPU does.
///
/// Both types are narrow enough that an operation in float, rounded once more, is the operation rounded once: float has
/// more than twice their bits and two. A fused multiply-add goes through double.
///
/// The functions are friends, found by their arguments: they are written once, and convert their arguments as CUDA's
/// do.
#pragma once

#include <cmath>
#include <cstdint>

#include "atomic_functions.h"
#include "memory_functions.h"
#include "vector_types.h"
#include "warp_functions.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator {

#define WARPBOOK_NARROW friend __attribute__((always_inline, nodebug)) inline

/// A wider value as a float that is exact or odd in its last bit, so that rounding it again gives what rounding the
/// value would.
template <class Wide> __attribute__((always_inline, nodebug)) constexpr float rounded_to_odd(Wide value) {
  const float nearest = static_cast<float>(value);
  if (value != value || static_cast<Wide>(nearest) == value) {
    return nearest;
  }
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, nearest);
  const Wide magnitude = value < 0 ? -value : value;
  const Wide reached = nearest < 0 ? -static_cast<Wide>(nearest) : static_cast<Wide>(nearest);
  bits = (reached > magnitude ? bits - 1 : bits) | 1U;
  return __builtin_bit_cast(float, bits);
}

/// Functions of one value. `T` has `bits`, `T::nearest(float)` and `wide()`.
template <class T> struct NarrowFloat {
  WARPBOOK_NARROW constexpr T operator+(T a, T b) { return T::nearest(a.wide() + b.wide()); }
  WARPBOOK_NARROW constexpr T operator-(T a, T b) { return T::nearest(a.wide() - b.wide()); }
  WARPBOOK_NARROW constexpr T operator*(T a, T b) { return T::nearest(a.wide() * b.wide()); }
  WARPBOOK_NARROW constexpr T operator/(T a, T b) { return T::nearest(a.wide() / b.wide()); }
  WARPBOOK_NARROW constexpr T operator+(T a) { return a; }
  WARPBOOK_NARROW constexpr T operator-(T a) { return T::from_bits(static_cast<std::uint16_t>(a.bits() ^ 0x8000U)); }
  WARPBOOK_NARROW constexpr T& operator+=(T& a, T b) { return a = a + b; }
  WARPBOOK_NARROW constexpr T& operator-=(T& a, T b) { return a = a - b; }
  WARPBOOK_NARROW constexpr T& operator*=(T& a, T b) { return a = a * b; }
  WARPBOOK_NARROW constexpr T& operator/=(T& a, T b) { return a = a / b; }
  WARPBOOK_NARROW constexpr T& operator++(T& a) { return a = a + T::nearest(1.0F); }
  WARPBOOK_NARROW constexpr T& operator--(T& a) { return a = a - T::nearest(1.0F); }
  WARPBOOK_NARROW constexpr T operator++(T& a, int) {
    const T before = a;
    ++a;
    return before;
  }
  WARPBOOK_NARROW constexpr T operator--(T& a, int) {
    const T before = a;
    --a;
    return before;
  }
  WARPBOOK_NARROW constexpr bool operator==(T a, T b) { return a.wide() == b.wide(); }
  WARPBOOK_NARROW constexpr bool operator!=(T a, T b) { return a.wide() != b.wide(); }
  WARPBOOK_NARROW constexpr bool operator<(T a, T b) { return a.wide() < b.wide(); }
  WARPBOOK_NARROW constexpr bool operator<=(T a, T b) { return a.wide() <= b.wide(); }
  WARPBOOK_NARROW constexpr bool operator>(T a, T b) { return a.wide() > b.wide(); }
  WARPBOOK_NARROW constexpr bool operator>=(T a, T b) { return a.wide() >= b.wide(); }

  WARPBOOK_NARROW T __hadd(T a, T b) { return a + b; }
  WARPBOOK_NARROW T __hsub(T a, T b) { return a - b; }
  WARPBOOK_NARROW T __hmul(T a, T b) { return a * b; }
  WARPBOOK_NARROW T __hdiv(T a, T b) { return a / b; }
  WARPBOOK_NARROW T __hadd_rn(T a, T b) { return a + b; }
  WARPBOOK_NARROW T __hsub_rn(T a, T b) { return a - b; }
  WARPBOOK_NARROW T __hmul_rn(T a, T b) { return a * b; }
  WARPBOOK_NARROW T __hneg(T a) { return -a; }
  WARPBOOK_NARROW T __habs(T a) { return T::from_bits(static_cast<std::uint16_t>(a.bits() & 0x7fffU)); }
  WARPBOOK_NARROW T __hfma(T a, T b, T c) {
    // The product is exact, and so is the sum where it matters: the two overlap, or one is beyond the other's rounding.
    return T::nearest(
        rounded_to_odd(static_cast<double>(a.wide()) * static_cast<double>(b.wide()) + static_cast<double>(c.wide())));
  }
  /// Into [0, 1]; NaN becomes 0.
  WARPBOOK_NARROW T narrow_saturated(T a) { return T::nearest(::fminf(::fmaxf(a.wide(), 0.0F), 1.0F)); }
  WARPBOOK_NARROW T __hadd_sat(T a, T b) { return narrow_saturated(a + b); }
  WARPBOOK_NARROW T __hsub_sat(T a, T b) { return narrow_saturated(a - b); }
  WARPBOOK_NARROW T __hmul_sat(T a, T b) { return narrow_saturated(a * b); }
  WARPBOOK_NARROW T __hfma_sat(T a, T b, T c) { return narrow_saturated(__hfma(a, b, c)); }
  WARPBOOK_NARROW T __hfma_relu(T a, T b, T c) {
    const T sum = __hfma(a, b, c);
    return sum.wide() < 0.0F ? T::nearest(0.0F) : sum;
  }

  WARPBOOK_NARROW bool __hisnan(T a) { return a.wide() != a.wide(); }
  /// 1 for +infinity, -1 for -infinity, else 0.
  WARPBOOK_NARROW int __hisinf(T a) { return a.wide() == INFINITY ? 1 : a.wide() == -INFINITY ? -1 : 0; }

  // A NaN beside a number gives the number; -0 is less than +0.
  WARPBOOK_NARROW T __hmin(T a, T b) {
    if (__hisnan(a) || (!__hisnan(b) && (b < a || (a == b && (b.bits() & 0x8000U) != 0)))) {
      return b;
    }
    return a;
  }
  WARPBOOK_NARROW T __hmax(T a, T b) {
    if (__hisnan(a) || (!__hisnan(b) && (b > a || (a == b && (a.bits() & 0x8000U) != 0)))) {
      return b;
    }
    return a;
  }
  WARPBOOK_NARROW T __hmin_nan(T a, T b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
  WARPBOOK_NARROW T __hmax_nan(T a, T b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }

  WARPBOOK_NARROW bool __heq(T a, T b) { return a == b; }
  WARPBOOK_NARROW bool __hne(T a, T b) { return !__hisnan(a) && !__hisnan(b) && a != b; }
  WARPBOOK_NARROW bool __hlt(T a, T b) { return a < b; }
  WARPBOOK_NARROW bool __hle(T a, T b) { return a <= b; }
  WARPBOOK_NARROW bool __hgt(T a, T b) { return a > b; }
  WARPBOOK_NARROW bool __hge(T a, T b) { return a >= b; }
  WARPBOOK_NARROW bool __hequ(T a, T b) { return !__hne(a, b); }
  WARPBOOK_NARROW bool __hneu(T a, T b) { return a != b; }
  WARPBOOK_NARROW bool __hltu(T a, T b) { return !(a >= b); }
  WARPBOOK_NARROW bool __hleu(T a, T b) { return !(a > b); }
  WARPBOOK_NARROW bool __hgtu(T a, T b) { return !(a <= b); }
  WARPBOOK_NARROW bool __hgeu(T a, T b) { return !(a < b); }

  WARPBOOK_NARROW T hsqrt(T a) { return T::nearest(::sqrtf(a.wide())); }
  WARPBOOK_NARROW T hrsqrt(T a) { return T::nearest(rounded_to_odd(1.0 / ::sqrt(static_cast<double>(a.wide())))); }
  WARPBOOK_NARROW T hrcp(T a) { return T::nearest(1.0F / a.wide()); }
  WARPBOOK_NARROW T hexp(T a) { return T::nearest(::expf(a.wide())); }
  WARPBOOK_NARROW T hexp2(T a) { return T::nearest(::exp2f(a.wide())); }
  WARPBOOK_NARROW T hexp10(T a) { return T::nearest(::exp10f(a.wide())); }
  WARPBOOK_NARROW T hlog(T a) { return T::nearest(::logf(a.wide())); }
  WARPBOOK_NARROW T hlog2(T a) { return T::nearest(::log2f(a.wide())); }
  WARPBOOK_NARROW T hlog10(T a) { return T::nearest(::log10f(a.wide())); }
  WARPBOOK_NARROW T hsin(T a) { return T::nearest(::sinf(a.wide())); }
  WARPBOOK_NARROW T hcos(T a) { return T::nearest(::cosf(a.wide())); }
  WARPBOOK_NARROW T htanh(T a) { return T::nearest(::tanhf(a.wide())); }
  WARPBOOK_NARROW T hfloor(T a) { return T::nearest(::floorf(a.wide())); }
  WARPBOOK_NARROW T hceil(T a) { return T::nearest(::ceilf(a.wide())); }
  WARPBOOK_NARROW T htrunc(T a) { return T::nearest(::truncf(a.wide())); }
  WARPBOOK_NARROW T hrint(T a) { return T::nearest(::rintf(a.wide())); }
};

/// Functions of a pair of values. `Pair` has members `x` and `y` of type `T`.
template <class Pair, class T> struct NarrowPair {
  WARPBOOK_NARROW constexpr Pair operator+(Pair a, Pair b) { return {a.x + b.x, a.y + b.y}; }
  WARPBOOK_NARROW constexpr Pair operator-(Pair a, Pair b) { return {a.x - b.x, a.y - b.y}; }
  WARPBOOK_NARROW constexpr Pair operator*(Pair a, Pair b) { return {a.x * b.x, a.y * b.y}; }
  WARPBOOK_NARROW constexpr Pair operator/(Pair a, Pair b) { return {a.x / b.x, a.y / b.y}; }
  WARPBOOK_NARROW constexpr Pair operator+(Pair a) { return a; }
  WARPBOOK_NARROW constexpr Pair operator-(Pair a) { return {-a.x, -a.y}; }
  WARPBOOK_NARROW constexpr Pair& operator+=(Pair& a, Pair b) { return a = a + b; }
  WARPBOOK_NARROW constexpr Pair& operator-=(Pair& a, Pair b) { return a = a - b; }
  WARPBOOK_NARROW constexpr Pair& operator*=(Pair& a, Pair b) { return a = a * b; }
  WARPBOOK_NARROW constexpr Pair& operator/=(Pair& a, Pair b) { return a = a / b; }
  WARPBOOK_NARROW constexpr bool operator==(Pair a, Pair b) { return a.x == b.x && a.y == b.y; }
  WARPBOOK_NARROW constexpr bool operator<(Pair a, Pair b) { return a.x < b.x && a.y < b.y; }
  WARPBOOK_NARROW constexpr bool operator<=(Pair a, Pair b) { return a.x <= b.x && a.y <= b.y; }
  WARPBOOK_NARROW constexpr bool operator>(Pair a, Pair b) { return a.x > b.x && a.y > b.y; }
  WARPBOOK_NARROW constexpr bool operator>=(Pair a, Pair b) { return a.x >= b.x && a.y >= b.y; }

  WARPBOOK_NARROW Pair __hadd2(Pair a, Pair b) { return a + b; }
  WARPBOOK_NARROW Pair __hsub2(Pair a, Pair b) { return a - b; }
  WARPBOOK_NARROW Pair __hmul2(Pair a, Pair b) { return a * b; }
  WARPBOOK_NARROW Pair __h2div(Pair a, Pair b) { return a / b; }
  WARPBOOK_NARROW Pair __hadd2_rn(Pair a, Pair b) { return a + b; }
  WARPBOOK_NARROW Pair __hsub2_rn(Pair a, Pair b) { return a - b; }
  WARPBOOK_NARROW Pair __hmul2_rn(Pair a, Pair b) { return a * b; }
  WARPBOOK_NARROW Pair __hneg2(Pair a) { return -a; }
  WARPBOOK_NARROW Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }
  WARPBOOK_NARROW Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
  WARPBOOK_NARROW Pair __hadd2_sat(Pair a, Pair b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hsub2_sat(Pair a, Pair b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hmul2_sat(Pair a, Pair b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hfma2_sat(Pair a, Pair b, Pair c) {
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
  }
  WARPBOOK_NARROW Pair __hfma2_relu(Pair a, Pair b, Pair c) {
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
  }
  WARPBOOK_NARROW Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hmin2_nan(Pair a, Pair b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }
  WARPBOOK_NARROW Pair __hmax2_nan(Pair a, Pair b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }

  // Comparisons: 1 for true and 0 for false in each half, or whether both are true.
  WARPBOOK_NARROW Pair narrow_truth(bool x, bool y, Pair) {
    return {T::nearest(x ? 1.0F : 0.0F), T::nearest(y ? 1.0F : 0.0F)};
  }
  WARPBOOK_NARROW Pair __heq2(Pair a, Pair b) { return narrow_truth(__heq(a.x, b.x), __heq(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hne2(Pair a, Pair b) { return narrow_truth(__hne(a.x, b.x), __hne(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hlt2(Pair a, Pair b) { return narrow_truth(__hlt(a.x, b.x), __hlt(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hle2(Pair a, Pair b) { return narrow_truth(__hle(a.x, b.x), __hle(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hgt2(Pair a, Pair b) { return narrow_truth(__hgt(a.x, b.x), __hgt(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hge2(Pair a, Pair b) { return narrow_truth(__hge(a.x, b.x), __hge(a.y, b.y), a); }
  WARPBOOK_NARROW Pair __hisnan2(Pair a) { return narrow_truth(__hisnan(a.x), __hisnan(a.y), a); }
  WARPBOOK_NARROW bool __hbeq2(Pair a, Pair b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }
  WARPBOOK_NARROW bool __hbne2(Pair a, Pair b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
  WARPBOOK_NARROW bool __hblt2(Pair a, Pair b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }
  WARPBOOK_NARROW bool __hble2(Pair a, Pair b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }
  WARPBOOK_NARROW bool __hbgt2(Pair a, Pair b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }
  WARPBOOK_NARROW bool __hbge2(Pair a, Pair b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }

  WARPBOOK_NARROW Pair h2sqrt(Pair a) { return {hsqrt(a.x), hsqrt(a.y)}; }
  WARPBOOK_NARROW Pair h2rsqrt(Pair a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
  WARPBOOK_NARROW Pair h2rcp(Pair a) { return {hrcp(a.x), hrcp(a.y)}; }
  WARPBOOK_NARROW Pair h2exp(Pair a) { return {hexp(a.x), hexp(a.y)}; }
  WARPBOOK_NARROW Pair h2exp2(Pair a) { return {hexp2(a.x), hexp2(a.y)}; }
  WARPBOOK_NARROW Pair h2exp10(Pair a) { return {hexp10(a.x), hexp10(a.y)}; }
  WARPBOOK_NARROW Pair h2log(Pair a) { return {hlog(a.x), hlog(a.y)}; }
  WARPBOOK_NARROW Pair h2log2(Pair a) { return {hlog2(a.x), hlog2(a.y)}; }
  WARPBOOK_NARROW Pair h2log10(Pair a) { return {hlog10(a.x), hlog10(a.y)}; }
  WARPBOOK_NARROW Pair h2sin(Pair a) { return {hsin(a.x), hsin(a.y)}; }
  WARPBOOK_NARROW Pair h2cos(Pair a) { return {hcos(a.x), hcos(a.y)}; }
  WARPBOOK_NARROW Pair h2tanh(Pair a) { return {htanh(a.x), htanh(a.y)}; }
  WARPBOOK_NARROW Pair h2floor(Pair a) { return {hfloor(a.x), hfloor(a.y)}; }
  WARPBOOK_NARROW Pair h2ceil(Pair a) { return {hceil(a.x), hceil(a.y)}; }
  WARPBOOK_NARROW Pair h2trunc(Pair a) { return {htrunc(a.x), htrunc(a.y)}; }
  WARPBOOK_NARROW Pair h2rint(Pair a) { return {hrint(a.x), hrint(a.y)}; }

  WARPBOOK_NARROW float __low2float(Pair a) { return a.x.wide(); }
  WARPBOOK_NARROW float __high2float(Pair a) { return a.y.wide(); }
  WARPBOOK_NARROW Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }
};

#undef WARPBOOK_NARROW

/// A float rounded toward zero, up or down.
enum class Toward { zero, infinity, minus_infinity };

template <class T> WARPBOOK_DEVICE_FUNCTION T rounded_toward(float value, Toward direction) {
  const T nearest = T::nearest(value);
  const float reached = nearest.wide();
  const bool too_high =
      reached > value && (direction == Toward::minus_infinity || (direction == Toward::zero && value > 0));
  const bool too_low = reached < value && (direction == Toward::infinity || (direction == Toward::zero && value < 0));
  if (!too_high && !too_low) {
    return nearest;
  }
  const std::uint16_t bits = nearest.bits();
  if ((bits & 0x7fffU) == 0) {  // one step from zero
    return T::from_bits(too_high ? 0x8001U : 0x0001U);
  }
  const bool away = too_high == ((bits & 0x8000U) != 0);
  return T::from_bits(static_cast<std::uint16_t>(away ? bits + 1 : bits - 1));
}

/// The sum's bits, for atomics.
template <class T> std::uint16_t narrow_sum(std::uint16_t bits, std::uint16_t operand) {
  return (T::from_bits(bits) + T::from_bits(operand)).bits();
}
template <class Pair> std::uint32_t narrow_pair_sum(std::uint32_t bits, std::uint32_t operand) {
  return __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(Pair, bits) + __builtin_bit_cast(Pair, operand));
}

}  // namespace warpbook::emulator
