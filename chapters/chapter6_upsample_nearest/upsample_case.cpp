#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/harness/format.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter6 {
namespace {

constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
constexpr Choice<Type> kTypes[] = {{"float", Type::float32}, {"half", Type::half}, {"bfloat16", Type::bfloat16}};
constexpr Choice<ImageLayout> kLayouts[] = {{"nchw", ImageLayout::nchw}, {"nhwc", ImageLayout::nhwc}};

// "1.5" or "2,0.75": scales of height and width.
std::array<double, 2> parse_scales(const std::string& text) {
  const std::size_t comma = text.find(',');
  const double height = parse_number(text.substr(0, comma)).value_or(0);
  const double width = comma == std::string::npos ? height : parse_number(text.substr(comma + 1)).value_or(0);
  if (height <= 0 || width <= 0) throw BadInput(fmt::format("scale={} must be one or two numbers above 0", text));
  return {height, width};
}

struct Strides {
  std::int64_t image, channel, row, column;

  Strides(const UpsampleNearest& p, std::int64_t height, std::int64_t width)
      : image(p.channels * height * width), channel(p.layout == ImageLayout::nchw ? height * width : 1),
        row(p.layout == ImageLayout::nchw ? width : width * p.channels),
        column(p.layout == ImageLayout::nchw ? 1 : p.channels) {}
};

// A float as an integer: what is above `most` becomes that, and what is no number 0, as on a GPU.
std::int64_t whole(float x, std::int64_t most) {
  if (x >= static_cast<float>(most)) return most;
  return x > 0 ? static_cast<std::int64_t>(x) : 0;
}

}  // namespace

std::int64_t source_on_host(std::int64_t o, std::int64_t in, std::int64_t out, double scale) {
  if (in == out) return o;  // Whatever scale was given, as PyTorch has it.
  const float step = scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
  return whole(std::floor(static_cast<float>(o) * step), in - 1);
}

std::int64_t first_output_on_host(std::int64_t i, std::int64_t in, std::int64_t out, double scale) {
  const float step = scale > 0 ? static_cast<float>(scale) : static_cast<float>(out) / static_cast<float>(in);
  return whole(std::ceil(static_cast<float>(i) * step), out);
}

UpsampleCase::UpsampleCase(const Parameters& parameters) {
  const std::vector<std::int64_t> shape = parameters.integers("shape");
  backward_ = parameters.one_of("dir", {"forward", "backward"}) == "backward";
  const ImageLayout layout = parameters.choice("layout", kLayouts, ImageLayout::nchw);
  type_ = parameters.choice("dtype", kTypes, Type::float32);
  const bool has_size = parameters.has("size");
  std::vector<std::int64_t> size = has_size ? parameters.integers("size") : std::vector<std::int64_t>{};
  scale_text_ = parameters.word("scale", "");
  offset_ = parameters.offset();
  parameters.refuse_unknown();

  if (shape.size() != 4) throw BadInput(fmt::format("shape has {} sizes; accepted are 4: N,C,H,W", shape.size()));
  std::array<double, 2> scales{};
  if (!scale_text_.empty()) scales = parse_scales(scale_text_);
  if (!has_size) {  // As PyTorch computes them.
    for (std::size_t k = 0; k < 2; ++k) {
      const double wanted = std::floor(static_cast<double>(shape[2 + k]) * (scales[k] > 0 ? scales[k] : 2));
      size.push_back(static_cast<std::int64_t>(std::clamp(wanted, -1.0, static_cast<double>(kMostSize) + 1)));
    }
  }
  if (size.size() != 2) {
    throw BadInput(fmt::format("size has {} numbers; accepted are 2: the output's H,W", size.size()));
  }
  for (const std::int64_t n : {shape[2], shape[3], size[0], size[1]}) {
    if (n < 1 || n > kMostSize) {
      throw BadInput(fmt::format("images of {}x{} to {}x{}: heights and widths must be 1 to {}", shape[2], shape[3],
                                 size[0], size[1], kMostSize));
    }
  }
  check_sizes(shape, {std::max(shape[2], size[0]), std::max(shape[3], size[1]), shape[0], shape[1]},
              std::numeric_limits<std::int64_t>::max() / 16, "2^59 elements or more");
  problem_ = {.batch = shape[0],
              .channels = shape[1],
              .in_height = shape[2],
              .in_width = shape[3],
              .out_height = size[0],
              .out_width = size[1],
              .scale_height = scales[0],
              .scale_width = scales[1],
              .layout = layout};
}

BufferLayout UpsampleCase::array(const char* name, bool is_output) const {
  const UpsampleNearest& p = problem_;
  const std::int64_t pixels = is_output ? p.out_height * p.out_width : p.in_height * p.in_width;
  return {name, p.batch * p.channels * pixels, element_bytes(), offset_ * element_bytes()};
}

std::string UpsampleCase::title() const {
  const UpsampleNearest& p = problem_;
  return fmt::format("{}  {}x{}x{}x{} to {}x{}  {}{}{}{}", direction(), p.batch, p.channels, p.in_height, p.in_width,
                     p.out_height, p.out_width, name_of(kTypes, type_), p.layout == ImageLayout::nhwc ? "  nhwc" : "",
                     if_any("  scale ", scale_text_), if_any("  offset ", offset_));
}

std::string UpsampleCase::parameters() const {
  const UpsampleNearest& p = problem_;
  const bool doubled = p.out_height == 2 * p.in_height && p.out_width == 2 * p.in_width && scale_text_.empty();
  return fmt::format("shape={},{},{},{} dir={} dtype={}{}{}{}{}", p.batch, p.channels, p.in_height, p.in_width,
                     direction(), name_of(kTypes, type_), p.layout == ImageLayout::nhwc ? " layout=nhwc" : "",
                     doubled ? "" : fmt::format(" size={},{}", p.out_height, p.out_width),
                     if_any(" scale=", scale_text_), if_any(" offset=", offset_));
}

Images UpsampleCase::images() const {
  const auto address = static_cast<std::uintptr_t>(output().offset_bytes);  // From a 256-byte boundary on.
  return make_images(problem_, element_bytes(), address, address);
}

std::int64_t UpsampleCase::bytes_moved() const {
  const UpsampleNearest& p = problem_;
  const std::int64_t planes = p.batch * p.channels * element_bytes();
  // Inputs that no output shows, and outputs that no input counts, need not be read.
  const auto shown = [](std::int64_t in, std::int64_t out, double scale) {
    std::int64_t count = 1;
    for (std::int64_t o = 1; o < out; ++o) {
      count += source_on_host(o, in, out, scale) != source_on_host(o - 1, in, out, scale) ? 1 : 0;
    }
    return count;
  };
  const auto counted = [](std::int64_t in, std::int64_t out, double scale) {
    return first_output_on_host(in, in, out, scale) - first_output_on_host(0, in, out, scale);
  };
  const auto of = [&](const auto& rule) {
    return rule(p.in_height, p.out_height, p.scale_height) * rule(p.in_width, p.out_width, p.scale_width);
  };
  return backward_ ? planes * (of(counted) + p.in_height * p.in_width)
                   : planes * (of(shown) + p.out_height * p.out_width);
}

int UpsampleCase::value_bits() const {
  const auto most = [](std::int64_t in, std::int64_t out, double scale) {
    std::int64_t widest = 1;
    for (std::int64_t i = 0; i < in; ++i) {
      widest = std::max(widest, first_output_on_host(i + 1, in, out, scale) - first_output_on_host(i, in, out, scale));
    }
    return widest;
  };
  const UpsampleNearest& p = problem_;
  const auto terms = static_cast<std::uint64_t>(most(p.in_height, p.out_height, p.scale_height) *
                                                most(p.in_width, p.out_width, p.scale_width));
  return std::clamp(24 - static_cast<int>(std::bit_width(terms)), 1, significand_bits(type_));
}

void UpsampleCase::fill(std::size_t /*array*/, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed, bytes);
  if (!backward_) return;
  const int bits = value_bits();
  const int width = element_bytes();
  parallel_each(static_cast<std::int64_t>(bytes.size()) / width, [&](std::int64_t i) {
    std::byte* const element = bytes.data() + i * width;
    const std::uint64_t random = load_bits(type_, element);
    const auto magnitude = static_cast<double>(random & ((1U << bits) - 1));
    const bool negative = (random >> (8 * width - 1)) != 0;
    // No -0: where all terms are one, its sign would depend on what the sum began with.
    encode(type_, std::ldexp(negative && magnitude != 0 ? -magnitude : magnitude, -bits), element);
  });
}

void UpsampleCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  const UpsampleNearest& p = problem_;
  const int width = element_bytes();
  const Strides x(p, p.in_height, p.in_width);
  const Strides y(p, p.out_height, p.out_width);
  const Strides& from = backward_ ? y : x;
  const Strides& to = backward_ ? x : y;
  const std::int64_t rows = backward_ ? p.in_height : p.out_height;
  const std::int64_t columns = backward_ ? p.in_width : p.out_width;
  // What element i along an axis of the result is made of: from the first number to below the second.
  const auto sources = [this](std::int64_t i, std::int64_t in, std::int64_t out, double scale) {
    if (backward_)
      return std::pair(first_output_on_host(i, in, out, scale), first_output_on_host(i + 1, in, out, scale));
    const std::int64_t source = source_on_host(i, in, out, scale);
    return std::pair(source, source + 1);
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> of_column;
  for (std::int64_t i = 0; i < columns; ++i) of_column.push_back(sources(i, p.in_width, p.out_width, p.scale_width));

  parallel_each(p.batch * p.channels * rows, [&](std::int64_t item) {
    const std::int64_t row = item % rows;
    const std::int64_t channel = item / rows % p.channels;
    const std::int64_t image = item / rows / p.channels;
    const std::byte* const plane = inputs[0].data() + (image * from.image + channel * from.channel) * width;
    std::byte* result = expected.data() + (image * to.image + channel * to.channel + row * to.row) * width;
    const auto [top, bottom] = sources(row, p.in_height, p.out_height, p.scale_height);
    for (const auto& [left, right] : of_column) {
      const auto at = [&](std::int64_t r, std::int64_t c) { return plane + (r * from.row + c * from.column) * width; };
      if (backward_) {
        double sum = 0;
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = left; c < right; ++c) sum += decode(type_, at(r, c));
        }
        encode(type_, sum, result);
      } else {
        std::memcpy(result, at(top, left), static_cast<std::size_t>(width));
      }
      result += to.column * width;
    }
  });
}

Difference UpsampleCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  if (!backward_) return compare_bits(expected, actual, element_bytes());
  return compare_bits(expected, actual, element_bytes(),
                      [t = type_](const std::byte* element) { return fmt::format("{:.9g}", decode(t, element)); });
}

std::string UpsampleCase::coordinate(std::int64_t element) const {
  const UpsampleNearest& p = problem_;
  const std::int64_t rows = backward_ ? p.in_height : p.out_height;
  const std::int64_t columns = backward_ ? p.in_width : p.out_width;
  if (p.layout == ImageLayout::nchw) {
    return coordinate_text(index_in(std::array{p.batch, p.channels, rows, columns}, element));
  }
  const std::vector<std::int64_t> at = index_in(std::array{p.batch, rows, columns, p.channels}, element);
  return coordinate_text(std::array{at[0], at[3], at[1], at[2]});
}

std::string upsample_case_help() {
  return R"(shape=N,C,H,W   of the input
size=H,W        of the output (default: floor of the input's times the scale)
scale=S[,S]     as PyTorch's scale_factor, height first; the rule goes by it and not by the sizes (default: by sizes, doubled)
dir=D           forward or backward (default: forward)
dtype=T         float, half, bfloat16 (default: float)
layout=L        nchw, or nhwc: channels last (default: nchw)
offset=N        both arrays begin N elements behind a 256-byte boundary (default: 0))";
}

}  // namespace warpbook::chapter6
