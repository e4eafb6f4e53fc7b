#include "chapters/chapter1_elementwise/elementwise_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/harness/format.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter1 {
namespace {

constexpr Choice<Operation> kOperations[] = {
    {"mul", Operation::multiply}, {"scale", Operation::scale}, {"fma", Operation::multiply_add}};

}  // namespace

ElementwiseCase::ElementwiseCase(const Parameters& parameters) {
  operation_ = parameters.choice("op", kOperations, Operation::multiply);
  dtype_ = parameters.one_of("dtype", {"float", "half", "bfloat16", "mixed"});
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  count_ = parameters.integer("n", 0, 0, kMost, fmt::format("0 to {}", kMost));
  const bool has_count = parameters.has("n");
  const std::vector<std::int64_t> offsets =
      parameters.has("offset") ? parameters.integers("offset") : std::vector<std::int64_t>{0};
  parameters.refuse_unknown();

  if (!has_count) throw BadInput("n is missing: the number of elements");
  if (dtype_ == "half" || dtype_ == "mixed") first_type_ = Type::half;
  if (dtype_ == "bfloat16") first_type_ = Type::bfloat16;
  output_type_ = dtype_ == "mixed" ? Type::float32 : first_type_;
  if (mixed() && operation_ == Operation::multiply_add) {
    throw BadInput("dtype=mixed goes with op=mul and op=scale only");
  }
  if (offsets.size() != 1 && offsets.size() != offset_count()) {
    throw BadInput(fmt::format("offset={} has {} numbers; accepted are one for all arrays, or {}: of the output, then "
                               "of each input",
                               fmt::join(offsets, ","), offsets.size(), offset_count()));
  }
  for (std::size_t k = 0; k < offset_count(); ++k) {
    offset_[k] = offsets[offsets.size() == 1 ? 0 : k];
    if (offset_[k] < 0 || offset_[k] > 255) {
      throw BadInput(fmt::format("offset={} must be 0 to 255 elements", fmt::join(offsets, ",")));
    }
  }
}

Type ElementwiseCase::type(std::size_t array) const {
  if (array == 0) return first_type_;
  if (operation_ == Operation::scale && array == 1) return Type::float32;  // s
  return output_type_;
}

bool ElementwiseCase::aligned() const {
  const std::vector<BufferLayout> arrays = inputs();
  return output().offset_bytes % 16 == 0 &&
         std::all_of(arrays.begin(), arrays.end(), [](const BufferLayout& x) { return x.offset_bytes % 16 == 0; });
}

std::string ElementwiseCase::offsets_text() const {
  const auto end = offset_.begin() + static_cast<std::ptrdiff_t>(offset_count());
  if (std::all_of(offset_.begin(), end, [&](std::int64_t offset) { return offset == offset_[0]; })) {
    return if_any("", offset_[0]);
  }
  return fmt::format("{}", fmt::join(offset_.begin(), end, ","));
}

std::string ElementwiseCase::title() const {
  const char* formula = operation_ == Operation::multiply ? "x*y" : operation_ == Operation::scale ? "x*s" : "x*y+w";
  return fmt::format("{}  {}  {}{}", formula, count_, dtype_, if_any("  offset ", offsets_text()));
}

std::string ElementwiseCase::parameters() const {
  return fmt::format("n={} op={} dtype={}{}", count_, name_of(kOperations, operation_), dtype_,
                     if_any(" offset=", offsets_text()));
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
  const Type t = type(array);
  parallel_each(static_cast<std::int64_t>(bytes.size()) / bytes_of(t),
                [&](std::int64_t i) { make_moderate(t, bytes.data() + i * bytes_of(t)); });
}

void ElementwiseCase::reference(std::span<const std::span<const std::byte>> inputs,
                                std::span<std::byte> expected) const {
  const auto at = [&](std::size_t array, std::int64_t i) {
    const Type t = type(array);
    return decode(t, inputs[array].data() + i * bytes_of(t));
  };
  const double s = operation_ == Operation::scale ? at(1, 0) : 0;
  const auto result = [&](std::int64_t i) {
    if (operation_ == Operation::scale) return at(0, i) * s;
    if (operation_ == Operation::multiply_add) return std::fma(at(0, i), at(1, i), at(2, i));
    return at(0, i) * at(1, i);  // A product of two floats fits a double: it is rounded once, by encode.
  };
  parallel_each(count_,
                [&](std::int64_t i) { encode(output_type_, result(i), expected.data() + i * bytes_of(output_type_)); });
}

int ElementwiseCase::tolerance_ulps() const {
  if (operation_ == Operation::scale) return output_type_ == Type::float32 ? 0 : 1;
  if (operation_ == Operation::multiply_add) return output_type_ == Type::float32 ? 1 : 0;
  return 0;
}

Difference ElementwiseCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  const Type t = output_type_;
  const auto print = [t](const std::byte* element) { return fmt::format("{:.9g}", decode(t, element)); };
  const std::int64_t tolerance = tolerance_ulps();
  if (tolerance == 0) return compare_bits(expected, actual, bytes_of(t), print);
  const auto near = [t, tolerance](const std::byte* want, const std::byte* got) {
    return !std::isnan(decode(t, got)) && std::abs(ordinal(t, want) - ordinal(t, got)) <= tolerance;
  };
  return compare_elements(expected, actual, bytes_of(t), near, print);
}

std::string elementwise_case_help() {
  return R"(n=N             elements of each array
op=O            mul: z = x*y; scale: z = x*s with s in device memory; fma: z = x*y+w (default: mul)
dtype=T         float, half, bfloat16, or mixed: z float, x half, y float (default: float)
offset=N,...    the arrays begin N elements behind a 256-byte boundary: one number for all, or one for z and
                one for each of x, y, w (default: 0))";
}

}  // namespace warpbook::chapter1
