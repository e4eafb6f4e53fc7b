/// \file
/// cuRAND in kernels: XORWOW, Philox4_32_10 and MRG32k3a. Integers and uniform numbers are cuRAND's own, bit for bit.
/// Normal and log-normal numbers come from the same draws by the host's functions, so that their last digits differ.
/// Poisson numbers are cuRAND's for a mean below 64; above, only their distribution is. What is not here does not
/// compile: Sobol, MTGP32, discrete distributions.
///
/// Sources: G. Marsaglia, "Xorshift RNGs", 2003; J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3",
/// 2011; P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators",
/// 1999; cuRAND's manual.
#pragma once

#ifndef __clang__
#pragma GCC system_header  // Attributes and words that other compilers warn of.
#endif

#include <cmath>

#include "cuda_runtime.h"
#include "curand.h"

struct curandStateXORWOW {
  unsigned int d, v[5];
  int normals, doubles;  ///< which number waits in the members below: 1, a normal one; 2, a log-normal one
  float normal;
  double normal_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int normals, doubles;
  float normal;
  double normal_double;
};
struct curandStateMRG32k3a {
  unsigned int s1[3], s2[3];
  int normals, doubles;
  float normal;
  double normal_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;
using curandStateMRG32k3a_t = curandStateMRG32k3a;
using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;

#define WARPBOOK_RANDOM static inline __host__ __device__

namespace warpbook::emulator::random {

/// Moves XORWOW's words on by so many steps, or by so many sequences of 2^67 steps.
WARPBOOK_EXPORT void skip_xorwow(unsigned (&words)[5], unsigned long long count, bool sequences);

inline constexpr std::uint64_t kModulus1 = 4294967087U;
inline constexpr std::uint64_t kModulus2 = 4294944443U;
/// Moves MRG32k3a on by count * 2^shift steps.
WARPBOOK_EXPORT void skip_mrg(curandStateMRG32k3a& state, unsigned long long count, int shift);

template <class State> WARPBOOK_RANDOM void forget(State* state) {
  state->normals = state->doubles = 0;
  state->normal = 0;
  state->normal_double = 0;
}

WARPBOOK_RANDOM uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t x = std::uint64_t{0xd2511f53U} * counter.x;
    const std::uint64_t z = std::uint64_t{0xcd9e8d57U} * counter.z;
    counter = uint4{static_cast<unsigned>(z >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(z),
                    static_cast<unsigned>(x >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(x)};
    key.x += 0x9e3779b9U;
    key.y += 0xbb67ae85U;
  }
  return counter;
}

WARPBOOK_RANDOM void add(unsigned& low, unsigned& high, unsigned long long n, bool& carry) {
  const std::uint64_t before = std::uint64_t{high} << 32 | low;
  const std::uint64_t after = before + n;
  carry = after < before;
  low = static_cast<unsigned>(after);
  high = static_cast<unsigned>(after >> 32);
}

WARPBOOK_RANDOM void next_block(curandStatePhilox4_32_10* state, unsigned long long blocks) {
  bool carry = false;
  add(state->ctr.x, state->ctr.y, blocks, carry);
  if (carry) add(state->ctr.z, state->ctr.w, 1, carry);
  state->output = philox(state->ctr, state->key);
}

inline constexpr float kFloat = 2.3283064e-10F;            // 2^-32
inline constexpr double kDouble = 1.1102230246251565e-16;  // 2^-53
inline constexpr float kPi2 = 6.2831855F;
inline constexpr double kPi = 3.1415926535897932;
inline constexpr double kMrg = 2.3283065498378288e-10;

/// 53 bits of two draws.
WARPBOOK_RANDOM double uniform_53(unsigned x, unsigned y) {
  const std::uint64_t bits = std::uint64_t{x} ^ (std::uint64_t{y} << 21);
  return static_cast<double>(bits) * kDouble + kDouble / 2;
}

/// Two normal numbers of two uniform ones; the second is the part of a turn.
WARPBOOK_RANDOM float2 box_muller(float uniform, float angle) {
  const float radius = sqrtf(-2.0F * logf(uniform));
  return {sinf(angle) * radius, cosf(angle) * radius};
}
WARPBOOK_RANDOM double2 box_muller(double uniform, double half_turns) {
  const double radius = sqrt(-2.0 * log(uniform));
  return {sin(half_turns * kPi) * radius, cos(half_turns * kPi) * radius};
}
WARPBOOK_RANDOM float2 box_muller(unsigned x, unsigned y) {
  return box_muller(static_cast<float>(x) * kFloat + kFloat / 2,
                    static_cast<float>(y) * (kFloat * kPi2) + kFloat * kPi2 / 2);
}

}  // namespace warpbook::emulator::random

// ---- XORWOW

WARPBOOK_RANDOM void skipahead(unsigned long long n, curandStateXORWOW* state) {
  warpbook::emulator::random::skip_xorwow(state->v, n, false);
  state->d += 362437U * static_cast<unsigned>(n);
}
WARPBOOK_RANDOM void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  warpbook::emulator::random::skip_xorwow(state->v, n, true);
}
WARPBOOK_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                 curandStateXORWOW* state) {
  const unsigned low = 1099087573U * (static_cast<unsigned>(seed) ^ 0xaad26b49U);
  const unsigned high = 2591861531U * (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddU);
  state->d = 6615241U + high + low;
  state->v[0] = 123456789U + low;
  state->v[1] = 362436069U ^ low;
  state->v[2] = 521288629U + high;
  state->v[3] = 88675123U ^ high;
  state->v[4] = 5783321U + low;
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
  warpbook::emulator::random::forget(state);
}
WARPBOOK_RANDOM unsigned int curand(curandStateXORWOW* state) {
  const unsigned t = state->v[0] ^ (state->v[0] >> 2);
  for (int i = 0; i < 4; ++i) state->v[i] = state->v[i + 1];
  state->v[4] = (state->v[4] ^ (state->v[4] << 4)) ^ (t ^ (t << 1));
  state->d += 362437U;
  return state->v[4] + state->d;
}

// ---- Philox4_32_10

WARPBOOK_RANDOM void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  const unsigned place = state->STATE + static_cast<unsigned>(n & 3);
  state->STATE = place & 3;
  warpbook::emulator::random::next_block(state, n / 4 + place / 4);
}
WARPBOOK_RANDOM void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  bool carry = false;
  warpbook::emulator::random::add(state->ctr.z, state->ctr.w, n, carry);
  warpbook::emulator::random::next_block(state, 0);
}
WARPBOOK_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                 curandStatePhilox4_32_10* state) {
  state->ctr = uint4{0, 0, 0, 0};
  state->key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  state->STATE = 0;
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
  warpbook::emulator::random::forget(state);
}
WARPBOOK_RANDOM unsigned int curand(curandStatePhilox4_32_10* state) {
  const uint4 all = state->output;
  const unsigned drawn = state->STATE == 0 ? all.x : state->STATE == 1 ? all.y : state->STATE == 2 ? all.z : all.w;
  if (++state->STATE == 4) {
    state->STATE = 0;
    warpbook::emulator::random::next_block(state, 1);
  }
  return drawn;
}
WARPBOOK_RANDOM uint4 curand4(curandStatePhilox4_32_10* state) {
  const unsigned x = curand(state), y = curand(state), z = curand(state);
  return {x, y, z, curand(state)};
}

// ---- MRG32k3a

WARPBOOK_RANDOM void skipahead(unsigned long long n, curandStateMRG32k3a* state) {
  warpbook::emulator::random::skip_mrg(*state, n, 0);
}
WARPBOOK_RANDOM void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* state) {
  warpbook::emulator::random::skip_mrg(*state, n, 76);
}
WARPBOOK_RANDOM void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* state) {
  warpbook::emulator::random::skip_mrg(*state, n, 127);
}
WARPBOOK_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                 curandStateMRG32k3a* state) {
  namespace random = warpbook::emulator::random;
  for (int i = 0; i < 3; ++i) state->s1[i] = state->s2[i] = 12345U;
  if (seed != 0) {
    const unsigned x1 = static_cast<unsigned>(seed) ^ 0x55555555U;
    const unsigned x2 = static_cast<unsigned>(seed >> 32) ^ 0xaaaaaaaaU;
    const auto times = [](unsigned x, unsigned y, std::uint64_t modulus) {
      return static_cast<unsigned>(std::uint64_t{x} * y % modulus);
    };
    state->s1[0] = times(x1, state->s1[0], random::kModulus1);
    state->s1[1] = times(x2, state->s1[1], random::kModulus1);
    state->s1[2] = times(x1, state->s1[2], random::kModulus1);
    state->s2[0] = times(x2, state->s2[0], random::kModulus2);
    state->s2[1] = times(x1, state->s2[1], random::kModulus2);
    state->s2[2] = times(x2, state->s2[2], random::kModulus2);
  }
  skipahead_subsequence(sequence, state);
  skipahead(offset, state);
  random::forget(state);
}
/// A number from 1 to 4294967087.
WARPBOOK_RANDOM double curand_MRG32k3a(curandStateMRG32k3a* state) {
  namespace random = warpbook::emulator::random;
  const std::uint64_t x =
      (1403580U * std::uint64_t{state->s1[1]} + 810728U * (random::kModulus1 - state->s1[0])) % random::kModulus1;
  const std::uint64_t y =
      (527612U * std::uint64_t{state->s2[2]} + 1370589U * (random::kModulus2 - state->s2[0])) % random::kModulus2;
  state->s1[0] = state->s1[1];
  state->s1[1] = state->s1[2];
  state->s1[2] = static_cast<unsigned>(x);
  state->s2[0] = state->s2[1];
  state->s2[1] = state->s2[2];
  state->s2[2] = static_cast<unsigned>(y);
  return static_cast<double>(x <= y ? x + random::kModulus1 - y : x - y);
}
WARPBOOK_RANDOM unsigned int curand(curandStateMRG32k3a* state) {
  return static_cast<unsigned>(curand_MRG32k3a(state) * 1.000000048662);
}

// ---- Uniform numbers, from above 0 to 1

template <class State> WARPBOOK_RANDOM float curand_uniform(State* state) {
  using namespace warpbook::emulator::random;
  return static_cast<float>(curand(state)) * kFloat + kFloat / 2;
}
WARPBOOK_RANDOM float curand_uniform(curandStateMRG32k3a* state) {
  return static_cast<float>(curand_MRG32k3a(state) * warpbook::emulator::random::kMrg);
}
WARPBOOK_RANDOM float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const float x = curand_uniform(state), y = curand_uniform(state), z = curand_uniform(state);
  return {x, y, z, curand_uniform(state)};
}
WARPBOOK_RANDOM double curand_uniform_double(curandStateXORWOW* state) {
  const unsigned x = curand(state);
  return warpbook::emulator::random::uniform_53(x, curand(state));
}
WARPBOOK_RANDOM double curand_uniform_double(curandStateMRG32k3a* state) {
  return curand_MRG32k3a(state) * warpbook::emulator::random::kMrg;
}
WARPBOOK_RANDOM double curand_uniform_double(curandStatePhilox4_32_10* state) {
  return curand(state) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
WARPBOOK_RANDOM double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 drawn = curand4(state);
  using warpbook::emulator::random::uniform_53;
  return {uniform_53(drawn.x, drawn.y), uniform_53(drawn.z, drawn.w)};
}
WARPBOOK_RANDOM double4 curand_uniform4_double(curandStatePhilox4_32_10* state) {
  const double2 first = curand_uniform2_double(state), second = curand_uniform2_double(state);
  return {first.x, first.y, second.x, second.y};
}

// ---- Normal numbers, two at a time; the second is kept for the next call

template <class State> WARPBOOK_RANDOM float2 curand_normal2(State* state) {
  const unsigned x = curand(state);
  return warpbook::emulator::random::box_muller(x, curand(state));
}
WARPBOOK_RANDOM float2 curand_normal2(curandStateMRG32k3a* state) {
  const float x = curand_uniform(state);
  return warpbook::emulator::random::box_muller(x, curand_uniform(state) * warpbook::emulator::random::kPi2);
}
template <class State> WARPBOOK_RANDOM double2 curand_normal2_double(State* state) {
  using warpbook::emulator::random::uniform_53;
  const unsigned x = curand(state), y = curand(state), z = curand(state);
  return warpbook::emulator::random::box_muller(uniform_53(x, y), 2 * uniform_53(z, curand(state)));
}
WARPBOOK_RANDOM double2 curand_normal2_double(curandStateMRG32k3a* state) {
  const double x = curand_uniform_double(state);
  return warpbook::emulator::random::box_muller(x, curand_uniform_double(state) * 2);
}
WARPBOOK_RANDOM float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const float2 first = curand_normal2(state), second = curand_normal2(state);
  return {first.x, first.y, second.x, second.y};
}
WARPBOOK_RANDOM double4 curand_normal4_double(curandStatePhilox4_32_10* state) {
  const double2 first = curand_normal2_double(state), second = curand_normal2_double(state);
  return {first.x, first.y, second.x, second.y};
}

namespace warpbook::emulator::random {

/// One of two numbers; the other one waits until the same is asked for again.
template <class T, class Pair> WARPBOOK_RANDOM T one_of(int& waits, T& kept, int kind, Pair pair) {
  if (waits == kind) {
    waits = 0;
    return kept;
  }
  const auto both = pair();
  waits = kind;
  kept = both.y;
  return both.x;
}

}  // namespace warpbook::emulator::random

template <class State> WARPBOOK_RANDOM float curand_normal(State* state) {
  return warpbook::emulator::random::one_of(state->normals, state->normal, 1, [=] { return curand_normal2(state); });
}
template <class State> WARPBOOK_RANDOM double curand_normal_double(State* state) {
  return warpbook::emulator::random::one_of(state->doubles, state->normal_double, 1,
                                            [=] { return curand_normal2_double(state); });
}
template <class State> WARPBOOK_RANDOM float2 curand_log_normal2(State* state, float mean, float stddev) {
  const float2 normal = curand_normal2(state);
  return {expf(mean + stddev * normal.x), expf(mean + stddev * normal.y)};
}
template <class State> WARPBOOK_RANDOM double2 curand_log_normal2_double(State* state, double mean, double stddev) {
  const double2 normal = curand_normal2_double(state);
  return {exp(mean + stddev * normal.x), exp(mean + stddev * normal.y)};
}
WARPBOOK_RANDOM float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float stddev) {
  const float2 first = curand_log_normal2(state, mean, stddev), second = curand_log_normal2(state, mean, stddev);
  return {first.x, first.y, second.x, second.y};
}
WARPBOOK_RANDOM double4 curand_log_normal4_double(curandStatePhilox4_32_10* state, double mean, double stddev) {
  const double2 first = curand_log_normal2_double(state, mean, stddev);
  const double2 second = curand_log_normal2_double(state, mean, stddev);
  return {first.x, first.y, second.x, second.y};
}
template <class State> WARPBOOK_RANDOM float curand_log_normal(State* state, float mean, float stddev) {
  return warpbook::emulator::random::one_of(state->normals, state->normal, 2,
                                            [=] { return curand_log_normal2(state, mean, stddev); });
}
template <class State> WARPBOOK_RANDOM double curand_log_normal_double(State* state, double mean, double stddev) {
  return warpbook::emulator::random::one_of(state->doubles, state->normal_double, 2,
                                            [=] { return curand_log_normal2_double(state, mean, stddev); });
}

// ---- Poisson numbers

/// How often uniform numbers may be multiplied before the product falls below exp(-mean). Great means go in parts, as a
/// sum of Poisson numbers is one.
///
/// Source: D. E. Knuth, The Art of Computer Programming, volume 2.
template <class State> WARPBOOK_RANDOM unsigned int curand_poisson(State* state, double mean) {
  unsigned sum = 0;
  while (mean > 0) {
    const double part = mean < 64 ? mean : 60;
    mean -= part;
    float product = expf(static_cast<float>(part));
    do {
      ++sum;
      product *= curand_uniform(state);
    } while (product > 1.0F);
    --sum;
  }
  return sum;
}
WARPBOOK_RANDOM uint4 curand_poisson4(curandStatePhilox4_32_10* state, double mean) {
  const unsigned x = curand_poisson(state, mean), y = curand_poisson(state, mean), z = curand_poisson(state, mean);
  return {x, y, z, curand_poisson(state, mean)};
}

#undef WARPBOOK_RANDOM
