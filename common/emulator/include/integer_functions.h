/// \file
/// Integer intrinsics, and the bits of one type as another.
#pragma once

#include <cstdint>

#include "warpbook_builtins.h"

// ---- Bits

WARPBOOK_DEVICE_FUNCTION constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
WARPBOOK_DEVICE_FUNCTION constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WARPBOOK_DEVICE_FUNCTION constexpr int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
WARPBOOK_DEVICE_FUNCTION constexpr int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
WARPBOOK_DEVICE_FUNCTION constexpr int __ffs(int x) { return __builtin_ffs(x); }
WARPBOOK_DEVICE_FUNCTION constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
#ifdef __clang__
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
#endif

/// The position of the `offset`-th set bit from `base` on, upwards for a positive offset, downwards for a negative; -1
/// where there is none.
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) {
    return (mask >> (base & 31) & 1U) != 0 ? base : ~0U;
  }
  const int step = offset > 0 ? 1 : -1;
  int wanted = offset > 0 ? offset : -offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
    if ((mask >> bit & 1U) != 0 && --wanted == 0) {
      return static_cast<unsigned>(bit);
    }
  }
  return ~0U;
}

/// Four bytes chosen from the eight of y:x, by the low three bits of each of the selector's nibbles; a nibble's fourth
/// bit replicates the byte's sign.
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
#pragma unroll  // Of a constant selector a few shifts remain, and the observer counts what remains.
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 0xfU;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7U)) & 0xffU);
    if ((nibble & 8U) != 0) {
      byte = (byte & 0x80U) != 0 ? 0xffU : 0U;
    }
    result |= byte << (8 * i);
  }
  return result;
}

WARPBOOK_DEVICE_FUNCTION constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31U) >> 32);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31U));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// ---- Products

WARPBOOK_DEVICE_FUNCTION constexpr unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(std::uint64_t{x} * y >> 32);
}
WARPBOOK_DEVICE_FUNCTION constexpr int __mulhi(int x, int y) {
  return static_cast<int>(static_cast<std::int64_t>(x) * y >> 32);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
WARPBOOK_DEVICE_FUNCTION constexpr long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
WARPBOOK_DEVICE_FUNCTION constexpr int __mul24(int x, int y) {
  return static_cast<int>((static_cast<unsigned>(x) << 8)) / 256 *
         (static_cast<int>(static_cast<unsigned>(y) << 8) / 256);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __umul24(unsigned x, unsigned y) {
  return (x & 0xffffffU) * (y & 0xffffffU);
}

/// Averages without overflow, rounded down and up.
WARPBOOK_DEVICE_FUNCTION constexpr int __hadd(int x, int y) {
  return static_cast<int>((static_cast<std::int64_t>(x) + y) >> 1);
}
WARPBOOK_DEVICE_FUNCTION constexpr int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<std::int64_t>(x) + y + 1) >> 1);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y) >> 1);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y + 1) >> 1);
}

/// Sums of absolute differences.
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                    : static_cast<unsigned>(y) - static_cast<unsigned>(x));
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __usad(unsigned x, unsigned y, unsigned z) {
  return z + (x > y ? x - y : y - x);
}

/// Four products of bytes, added to `sum`.
WARPBOOK_DEVICE_FUNCTION constexpr int __dp4a(int x, int y, int sum) {
  unsigned total = static_cast<unsigned>(sum);
  for (int i = 0; i < 4; ++i) {
    total += static_cast<unsigned>(static_cast<std::int8_t>(x >> (8 * i)) * static_cast<std::int8_t>(y >> (8 * i)));
  }
  return static_cast<int>(total);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 4; ++i) {
    sum += (x >> (8 * i) & 0xffU) * (y >> (8 * i) & 0xffU);
  }
  return sum;
}

// ---- Two or four numbers in a word

namespace warpbook::emulator {
/// Parts of two words, each pair made one; in int, which holds what is not to wrap.
template <class Part, class Choose> constexpr unsigned by_parts(unsigned x, unsigned y, Choose choose) {
  unsigned result = 0;
#pragma unroll
  for (unsigned at = 0; at < 32; at += 8 * sizeof(Part)) {
    const int made = choose(static_cast<int>(static_cast<Part>(x >> at)), static_cast<int>(static_cast<Part>(y >> at)));
    result |= (static_cast<unsigned>(made) & ((1U << 8 * sizeof(Part)) - 1)) << at;
  }
  return result;
}
template <class Part> constexpr int saturated(int x) {
  constexpr int kLeast = static_cast<Part>(-1) < 0 ? -(1 << (8 * sizeof(Part) - 1)) : 0;
  constexpr int kMost = kLeast + (1 << 8 * sizeof(Part)) - 1;
  return x < kLeast ? kLeast : x > kMost ? kMost : x;
}
constexpr int apart(int x, int y) { return x > y ? x - y : y - x; }
}  // namespace warpbook::emulator

#define WARPBOOK_BY_PARTS(name, halves, bytes, expression)                                                             \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __v##name##2(unsigned x, unsigned y) {                                   \
    using Part = halves;                                                                                               \
    return warpbook::emulator::by_parts<Part>(x, y, [](int a, int b) { return expression; });                          \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __v##name##4(unsigned x, unsigned y) {                                   \
    using Part = bytes;                                                                                                \
    return warpbook::emulator::by_parts<Part>(x, y, [](int a, int b) { return expression; });                          \
  }
#define WARPBOOK_SIGNED(name, expression) WARPBOOK_BY_PARTS(name, std::int16_t, std::int8_t, expression)
#define WARPBOOK_UNSIGNED(name, expression) WARPBOOK_BY_PARTS(name, std::uint16_t, std::uint8_t, expression)

WARPBOOK_UNSIGNED(add, a + b)
WARPBOOK_UNSIGNED(sub, a - b)
WARPBOOK_SIGNED(addss, warpbook::emulator::saturated<Part>(a + b))
WARPBOOK_UNSIGNED(addus, warpbook::emulator::saturated<Part>(a + b))
WARPBOOK_SIGNED(subss, warpbook::emulator::saturated<Part>(a - b))
WARPBOOK_UNSIGNED(subus, warpbook::emulator::saturated<Part>(a - b))
WARPBOOK_SIGNED(absdiffs, warpbook::emulator::apart(a, b))
WARPBOOK_UNSIGNED(absdiffu, warpbook::emulator::apart(a, b))
WARPBOOK_SIGNED(avgs, (a + b + (a + b >= 0 ? 1 : 0)) >> 1)
WARPBOOK_UNSIGNED(avgu, (a + b + 1) >> 1)
WARPBOOK_UNSIGNED(haddu, (a + b) >> 1)
WARPBOOK_SIGNED(mins, a < b ? a : b)
WARPBOOK_UNSIGNED(minu, a < b ? a : b)
WARPBOOK_SIGNED(maxs, a > b ? a : b)
WARPBOOK_UNSIGNED(maxu, a > b ? a : b)
WARPBOOK_UNSIGNED(cmpeq, a == b ? -1 : 0)
WARPBOOK_UNSIGNED(cmpne, a != b ? -1 : 0)
WARPBOOK_UNSIGNED(seteq, a == b ? 1 : 0)
WARPBOOK_UNSIGNED(setne, a != b ? 1 : 0)
WARPBOOK_SIGNED(cmpgts, a > b ? -1 : 0)
WARPBOOK_SIGNED(setgts, a > b ? 1 : 0)
WARPBOOK_UNSIGNED(cmpgtu, a > b ? -1 : 0)
WARPBOOK_UNSIGNED(setgtu, a > b ? 1 : 0)
WARPBOOK_SIGNED(cmpges, a >= b ? -1 : 0)
WARPBOOK_SIGNED(setges, a >= b ? 1 : 0)
WARPBOOK_UNSIGNED(cmpgeu, a >= b ? -1 : 0)
WARPBOOK_UNSIGNED(setgeu, a >= b ? 1 : 0)
WARPBOOK_SIGNED(cmplts, a < b ? -1 : 0)
WARPBOOK_SIGNED(setlts, a < b ? 1 : 0)
WARPBOOK_UNSIGNED(cmpltu, a < b ? -1 : 0)
WARPBOOK_UNSIGNED(setltu, a < b ? 1 : 0)
WARPBOOK_SIGNED(cmples, a <= b ? -1 : 0)
WARPBOOK_SIGNED(setles, a <= b ? 1 : 0)
WARPBOOK_UNSIGNED(cmpleu, a <= b ? -1 : 0)
WARPBOOK_UNSIGNED(setleu, a <= b ? 1 : 0)

#undef WARPBOOK_UNSIGNED
#undef WARPBOOK_SIGNED
#undef WARPBOOK_BY_PARTS

#define WARPBOOK_ALONE(count)                                                                                          \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vneg##count(unsigned x) { return __vsub##count(0, x); }                \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vnegss##count(unsigned x) { return __vsubss##count(0, x); }            \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vabs##count(unsigned x) { return __vabsdiffs##count(x, 0); }           \
  WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vabsss##count(unsigned x) {                                            \
    return __vmaxs##count(x, __vsubss##count(0, x));                                                                   \
  }
WARPBOOK_ALONE(2)
WARPBOOK_ALONE(4)
#undef WARPBOOK_ALONE

// Sums of absolute differences.
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vsads2(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffs2(x, y);
  return (apart & 0xffffU) + (apart >> 16);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vsadu2(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffu2(x, y);
  return (apart & 0xffffU) + (apart >> 16);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vsads4(unsigned x, unsigned y) {
  return __dp4a(__vabsdiffs4(x, y), 0x01010101U, 0U);
}
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __vsadu4(unsigned x, unsigned y) {
  return __dp4a(__vabsdiffu4(x, y), 0x01010101U, 0U);
}

// ---- The bits of one type as another

WARPBOOK_DEVICE_FUNCTION constexpr int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
WARPBOOK_DEVICE_FUNCTION constexpr unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
WARPBOOK_DEVICE_FUNCTION constexpr float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
WARPBOOK_DEVICE_FUNCTION constexpr float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
WARPBOOK_DEVICE_FUNCTION constexpr long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
WARPBOOK_DEVICE_FUNCTION constexpr double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
WARPBOOK_DEVICE_FUNCTION constexpr int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(unsigned long long, x) >> 32);
}
WARPBOOK_DEVICE_FUNCTION constexpr int __double2loint(double x) {
  return static_cast<int>(static_cast<unsigned>(__builtin_bit_cast(unsigned long long, x)));
}
WARPBOOK_DEVICE_FUNCTION constexpr double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
