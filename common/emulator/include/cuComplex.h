/// \file
/// Complex numbers as CUDA's libraries have them: a vector of two, and functions by name.
#pragma once

#include <math.h>

#include "host_defines.h"
#include "vector_functions.h"
#include "vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define WARPBOOK_COMPLEX __host__ __device__ static inline

WARPBOOK_COMPLEX float cuCrealf(cuFloatComplex z) { return z.x; }
WARPBOOK_COMPLEX float cuCimagf(cuFloatComplex z) { return z.y; }
WARPBOOK_COMPLEX cuFloatComplex make_cuFloatComplex(float re, float im) { return make_float2(re, im); }
WARPBOOK_COMPLEX cuComplex make_cuComplex(float re, float im) { return make_float2(re, im); }
WARPBOOK_COMPLEX cuFloatComplex cuConjf(cuFloatComplex z) { return make_float2(z.x, -z.y); }
WARPBOOK_COMPLEX cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) {
  return make_float2(a.x + b.x, a.y + b.y);
}
WARPBOOK_COMPLEX cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) {
  return make_float2(a.x - b.x, a.y - b.y);
}
WARPBOOK_COMPLEX cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/// Divided by the largest part first, so that nothing overflows on the way.
WARPBOOK_COMPLEX cuFloatComplex cuCdivf(cuFloatComplex a, cuFloatComplex b) {
  const float scale = 1.0F / (fabsf(b.x) + fabsf(b.y));
  const float ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;
  const float inverse = 1.0F / (bx * bx + by * by);
  return make_float2((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);
}
WARPBOOK_COMPLEX float cuCabsf(cuFloatComplex z) { return hypotf(z.x, z.y); }
WARPBOOK_COMPLEX cuFloatComplex cuCfmaf(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c) {
  return make_float2(a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x);
}

WARPBOOK_COMPLEX double cuCreal(cuDoubleComplex z) { return z.x; }
WARPBOOK_COMPLEX double cuCimag(cuDoubleComplex z) { return z.y; }
WARPBOOK_COMPLEX cuDoubleComplex make_cuDoubleComplex(double re, double im) { return make_double2(re, im); }
WARPBOOK_COMPLEX cuDoubleComplex cuConj(cuDoubleComplex z) { return make_double2(z.x, -z.y); }
WARPBOOK_COMPLEX cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) {
  return make_double2(a.x + b.x, a.y + b.y);
}
WARPBOOK_COMPLEX cuDoubleComplex cuCsub(cuDoubleComplex a, cuDoubleComplex b) {
  return make_double2(a.x - b.x, a.y - b.y);
}
WARPBOOK_COMPLEX cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) {
  return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
WARPBOOK_COMPLEX cuDoubleComplex cuCdiv(cuDoubleComplex a, cuDoubleComplex b) {
  const double scale = 1.0 / (fabs(b.x) + fabs(b.y));
  const double ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;
  const double inverse = 1.0 / (bx * bx + by * by);
  return make_double2((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);
}
WARPBOOK_COMPLEX double cuCabs(cuDoubleComplex z) { return hypot(z.x, z.y); }
WARPBOOK_COMPLEX cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) {
  return make_double2(a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x);
}

WARPBOOK_COMPLEX cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return make_double2(z.x, z.y); }
WARPBOOK_COMPLEX cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_float2((float)z.x, (float)z.y);  // NOLINT(google-readability-casting): C has no other
}
