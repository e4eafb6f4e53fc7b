#include "chapters/chapter1_elementwise/elementwise_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter1 {
namespace {

constexpr std::pair<const char*, Operation> kOperations[] = {
    {"mul", Operation::multiply}, {"scale", Operation::scale}, {"fma", Operation::multiply_add}};

const char* name_of(Operation operation) {
  for (const auto& [name, value] : kOperations) {
    if (value == operation) return name;
  }
  return "";
}

// How a type lays out its bits: sign, exponent, fraction.
struct Format {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }  // Below it the fraction loses bits.
  int bytes() const { return (1 + exponent_bits + fraction_bits) / 8; }
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
  std::uint64_t infinity() const { return sign() - (std::uint64_t{1} << fraction_bits); }
};

Format format_of(Type type) {
  switch (type) {
  case Type::half:
    return {5, 10};
  case Type::bfloat16:
    return {8, 7};
  default:
    return {8, 23};
  }
}

std::uint64_t load_bits(Format f, const std::byte* element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<std::size_t>(f.bytes()));
  return bits;
}

// Bits of a finite value as a number that grows with the value: neighbours differ by 1, and -0 is +0.
std::int64_t ordinal(Format f, std::uint64_t bits) {
  const auto magnitude = static_cast<std::int64_t>(bits & ~f.sign());
  return (bits & f.sign()) != 0 ? -magnitude : magnitude;
}

bool is_nan(Format f, std::uint64_t bits) { return (bits & ~f.sign()) > f.infinity(); }

// Makes of any bits a finite value between 2^-8 and 2^5 in magnitude: products of two reach below half's normal numbers
// and stay far from its largest.
std::uint64_t moderate(Format f, std::uint64_t bits) {
  constexpr int kLeast = -8;
  constexpr int kBinades = 13;
  const std::uint64_t exponent_mask = (std::uint64_t{1} << f.exponent_bits) - 1;
  const std::uint64_t binade = (bits >> f.fraction_bits & exponent_mask) % kBinades;
  const std::uint64_t exponent = static_cast<std::uint64_t>(f.bias() + kLeast) + binade;
  return (bits & ~(exponent_mask << f.fraction_bits)) | exponent << f.fraction_bits;
}

}  // namespace

double decode(Type type, const std::byte* element) {
  const Format f = format_of(type);
  const std::uint64_t bits = load_bits(f, element);
  const std::uint64_t magnitude = bits & ~f.sign();
  const std::uint64_t one = std::uint64_t{1} << f.fraction_bits;  // What the fraction is counted in.
  double value = std::numeric_limits<double>::quiet_NaN();
  if (magnitude < f.infinity()) {
    const int exponent = static_cast<int>(magnitude / one);
    const std::uint64_t significand = exponent == 0 ? magnitude : magnitude % one + one;
    value = std::ldexp(static_cast<double>(significand), std::max(exponent, 1) - f.bias() - f.fraction_bits);
  } else if (magnitude == f.infinity()) {
    value = std::numeric_limits<double>::infinity();
  }
  return bits == magnitude ? value : -value;
}

void encode(Type type, double value, std::byte* element) {
  const Format f = format_of(type);
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

ElementwiseCase::ElementwiseCase(const Parameters& parameters) {
  const std::string operation = parameters.has("op") ? parameters.word("op") : "mul";
  dtype_ = parameters.has("dtype") ? parameters.word("dtype") : "float";
  count_ = parameters.integer("n", -1);
  const bool has_count = parameters.has("n");
  const std::vector<std::int64_t> offsets =
      parameters.has("offset") ? parameters.integers("offset") : std::vector<std::int64_t>{0};
  parameters.refuse_unknown();

  const auto* const found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                         [&](const auto& entry) { return operation == entry.first; });
  if (found == std::end(kOperations)) {
    throw BadInput(fmt::format("op={} is unknown; accepted are mul, scale, fma", operation));
  }
  operation_ = found->second;

  if (dtype_ == "half") {
    output_type_ = first_type_ = Type::half;
  } else if (dtype_ == "bfloat16") {
    output_type_ = first_type_ = Type::bfloat16;
  } else if (dtype_ == "mixed") {
    first_type_ = Type::half;
  } else if (dtype_ != "float") {
    throw BadInput(fmt::format("dtype={} is unknown; accepted are float, half, bfloat16, mixed", dtype_));
  }
  if (mixed() && operation_ == Operation::multiply_add) {
    throw BadInput("dtype=mixed goes with op=mul and op=scale only");
  }

  if (!has_count) throw BadInput("n is missing: the number of elements");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  if (count_ < 0 || count_ > kMost) throw BadInput(fmt::format("n={} must be 0 to {}", count_, kMost));

  const std::size_t arrays = operation_ == Operation::scale ? 2 : array_count();  // s has no offset of its own.
  if (offsets.size() != 1 && offsets.size() != arrays) {
    throw BadInput(fmt::format("offset={} has {} numbers; accepted are one for all arrays, or {}: of the output, then "
                               "of each input",
                               fmt::join(offsets, ","), offsets.size(), arrays));
  }
  for (std::size_t k = 0; k < arrays; ++k) {
    offset_[k] = offsets.size() == 1 ? offsets[0] : offsets[k];
    if (offset_[k] < 0 || offset_[k] > 255) {
      throw BadInput(fmt::format("offset={} must be 0 to 255 elements", fmt::join(offsets, ",")));
    }
  }
}

std::size_t ElementwiseCase::array_count() const { return operation_ == Operation::multiply_add ? 4 : 3; }

Type ElementwiseCase::type(std::size_t array) const {
  if (array == 0) return first_type_;
  if (operation_ == Operation::scale && array == 1) return Type::float32;  // s
  return output_type_;
}

bool ElementwiseCase::aligned() const {
  if (offset_[0] * bytes_of(output_type_) % 16 != 0) return false;
  for (std::size_t k = 0; k + 1 < array_count(); ++k) {
    if (offset_[k + 1] * bytes_of(type(k)) % 16 != 0) return false;
  }
  return true;
}

std::string ElementwiseCase::offsets_text() const {
  const std::size_t arrays = operation_ == Operation::scale ? 2 : array_count();
  const auto end = offset_.begin() + static_cast<std::ptrdiff_t>(arrays);
  if (std::all_of(offset_.begin(), end, [&](std::int64_t offset) { return offset == offset_[0]; })) {
    return offset_[0] == 0 ? "" : fmt::format("{}", offset_[0]);
  }
  return fmt::format("{}", fmt::join(offset_.begin(), end, ","));
}

std::string ElementwiseCase::title() const {
  const char* formula = operation_ == Operation::multiply ? "x*y" : operation_ == Operation::scale ? "x*s" : "x*y+w";
  const std::string offsets = offsets_text();
  return fmt::format("{}  {}  {}{}", formula, count_, dtype_, offsets.empty() ? "" : "  offset " + offsets);
}

std::string ElementwiseCase::parameters() const {
  const std::string offsets = offsets_text();
  return fmt::format("n={} op={} dtype={}{}", count_, name_of(operation_), dtype_,
                     offsets.empty() ? "" : " offset=" + offsets);
}

std::vector<BufferLayout> ElementwiseCase::inputs() const {
  constexpr const char* kNames[] = {"x", "y", "w"};
  std::vector<BufferLayout> layouts;
  for (std::size_t k = 0; k + 1 < array_count(); ++k) {
    const int bytes = bytes_of(type(k));
    layouts.push_back({kNames[k], count_, bytes, offset_[k + 1] * bytes});
  }
  if (operation_ == Operation::scale) layouts[1] = {"s", 1, 4, 0};
  return layouts;
}

BufferLayout ElementwiseCase::output() const {
  const int bytes = bytes_of(output_type_);
  return {"z", count_, bytes, offset_[0] * bytes};
}

std::int64_t ElementwiseCase::bytes_moved() const {
  std::int64_t bytes = output().bytes();
  for (const BufferLayout& layout : inputs()) bytes += layout.bytes();
  return bytes;
}

void ElementwiseCase::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed, bytes);
  const Format f = format_of(type(array));
  const auto width = static_cast<std::size_t>(f.bytes());
  parallel_for(static_cast<std::int64_t>(bytes.size() / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* const element = bytes.data() + static_cast<std::size_t>(i) * width;
      const std::uint64_t value = moderate(f, load_bits(f, element));
      std::memcpy(element, &value, width);
    }
  });
}

void ElementwiseCase::reference(std::span<const std::span<const std::byte>> inputs,
                                std::span<std::byte> expected) const {
  const auto at = [&](std::size_t array, std::int64_t i) {
    const Type t = type(array);
    return decode(t, inputs[array].data() + i * bytes_of(t));
  };
  const int width = bytes_of(output_type_);
  const double s = operation_ == Operation::scale ? at(1, 0) : 0;
  parallel_for(count_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double z = 0;
      switch (operation_) {
      case Operation::multiply:  // A product of two floats fits a double: it is rounded once, by encode.
        z = at(0, i) * at(1, i);
        break;
      case Operation::scale:
        z = at(0, i) * s;
        break;
      case Operation::multiply_add:
        z = std::fma(at(0, i), at(1, i), at(2, i));
        break;
      }
      encode(output_type_, z, expected.data() + i * width);
    }
  });
}

int ElementwiseCase::tolerance_ulps() const {
  switch (operation_) {
  case Operation::scale:
    return output_type_ == Type::float32 ? 0 : 1;
  case Operation::multiply_add:
    return output_type_ == Type::float32 ? 1 : 0;
  default:
    return 0;
  }
}

Difference ElementwiseCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  const Type t = output_type_;
  const auto print = [t](const std::byte* element) { return fmt::format("{:.9g}", decode(t, element)); };
  const Difference in_bits = compare_bits(expected, actual, bytes_of(t), print);
  const std::int64_t tolerance = tolerance_ulps();
  if (in_bits.count == 0 || tolerance == 0) return in_bits;

  // What is near enough counts as expected.
  const Format f = format_of(t);
  const auto width = static_cast<std::size_t>(f.bytes());
  std::vector<std::byte> wanted(expected.begin(), expected.end());
  parallel_for(count_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* const want = wanted.data() + static_cast<std::size_t>(i) * width;
      const std::byte* const got = actual.data() + static_cast<std::size_t>(i) * width;
      const std::int64_t distance = ordinal(f, load_bits(f, want)) - ordinal(f, load_bits(f, got));
      if (!is_nan(f, load_bits(f, got)) && std::abs(distance) <= tolerance) std::memcpy(want, got, width);
    }
  });
  return compare_bits(wanted, actual, bytes_of(t), print);
}

std::string ElementwiseCase::coordinate(std::int64_t element) const { return fmt::format("[{}]", element); }

std::string elementwise_case_help() {
  return "n=N             elements of each array\n"
         "op=O            mul: z = x*y; scale: z = x*s with s in device memory; fma: z = x*y+w (default: mul)\n"
         "dtype=T         float, half, bfloat16, or mixed: z float, x half, y float (default: float)\n"
         "offset=N,...    the arrays begin N elements behind a 256-byte boundary: one number for all, or one for z "
         "and\n"
         "                one for each of x, y, w (default: 0)";
}

}  // namespace warpbook::chapter1
