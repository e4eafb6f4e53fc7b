/// \file
/// Division by a number that is known before the launch: a multiplication, an addition and a shift.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <concepts>
#include <cstdint>

namespace warpbook {

/// Quotient and remainder.
template <std::unsigned_integral T> struct Division {
  T quotient;   ///< n / d, rounded down.
  T remainder;  ///< n - quotient * d.
};

/// Divides by `divisor` as the compiler does it: by many instructions, as the hardware has no integer divider.
template <std::unsigned_integral T> struct PlainDivisor {
  T divisor = 1;  ///< Not 0.

  PlainDivisor() = default;
  /// \param d the divisor, not 0.
  explicit PlainDivisor(T d) : divisor(d) {}

  /// n by the divisor.
  __host__ __device__ Division<T> divide(T n) const {
    const T quotient = n / divisor;
    return {quotient, n - quotient * divisor};
  }
};

/// Divides by a precomputed multiplication. With w the bits of T, s = ceil(log2(d)) and
/// m = floor(2^w * (2^s - d) / d) + 1, the quotient is (mulhi(n, m) + n) >> s for every n < 2^(w-1): the sum then stays
/// within w bits. 1 <= d <= 2^(w-1).
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.
template <std::unsigned_integral T> struct FastDivisor {
  T divisor = 1;       ///< d.
  T multiplier = 1;    ///< m.
  unsigned shift = 0;  ///< s.

  FastDivisor() = default;
  /// On the host: works out m and s. \param d the divisor, 1 to 2^(w-1).
  explicit FastDivisor(T d) : divisor(d), shift(static_cast<unsigned>(std::bit_width(T(d - 1)))) {
    if constexpr (sizeof(T) == 8) {
      __extension__ using Wide = unsigned __int128;
      multiplier = static_cast<T>((((Wide(1) << shift) - d) << 64) / d + 1);
    } else {
      multiplier = static_cast<T>((((std::uint64_t(1) << shift) - d) << 32) / d + 1);
    }
  }

  /// n, which is below 2^(w-1), by the divisor.
  __host__ __device__ Division<T> divide(T n) const {
    // [divide]
    const T quotient = static_cast<T>(multiply_high(n, multiplier) + n) >> shift;
    return {quotient, n - quotient * divisor};
    // [divide]
  }

private:
  __host__ __device__ static T multiply_high(T a, T b) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 8)
      return __umul64hi(a, b);
    else
      return __umulhi(a, b);
#else
    if constexpr (sizeof(T) == 8) {
      __extension__ using Wide = unsigned __int128;
      return static_cast<T>((Wide(a) * b) >> 64);
    } else {
      return static_cast<T>((std::uint64_t(a) * b) >> 32);
    }
#endif
  }
};

}  // namespace warpbook
