// The emulator's device functions: atomics, half and bfloat16, integer intrinsics.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;

namespace {

// They can be in shared memory and in unions.
static_assert(std::is_trivially_default_constructible_v<half> && std::is_trivially_copyable_v<half>);
static_assert(std::is_trivially_default_constructible_v<half2> && sizeof(half2) == 4 && alignof(half2) == 4);
static_assert(std::is_trivially_default_constructible_v<__nv_bfloat162> && sizeof(__nv_bfloat162) == 4);
static_assert(sizeof(float3) == 12 && alignof(float4) == 16 && alignof(short4) == 8 && alignof(double2) == 16);

// ----------------------------------------------------------------------------------------------------------------
// atomics

struct Totals {
  int add, sub, minimum, maximum, bits_and, bits_or, bits_xor;
  unsigned increments, decrements;
  unsigned long long wide;
  float single;
  double twice;
  half halves;
  half2 pair;
  __nv_bfloat16 brain;
  float2 two;
  alignas(16) float4 four;
  unsigned short ticket;
};

__global__ void atomics(Totals* t) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&t->add, i);
  atomicSub(&t->sub, 2);
  atomicMin(&t->minimum, i - 100);
  atomicMax(&t->maximum, i);
  atomicAnd(&t->bits_and, ~(1 << (i % 8)));
  atomicOr(&t->bits_or, 1 << (i % 16));
  atomicXor(&t->bits_xor, i);
  atomicInc(&t->increments, 6U);
  atomicDec(&t->decrements, 6U);
  atomicAdd(&t->wide, 1ULL << 33);
  atomicAdd(&t->single, 0.5F);
  atomicAdd_block(&t->twice, 0.25);
  if (i < 1000) {
    atomicAdd(&t->halves, half(1));
    atomicAdd(&t->pair, half2(half(1), half(0.5F)));
  }
  if (i < 200) atomicAdd(&t->brain, __nv_bfloat16(1));
  atomicAdd(&t->two, float2{1, 2});
  atomicAdd(&t->four, float4{1, 2, 3, 4});
  unsigned short seen = t->ticket;
  for (;;) {
    const unsigned short found = atomicCAS(&t->ticket, seen, static_cast<unsigned short>(seen + 1));
    if (found == seen) break;
    seen = found;
  }
}

TEST_CASE("atomics of every type, from all blocks at once") {
  Totals* t = nullptr;
  REQUIRE(cudaMallocManaged(&t, sizeof(Totals)) == cudaSuccess);
  *t = Totals{};
  t->bits_and = 0xffff;
  REQUIRE(launch(atomics, {.grid = 64, .block = 128}, t) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  constexpr int kCount = 64 * 128;
  CHECK(t->add == kCount * (kCount - 1) / 2);
  CHECK(t->sub == -2 * kCount);
  CHECK(t->minimum == -100);
  CHECK(t->maximum == kCount - 1);
  CHECK(t->bits_and == 0xff00);
  CHECK(t->bits_or == 0xffff);
  CHECK(t->bits_xor == 0);
  CHECK(t->increments == kCount % 7);
  CHECK(t->decrements == (7 - kCount % 7) % 7);
  CHECK(t->wide == (1ULL << 33) * kCount);
  CHECK(t->single == kCount * 0.5F);
  CHECK(t->twice == kCount * 0.25);
  CHECK(static_cast<float>(t->halves) == 1000);
  CHECK(__low2float(t->pair) == 1000);
  CHECK(__high2float(t->pair) == 500);
  CHECK(static_cast<float>(t->brain) == 200);
  CHECK(t->two.y == 2 * kCount);
  CHECK(t->four.w == 4 * kCount);
  CHECK(t->ticket == kCount);
  cudaFree(t);
}

// ------------------------------------------------------------------------------------------------------- half and
// bfloat16

/// The value of a narrow type nearest to an exact one, by searching among the neighbours of a first guess.
template <class T> bool nearest_to(T result, long double exact) {
  const auto distance = [&](T x) { return std::fabs(static_cast<long double>(x.wide()) - exact); };
  const auto step = [&](int by) { return T::from_bits(static_cast<std::uint16_t>(result.bits() + by)); };
  if (!std::isfinite(result.wide())) return std::isinf(result.wide());
  for (const int by : {-1, 1}) {
    const T other = step(by);
    if (!std::isfinite(other.wide())) continue;
    if (distance(other) < distance(result)) return false;
    if (distance(other) == distance(result) && other.wide() != result.wide() && result.bits() % 2 != 0) return false;
  }
  return true;
}

template <class T> void check_rounding() {
  std::mt19937 random(20240);
  int wrong = 0;
  int checked = 0;
  for (int i = 0; i < 200000; ++i) {
    const T a = T::from_bits(static_cast<std::uint16_t>(random()));
    const T b = T::from_bits(static_cast<std::uint16_t>(random()));
    const T c = T::from_bits(static_cast<std::uint16_t>(random()));
    if (!std::isfinite(a.wide()) || !std::isfinite(b.wide()) || !std::isfinite(c.wide())) continue;
    const long double x = a.wide();
    const long double y = b.wide();
    ++checked;
    wrong += !nearest_to(a + b, x + y);
    wrong += !nearest_to(a - b, x - y);
    wrong += !nearest_to(a * b, x * y);
    if (y != 0) wrong += !nearest_to(a / b, x / y);
    if (x >= 0) wrong += !nearest_to(hsqrt(a), std::sqrt(x));
  }
  CHECK(checked > 100000);
  CHECK(wrong == 0);
}

TEST_CASE("half and bfloat16 round to nearest after every operation") {
  check_rounding<half>();
  check_rounding<__nv_bfloat16>();
}

TEST_CASE("a fused multiply-add rounds once") {
  std::mt19937 random(7);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const half a = half::from_bits(static_cast<std::uint16_t>(random()));
    const half b = half::from_bits(static_cast<std::uint16_t>(random()));
    const half c = half::from_bits(static_cast<std::uint16_t>(random()));
    if (!std::isfinite(a.wide()) || !std::isfinite(b.wide()) || !std::isfinite(c.wide())) continue;
    wrong += !nearest_to(__hfma(a, b, c), static_cast<long double>(a.wide()) * static_cast<long double>(b.wide()) +
                                              static_cast<long double>(c.wide()));
  }
  CHECK(wrong == 0);
  // 1 + 3/1024 squared is 1 + 6/1024 + 9/1024^2: rounding the product first loses the last term.
  const half x = half::from_bits(0x3c03);
  CHECK(__half_as_ushort(__hfma(x, x, half(-1.0F))) != __half_as_ushort(x * x - half(1.0F)));
}

TEST_CASE("conversions of half") {
  CHECK(__half_as_ushort(__float2half(65519.0F)) == 0x7bff);  // rounds down to the greatest
  CHECK(__hisinf(__float2half(65520.0F)) == 1);
  CHECK(__half_as_ushort(__float2half_rz(1e9F)) == 0x7bff);
  CHECK(__half_as_ushort(__float2half_ru(1e-9F)) == 1);
  CHECK(__half_as_ushort(__float2half_rd(-1e-9F)) == 0x8001);
  CHECK(__half_as_ushort(half(1.0 + 0x1p-11 + 0x1p-40)) == 0x3c01);  // by way of float it would be a tie
  CHECK(__half2int_rn(half(2.5F)) == 2);
  CHECK(__half2int_rz(half(-2.5F)) == -2);
  CHECK(__half2uint_rz(half(-3.0F)) == 0);
  CHECK(__half2int_rd(half(-2.5F)) == -3);
  CHECK(static_cast<float>(half(2049)) == 2048);
  CHECK(static_cast<float>(__nv_bfloat16((1ULL << 60) + (1ULL << 52) + 1)) == 0x1p60F + 0x1p53F);
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const half h = half::from_bits(static_cast<std::uint16_t>(bits));
    if (__hisnan(h)) continue;
    if (__half_as_ushort(__float2half(__half2float(h))) != bits) FAIL(bits);
  }
}

TEST_CASE("minimum, maximum and comparisons of half") {
  const half nan = half::from_bits(0x7e00);
  const half one(1.0F);
  CHECK(static_cast<float>(__hmin(nan, one)) == 1);
  CHECK(static_cast<float>(__hmax(one, nan)) == 1);
  CHECK(__hisnan(__hmax_nan(one, nan)));
  CHECK(__half_as_ushort(__hmin(half::from_bits(0), half::from_bits(0x8000))) == 0x8000);
  CHECK(__half_as_ushort(__hmax(half::from_bits(0x8000), half::from_bits(0))) == 0);
  CHECK_FALSE(nan == nan);
  CHECK(nan != one);
  CHECK_FALSE(__hne(nan, one));
  CHECK(__hneu(nan, one));
  CHECK(__hltu(nan, one));
  CHECK_FALSE(__hlt(nan, one));
  const half2 pair = __heq2(half2(one, nan), half2(one, one));
  CHECK(__low2float(pair) == 1);
  CHECK(__high2float(pair) == 0);
}

__global__ void half_kernel(half2* values) {
  __shared__ half2 tile[32];
  tile[threadIdx.x] = __ldg(values + threadIdx.x);
  __syncthreads();
  const half2 other = tile[31 - threadIdx.x];
  const half2 neighbour = __shfl_down_sync(~0U, other, 1);
  values[threadIdx.x] = __hadd2(__lowhigh2highlow(other), __hmul2(neighbour, __float2half2_rn(2.0F)));
}

TEST_CASE("half2 in kernels: shared memory, loads, shuffles") {
  half2* values = nullptr;
  REQUIRE(cudaMallocManaged(&values, 32 * sizeof(half2)) == cudaSuccess);
  for (int i = 0; i < 32; ++i) values[i] = __floats2half2_rn(static_cast<float>(i), static_cast<float>(100 + i));
  REQUIRE(launch(half_kernel, {.grid = 1, .block = 32}, values) == cudaSuccess);
  for (int i = 0; i < 32; ++i) {
    const int from = 31 - i;
    const int next = i < 31 ? from - 1 : from;
    CHECK(__low2float(values[i]) == static_cast<float>(100 + from + 2 * next));
    CHECK(__high2float(values[i]) == static_cast<float>(from + 2 * (100 + next)));
  }
  cudaFree(values);
}

// ------------------------------------------------------------------------------------------------------ integer
// intrinsics

TEST_CASE("integer intrinsics") {
  CHECK(__popc(0xf0f0U) == 8);
  CHECK(__clz(1) == 31);
  CHECK(__clz(0) == 32);
  CHECK(__clzll(0) == 64);
  CHECK(__ffs(0) == 0);
  CHECK(__ffsll(1LL << 40) == 41);
  CHECK(__brev(1U) == 0x80000000U);
  CHECK(__brevll(2ULL) == 1ULL << 62);
  CHECK(__byte_perm(0x33221100U, 0x77665544U, 0x7531U) == 0x77553311U);
  CHECK(__byte_perm(0x80U, 0U, 0x8888U) == 0xffffffffU);
  CHECK(__umulhi(0xffffffffU, 0xffffffffU) == 0xfffffffeU);
  CHECK(__mulhi(-1, 1) == -1);
  CHECK(__umul64hi(~0ULL, ~0ULL) == ~0ULL - 1);
  CHECK(__mul64hi(-1LL, 2LL) == -1);
  CHECK(__funnelshift_l(0x80000000U, 1U, 1U) == 3U);
  CHECK(__funnelshift_r(0x80000000U, 1U, 31U) == 3U);
  CHECK(__funnelshift_l(1U, 2U, 32U) == 2U);
  CHECK(__funnelshift_lc(1U, 2U, 32U) == 1U);
  CHECK(__funnelshift_rc(1U, 2U, 33U) == 2U);
  CHECK(__dp4a(static_cast<int>(0xff01ff01U), 0x02020202, 5) == 5);
  CHECK(__dp4a(0xff01ff01U, 0x02020202U, 5U) == 5U + 2U * 512U);

  CHECK(__vadd4(0x01ff80ffU, 0x02018001U) == 0x03000000U);
  CHECK(__vaddss4(0x017f80ffU, 0x02018001U) == 0x037f8000U);
  CHECK(__vaddus2(0x0001ffffU, 0x00020001U) == 0x0003ffffU);
  CHECK(__vsubus4(0x05050505U, 0x06040001U) == 0x00010504U);
  CHECK(__vsubss2(0x80000001U, 0x00010002U) == 0x8000ffffU);
  CHECK(__vabsdiffu4(0x05ff0001U, 0x06000001U) == 0x01ff0000U);
  CHECK(__vabs2(0x8000ffffU) == 0x80000001U);
  CHECK(__vabsss2(0x8000ffffU) == 0x7fff0001U);
  CHECK(__vavgu4(0x01020304U, 0x02020202U) == 0x02020303U);
  CHECK(__vhaddu2(0x00010003U, 0x00020003U) == 0x00010003U);
  CHECK(__vmaxs4(0x80ff017fU, 0x00000000U) == 0x0000017fU);
  CHECK(__vcmpgtu4(0x80ff017fU, 0x01010101U) == 0xffff00ffU);
  CHECK(__vcmpgts4(0x80ff017fU, 0x01010101U) == 0x000000ffU);
  CHECK(__vseteq2(0x00010002U, 0x00010003U) == 0x00010000U);
  CHECK(__vnegss4(0x80010200U) == 0x7ffffe00U);
  CHECK(__fns(0x111U, 0, 2) == 4U);
  CHECK(__fns(0x111U, 31, -1) == 8U);
  CHECK(__fns(0x111U, 9, 1) == ~0U);
  CHECK(__mul24(0x00ffffff, 2) == -2);
  CHECK(__umul24(0x01000003U, 2U) == 6U);
  CHECK(__float_as_int(1.0F) == 0x3f800000);
  CHECK(__hiloint2double(0x3ff00000, 0) == 1.0);
  CHECK(min(-1, 2U) == 2U);  // as in CUDA: -1 is the greatest unsigned value
  CHECK(max(1.0F, 2.0) == 2.0);
}

TEST_CASE("conversions that do not fit go to the nearest") {
  CHECK(__float2int_rz(3e9F) == 2147483647);
  CHECK(__float2int_rn(-3e9F) == -2147483647 - 1);
  CHECK(__float2uint_rz(-1.0F) == 0);
  CHECK(__float2uint_rz(5e9F) == 0xffffffffU);
  CHECK(__float2int_rn(NAN) == 0);
  CHECK(__float2ll_rn(NAN) == static_cast<long long>(1ULL << 63));
  CHECK(__double2int_rd(-1.5) == -2);
  CHECK(__double2ull_rz(1e30) == ~0ULL);
  CHECK(__float2int_rn(2.5F) == 2);
  CHECK(__float2int_ru(2.1F) == 3);
}

/// True where `down` and `up` enclose what `exact` is between, with nothing between them.
template <class T> bool encloses(T down, T nearest, T up, T to_zero, long double exact) {
  const bool tight = down == up ? down == exact : std::nextafter(down, T(INFINITY)) == up;
  return tight && down <= exact && exact <= up && (nearest == down || nearest == up) &&
         to_zero == (exact < 0 ? up : down);
}

TEST_CASE("operations and conversions in all four roundings") {
  std::mt19937_64 random(7);
  // Within so many bits that a long double, or on arm64 more, has every sum and product.
  const auto any = [&] { return static_cast<float>(static_cast<std::int32_t>(random() >> 33) - (1 << 30)) * 0x1p-20F; };
  bool right = true;
  for (int i = 0; i < 10000; ++i) {
    const float x = any();
    const float y = any();
    const float z = std::abs(any());
    const long double w = x;
    right = right && encloses(__fadd_rd(x, y), __fadd_rn(x, y), __fadd_ru(x, y), __fadd_rz(x, y), w + y);
    right = right && encloses(__fsub_rd(x, y), __fsub_rn(x, y), __fsub_ru(x, y), __fsub_rz(x, y), w - y);
    right = right && encloses(__fmul_rd(x, y), __fmul_rn(x, y), __fmul_ru(x, y), __fmul_rz(x, y), w * y);
    // An exact quotient has no end, but none lies so near to a float that a long double would not tell.
    right = right && encloses(__fdiv_rd(x, y), __fdiv_rn(x, y), __fdiv_ru(x, y), __fdiv_rz(x, y), w / y);
    right = right && encloses(__fsqrt_rd(z), __fsqrt_rn(z), __fsqrt_ru(z), __fsqrt_rz(z),
                              std::sqrt(static_cast<long double>(z)));
    const double d = x * 0x1.23456789abcp0;
    right =
        right && encloses(__double2float_rd(d), __double2float_rn(d), __double2float_ru(d), __double2float_rz(d), d);
    const auto n = static_cast<long long>(random());
    right = right && encloses(__ll2float_rd(n), __ll2float_rn(n), __ll2float_ru(n), __ll2float_rz(n), n);
    right = right && encloses(__ll2double_rd(n), __ll2double_rn(n), __ll2double_ru(n), __ll2double_rz(n), n);
    const auto u = random();
    right = right && encloses(__ull2float_rd(u), __ull2float_rn(u), __ull2float_ru(u), __ull2float_rz(u), u);
    const auto k = static_cast<unsigned>(u);
    right = right && encloses(__uint2float_rd(k), __uint2float_rn(k), __uint2float_ru(k), __uint2float_rz(k), k);
  }
  CHECK(right);
  CHECK(__fmaf_ru(1.0F + 0x1p-23F, 1.0F + 0x1p-23F, 0.0F) == 1.0F + 0x1p-21F + 0x1p-23F - 0x1p-22F);
  CHECK(__fma_rd(1.0 + 0x1p-52, 1.0 + 0x1p-52, 0.0) == 1.0 + 0x1p-51);
  CHECK(__dadd_ru(1.0, 0x1p-80) == 1.0 + 0x1p-52);
  CHECK(__dsub_rz(1.0, 0x1p-80) == 1.0 - 0x1p-53);
  CHECK(__drcp_rd(3.0) < __drcp_ru(3.0));
  CHECK(__fmul_rz(3e38F, 10.0F) == std::numeric_limits<float>::max());
  CHECK(std::isinf(__fmul_ru(3e38F, 10.0F)));
  CHECK(std::signbit(__fsub_rd(1.0F, 1.0F)));
  CHECK(1.0F / 3.0F == __fdiv_rn(1.0F, 3.0F));  // All others are rounded as before.
}

TEST_CASE("DPX, and sums of differences") {
  CHECK(__vimax3_s32(-5, 3, 1) == 3);
  CHECK(__vimin3_s32_relu(-5, 3, 1) == 0);
  CHECK(__viaddmax_s32(2147483647, 1, -7) == -7);
  CHECK(__viaddmin_u32(5U, 6U, 12U) == 11U);
  CHECK(__viaddmax_s16x2(0x7fff0001U, 0x00010001U, 0xfff00003U) == 0xfff00003U);
  CHECK(__viaddmax_s16x2_relu(0x7fff0001U, 0x00010001U, 0xfff00001U) == 0x00000002U);
  CHECK(__vimin3_u16x2(0x00058000U, 0x00047fffU, 0x00060001U) == 0x00040001U);
  bool high = false;
  bool low = true;
  CHECK(__vibmax_s16x2(0x0001ffffU, 0x00010000U, &high, &low) == 0x00010000U);
  CHECK((high && !low));
  CHECK(__vibmin_s32(4, 4, &low) == 4);
  CHECK(low);
  CHECK(__vsads4(0x80000000U, 0x7f000001U) == 256U);
  CHECK(__vsadu2(0x00050001U, 0x00010003U) == 6U);
  CHECK(__vavgs2(0xffff0001U, 0xfffe0002U) == 0xfffe0002U);
}

__global__ void spaces(unsigned* out, const int* global) {
  __shared__ int shared;
  const int* const dynamic = warpbook::dynamic_shared<int>();
  int own = 0;
  out[0] = __isShared(&shared) + 2 * __isShared(dynamic + 1) + 4 * __isShared(global) + 8 * __isShared(&own);
  out[1] = __isGlobal(&shared) + 2 * __isGlobal(global) + 4 * __isGlobal(&own) + 8 * __isLocal(&own);
}

TEST_CASE("an address tells its space") {
  unsigned* out = nullptr;
  REQUIRE(cudaMallocManaged(&out, 3 * sizeof(unsigned)) == cudaSuccess);
  REQUIRE(launch(spaces, {.grid = 1, .block = 1, .shared_bytes = 8}, out, reinterpret_cast<const int*>(out + 2)) ==
          cudaSuccess);
  CHECK(out[0] == 3);
  CHECK(out[1] == 10);
  cudaFree(out);
}

__global__ void __block_size__((1, 1, 1)) mathematics(float* out) {
  out[0] = rsqrtf(4.0F);
  out[1] = __expf(1.0F);
  out[2] = __powf(2.0F, 10.0F);
  out[3] = __saturatef(1.5F);
  out[4] = sinpif(1.5F);
  out[5] = cospif(0.5F);
  __sincosf(0.0F, out + 6, out + 7);
  out[8] = __fmaf_rn(1.0F + 0x1p-23F, 1.0F + 0x1p-23F, -1.0F);
  out[9] = rnorm3df(2.0F, 3.0F, 6.0F);
  const double legs[] = {3, 4};
  out[10] = static_cast<float>(norm(2, legs) + rnorm(2, legs));
  double worst = 0;
  for (double x = -2; x <= 2; x += 0.125)
    worst = fmax(worst, fabs(erfinv(erf(x)) - x) + fabs(erfcinv(erfc(x)) - x) + fabs(normcdfinv(normcdf(x)) - x) +
                            fabs(erfcx(x) - exp(x * x) * erfc(x)));
  out[11] = static_cast<float>(worst);
  out[12] = cyl_bessel_i0f(1) + cyl_bessel_i1f(1);
}

TEST_CASE("mathematics") {
  float* out = nullptr;
  REQUIRE(cudaMallocManaged(&out, 13 * sizeof(float)) == cudaSuccess);
  REQUIRE(launch(mathematics, {.grid = 1, .block = 1}, out) == cudaSuccess);
  CHECK(out[0] == 0.5F);
  CHECK(out[1] == Approx(2.7182818F));
  CHECK(out[2] == 1024);
  CHECK(out[3] == 1);
  CHECK(out[4] == -1);
  CHECK(out[5] == 0);
  CHECK(out[6] == 0);
  CHECK(out[7] == 1);
  CHECK(out[8] == 0x1p-22F + 0x1p-46F);
  CHECK(out[9] == Approx(1.0F / 7));
  CHECK(out[10] == Approx(5.2F));
  CHECK(out[11] < 1e-12F);
  CHECK(out[12] == Approx(1.26606588F + 0.56515910F));
  cudaFree(out);
}

}  // namespace
