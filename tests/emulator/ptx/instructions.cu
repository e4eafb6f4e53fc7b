// Inline PTX, each instruction beside what the host makes of the same values.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfenv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

using u32 = unsigned;
using u64 = unsigned long long;

static int bad = 0;

static void check(bool right, const char* what, int i) {
  if (!right && bad++ < 20) std::printf("wrong: %s, value %d\n", what, i);
}

constexpr int kValues = 64;

// ---- 32 and 64 bits: NAME(text, expression of a, b, c)

#define WORDS(OP)                                                                                                      \
  OP("add.u32 %0, %1, %2;", a + b)                                                                                     \
  OP("sub.s32 %0, %1, %2;", a - b)                                                                                     \
  OP("mul.lo.u32 %0, %1, %2;", a* b)                                                                                   \
  OP("mul.hi.u32 %0, %1, %2;", u32(u64(a) * b >> 32))                                                                  \
  OP("mul.hi.s32 %0, %1, %2;", u32((long long)int(a) * int(b) >> 32))                                                  \
  OP("mad.lo.s32 %0, %1, %2, %3;", a* b + c)                                                                           \
  OP("mad.hi.u32 %0, %1, %2, %3;", u32(u64(a) * b >> 32) + c)                                                          \
  OP("add.sat.s32 %0, %1, %2;", saturated((long long)int(a) + int(b)))                                                 \
  OP("min.s32 %0, %1, %2;", int(a) < int(b) ? a : b)                                                                   \
  OP("max.u32 %0, %1, %2;", a > b ? a : b)                                                                             \
  OP("neg.s32 %0, %1;", 0 - a)                                                                                         \
  OP("abs.s32 %0, %1;", int(a) < 0 ? 0 - a : a)                                                                        \
  OP("sad.u32 %0, %1, %2, %3;", (a > b ? a - b : b - a) + c)                                                           \
  OP("div.u32 %0, %1, 7;", a / 7)                                                                                      \
  OP("rem.s32 %0, %1, 10;", u32(int(a) % 10))                                                                          \
  OP("and.b32 %0, %1, %2;", a& b)                                                                                      \
  OP("or.b32 %0, %1, %2;", a | b)                                                                                      \
  OP("xor.b32 %0, %1, 0x5a5a;", a ^ 0x5a5a)                                                                            \
  OP("not.b32 %0, %1;", ~a)                                                                                            \
  OP("cnot.b32 %0, %1;", a == 0)                                                                                       \
  OP("shl.b32 %0, %1, %3;", c > 31 ? 0 : a << c)                                                                       \
  OP("shr.u32 %0, %1, %3;", c > 31 ? 0 : a >> c)                                                                       \
  OP("shr.s32 %0, %1, %3;", u32(int(a) >> (c > 31 ? 31 : c)))                                                          \
  OP("shl.b32 %0, %1, 40;", 0)                                                                                         \
  OP("shf.l.wrap.b32 %0, %1, %2, %3;", u32((u64(b) << 32 | a) << (c & 31) >> 32))                                      \
  OP("shf.r.clamp.b32 %0, %1, %2, %3;", c >= 32 ? b : u32((u64(b) << 32 | a) >> c))                                    \
  OP("lop3.b32 %0, %1, %2, %3, 0xe2;", logic(a, b, c, 0xe2))                                                           \
  OP("lop3.b32 %0, %1, %2, %3, 0x96;", a ^ b ^ c)                                                                      \
  OP("prmt.b32 %0, %1, %2, 0x5410;", (a & 0xffff) | b << 16)                                                           \
  OP("prmt.b32 %0, %1, %2, %3;", permuted(a, b, c))                                                                    \
  OP("bfe.u32 %0, %1, %2, %3;", extracted(a, b & 255, c & 255))                                                        \
  OP("bfe.u32 %0, %1, 8, 8;", a >> 8 & 255)                                                                            \
  OP("bfe.s32 %0, %1, 4, 8;", u32(int(a << 20) >> 24))                                                                 \
  OP("bfe.s32 %0, %1, 28, 8;", u32(int(a) >> 28))                                                                      \
  OP("bfi.b32 %0, %1, %2, 8, 12;", (b & ~0xfff00u) | (a << 8 & 0xfff00u))                                              \
  OP("bfi.b32 %0, %1, %2, 30, 12;", (b & 0x3fffffffu) | a << 30)                                                       \
  OP("bfind.u32 %0, %1;", a == 0 ? ~0u : 31u - __builtin_clz(a))                                                       \
  OP("brev.b32 %0, %1;", reversed(a))                                                                                  \
  OP("popc.b32 %0, %1;", u32(__builtin_popcount(a)))                                                                   \
  OP("clz.b32 %0, %1;", a == 0 ? 32u : u32(__builtin_clz(a)))                                                          \
  OP("dp4a.u32.u32 %0, %1, %2, %3;", dotted(a, b, c))                                                                  \
  OP("cvt.u32.u8 %0, %1;", a & 255)                                                                                    \
  OP("cvt.s32.s8 %0, %1;", u32(int(a << 24) >> 24))                                                                    \
  OP("cvt.sat.u8.s32 %0, %1;", int(a) < 0 ? 0 : int(a) > 255 ? 255 : a)                                                \
  OP("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %3, p; }", int(a) < int(b) ? a : c)                      \
  OP("{ .reg .pred p, q; setp.hi.u32 p|q, %1, %2; @p mov.b32 %0, 1; @q mov.b32 %0, 2; }", a > b ? 1 : 2)               \
  OP("{ .reg .pred p; setp.eq.u32 p, %1, %2; setp.ne.or.u32 p, %3, 0, p; @!p bra END%=; mov.u32 %0, 5; bra OUT%=;\n"   \
     "END%=: mov.u32 %0, 6; OUT%=: }",                                                                                 \
     a == b || c != 0 ? 5 : 6)                                                                                         \
  OP("{ .reg .u32 n; .reg .pred p; mov.u32 %0, 0; mov.u32 n, 5; MORE%=: add.u32 %0, %0, %1; sub.u32 n, n, 1;\n"        \
     "  setp.ne.u32 p, n, 0; @p bra MORE%=; }  // a comment",                                                          \
     5 * a)                                                                                                            \
  OP("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }", a << 16 | a >> 16)                                 \
  OP("{ .reg .u32 t<3>; mov.u32 t1, %1; { .reg .u32 t1; mov.u32 t1, 3; } add.u32 %0, t1, 1; }", a + 1)                 \
  OP("set.gt.u32.s32 %0, %1, %2;", int(a) > int(b) ? ~0u : 0)

#define LONGS(OP)                                                                                                      \
  OP("add.u64 %0, %1, %2;", a + b)                                                                                     \
  OP("mul.lo.u64 %0, %1, %2;", a* b)                                                                                   \
  OP("mul.hi.u64 %0, %1, %2;", u64((unsigned __int128)a* b >> 64))                                                     \
  OP("shl.b64 %0, %1, 33;", a << 33)                                                                                   \
  OP("{ .reg .u32 l, h; mov.b64 {l, h}, %1; mov.b64 %0, {h, l}; }", a << 32 | a >> 32)                                 \
  OP("{ .reg .u32 l; cvt.u32.u64 l, %1; mul.wide.s32 %0, l, -3; }", u64((long long)int(a) * -3))                       \
  OP("{ .reg .u32 l; cvt.u32.u64 l, %1; mad.wide.u32 %0, l, l, %2; }", u64(u32(a)) * u32(a) + b)                       \
  OP("{ .reg .u32 al, ah, bl, bh; mov.b64 {al, ah}, %1; mov.b64 {bl, bh}, %2; add.cc.u32 al, al, bl;\n"                \
     "  addc.u32 ah, ah, bh; mov.b64 %0, {al, ah}; }",                                                                 \
     a + b)                                                                                                            \
  OP("{ .reg .u32 al, ah, bl, bh; mov.b64 {al, ah}, %1; mov.b64 {bl, bh}, %2; sub.cc.u32 al, al, bl;\n"                \
     "  subc.u32 ah, ah, bh; mov.b64 %0, {al, ah}; }",                                                                 \
     a - b)                                                                                                            \
  OP("{ .reg .u32 n; popc.b64 n, %1; cvt.u64.u32 %0, n; }", u64(__builtin_popcountll(a)))                              \
  OP("max.s64 %0, %1, %2;", (long long)a > (long long)b ? a : b)

static u32 saturated(long long x) { return u32(x > INT_MAX ? INT_MAX : x < INT_MIN ? INT_MIN : x); }
static u32 logic(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (int i = 0; i < 32; ++i) result |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
  return result;
}
static u32 permuted(u32 a, u32 b, u32 selector) {
  unsigned char bytes[8];
  std::memcpy(bytes, &a, 4);
  std::memcpy(bytes + 4, &b, 4);
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    const u32 byte = nibble & 8 ? (bytes[nibble & 7] & 128 ? 255 : 0) : bytes[nibble];
    result |= byte << 8 * i;
  }
  return result;
}
static u32 extracted(u32 a, u32 from, u32 length) {
  u32 result = 0;
  for (u32 i = 0; i < length && i < 32 && from + i < 32; ++i) result |= (a >> (from + i) & 1) << i;
  return result;
}
static u32 reversed(u32 a) {
  u32 result = 0;
  for (int i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
  return result;
}
static u32 dotted(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
  return c;
}

__global__ void words(u32* out, const u32* in) {
  const u32 a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
  u32 result;
#define OP(text, expression)                                                                                           \
  asm volatile(text : "=r"(result) : "r"(a), "r"(b), "r"(c));                                                          \
  *out = result, out += kValues;
  out += threadIdx.x;
  WORDS(OP)
#undef OP
}
__global__ void longs(u64* out, const u64* in) {
  const u64 a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
  u64 result;
#define OP(text, expression)                                                                                           \
  asm volatile(text : "=l"(result) : "l"(a), "l"(b));                                                                  \
  *out = result, out += kValues;
  out += threadIdx.x;
  LONGS(OP)
#undef OP
}

static void integers() {
  const u32 edges[] = {0, 1, 2, 7, 31, 32, 33, 255, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678};
  std::vector<u32> in(4 * kValues);
  u32 seed = 1;
  for (u32& one : in) one = (seed = seed * 1664525 + 1013904223) >> 28 ? seed : edges[seed % 12];
  for (int i = 0; i < 4 * kValues; i += 2) in[i] = edges[i / 2 % 12];
  for (int i = 0; i < kValues; ++i) in[3 * i + 2] = i % 4 == 1 ? i / 2 + 8 : i % 4 == 3 ? i : in[3 * i + 2];
  u32 *d, *values;
  u64* wide;
  constexpr int kMost = 64;
  cudaMallocManaged(&d, kMost * kValues * 4);
  cudaMallocManaged(&wide, kMost * kValues * 8);
  cudaMallocManaged(&values, 4 * kValues * 4);
  std::memcpy(values, in.data(), 4 * kValues * 4);
  words<<<1, kValues>>>(d, values);
  cudaDeviceSynchronize();
  const u32* found = d;
#define OP(text, expression)                                                                                           \
  for (int i = 0; i < kValues; ++i, ++found) {                                                                         \
    const u32 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];                                                     \
    static_cast<void>(a + b + c);                                                                                      \
    check(*found == u32(expression), text, i);                                                                         \
  }
  WORDS(OP)
#undef OP
  longs<<<1, kValues>>>(wide, reinterpret_cast<u64*>(values));
  cudaDeviceSynchronize();
  const u64* found_wide = wide;
#define OP(text, expression)                                                                                           \
  for (int i = 0; i < kValues; ++i, ++found_wide) {                                                                    \
    u64 a, b;                                                                                                          \
    std::memcpy(&a, &in[4 * i], 8);                                                                                    \
    std::memcpy(&b, &in[4 * i + 2], 8);                                                                                \
    check(*found_wide == u64(expression), text, i);                                                                    \
  }
  LONGS(OP)
#undef OP
  cudaFree(d), cudaFree(wide), cudaFree(values);
}

// ---- Floats

#define FLOATS(OP)                                                                                                     \
  OP("add.rn.f32 %0, %1, %2;", a + b, 0)                                                                               \
  OP("sub.f32 %0, %1, %2;", a - b, 0)                                                                                  \
  OP("mul.rn.f32 %0, %1, %2;", a* b, 0)                                                                                \
  OP("fma.rn.f32 %0, %1, %2, 0f3F000000;", std::fma(a, b, 0.5f), 0)                                                    \
  OP("div.rn.f32 %0, %1, %2;", a / b, 0)                                                                               \
  OP("min.f32 %0, %1, %2;", std::fmin(a, b), 0)                                                                        \
  OP("max.NaN.f32 %0, %1, %2;", std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b), 0)                            \
  OP("neg.f32 %0, %1;", -a, 0)                                                                                         \
  OP("abs.f32 %0, %1;", std::fabs(a), 0)                                                                               \
  OP("mul.ftz.f32 %0, %1, 0f3F800000;", std::fabs(a) < 0x1p-126f ? std::copysign(0.f, a) : a, 0)                       \
  OP("add.sat.f32 %0, %1, %2;", a + b > 0 ? std::fmin(a + b, 1.f) : 0.f, 0)                                            \
  OP("sqrt.rn.f32 %0, %1;", std::sqrt(a), 0)                                                                           \
  OP("rcp.approx.ftz.f32 %0, %1;", std::fabs(a) < 0x1p-126f ? std::copysign(INFINITY, a) : 1 / a, 3e-7f)               \
  OP("rsqrt.approx.f32 %0, %1;", 1 / std::sqrt(a), 1e-6f)                                                              \
  OP("ex2.approx.f32 %0, %1;", std::exp2(a), 1e-6f)                                                                    \
  OP("lg2.approx.f32 %0, %1;", std::log2(a), 1e-6f)                                                                    \
  OP("sin.approx.f32 %0, %1;", std::sin(a), 1e-5f)                                                                     \
  OP("cos.approx.f32 %0, %1;", std::cos(a), 1e-5f)                                                                     \
  OP("tanh.approx.f32 %0, %1;", std::tanh(a), 1e-3f)                                                                   \
  OP("add.rz.f32 %0, %1, 0f2F800001;", towards(a, 0x1.000002p-32f, FE_TOWARDZERO, std::plus<>{}), 0)                   \
  OP("mul.rp.f32 %0, %1, %2;", towards(a, b, FE_UPWARD, std::multiplies<>{}), 0)                                       \
  OP("div.rm.f32 %0, %1, %2;", towards(a, b, FE_DOWNWARD, std::divides<>{}), 0)                                        \
  OP("{ .reg .f64 d; cvt.f64.f32 d, %1; add.rm.f64 d, d, 0dBB00000000000000; cvt.rm.f32.f64 %0, d; }",                 \
     below(a), 0)                                                                                                      \
  OP("{ .reg .s32 i; cvt.rzi.s32.f32 i, %1; cvt.rp.f32.s32 %0, i; }", whole(a), 0)                                     \
  OP("cvt.rni.f32.f32 %0, %1;", std::nearbyint(a), 0)                                                                  \
  OP("{ .reg .pred p; setp.ltu.f32 p, %1, %2; selp.f32 %0, %1, %2, p; }", !(a >= b) ? a : b, 0)                        \
  OP("{ .reg .s32 i; cvt.rzi.s32.f32 i, %1; cvt.rn.f32.s32 %0, i; }", whole(a), 0)                                     \
  OP("{ .reg .f64 d; cvt.f64.f32 d, %1; mul.rn.f64 d, d, d; cvt.rn.f32.f64 %0, d; }", float(double(a) * a), 0)         \
  OP("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }", float(_Float16(a)), 0)                               \
  OP("{ .reg .b16 h; cvt.rn.bf16.f32 h, %1; mov.b32 %0, {0, h}; }", brain(a), 0)                                       \
  OP("{ .reg .b32 t; cvt.rna.tf32.f32 t, %1; mov.b32 %0, t; }", tensor(a), 0)                                          \
  OP("{ .reg .b32 t; cvt.rn.f16x2.f32 t, %1, %2; .reg .b16 l, h; mov.b32 {l, h}, t; cvt.f32.f16 %0, h; }",             \
     float(_Float16(a)), 0)                                                                                            \
  OP("{ .reg .b32 x, y; cvt.rn.f16x2.f32 x, %1, %2; fma.rn.f16x2 y, x, x, x; .reg .b16 l, h; mov.b32 {l, h}, y; "      \
     "cvt.f32.f16 %0, l; }",                                                                                           \
     half_fma(b), 0)

static float whole(float a) {
  return std::isnan(a) ? 0.f : a >= 0x1p31f ? 0x1p31f : a <= -0x1p31f ? -0x1p31f : float(int(a));
}
static float from_bits(u32 bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
static u32 to_bits(float value) {
  u32 bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
static float brain(float a) {
  if (std::isnan(a)) return a;
  const u32 bits = to_bits(a);
  return from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}
static float tensor(float a) {
  return std::isnan(a) || std::isinf(a) ? a : from_bits((to_bits(a) + 0x1000) & 0xffffe000);
}
template <class Operation> static float towards(float a, float b, int rounding, Operation operation) {
  std::fesetround(rounding);
  const volatile float x = a, y = b;
  const volatile float result = operation(float(x), float(y));
  std::fesetround(FE_TONEAREST);
  return result;
}
/// What is a little smaller than `a`, rounded down.
static float below(float a) { return a == 0 ? -0x1p-79f : std::isfinite(a) ? std::nextafter(a, -INFINITY) : a; }
static float half_fma(float b) {
  const double h = double(_Float16(b));
  return float(_Float16(h * h + h));
}

__global__ void floats(float* out, const float* in) {
  const float a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
  float result;
#define OP(text, expression, tolerance)                                                                                \
  asm volatile(text : "=f"(result) : "f"(a), "f"(b));                                                                  \
  *out = result, out += kValues;
  out += threadIdx.x;
  FLOATS(OP)
#undef OP
}

static void reals() {
  const float edges[] = {0.f,    -0.f,  1.f,    -1.f, 0.5f,    2.5f,    -3.5f,
                         1e-40f, 1e30f, -1e10f, NAN,  65519.f, 65520.f, 0x1.00fp-3f};
  float *d, *in;
  cudaMallocManaged(&d, 64 * kValues * 4);
  cudaMallocManaged(&in, 2 * kValues * 4);
  for (int i = 0; i < 2 * kValues; ++i) in[i] = i % 3 == 0 ? edges[i / 3 % 14] : (i * 7919 % 1000 - 300) * 0.0173f;
  floats<<<1, kValues>>>(d, in);
  cudaDeviceSynchronize();
  const float* found = d;
#define OP(text, expression, tolerance)                                                                                \
  for (int i = 0; i < kValues; ++i, ++found) {                                                                         \
    const float a = in[2 * i], b = in[2 * i + 1];                                                                      \
    static_cast<void>(a + b);                                                                                          \
    const float expected = expression;                                                                                 \
    const bool near = std::fabs(*found - expected) <= (tolerance) * std::fmax(1.f, std::fabs(expected));               \
    check(std::isnan(expected) ? std::isnan(*found) : *found == expected || near, text, i);                            \
  }
  FLOATS(OP)
#undef OP
  cudaFree(d), cudaFree(in);
}

// ---- Special registers, shuffles, votes: each kernel finds out by C++ whether PTX is right

__global__ void registers(int* wrong) {
  u32 x, y;
  u64 z;
#define IS(name, expression)                                                                                           \
  asm volatile("mov.u32 %0, " name ";" : "=r"(x));                                                                     \
  if (x != u32(expression)) atomicAdd(wrong, 1);
  IS("%%tid.x", threadIdx.x)
  IS("%%tid.y", threadIdx.y)
  asm volatile("mov.u32 %0, %laneid;" : "=r"(x));  // nvcc asks for no second sign
  if (x != (threadIdx.y * blockDim.x + threadIdx.x) % 32) atomicAdd(wrong, 1);
  u32 is34 = 0;
  asm("{\n\t"
      " .reg .pred %p;\n\t"
      " setp.eq.s32 %p, %1, 34;\n\t"
      " @%p mov.s32 %0, 1;\n\t"
      "}"
      : "+r"(is34)
      : "r"(threadIdx.y * blockDim.x + threadIdx.x));  // nor for registers that the asm declares
  if (is34 != (threadIdx.y * blockDim.x + threadIdx.x == 34)) atomicAdd(wrong, 1);
  IS("%%ntid.x", blockDim.x)
  IS("%%ntid.y", blockDim.y)
  IS("%%ctaid.x", blockIdx.x)
  IS("%%nctaid.x", gridDim.x)
  const u32 thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
  IS("%%laneid", lane)
  IS("%%warpid", thread / 32)
  IS("%%nwarpid", blockDim.x * blockDim.y / 32)
  IS("%%lanemask_eq", 1u << lane)
  IS("%%lanemask_lt", (1u << lane) - 1)
  IS("%%lanemask_le", (2u << lane) - 1)
  IS("%%lanemask_gt", ~((2u << lane) - 1))
  IS("%%lanemask_ge", ~((1u << lane) - 1))
  asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%nsmid;" : "=r"(x), "=r"(y));
  if (x >= y) atomicAdd(wrong, 1);
  asm volatile("mov.u64 %0, %%clock64; mov.u32 %1, %%clock;" : "=l"(z), "=r"(x));
  if (z == 0) atomicAdd(wrong, 1);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(z));
  if (z == 0) atomicAdd(wrong, 1);
  unsigned short h = 7;
  asm("mul.lo.u16 %0, %0, %1;" : "+h"(h) : "h"(static_cast<unsigned short>(3)));
  if (h != 21) atomicAdd(wrong, 1);
  double d = 2;
  asm("fma.rn.f64 %0, %1, %2, 0d3FF8000000000000;" : "=d"(d) : "d"(d), "n"(0x4000000000000000));
  const void* generic = wrong;
  asm("cvta.to.global.u64 %0, %1;" : "=l"(z) : "l"(generic));
  if (reinterpret_cast<const void*>(z) != generic) atomicAdd(wrong, 1);
}

__global__ void lanes(int* wrong) {
  const u32 lane = threadIdx.x, value = lane * lane + 1, all = 0xffffffff;
  u32 x, p;
#define SHUFFLE(mode, by, limits)                                                                                      \
  asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }"                  \
               : "=r"(x), "=r"(p)                                                                                      \
               : "r"(value), "r"(by), "r"(limits), "r"(all));
#define EXPECT(source, inside)                                                                                         \
  if (x != u32(source) * u32(source) + 1 || p != u32(inside)) atomicAdd(wrong, 1);
  SHUFFLE("idx", 5, 31)
  EXPECT(5, 1)
  SHUFFLE("up", 3, 0)
  EXPECT(lane < 3 ? lane : lane - 3, lane >= 3)
  SHUFFLE("down", 4, 31)
  EXPECT(lane > 27 ? lane : lane + 4, lane <= 27) SHUFFLE("bfly", 16, 31) EXPECT(lane ^ 16, 1)
      SHUFFLE("down", 2, 7 | 24 << 8) EXPECT(lane % 8 > 5 ? lane : lane + 2, lane % 8 <= 5)  // a width of 8
      SHUFFLE("idx", 9, 7 | 24 << 8) EXPECT(lane / 8 * 8 + 1, 1) SHUFFLE("up", 1, 24 << 8)
          EXPECT(lane % 8 == 0 ? lane : lane - 1, lane % 8 != 0) asm volatile(
              "{ .reg .pred p; setp.lt.u32 p, %1, 10; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(x) : "r"(lane));
  if (x != 0x3ff) atomicAdd(wrong, 1);
  asm volatile(
      "{ .reg .pred p, q, r; setp.lt.u32 p, %1, 10; vote.sync.any.pred q, p, -1; vote.sync.all.pred r, p, -1;\n"
      "selp.u32 %0, 1, 0, q; @r add.u32 %0, %0, 2; vote.sync.uni.pred r, p, -1; @r add.u32 %0, %0, 4; }"
      : "=r"(x)
      : "r"(lane));
  if (x != 1) atomicAdd(wrong, 1);
  asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(x) : "r"(lane % 4));
  if (x != 0x11111111u << lane % 4) atomicAdd(wrong, 1);
  asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %1, 0xffffffff; }" : "=r"(x) : "r"(4));
  if (x != all) atomicAdd(wrong, 1);
  asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(x) : "r"(lane), "r"(all));
  if (x != 496) atomicAdd(wrong, 1);
  asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(x) : "r"(lane - 5), "r"(all));
  if (int(x) != -5) atomicAdd(wrong, 1);
  asm volatile("activemask.b32 %0;" : "=r"(x));
  if (x != all) atomicAdd(wrong, 1);
  __shared__ u32 word;
  if (lane == 3)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(u32(__cvta_generic_to_shared(&word))), "r"(77) : "memory");
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  if (word != 77) atomicAdd(wrong, 1);
}

// ---- Memory

__device__ __forceinline__ u32 shared(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__global__ void memory(int* wrong, float* data, u32* bytes) {
  const u32 i = threadIdx.x;
  float a, b, c, d;
  __shared__ u32 written[32];
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4 + 16];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(data));
  if (a != 4 || b != 5 || c != 6 || d != 7) atomicAdd(wrong, 1);
  asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %1; ld.global.ca.f32 %0, [p]; }" : "=f"(a) : "l"(data + i));
  if (a != i) atomicAdd(wrong, 1);
  asm volatile("ld.f32 %0, [%1];" : "=f"(a) : "l"(data + i));
  if (a != i) atomicAdd(wrong, 1);
  u32 input = i;  // an instruction may write to an input, too, and nobody sees it outside
  asm volatile("ld.global.u32 %1, [%0]; add.u32 %1, %1, 1; st.shared.u32 [%2], %1;" ::"l"(bytes), "r"(input),
               "r"(shared(&written[i]))
               : "memory");
  if (written[i] != 0xfefefeff || input != i) atomicAdd(wrong, 1);
  asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(data + 64 + 2 * i), "f"(a), "f"(-a) : "memory");
  if (data[64 + 2 * i + 1] != -a) atomicAdd(wrong, 1);
  int s;
  u32 u;
  asm volatile("ld.global.s8 %0, [%2]; ld.global.u8 %1, [%2];"
               : "=r"(s), "=r"(u)
               : "l"(reinterpret_cast<char*>(bytes) + 1));
  if (s != -2 || u != 254) atomicAdd(wrong, 1);
  asm volatile(
      "{ .reg .b16 x; cvt.u16.u32 x, %1; st.global.u8 [%0], x; }" ::"l"(reinterpret_cast<char*>(bytes) + 8 + i),
      "r"(i + 256)
      : "memory");
  if (reinterpret_cast<unsigned char*>(bytes)[8 + i] != i) atomicAdd(wrong, 1);
  __shared__ float4 tile[64];
  __shared__ volatile u32 flag;
  extern __shared__ float dynamic[];
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 99; @p st.shared.v4.f32 [%0], {%1, %1, %1, 0f3F800000}; @!p "
               "st.shared.f32 [%0], %1; }" ::"r"(shared(&tile[i])),
               "f"(a), "r"(i)
               : "memory");
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared(dynamic) + 4 * i), "f"(a + 1) : "memory");
  if (i == 0) asm volatile("st.volatile.shared.u32 [%0], 9;" ::"r"(shared(const_cast<u32*>(&flag))) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("ld.shared::cta.f32 %0, [%1+12];" : "=f"(b) : "r"(shared(&tile[31 - i])));
  asm volatile("{ .reg .u64 p; cvta.to.shared.u64 p, %1; ld.shared.f32 %0, [p]; }" : "=f"(c) : "l"(&dynamic[31 - i]));
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(u) : "r"(shared(const_cast<u32*>(&flag))));
  if (b != 1 || tile[31 - i].x != 31 - i || c != 32 - i || u != 9) atomicAdd(wrong, 1);
  if (__cvta_shared_to_generic(shared(&tile[i])) != &tile[i]) atomicAdd(wrong, 1);
}

__global__ void atomics(u32* w, u64* l, float* f, double* d, __half2* h) {
  __shared__ u32 s;
  const u32 i = threadIdx.x;
  u32 x;
  u64 y;
  float g;
  if (i == 0) s = 0;
  __syncthreads();
  asm volatile("atom.shared.add.u32 %0, [%1], 2;" : "=r"(x) : "r"(shared(&s)) : "memory");
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(w), "r"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(w + 1) : "memory");
  asm volatile("atom.global.and.b32 %0, [%1], %2;" : "=r"(x) : "l"(w + 2), "r"(~(1u << i)) : "memory");
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(x) : "l"(h), "r"(0x3c003800) : "memory");
  asm volatile("atom.global.inc.u32 %0, [%1], 9;" : "=r"(x) : "l"(w + 3) : "memory");
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(x)
               : "l"(w + 4), "r"(0), "r"(i + 1)
               : "memory");
  asm volatile("atom.global.min.s32 %0, [%1], %2;" : "=r"(x) : "l"(w + 5), "r"(-int(i)) : "memory");
  asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(y) : "l"(l), "l"(u64(i) << 32) : "memory");
  asm volatile("atom.global.exch.b64 %0, [%1], %2;" : "=l"(y) : "l"(l + 1), "l"(u64(i)) : "memory");
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f), "f"(0.5f) : "memory");
  asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(g) : "l"(f + 1), "f"(1.f) : "memory");
  asm volatile("red.add.f64 [%0], %1;" ::"l"(d), "d"(0.25) : "memory");
  asm volatile("membar.gl; fence.acq_rel.gpu; membar.cta;" ::: "memory");
}

__global__ void copies(int* wrong, const float* in) {
  __shared__ __align__(16) float tile[32 * 12];
  const u32 i = threadIdx.x;
  for (int k = 0; k < 12; ++k) tile[12 * i + k] = -1;
  const u32 to = shared(tile + 12 * i);
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(to), "l"(in + 4 * i), "n"(16) : "memory");
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  asm volatile("cp.async.ca.shared::cta.global [%0], [%1], 16, %2;\n" ::"r"(to + 16), "l"(in + 4 * i), "r"(8)
               : "memory");
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 3; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(to + 32),
               "l"(in + i), "r"(i)
               : "memory");
  asm volatile("cp.async.wait_group %0;" ::"n"(1) : "memory");
  const float* own = tile + 12 * i;
  if (own[0] != 4 * i || own[3] != 4 * i + 3 || own[4] != -1) atomicAdd(wrong, 1);  // as late as it may be
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  if (own[5] != 4 * i + 1 || own[6] != 0 || own[7] != 0 || own[8] != -1) atomicAdd(wrong, 1);
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (own[8] != (i == 3 ? 0 : i) || own[9] != -1) atomicAdd(wrong, 1);
}

// Two warps fill a buffer for two others, behind barriers 1 and 2 of 128 threads.
__global__ void handed_over(int* wrong) {
  __shared__ int buffer[64];
  const int i = threadIdx.x % 64;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x < 64) {
      if (round > 0) asm volatile("bar.sync 2, 128;" ::: "memory");
      buffer[i] = 100 * round + i;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("barrier.sync 1, 128;" ::: "memory");
      if (buffer[63 - i] != 100 * round + 63 - i) atomicAdd(wrong, 1);
      asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
  int x;
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 50; bar.red.popc.u32 %0, 0, p; }" : "=r"(x) : "r"(threadIdx.x));
  if (x != 50) atomicAdd(wrong, 1);
}

/// Each block waits for the one before it, by loads that a compiler must not take out of their loop.
__global__ void chain(int* flag, int* sum) {
  if (threadIdx.x == 0) {
    int turn;
    do asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(turn) : "l"(flag));
    while (turn != static_cast<int>(blockIdx.x));
    asm volatile("membar.gl;" ::: "memory");
    *sum += turn;
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("st.global.cg.s32 [%0], %1;" ::"l"(flag), "r"(turn + 1) : "memory");
  }
  if (threadIdx.x == 40) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(flag + 1) : "memory");
  if (threadIdx.x == 2)
    asm volatile("{ .reg .pred p; .reg .s32 v; MORE%=: ld.acquire.gpu.global.s32 v, [%0]; setp.eq.s32 p, v, 0; @p bra "
                 "MORE%=; }" ::"l"(flag + 1)
                 : "memory");
}

int main() {
  integers();
  reals();
  int* wrong;
  float* data;
  u32* w;
  cudaMallocManaged(&wrong, 4);
  cudaMallocManaged(&data, 1024);
  cudaMallocManaged(&w, 256);
  *wrong = 0;
  for (int i = 0; i < 256; ++i) data[i] = i;
  for (int i = 0; i < 64; ++i) w[i] = 0xfefefefe;
  const auto done = [&](const char* what) {
    check(cudaDeviceSynchronize() == cudaSuccess && *wrong == 0, what, *wrong);
    *wrong = 0;
  };
  registers<<<2, dim3(16, 4)>>>(wrong), done("special registers");
  lanes<<<1, 32>>>(wrong), done("lanes");
  copies<<<1, 32>>>(wrong, data), done("copies");
  memory<<<1, 32, 128>>>(wrong, data, w), done("memory");  // writes where the copies read
  handed_over<<<1, 128>>>(wrong), done("named barriers");
  const u32 words_before[] = {0, 0, ~0u, 0, 0, 0};
  std::memcpy(w, words_before, sizeof words_before);
  u64* l = reinterpret_cast<u64*>(w + 8);
  float* f = reinterpret_cast<float*>(w + 16);
  double* d = reinterpret_cast<double*>(w + 20);
  std::memset(w + 8, 0, 100);
  atomics<<<1, 32>>>(w, l, f, d, reinterpret_cast<__half2*>(w + 24)), done("atomics");
  const u32 words_after[] = {62, 32, 0, 2, w[4], u32(-31)};
  check(std::memcmp(w, words_after, sizeof words_after) == 0 && w[4] >= 1 && w[4] <= 32, "atomics on words", 0);
  check(l[0] == u64(496) << 32 && l[1] < 32, "atomics on 64 bits", 0);
  check(f[0] == 16 && f[1] == 32 && d[0] == 8 && w[24] == 0x50004c00, "atomics on floats", 0);
  std::memset(w, 0, 12);
  chain<<<20, 64>>>(reinterpret_cast<int*>(w), reinterpret_cast<int*>(w + 2)), done("chain");
  check(w[0] == 20 && w[1] == 20 && w[2] == 190, "chain", 0);
  cudaFree(wrong), cudaFree(data), cudaFree(w);
  std::printf("%d wrong\n", bad);
  return bad != 0;
}
