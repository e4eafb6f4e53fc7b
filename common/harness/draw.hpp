/// \file
/// Random numbers for cases' data: the same ones for a seed, whichever core draws them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "common/harness/raw_elements.hpp"

namespace warpbook {

/// SplitMix64.
class Draw {
public:
  /// Element i of an array gets numbers of its own.
  Draw(std::uint64_t seed, std::int64_t i) : state_(seed + 0x632be59bd9b4e019ULL * static_cast<std::uint64_t>(i + 1)) {}

  /// 64 random bits.
  std::uint64_t bits() { return mix(std::exchange(state_, state_ + 0x9e3779b97f4a7c15ULL)); }
  /// From 0 to 1, 1 excluded.
  double unit() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
  /// One of 0 to n - 1.
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }

private:
  std::uint64_t state_;
};

/// A rank from 1 to n, k with a probability proportional to 1 / k: drawn with ln(1 + 1/k), then kept so that 1/k is
/// left.
inline std::int64_t zipf_rank(Draw& draw, std::int64_t n) {
  const double log_n = std::log1p(static_cast<double>(n));
  for (;;) {
    const auto k = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::exp(draw.unit() * log_n)), 1, n);
    const double inverse = 1 / static_cast<double>(k);
    if (draw.unit() * std::log1p(inverse) <= inverse * std::log(2.0)) return k;
  }
}

/// 1 + 1/2 + ... + 1/n: rank k of n is drawn with the probability 1 / (k * harmonic(n)).
inline double harmonic(std::int64_t n) {
  double sum = 0;
  for (std::int64_t k = 1; k <= std::min<std::int64_t>(n, 1000); ++k) sum += 1 / static_cast<double>(k);
  if (n > 1000) sum += std::log((static_cast<double>(n) + 0.5) / 1000.5);
  return sum;
}

/// A number that has no divisor in common with n, about 0.62 n: its multiples visit all of n places, far apart.
inline std::int64_t stride_over(std::int64_t n) {
  auto stride = static_cast<std::int64_t>(0.6180339887 * static_cast<double>(n)) | 1;
  while (std::gcd(stride, n) != 1) ++stride;
  return stride;
}

/// (a * b) mod n, all above 0, whatever the product's width.
inline std::int64_t product_modulo(std::int64_t a, std::int64_t b, std::int64_t n) {
  __extension__ using Wide = unsigned __int128;  // Of g++ and clang, if not of ISO C++.
  return static_cast<std::int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % static_cast<Wide>(n));
}

}  // namespace warpbook
