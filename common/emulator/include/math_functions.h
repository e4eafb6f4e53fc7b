/// \file
/// Arithmetic under CUDA's global names. Single-precision functions that a GPU approximates are here as exact as the
/// host's: results differ from a GPU's within the errors that CUDA documents.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "integer_functions.h"
#include "warpbook_builtins.h"

// ---- Minimum and maximum; as in CUDA, a signed and an unsigned operand meet as unsigned

WARPBOOK_DEVICE_FUNCTION constexpr int min(int x, int y) { return x < y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned min(int x, unsigned y) {
  return min(static_cast<unsigned>(x), static_cast<unsigned>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned min(unsigned x, int y) {
  return min(static_cast<unsigned>(x), static_cast<unsigned>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr long min(long x, long y) { return x < y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long min(unsigned long x, unsigned long y) { return x < y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long min(long x, unsigned long y) {
  return min(static_cast<unsigned long>(x), static_cast<unsigned long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long min(unsigned long x, long y) {
  return min(static_cast<unsigned long>(x), static_cast<unsigned long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr long long min(long long x, long long y) { return x < y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long min(unsigned long long x, unsigned long long y) {
  return x < y ? x : y;
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long min(long long x, unsigned long long y) {
  return min(static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long min(unsigned long long x, long long y) {
  return min(static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
}
WARPBOOK_DEVICE_FUNCTION float min(float x, float y) { return fminf(x, y); }
WARPBOOK_DEVICE_FUNCTION double min(double x, double y) { return fmin(x, y); }
WARPBOOK_DEVICE_FUNCTION double min(float x, double y) { return fmin(x, y); }
WARPBOOK_DEVICE_FUNCTION double min(double x, float y) { return fmin(x, y); }

WARPBOOK_DEVICE_FUNCTION constexpr int max(int x, int y) { return x > y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned max(unsigned x, unsigned y) { return x > y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned max(int x, unsigned y) {
  return max(static_cast<unsigned>(x), static_cast<unsigned>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned max(unsigned x, int y) {
  return max(static_cast<unsigned>(x), static_cast<unsigned>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr long max(long x, long y) { return x > y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long max(unsigned long x, unsigned long y) { return x > y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long max(long x, unsigned long y) {
  return max(static_cast<unsigned long>(x), static_cast<unsigned long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long max(unsigned long x, long y) {
  return max(static_cast<unsigned long>(x), static_cast<unsigned long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr long long max(long long x, long long y) { return x > y ? x : y; }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long max(unsigned long long x, unsigned long long y) {
  return x > y ? x : y;
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long max(long long x, unsigned long long y) {
  return max(static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long max(unsigned long long x, long long y) {
  return max(static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
}
WARPBOOK_DEVICE_FUNCTION float max(float x, float y) { return fmaxf(x, y); }
WARPBOOK_DEVICE_FUNCTION double max(double x, double y) { return fmax(x, y); }
WARPBOOK_DEVICE_FUNCTION double max(float x, double y) { return fmax(x, y); }
WARPBOOK_DEVICE_FUNCTION double max(double x, float y) { return fmax(x, y); }

WARPBOOK_DEVICE_FUNCTION constexpr unsigned umin(unsigned x, unsigned y) { return min(x, y); }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned umax(unsigned x, unsigned y) { return max(x, y); }
WARPBOOK_DEVICE_FUNCTION constexpr long long llmin(long long x, long long y) { return min(x, y); }
WARPBOOK_DEVICE_FUNCTION constexpr long long llmax(long long x, long long y) { return max(x, y); }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long ullmin(unsigned long long x, unsigned long long y) {
  return min(x, y);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long ullmax(unsigned long long x, unsigned long long y) {
  return max(x, y);
}

// ---- What the C library lacks

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 41)
#define WARPBOOK_LIBRARY_HAS_SINPI 1  // C23's functions, which came with glibc 2.41.
#endif
#endif

WARPBOOK_DEVICE_FUNCTION float rsqrtf(float x) { return 1.0F / sqrtf(x); }
WARPBOOK_DEVICE_FUNCTION float rcbrtf(float x) { return 1.0F / cbrtf(x); }
#ifndef WARPBOOK_LIBRARY_HAS_SINPI
WARPBOOK_DEVICE_FUNCTION float sinpif(float x) {
  const double turns = remainder(static_cast<double>(x), 2.0);  // exact: the sine of a multiple of pi is 0
  return turns == floor(turns) ? copysignf(0.0F, x) : static_cast<float>(sin(M_PI * turns));
}
WARPBOOK_DEVICE_FUNCTION float cospif(float x) {
  const double turns = fabs(remainder(static_cast<double>(x), 2.0));
  return turns == 0.5 ? 0.0F : static_cast<float>(cos(M_PI * turns));
}
#endif
WARPBOOK_DEVICE_FUNCTION void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
WARPBOOK_DEVICE_FUNCTION float normcdff(float x) {
  return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2));
}
WARPBOOK_DEVICE_FUNCTION float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
WARPBOOK_DEVICE_FUNCTION float norm4df(float x, float y, float z, float w) { return hypotf(norm3df(x, y, z), w); }
WARPBOOK_DEVICE_FUNCTION float rhypotf(float x, float y) { return 1.0F / hypotf(x, y); }
WARPBOOK_DEVICE_FUNCTION float rnorm3df(float x, float y, float z) { return 1.0F / norm3df(x, y, z); }
WARPBOOK_DEVICE_FUNCTION float rnorm4df(float x, float y, float z, float w) { return 1.0F / norm4df(x, y, z, w); }
WARPBOOK_DEVICE_FUNCTION float normf(int count, const float* x) {
  float length = 0;
  for (int i = 0; i < count; ++i) length = hypotf(length, x[i]);
  return length;
}
WARPBOOK_DEVICE_FUNCTION float rnormf(int count, const float* x) { return 1.0F / normf(count, x); }
WARPBOOK_DEVICE_FUNCTION double rsqrt(double x) { return 1.0 / sqrt(x); }
WARPBOOK_DEVICE_FUNCTION double rcbrt(double x) { return 1.0 / cbrt(x); }
#ifndef WARPBOOK_LIBRARY_HAS_SINPI
WARPBOOK_DEVICE_FUNCTION double sinpi(double x) {
  const double turns = remainder(static_cast<double>(x), 2.0);  // exact: the sine of a multiple of pi is 0
  return turns == floor(turns) ? copysign(0.0, x) : static_cast<double>(sin(M_PI * turns));
}
WARPBOOK_DEVICE_FUNCTION double cospi(double x) {
  const double turns = fabs(remainder(static_cast<double>(x), 2.0));
  return turns == 0.5 ? 0.0 : static_cast<double>(cos(M_PI * turns));
}
#endif
WARPBOOK_DEVICE_FUNCTION void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
WARPBOOK_DEVICE_FUNCTION double normcdf(double x) {
  return static_cast<double>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2));
}
WARPBOOK_DEVICE_FUNCTION double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
WARPBOOK_DEVICE_FUNCTION double norm4d(double x, double y, double z, double w) { return hypot(norm3d(x, y, z), w); }
WARPBOOK_DEVICE_FUNCTION double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
WARPBOOK_DEVICE_FUNCTION double norm(int count, const double* x) {
  double length = 0;
  for (int i = 0; i < count; ++i) length = hypot(length, x[i]);
  return length;
}
WARPBOOK_DEVICE_FUNCTION double rnorm(int count, const double* x) { return 1.0 / norm(count, x); }
WARPBOOK_DEVICE_FUNCTION double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
WARPBOOK_DEVICE_FUNCTION double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
WARPBOOK_DEVICE_FUNCTION float fdividef(float x, float y) { return x / y; }
WARPBOOK_DEVICE_FUNCTION float __saturatef(float x) { return fminf(fmaxf(x, 0.0F), 1.0F); }  // NaN gives 0

// ---- Inverses of the error function, and Bessel functions, in double

namespace warpbook::emulator {

/// erfc's inverse between 0 and 1.
///
/// Source: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.2.22; then Halley's steps.
WARPBOOK_DEVICE_FUNCTION double inverse_erfc(double y) {
  const double t = sqrt(-2.0 * log(y * 0.5));
  double x = M_SQRT1_2 * (t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)));
  for (int i = 0; i < 3; ++i) {
    const double error = erfc(x) - y;
    x += error / (M_2_SQRTPI * exp(-x * x) - x * error);
  }
  return x;
}

}  // namespace warpbook::emulator

WARPBOOK_DEVICE_FUNCTION double erfcinv(double y) {
  if (y > 0.0 && y < 2.0)
    return y <= 1.0 ? warpbook::emulator::inverse_erfc(y) : -warpbook::emulator::inverse_erfc(2.0 - y);
  return y == 0.0 ? HUGE_VAL : y == 2.0 ? -HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
}
WARPBOOK_DEVICE_FUNCTION double erfinv(double x) {
  if (!(fabs(x) < 0.5)) return erfcinv(1.0 - x);
  double y = x * (M_2_SQRTPI * M_PI / 4.0);
  for (int i = 0; i < 4; ++i) {
    const double error = erf(y) - x;
    y -= error / (M_2_SQRTPI * exp(-y * y) + y * error);
  }
  return y;
}
WARPBOOK_DEVICE_FUNCTION double normcdfinv(double x) { return -M_SQRT2 * erfcinv(2.0 * x); }
WARPBOOK_DEVICE_FUNCTION double erfcx(double x) {
  if (x > 25.0) return M_2_SQRTPI / 2.0 / x * (1.0 - 0.5 / (x * x) * (1.0 - 1.5 / (x * x)));
  const double square = x * x;
  return exp(square) * (1.0 + fma(x, x, -square)) * erfc(x);
}
WARPBOOK_DEVICE_FUNCTION double cyl_bessel_i0(double x) {
  double sum = 1.0, term = 1.0;
  for (int k = 1; term > sum * 1e-17; ++k) sum += term *= x * x / (4.0 * k * k);
  return sum;
}
WARPBOOK_DEVICE_FUNCTION double cyl_bessel_i1(double x) {
  double sum = x * 0.5, term = x * 0.5;
  for (int k = 1; fabs(term) > fabs(sum) * 1e-17; ++k) sum += term *= x * x / (4.0 * k * (k + 1));
  return sum;
}
WARPBOOK_DEVICE_FUNCTION float erfcinvf(float y) { return static_cast<float>(erfcinv(y)); }
WARPBOOK_DEVICE_FUNCTION float erfinvf(float x) { return static_cast<float>(erfinv(x)); }
WARPBOOK_DEVICE_FUNCTION float normcdfinvf(float x) { return static_cast<float>(normcdfinv(x)); }
WARPBOOK_DEVICE_FUNCTION float erfcxf(float x) { return static_cast<float>(erfcx(x)); }
WARPBOOK_DEVICE_FUNCTION float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(x)); }
WARPBOOK_DEVICE_FUNCTION float cyl_bessel_i1f(float x) { return static_cast<float>(cyl_bessel_i1(x)); }

// ---- One operation, rounded to nearest, never contracted into another

#pragma float_control(push)
#pragma clang fp contract(off)

WARPBOOK_DEVICE_FUNCTION float __fadd_rn(float x, float y) { return x + y; }
WARPBOOK_DEVICE_FUNCTION float __fsub_rn(float x, float y) { return x - y; }
WARPBOOK_DEVICE_FUNCTION float __fmul_rn(float x, float y) { return x * y; }
WARPBOOK_DEVICE_FUNCTION float __fdiv_rn(float x, float y) { return x / y; }
WARPBOOK_DEVICE_FUNCTION float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
WARPBOOK_DEVICE_FUNCTION float __fsqrt_rn(float x) { return sqrtf(x); }
WARPBOOK_DEVICE_FUNCTION float __frcp_rn(float x) { return 1.0F / x; }
WARPBOOK_DEVICE_FUNCTION double __dadd_rn(double x, double y) { return x + y; }
WARPBOOK_DEVICE_FUNCTION double __dsub_rn(double x, double y) { return x - y; }
WARPBOOK_DEVICE_FUNCTION double __dmul_rn(double x, double y) { return x * y; }
WARPBOOK_DEVICE_FUNCTION double __ddiv_rn(double x, double y) { return x / y; }
WARPBOOK_DEVICE_FUNCTION double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
WARPBOOK_DEVICE_FUNCTION double __dsqrt_rn(double x) { return sqrt(x); }
WARPBOOK_DEVICE_FUNCTION double __drcp_rn(double x) { return 1.0 / x; }
WARPBOOK_DEVICE_FUNCTION float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
WARPBOOK_DEVICE_FUNCTION float __fmaf_ieee_rn(float x, float y, float z) { return fmaf(x, y, z); }

#pragma float_control(pop)

// ---- The same, and conversions, rounded down, up, and to zero

#define WARPBOOK_OPERATION(T, name, operation, direction, parameters, ...)                                             \
  WARPBOOK_DEVICE_FUNCTION T name parameters {                                                                         \
    using namespace warpbook::emulator;                                                                                \
    return rounded(Rounding::direction, Rounded::operation, __VA_ARGS__);                                              \
  }
#define WARPBOOK_OPERATIONS(T, letter, suffix, direction)                                                              \
  WARPBOOK_OPERATION(T, __##letter##add_##suffix, add, direction, (T x, T y), x, y, T{})                               \
  WARPBOOK_OPERATION(T, __##letter##sub_##suffix, subtract, direction, (T x, T y), x, y, T{})                          \
  WARPBOOK_OPERATION(T, __##letter##mul_##suffix, multiply, direction, (T x, T y), x, y, T{})                          \
  WARPBOOK_OPERATION(T, __##letter##div_##suffix, divide, direction, (T x, T y), x, y, T{})                            \
  WARPBOOK_OPERATION(T, __##letter##rcp_##suffix, divide, direction, (T x), T{1}, x, T{})                              \
  WARPBOOK_OPERATION(T, __##letter##sqrt_##suffix, root, direction, (T x), x, T{}, T{})
#define WARPBOOK_CONVERSION(To, name, From, Wide, direction)                                                           \
  WARPBOOK_DEVICE_FUNCTION To name(From x) {                                                                           \
    return warpbook::emulator::rounded_##To(warpbook::emulator::Rounding::direction, static_cast<Wide>(x));            \
  }
#define WARPBOOK_ROUNDED(suffix, direction)                                                                            \
  WARPBOOK_OPERATIONS(float, f, suffix, direction)                                                                     \
  WARPBOOK_OPERATIONS(double, d, suffix, direction)                                                                    \
  WARPBOOK_OPERATION(float, __fmaf_##suffix, multiply_add, direction, (float x, float y, float z), x, y, z)            \
  WARPBOOK_OPERATION(float, __fmaf_ieee_##suffix, multiply_add, direction, (float x, float y, float z), x, y, z)       \
  WARPBOOK_OPERATION(double, __fma_##suffix, multiply_add, direction, (double x, double y, double z), x, y, z)         \
  WARPBOOK_CONVERSION(float, __int2float_##suffix, int, long long, direction)                                          \
  WARPBOOK_CONVERSION(float, __uint2float_##suffix, unsigned, long long, direction)                                    \
  WARPBOOK_CONVERSION(float, __ll2float_##suffix, long long, long long, direction)                                     \
  WARPBOOK_CONVERSION(float, __ull2float_##suffix, unsigned long long, unsigned long long, direction)                  \
  WARPBOOK_CONVERSION(float, __double2float_##suffix, double, double, direction)                                       \
  WARPBOOK_CONVERSION(double, __ll2double_##suffix, long long, long long, direction)                                   \
  WARPBOOK_CONVERSION(double, __ull2double_##suffix, unsigned long long, unsigned long long, direction)
WARPBOOK_ROUNDED(rd, down)
WARPBOOK_ROUNDED(ru, up)
WARPBOOK_ROUNDED(rz, to_zero)
#undef WARPBOOK_ROUNDED
#undef WARPBOOK_CONVERSION
#undef WARPBOOK_OPERATIONS
#undef WARPBOOK_OPERATION

// ---- Conversions. A value that the target cannot hold becomes its nearest, NaN becomes 0 (from and to 64 bits, the
// highest bit).

namespace warpbook::emulator {

template <class To, class From> __attribute__((always_inline, nodebug)) inline To saturated(From rounded) {
  constexpr To kLowest = std::numeric_limits<To>::min();
  constexpr To kHighest = std::numeric_limits<To>::max();
  // One above the highest value is a power of two, which every floating-point type holds.
  constexpr From kAbove = static_cast<From>(kHighest / 2 + 1) * 2;
  if (rounded != rounded) {
    return sizeof(To) == 8 || (sizeof(To) == 4 && sizeof(From) == 8) ? static_cast<To>(To{1} << (8 * sizeof(To) - 1))
                                                                     : To{};
  }
  if (rounded >= kAbove) {
    return kHighest;
  }
  return rounded < static_cast<From>(kLowest) ? kLowest : static_cast<To>(rounded);
}

}  // namespace warpbook::emulator

WARPBOOK_DEVICE_FUNCTION int __float2int_rn(float x) { return warpbook::emulator::saturated<int>(nearbyintf(x)); }
WARPBOOK_DEVICE_FUNCTION int __float2int_rz(float x) { return warpbook::emulator::saturated<int>(truncf(x)); }
WARPBOOK_DEVICE_FUNCTION int __float2int_rd(float x) { return warpbook::emulator::saturated<int>(floorf(x)); }
WARPBOOK_DEVICE_FUNCTION int __float2int_ru(float x) { return warpbook::emulator::saturated<int>(ceilf(x)); }
WARPBOOK_DEVICE_FUNCTION unsigned __float2uint_rn(float x) {
  return warpbook::emulator::saturated<unsigned>(nearbyintf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __float2uint_rz(float x) {
  return warpbook::emulator::saturated<unsigned>(truncf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __float2uint_rd(float x) {
  return warpbook::emulator::saturated<unsigned>(floorf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __float2uint_ru(float x) { return warpbook::emulator::saturated<unsigned>(ceilf(x)); }
WARPBOOK_DEVICE_FUNCTION long long __float2ll_rn(float x) {
  return warpbook::emulator::saturated<long long>(nearbyintf(x));
}
WARPBOOK_DEVICE_FUNCTION long long __float2ll_rz(float x) {
  return warpbook::emulator::saturated<long long>(truncf(x));
}
WARPBOOK_DEVICE_FUNCTION long long __float2ll_rd(float x) {
  return warpbook::emulator::saturated<long long>(floorf(x));
}
WARPBOOK_DEVICE_FUNCTION long long __float2ll_ru(float x) { return warpbook::emulator::saturated<long long>(ceilf(x)); }
WARPBOOK_DEVICE_FUNCTION unsigned long long __float2ull_rn(float x) {
  return warpbook::emulator::saturated<unsigned long long>(nearbyintf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __float2ull_rz(float x) {
  return warpbook::emulator::saturated<unsigned long long>(truncf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __float2ull_rd(float x) {
  return warpbook::emulator::saturated<unsigned long long>(floorf(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __float2ull_ru(float x) {
  return warpbook::emulator::saturated<unsigned long long>(ceilf(x));
}
WARPBOOK_DEVICE_FUNCTION int __double2int_rn(double x) { return warpbook::emulator::saturated<int>(nearbyint(x)); }
WARPBOOK_DEVICE_FUNCTION int __double2int_rz(double x) { return warpbook::emulator::saturated<int>(trunc(x)); }
WARPBOOK_DEVICE_FUNCTION int __double2int_rd(double x) { return warpbook::emulator::saturated<int>(floor(x)); }
WARPBOOK_DEVICE_FUNCTION int __double2int_ru(double x) { return warpbook::emulator::saturated<int>(ceil(x)); }
WARPBOOK_DEVICE_FUNCTION unsigned __double2uint_rn(double x) {
  return warpbook::emulator::saturated<unsigned>(nearbyint(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __double2uint_rz(double x) {
  return warpbook::emulator::saturated<unsigned>(trunc(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __double2uint_rd(double x) {
  return warpbook::emulator::saturated<unsigned>(floor(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned __double2uint_ru(double x) {
  return warpbook::emulator::saturated<unsigned>(ceil(x));
}
WARPBOOK_DEVICE_FUNCTION long long __double2ll_rn(double x) {
  return warpbook::emulator::saturated<long long>(nearbyint(x));
}
WARPBOOK_DEVICE_FUNCTION long long __double2ll_rz(double x) {
  return warpbook::emulator::saturated<long long>(trunc(x));
}
WARPBOOK_DEVICE_FUNCTION long long __double2ll_rd(double x) {
  return warpbook::emulator::saturated<long long>(floor(x));
}
WARPBOOK_DEVICE_FUNCTION long long __double2ll_ru(double x) {
  return warpbook::emulator::saturated<long long>(ceil(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __double2ull_rn(double x) {
  return warpbook::emulator::saturated<unsigned long long>(nearbyint(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __double2ull_rz(double x) {
  return warpbook::emulator::saturated<unsigned long long>(trunc(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __double2ull_rd(double x) {
  return warpbook::emulator::saturated<unsigned long long>(floor(x));
}
WARPBOOK_DEVICE_FUNCTION unsigned long long __double2ull_ru(double x) {
  return warpbook::emulator::saturated<unsigned long long>(ceil(x));
}
WARPBOOK_DEVICE_FUNCTION float __int2float_rn(int x) { return static_cast<float>(x); }
WARPBOOK_DEVICE_FUNCTION double __int2double_rn(int x) { return x; }
WARPBOOK_DEVICE_FUNCTION float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
WARPBOOK_DEVICE_FUNCTION double __uint2double_rn(unsigned x) { return x; }
WARPBOOK_DEVICE_FUNCTION float __ll2float_rn(long long x) { return static_cast<float>(x); }
WARPBOOK_DEVICE_FUNCTION double __ll2double_rn(long long x) { return static_cast<double>(x); }
WARPBOOK_DEVICE_FUNCTION float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
WARPBOOK_DEVICE_FUNCTION double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
WARPBOOK_DEVICE_FUNCTION float __double2float_rn(double x) { return static_cast<float>(x); }

// ---- Fast approximations, here as exact as the others

WARPBOOK_DEVICE_FUNCTION float __fdividef(float x, float y) { return x / y; }

namespace warpbook::emulator {

WARPBOOK_DEVICE_FUNCTION float fast_sinf(float x) { return ::sinf(x); }
WARPBOOK_DEVICE_FUNCTION float fast_cosf(float x) { return ::cosf(x); }
WARPBOOK_DEVICE_FUNCTION float fast_tanf(float x) { return ::tanf(x); }
WARPBOOK_DEVICE_FUNCTION float fast_expf(float x) { return ::expf(x); }
WARPBOOK_DEVICE_FUNCTION float fast_exp10f(float x) { return ::exp10f(x); }
WARPBOOK_DEVICE_FUNCTION float fast_logf(float x) { return ::logf(x); }
WARPBOOK_DEVICE_FUNCTION float fast_log2f(float x) { return ::log2f(x); }
WARPBOOK_DEVICE_FUNCTION float fast_log10f(float x) { return ::log10f(x); }
WARPBOOK_DEVICE_FUNCTION float fast_powf(float x, float y) { return ::powf(x, y); }
WARPBOOK_DEVICE_FUNCTION void fast_sincosf(float x, float* sine, float* cosine) {
  *sine = ::sinf(x);
  *cosine = ::cosf(x);
}

}  // namespace warpbook::emulator

// The C library declares functions of these names, so that ours need others: macros bring the two together.
#define __sinf ::warpbook::emulator::fast_sinf
#define __cosf ::warpbook::emulator::fast_cosf
#define __tanf ::warpbook::emulator::fast_tanf
#define __expf ::warpbook::emulator::fast_expf
#define __exp10f ::warpbook::emulator::fast_exp10f
#define __logf ::warpbook::emulator::fast_logf
#define __log2f ::warpbook::emulator::fast_log2f
#define __log10f ::warpbook::emulator::fast_log10f
#define __powf ::warpbook::emulator::fast_powf
#define __sincosf ::warpbook::emulator::fast_sincosf
