/// \file
/// `make_float4` and its kin.
#pragma once

#include "vector_types.h"

#ifndef __cplusplus

#define WARPBOOK_MAKE(Name, Part)                                                                                      \
  static __inline__ Name##1 make_##Name##1(Part x) { return (Name##1){x}; }                                            \
  static __inline__ Name##2 make_##Name##2(Part x, Part y) { return (Name##2){x, y}; }                                 \
  static __inline__ Name##3 make_##Name##3(Part x, Part y, Part z) { return (Name##3){x, y, z}; }                      \
  static __inline__ Name##4 make_##Name##4(Part x, Part y, Part z, Part w) { return (Name##4){x, y, z, w}; }
WARPBOOK_MAKE(char, signed char)
WARPBOOK_MAKE(uchar, unsigned char)
WARPBOOK_MAKE(short, short)
WARPBOOK_MAKE(ushort, unsigned short)
WARPBOOK_MAKE(int, int)
WARPBOOK_MAKE(uint, unsigned int)
WARPBOOK_MAKE(long, long)
WARPBOOK_MAKE(ulong, unsigned long)
WARPBOOK_MAKE(longlong, long long)
WARPBOOK_MAKE(ulonglong, unsigned long long)
WARPBOOK_MAKE(float, float)
WARPBOOK_MAKE(double, double)
#undef WARPBOOK_MAKE

#else

#include "warpbook_builtins.h"

WARPBOOK_DEVICE_FUNCTION constexpr char1 make_char1(signed char x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr char2 make_char2(signed char x, signed char y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr char3 make_char3(signed char x, signed char y, signed char z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr char4 make_char4(signed char x, signed char y, signed char z, signed char w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr uchar1 make_uchar1(unsigned char x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr uchar2 make_uchar2(unsigned char x, unsigned char y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr uchar3 make_uchar3(unsigned char x, unsigned char y, unsigned char z) {
  return {x, y, z};
}
WARPBOOK_DEVICE_FUNCTION constexpr uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z,
                                                      unsigned char w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr short1 make_short1(short x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr short2 make_short2(short x, short y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr short3 make_short3(short x, short y, short z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr short4 make_short4(short x, short y, short z, short w) { return {x, y, z, w}; }
WARPBOOK_DEVICE_FUNCTION constexpr ushort1 make_ushort1(unsigned short x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr ushort3 make_ushort3(unsigned short x, unsigned short y, unsigned short z) {
  return {x, y, z};
}
WARPBOOK_DEVICE_FUNCTION constexpr ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z,
                                                        unsigned short w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr int1 make_int1(int x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr int2 make_int2(int x, int y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr int3 make_int3(int x, int y, int z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
WARPBOOK_DEVICE_FUNCTION constexpr uint1 make_uint1(unsigned int x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr uint2 make_uint2(unsigned int x, unsigned int y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
  return {x, y, z};
}
WARPBOOK_DEVICE_FUNCTION constexpr uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr long1 make_long1(long x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr long2 make_long2(long x, long y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr long3 make_long3(long x, long y, long z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr long4 make_long4(long x, long y, long z, long w) { return {x, y, z, w}; }
WARPBOOK_DEVICE_FUNCTION constexpr ulong1 make_ulong1(unsigned long x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr ulong2 make_ulong2(unsigned long x, unsigned long y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr ulong3 make_ulong3(unsigned long x, unsigned long y, unsigned long z) {
  return {x, y, z};
}
WARPBOOK_DEVICE_FUNCTION constexpr ulong4 make_ulong4(unsigned long x, unsigned long y, unsigned long z,
                                                      unsigned long w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr longlong1 make_longlong1(long long x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr longlong2 make_longlong2(long long x, long long y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr longlong3 make_longlong3(long long x, long long y, long long z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr longlong4 make_longlong4(long long x, long long y, long long z, long long w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr ulonglong1 make_ulonglong1(unsigned long long x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) {
  return {x, y};
}
WARPBOOK_DEVICE_FUNCTION constexpr ulonglong3 make_ulonglong3(unsigned long long x, unsigned long long y,
                                                              unsigned long long z) {
  return {x, y, z};
}
WARPBOOK_DEVICE_FUNCTION constexpr ulonglong4 make_ulonglong4(unsigned long long x, unsigned long long y,
                                                              unsigned long long z, unsigned long long w) {
  return {x, y, z, w};
}
WARPBOOK_DEVICE_FUNCTION constexpr float1 make_float1(float x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr float2 make_float2(float x, float y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr float3 make_float3(float x, float y, float z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
WARPBOOK_DEVICE_FUNCTION constexpr double1 make_double1(double x) { return {x}; }
WARPBOOK_DEVICE_FUNCTION constexpr double2 make_double2(double x, double y) { return {x, y}; }
WARPBOOK_DEVICE_FUNCTION constexpr double3 make_double3(double x, double y, double z) { return {x, y, z}; }
WARPBOOK_DEVICE_FUNCTION constexpr double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }

#endif
