/// \file
/// DPX: two or three integers compared or added in one step, as dynamic programming wants it. In `_relu`, what is below
/// 0 becomes 0; sums wrap around.
#pragma once

#include "integer_functions.h"
#include "math_functions.h"

#define WARPBOOK_DPX(most, better)                                                                                     \
  WARPBOOK_DEVICE_FUNCTION int __vi##most##_s32_relu(int a, int b) { return max(most(a, b), 0); }                      \
  WARPBOOK_DEVICE_FUNCTION int __vi##most##3_s32(int a, int b, int c) { return most(most(a, b), c); }                  \
  WARPBOOK_DEVICE_FUNCTION int __vi##most##3_s32_relu(int a, int b, int c) { return max(most(most(a, b), c), 0); }     \
  WARPBOOK_DEVICE_FUNCTION unsigned __vi##most##3_u32(unsigned a, unsigned b, unsigned c) {                            \
    return most(most(a, b), c);                                                                                        \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __viadd##most##_u32(unsigned a, unsigned b, unsigned c) { return most(a + b, c); } \
  WARPBOOK_DEVICE_FUNCTION int __viadd##most##_s32(int a, int b, int c) {                                              \
    return most(static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);                             \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION int __viadd##most##_s32_relu(int a, int b, int c) {                                         \
    return max(__viadd##most##_s32(a, b, c), 0);                                                                       \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vi##most##_s16x2_relu(unsigned a, unsigned b) {                                  \
    return __vmaxs2(__v##most##s2(a, b), 0);                                                                           \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vi##most##3_s16x2(unsigned a, unsigned b, unsigned c) {                          \
    return __v##most##s2(__v##most##s2(a, b), c);                                                                      \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vi##most##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                     \
    return __vmaxs2(__vi##most##3_s16x2(a, b, c), 0);                                                                  \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vi##most##3_u16x2(unsigned a, unsigned b, unsigned c) {                          \
    return __v##most##u2(__v##most##u2(a, b), c);                                                                      \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __viadd##most##_s16x2(unsigned a, unsigned b, unsigned c) {                        \
    return __v##most##s2(__vadd2(a, b), c);                                                                            \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __viadd##most##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                   \
    return __vmaxs2(__viadd##most##_s16x2(a, b, c), 0);                                                                \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __viadd##most##_u16x2(unsigned a, unsigned b, unsigned c) {                        \
    return __v##most##u2(__vadd2(a, b), c);                                                                            \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION int __vib##most##_s32(int a, int b, bool* is_a) { return (*is_a = a better b) ? a : b; }    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vib##most##_u32(unsigned a, unsigned b, bool* is_a) {                            \
    return (*is_a = a better b) ? a : b;                                                                               \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vib##most##_s16x2(unsigned a, unsigned b, bool* high_is_a, bool* low_is_a) {     \
    *high_is_a = static_cast<short>(a >> 16) better static_cast<short>(b >> 16);                                       \
    *low_is_a = static_cast<short>(a) better static_cast<short>(b);                                                    \
    return __v##most##s2(a, b);                                                                                        \
  }                                                                                                                    \
  WARPBOOK_DEVICE_FUNCTION unsigned __vib##most##_u16x2(unsigned a, unsigned b, bool* high_is_a, bool* low_is_a) {     \
    *high_is_a = (a >> 16) better(b >> 16);                                                                            \
    *low_is_a = (a & 0xffffU) better(b & 0xffffU);                                                                     \
    return __v##most##u2(a, b);                                                                                        \
  }
WARPBOOK_DPX(max, >=)
WARPBOOK_DPX(min, <=)
#undef WARPBOOK_DPX
