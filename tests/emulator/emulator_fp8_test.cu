// The emulator's 8-bit floating-point numbers: every code, every half, and what lies at the edges.

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;

namespace {

// They can be in shared memory and in unions, and nothing becomes one of them unasked.
template <class T, std::size_t bytes> constexpr bool is_plain() {
  return std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T> &&
         std::is_standard_layout_v<T> && sizeof(T) == bytes && alignof(T) == bytes &&
         !std::is_convertible_v<float, T> && !std::is_convertible_v<T, float>;
}
static_assert(is_plain<__nv_fp8_e4m3, 1>() && is_plain<__nv_fp8_e5m2, 1>() && is_plain<__nv_fp8_e8m0, 1>());
static_assert(is_plain<__nv_fp8x2_e4m3, 2>() && is_plain<__nv_fp8x2_e5m2, 2>() && is_plain<__nv_fp8x2_e8m0, 2>());
static_assert(is_plain<__nv_fp8x4_e4m3, 4>() && is_plain<__nv_fp8x4_e5m2, 4>() && is_plain<__nv_fp8x4_e8m0, 4>());
static_assert(!std::is_constructible_v<__nv_fp8_e4m3, __nv_fp8_e5m2>);

// A plus before a code makes Catch2 show a number and not a character.

constexpr __nv_saturation_t kSaturations[] = {__NV_NOSAT, __NV_SATFINITE};

/// What a format's definition says.
struct Format {
  __nv_fp8_interpretation_t name;
  int mantissa_bits, bias;
  unsigned greatest, beyond, first_nan;

  /// The value of a code without its sign, as if all codes were numbers.
  double magnitude(unsigned code) const {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const double mantissa = std::ldexp(code & ((1U << mantissa_bits) - 1), -mantissa_bits);
    return exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  }
  double value(unsigned code) const {
    const unsigned unsigned_code = code & 0x7fU;
    if (unsigned_code >= first_nan) return NAN;
    const double size = unsigned_code > greatest ? HUGE_VAL : magnitude(unsigned_code);
    return code < 0x80 ? size : -size;
  }

  /// The code nearest to a value, by going through them from zero on.
  unsigned nearest(double value, __nv_saturation_t saturation) const {
    unsigned code = 0;
    while (code <= greatest) {
      const double middle = (magnitude(code) + magnitude(code + 1)) / 2;
      if (std::fabs(value) < middle || (std::fabs(value) == middle && code % 2 == 0)) break;
      ++code;
    }
    if (code > greatest) code = saturation == __NV_SATFINITE ? greatest : beyond;
    return code | (std::signbit(value) ? 0x80U : 0U);
  }
};
constexpr Format kE4m3{__NV_E4M3, 3, 7, 0x7e, 0x7f, 0x7f};
constexpr Format kE5m2{__NV_E5M2, 2, 15, 0x7b, 0x7c, 0x7d};
constexpr Format kFormats[] = {kE4m3, kE5m2};

bool is_same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class T> T from_code(unsigned code) {
  T result;
  result.__x = static_cast<decltype(result.__x)>(code);
  return result;
}
half half_of(unsigned bits) { return half::from_bits(static_cast<std::uint16_t>(bits)); }
__nv_bfloat16 bfloat16_of(unsigned bits) { return __nv_bfloat16::from_bits(static_cast<std::uint16_t>(bits)); }

// -------------------------------------------------------------------------------------------------- E4M3 and E5M2

template <class T> void check_codes(const Format& format) {
  int wrong = 0;
  for (unsigned code = 0; code < 256; ++code) {
    const T number = from_code<T>(code);
    const double value = format.value(code);
    wrong += !is_same(static_cast<float>(number), value) || !is_same(static_cast<double>(number), value) ||
             !is_same(static_cast<half>(number).wide(), value) ||
             !is_same(static_cast<__nv_bfloat16>(number).wide(), value);
    const __half_raw raw = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), format.name);
    wrong += std::isnan(value) ? raw.x != 0x7fff : half(raw).wide() != value;
    wrong += static_cast<bool>(number) != (value != 0);

    // And back.
    const unsigned same = std::isnan(value) ? 0x7f : code;
    wrong += __nv_cvt_float_to_fp8(static_cast<float>(value), __NV_NOSAT, format.name) != same;
    const unsigned finite = std::isinf(value) ? (code & 0x80U) | format.greatest : same;
    wrong += T(static_cast<float>(number)).__x != finite || T(static_cast<half>(number)).__x != finite ||
             T(static_cast<__nv_bfloat16>(number)).__x != finite;
    if (!std::isnan(value)) wrong += T(value).__x != finite;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every 8-bit code has its value, and comes back from it") {
  check_codes<__nv_fp8_e4m3>(kE4m3);
  check_codes<__nv_fp8_e5m2>(kE5m2);
}

TEST_CASE("every half and every bfloat16 becomes the nearest 8-bit number") {
  for (const Format& format : kFormats) {
    for (const __nv_saturation_t saturation : kSaturations) {
      int wrong = 0;
      for (unsigned bits = 0; bits < 65536; ++bits) {
        const half narrow = half_of(bits);
        const unsigned expected = __hisnan(narrow) ? 0x7f : format.nearest(narrow.wide(), saturation);
        wrong += __nv_cvt_halfraw_to_fp8(narrow, saturation, format.name) != expected;
        const __nv_bfloat16 brain = bfloat16_of(bits);
        const unsigned nearest = __hisnan(brain) ? 0x7f : format.nearest(brain.wide(), saturation);
        wrong += __nv_cvt_bfloat16raw_to_fp8(brain, saturation, format.name) != nearest;
      }
      CAPTURE(format.name, saturation);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("floats and doubles round once, to even in the middle between 8-bit numbers") {
  for (const Format& format : kFormats) {
    for (unsigned code = 0; code <= format.greatest; ++code) {
      const double middle = (format.magnitude(code) + format.magnitude(code + 1)) / 2;
      for (const double sign : {1.0, -1.0}) {
        for (const double infinity : {-HUGE_VAL, HUGE_VAL}) {
          // A double's neighbour is the same float as the middle.
          const double beside = std::nextafter(sign * middle, infinity);
          const float float_beside = std::nextafter(static_cast<float>(sign * middle), static_cast<float>(infinity));
          for (const __nv_saturation_t saturation : kSaturations) {
            CHECK(+__nv_cvt_double_to_fp8(beside, saturation, format.name) == format.nearest(beside, saturation));
            CHECK(+__nv_cvt_float_to_fp8(float_beside, saturation, format.name) ==
                  format.nearest(float_beside, saturation));
            CHECK(+__nv_cvt_float_to_fp8(static_cast<float>(sign * middle), saturation, format.name) ==
                  format.nearest(sign * middle, saturation));
          }
        }
      }
    }
  }
}

TEST_CASE("specials of 8-bit numbers") {
  const float infinity = std::numeric_limits<float>::infinity();
  // E4M3 has no infinity: 448 is the greatest, and 464 lies in the middle to what would be next.
  CHECK(+__nv_cvt_float_to_fp8(464.0F, __NV_NOSAT, __NV_E4M3) == 0x7e);
  CHECK(+__nv_cvt_float_to_fp8(465.0F, __NV_NOSAT, __NV_E4M3) == 0x7f);
  CHECK(+__nv_cvt_float_to_fp8(-465.0F, __NV_NOSAT, __NV_E4M3) == 0xff);
  CHECK(+__nv_cvt_float_to_fp8(infinity, __NV_NOSAT, __NV_E4M3) == 0x7f);
  CHECK(+__nv_cvt_float_to_fp8(-infinity, __NV_SATFINITE, __NV_E4M3) == 0xfe);
  CHECK(+__nv_cvt_float_to_fp8(61439.0F, __NV_NOSAT, __NV_E5M2) == 0x7b);
  CHECK(+__nv_cvt_float_to_fp8(61440.0F, __NV_NOSAT, __NV_E5M2) == 0x7c);
  CHECK(+__nv_cvt_float_to_fp8(-61440.0F, __NV_SATFINITE, __NV_E5M2) == 0xfb);
  CHECK(+__nv_cvt_float_to_fp8(-infinity, __NV_NOSAT, __NV_E5M2) == 0xfc);
  CHECK(+__nv_cvt_float_to_fp8(infinity, __NV_SATFINITE, __NV_E5M2) == 0x7b);
  CHECK(+__nv_cvt_double_to_fp8(1e300, __NV_NOSAT, __NV_E5M2) == 0x7c);
  CHECK(+__nv_cvt_double_to_fp8(-1e300, __NV_SATFINITE, __NV_E4M3) == 0xfe);

  CHECK(+__nv_fp8_e4m3(0x1p-9F).__x == 1);
  CHECK(+__nv_fp8_e4m3(0x1p-10F).__x == 0);
  CHECK(+__nv_fp8_e5m2(0x1.8p-16).__x == 2);
  CHECK(+__nv_fp8_e5m2(-1e-300).__x == 0x80);
  CHECK(+__nv_fp8_e4m3(-0.0F).__x == 0x80);
  CHECK(+__nv_fp8_e5m2(-0.0).__x == 0x80);
  CHECK(+__nv_fp8_e4m3(std::numeric_limits<float>::denorm_min()).__x == 0);

  // NaN stays NaN, saturated or not. A double's keeps more of itself.
  for (const __nv_saturation_t saturation : kSaturations) {
    for (const Format& format : kFormats) {
      CHECK(+__nv_cvt_float_to_fp8(-NAN, saturation, format.name) == 0x7f);
      CHECK(+__nv_cvt_halfraw_to_fp8(half_of(0xfc01), saturation, format.name) == 0x7f);
    }
    const auto wide_nan = [](std::uint64_t bits) { return __builtin_bit_cast(double, bits); };
    CHECK(+__nv_cvt_double_to_fp8(wide_nan(0xfff8000000000000), saturation, __NV_E4M3) == 0xff);
    CHECK(+__nv_cvt_double_to_fp8(wide_nan(0xfff8000000000000), saturation, __NV_E5M2) == 0xfe);
    CHECK(+__nv_cvt_double_to_fp8(wide_nan(0x7ff4000000000000), saturation, __NV_E5M2) == 0x7f);
  }
}

TEST_CASE("8-bit numbers and integers") {
  CHECK(static_cast<float>(__nv_fp8_e4m3(17)) == 16);
  CHECK(static_cast<float>(__nv_fp8_e4m3(19LL)) == 20);
  CHECK(static_cast<float>(__nv_fp8_e4m3(~0ULL)) == 448);
  CHECK(static_cast<float>(__nv_fp8_e5m2(static_cast<short>(-32768))) == -32768);
  CHECK(static_cast<int>(__nv_fp8_e4m3(-2.75F)) == -2);
  CHECK(static_cast<unsigned>(__nv_fp8_e4m3(-2.75F)) == 0);
  CHECK(static_cast<signed char>(__nv_fp8_e4m3(448.0F)) == 127);
  CHECK(static_cast<unsigned char>(__nv_fp8_e5m2(-1.0F)) == 0);
  CHECK(static_cast<short>(__nv_fp8_e5m2(57344.0F)) == 32767);
  const auto infinity = from_code<__nv_fp8_e5m2>(0xfc);
  CHECK(static_cast<int>(infinity) == std::numeric_limits<int>::min());
  CHECK(static_cast<unsigned long long>(from_code<__nv_fp8_e5m2>(0x7c)) == ~0ULL);
  const auto nan = from_code<__nv_fp8_e4m3>(0xff);
  CHECK(static_cast<int>(nan) == 0);
  CHECK(static_cast<unsigned char>(nan) == 0);
  CHECK(static_cast<unsigned long>(nan) == 1UL << 63);
}

// --------------------------------------------------------------------------------------------------------------- E8M0

/// The least scale that is not below a value's size, or the greatest that is not above it, by going through them.
unsigned scale_of(double value, __nv_saturation_t saturation, cudaRoundMode rounding) {
  const double size = std::fabs(value);
  unsigned code = 0;
  if (rounding == cudaRoundPosInf) {
    while (code < 255 && std::ldexp(1.0, static_cast<int>(code) - 127) < size) ++code;
  } else {
    while (code < 255 && std::ldexp(1.0, static_cast<int>(code) - 126) <= size) ++code;
  }
  return code == 255 && saturation == __NV_SATFINITE ? 254 : code;
}

TEST_CASE("every scale has its value, and every bfloat16 its scale") {
  int wrong = 0;
  for (unsigned code = 0; code < 256; ++code) {
    const auto scale = from_code<__nv_fp8_e8m0>(code);
    const double value = code == 255 ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127);
    wrong += !is_same(static_cast<float>(scale), value) || !is_same(static_cast<__nv_bfloat16>(scale).wide(), value) ||
             !is_same(static_cast<half>(scale).wide(), half(value).wide()) || !static_cast<bool>(scale);
    wrong += __nv_fp8_e8m0(static_cast<float>(scale)).__x != code || __nv_fp8_e8m0(-value).__x != code;
    wrong += __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(code)).x !=
             (code == 255 ? 0x7fff : __nv_bfloat16(value).bits());
  }
  CHECK(wrong == 0);
  for (const cudaRoundMode rounding : {cudaRoundZero, cudaRoundPosInf}) {
    for (const __nv_saturation_t saturation : kSaturations) {
      for (unsigned bits = 0; bits < 65536; ++bits) {
        const __nv_bfloat16 value = bfloat16_of(bits);
        const unsigned expected = __hisnan(value) ? 255 : scale_of(value.wide(), saturation, rounding);
        wrong += __nv_cvt_bfloat16raw_to_e8m0(value, saturation, rounding) != expected;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("scales of floats, doubles and integers") {
  CHECK(+__nv_fp8_e8m0(1.0F).__x == 127);
  CHECK(+__nv_fp8_e8m0(1.0F + 0x1p-23F).__x == 128);
  CHECK(+__nv_fp8_e8m0(1.0 + 0x1p-52).__x == 128);
  CHECK(+__nv_cvt_double_to_e8m0(2.0 - 0x1p-52, __NV_SATFINITE, cudaRoundZero) == 127);
  CHECK(+__nv_cvt_double_to_e8m0(1e300, __NV_NOSAT, cudaRoundPosInf) == 255);
  CHECK(+__nv_cvt_double_to_e8m0(1e300, __NV_NOSAT, cudaRoundZero) == 254);
  CHECK(+__nv_cvt_float_to_e8m0(HUGE_VALF, __NV_NOSAT, cudaRoundZero) == 255);
  CHECK(+__nv_fp8_e8m0(HUGE_VALF).__x == 254);
  CHECK(+__nv_fp8_e8m0(0).__x == 0);
  CHECK(+__nv_fp8_e8m0((1LL << 62) + 1).__x == 127 + 63);
  CHECK(+__nv_fp8_e8m0(-4).__x == 129);
  CHECK(static_cast<int>(__nv_fp8_e8m0(0.5F)) == 0);
  CHECK(static_cast<int>(from_code<__nv_fp8_e8m0>(254)) == std::numeric_limits<int>::max());
}

// --------------------------------------------------------------------------------------------------- pairs and kernels

TEST_CASE("pairs and fours have their first number in the lowest byte") {
  constexpr unsigned kPair = 0xc038;  // 1, -2
  constexpr unsigned kFour = 0x7e30c038;
  CHECK(__nv_fp8x2_e4m3(float2{1, -2}).__x == kPair);
  CHECK(__nv_fp8x2_e4m3(double2{1, -2}).__x == kPair);
  CHECK(__nv_fp8x2_e4m3(half2(1, -2)).__x == kPair);
  CHECK(__nv_fp8x2_e4m3(__nv_bfloat162(1, -2)).__x == kPair);
  CHECK(__nv_fp8x4_e4m3(float4{1, -2, 0.5F, 1e9F}).__x == kFour);
  CHECK(__nv_fp8x4_e4m3(double4{1, -2, 0.5, 1e9}).__x == kFour);
  CHECK(__nv_fp8x4_e4m3(double4_16a{1, -2, 0.5, 1e9}).__x == kFour);
  CHECK(__nv_fp8x4_e4m3(double4_32a{1, -2, 0.5, 1e9}).__x == kFour);
  CHECK(__nv_fp8x4_e4m3(half2(1, -2), half2(0.5F, 60000)).__x == kFour);
  CHECK(__nv_fp8x4_e4m3(__nv_bfloat162(1, -2), __nv_bfloat162(0.5F, 1e9F)).__x == kFour);
  CHECK(__nv_fp8x2_e5m2(float2{1, -2}).__x == 0xc03c);
  CHECK(__nv_fp8x2_e8m0(float2{1, -2}).__x == 0x807f);
  CHECK(__nv_fp8x4_e8m0(float4{1, -2, 3, 0}).__x == 0x0081807f);

  const float4 four(from_code<__nv_fp8x4_e4m3>(kFour));
  CHECK((four.x == 1 && four.y == -2 && four.z == 0.5F && four.w == 448));
  const float2 pair(from_code<__nv_fp8x2_e5m2>(0xc03c));
  CHECK((pair.x == 1 && pair.y == -2));
  const half2 halves(from_code<__nv_fp8x2_e4m3>(kPair));
  CHECK((halves.x.wide() == 1 && halves.y.wide() == -2));
  const __nv_bfloat162 scales(from_code<__nv_fp8x2_e8m0>(0x807f));
  CHECK((scales.x.wide() == 1 && scales.y.wide() == 2));

  CHECK(__nv_cvt_float2_to_fp8x2({1, 1e9F}, __NV_NOSAT, __NV_E4M3) == 0x7f38);
  CHECK(__nv_cvt_double2_to_fp8x2({1, 1e9}, __NV_NOSAT, __NV_E5M2) == 0x7c3c);
  CHECK(__nv_cvt_halfraw2_to_fp8x2(half2(1, -2), __NV_NOSAT, __NV_E4M3) == kPair);
  CHECK(__nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162(1, -2), __NV_NOSAT, __NV_E4M3) == kPair);
  const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(kPair, __NV_E4M3);
  CHECK((raw.x == 0x3c00 && raw.y == 0xc000));
  CHECK(__nv_cvt_float2_to_e8m0x2({3, -3}, __NV_SATFINITE, cudaRoundZero) == 0x8080);
  CHECK(__nv_cvt_double2_to_e8m0x2({3, 1}, __NV_SATFINITE, cudaRoundPosInf) == 0x7f81);
  CHECK(__nv_cvt_bfloat162raw_to_e8m0x2(__nv_bfloat162(3, 1), __NV_SATFINITE, cudaRoundPosInf) == 0x7f81);
  const __nv_bfloat162_raw wide = __nv_cvt_e8m0x2_to_bf162raw(0x807f);
  CHECK((wide.x == 0x3f80 && wide.y == 0x4000));
}

/// Each thread's half to both formats in both ways, and its number's eight bits to float, by way of shared memory.
__global__ void all_halves(uchar4* codes, float2* floats) {
  __shared__ __nv_fp8x4_e4m3 tile[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half_raw raw{static_cast<unsigned short>(i)};
  codes[i] = {__nv_cvt_halfraw_to_fp8(raw, __NV_NOSAT, __NV_E4M3), __nv_fp8_e4m3(half(raw)).__x,
              __nv_cvt_halfraw_to_fp8(raw, __NV_NOSAT, __NV_E5M2), __nv_fp8_e5m2(half(raw)).__x};
  tile[threadIdx.x].__x = threadIdx.x * 0x01010101U;
  __syncthreads();
  const __nv_fp8x4_e4m3 other = tile[255 - threadIdx.x];
  __nv_fp8_e5m2 last;
  last.__x = static_cast<__nv_fp8_storage_t>(other.__x >> 24);
  floats[i] = {float4(other).z, static_cast<float>(last)};
}

TEST_CASE("kernels convert 8-bit numbers as the host does") {
  uchar4* codes = nullptr;
  float2* floats = nullptr;
  REQUIRE(cudaMallocManaged(&codes, 65536 * sizeof(uchar4)) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&floats, 65536 * sizeof(float2)) == cudaSuccess);
  REQUIRE(launch(all_halves, {.grid = 256, .block = 256}, codes, floats) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  int wrong = 0;
  for (unsigned i = 0; i < 65536; ++i) {
    const half value = half_of(i);
    wrong += codes[i].x != __nv_cvt_halfraw_to_fp8(value, __NV_NOSAT, __NV_E4M3);
    wrong += codes[i].y != __nv_cvt_halfraw_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    wrong += codes[i].z != __nv_cvt_halfraw_to_fp8(value, __NV_NOSAT, __NV_E5M2);
    wrong += codes[i].w != __nv_cvt_halfraw_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
    wrong += !is_same(floats[i].x, kE4m3.value(255 - i % 256)) || !is_same(floats[i].y, kE5m2.value(255 - i % 256));
  }
  CHECK(wrong == 0);
  cudaFree(codes);
  cudaFree(floats);
}

}  // namespace
