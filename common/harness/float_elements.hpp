/// \file
/// Elements of floating-point types as the host's doubles, by their bits alone: references owe nothing to the functions
/// that kernels convert with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpbook {

/// An element's type.
enum class FloatType { float32, half, bfloat16, float64 };

/// How a type lays out its bits: sign, exponent, fraction.
struct FloatFormat {
  int exponent_bits;  ///< Without the sign.
  int fraction_bits;  ///< Without the leading one.

  /// What the exponent is stored with.
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }  ///< Below it the fraction loses bits.
  /// Of an element.
  constexpr int bytes() const { return (1 + exponent_bits + fraction_bits) / 8; }
  /// The bit of the sign.
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
  /// The bits of infinity.
  std::uint64_t infinity() const { return sign() - (std::uint64_t{1} << fraction_bits); }
};

/// The format of a type.
constexpr FloatFormat format_of(FloatType type) {
  switch (type) {
  case FloatType::half:
    return {5, 10};
  case FloatType::bfloat16:
    return {8, 7};
  case FloatType::float64:
    return {11, 52};
  default:
    return {8, 23};
  }
}
/// Bytes of an element.
constexpr int bytes_of(FloatType type) { return format_of(type).bytes(); }
/// Bits of the significand, the leading one included: whole numbers up to 2^bits are exact.
constexpr int significand_bits(FloatType type) { return format_of(type).fraction_bits + 1; }

/// The bits of the element at `element`.
std::uint64_t load_bits(FloatType type, const std::byte* element);
/// A value of a type from its bits.
double decode(FloatType type, const std::byte* element);
/// The value of a type nearest to `value`, ties to even, too large ones infinite; written as its bits.
void encode(FloatType type, double value, std::byte* element);
/// A value's place among those of its type: neighbours differ by 1, and -0 is +0.
std::int64_t ordinal(FloatType type, const std::byte* element);
/// Makes of any bits a finite value between 2^-8 and 2^5 in magnitude: products of two reach below half's normal
/// numbers and stay far from its largest.
void make_moderate(FloatType type, std::byte* element);

}  // namespace warpbook
