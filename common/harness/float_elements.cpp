#include "common/harness/float_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace warpbook {

namespace {

template <class Bits> std::uint64_t load_as(const std::byte* element) {
  Bits bits = 0;
  std::memcpy(&bits, element, sizeof(bits));
  return bits;
}

}  // namespace

std::uint64_t load_bits(FloatType type, const std::byte* element) {
  const int bytes = bytes_of(type);
  return bytes == 2   ? load_as<std::uint16_t>(element)
         : bytes == 4 ? load_as<std::uint32_t>(element)
                      : load_as<std::uint64_t>(element);
}

double decode(FloatType type, const std::byte* element) {
  const FloatFormat f = format_of(type);
  const std::uint64_t bits = load_bits(type, element);
  const std::uint64_t magnitude = bits & ~f.sign();
  double value = std::numeric_limits<double>::quiet_NaN();
  if (magnitude < f.infinity()) {  // As a double's bits they are the same number, but for the bias of its exponent.
    constexpr FloatFormat kDouble{11, 52};
    const auto factor = static_cast<std::uint64_t>(2 * kDouble.bias() - f.bias()) << kDouble.fraction_bits;
    value =
        std::bit_cast<double>(magnitude << (kDouble.fraction_bits - f.fraction_bits)) * std::bit_cast<double>(factor);
  } else if (magnitude == f.infinity()) {
    value = std::numeric_limits<double>::infinity();
  }
  return bits == magnitude ? value : -value;
}

void encode(FloatType type, double value, std::byte* element) {
  const FloatFormat f = format_of(type);
  std::uint64_t bits = f.infinity();
  if (std::isnan(value)) {
    bits |= std::uint64_t{1} << (f.fraction_bits - 1);
  } else if (std::isfinite(value)) {
    const int exponent = value == 0 ? f.least_exponent() : std::max(std::ilogb(value), f.least_exponent());
    // Rounds ties to even. The leading bit, where there is one, adds 1 to the exponent; a carry does, too.
    const double significand = std::nearbyint(std::ldexp(std::abs(value), f.fraction_bits - exponent));
    const auto above = static_cast<std::uint64_t>(exponent - f.least_exponent());
    bits = std::min((above << f.fraction_bits) + static_cast<std::uint64_t>(significand), f.infinity());
  }
  if (std::signbit(value)) bits |= f.sign();
  std::memcpy(element, &bits, static_cast<std::size_t>(f.bytes()));
}

std::int64_t ordinal(FloatType type, const std::byte* element) {
  const std::uint64_t bits = load_bits(type, element);
  const auto magnitude = static_cast<std::int64_t>(bits & ~format_of(type).sign());
  return bits == static_cast<std::uint64_t>(magnitude) ? magnitude : -magnitude;
}

void make_moderate(FloatType type, std::byte* element) {
  constexpr int kLeast = -8;
  constexpr int kBinades = 13;
  const FloatFormat f = format_of(type);
  const std::uint64_t exponent_mask = (std::uint64_t{1} << f.exponent_bits) - 1;
  std::uint64_t bits = load_bits(type, element);
  const std::uint64_t binade = (bits >> f.fraction_bits & exponent_mask) % kBinades;
  const std::uint64_t exponent = static_cast<std::uint64_t>(f.bias() + kLeast) + binade;
  bits = (bits & ~(exponent_mask << f.fraction_bits)) | exponent << f.fraction_bits;
  std::memcpy(element, &bits, static_cast<std::size_t>(f.bytes()));
}

}  // namespace warpbook
