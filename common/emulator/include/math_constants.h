/// \file
/// CUDA's names for mathematical constants.
#pragma once

#ifndef __clang__
#pragma GCC system_header  // Attributes and words that other compilers warn of.
#endif

#include <cfloat>
#include <cmath>

#ifdef __clang__
#include "integer_functions.h"
#endif

inline constexpr float CUDART_INF_F = __builtin_inff();
inline constexpr float CUDART_NAN_F = __builtin_nanf("");
inline constexpr float CUDART_MIN_DENORM_F = 1.401298464e-45F;
inline constexpr float CUDART_MAX_NORMAL_F = FLT_MAX;
inline constexpr float CUDART_NEG_ZERO_F = -0.0F;
inline constexpr float CUDART_ZERO_F = 0.0F;
inline constexpr float CUDART_ONE_F = 1.0F;
inline constexpr float CUDART_PI_F = 3.141592654F;
inline constexpr float CUDART_PIO2_F = 1.570796327F;
inline constexpr float CUDART_SQRT_TWO_F = 1.414213562F;
inline constexpr float CUDART_LN2_F = 0.693147181F;
inline constexpr float CUDART_L2E_F = 1.442695041F;

inline constexpr double CUDART_INF = __builtin_inf();
inline constexpr double CUDART_NAN = __builtin_nan("");
inline constexpr double CUDART_MIN_DENORM = 4.9406564584124654e-324;
inline constexpr double CUDART_NEG_ZERO = -0.0;
inline constexpr double CUDART_ZERO = 0.0;
inline constexpr double CUDART_ONE = 1.0;
inline constexpr double CUDART_PI = 3.1415926535897931;
inline constexpr double CUDART_PIO2 = 1.5707963267948966;
inline constexpr double CUDART_SQRT_TWO = 1.4142135623730951;
inline constexpr double CUDART_LN2 = 0.69314718055994529;
inline constexpr double CUDART_L2E = 1.4426950408889634;
