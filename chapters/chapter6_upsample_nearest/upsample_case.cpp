#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter6 {
namespace {

constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();

// "1.5" or "2,0.75": scales of height and width.
std::array<double, 2> parse_scales(const std::string& text) {
  std::array<double, 2> scales{};
  const std::size_t comma = text.find(',');
  const std::string parts[2] = {text.substr(0, comma), comma == std::string::npos ? text : text.substr(comma + 1)};
  for (std::size_t k = 0; k < 2; ++k) {
    const char* const end = parts[k].data() + parts[k].size();
    const auto [rest, error] = std::from_chars(parts[k].data(), end, scales[k]);
    if (error != std::errc() || rest != end || !(scales[k] > 0) || std::isinf(scales[k])) {
      throw BadInput(fmt::format("scale={} must be one or two numbers above 0", text));
    }
  }
  return scales;
}

template <class T> T read(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

double to_double(Type type, const std::byte* element) {
  if (type == Type::half) return static_cast<double>(__half2float(read<__half>(element)));
  if (type == Type::bfloat16) return static_cast<double>(__bfloat162float(read<__nv_bfloat16>(element)));
  return static_cast<double>(read<float>(element));
}

// `value` is exact in float: one rounding is left.
void from_double(Type type, double value, std::byte* element) {
  const auto narrow = static_cast<float>(value);
  if (type == Type::half) {
    const __half half = __float2half(narrow);
    std::memcpy(element, &half, 2);
  } else if (type == Type::bfloat16) {
    const __nv_bfloat16 bfloat = __float2bfloat16(narrow);
    std::memcpy(element, &bfloat, 2);
  } else {
    std::memcpy(element, &narrow, 4);
  }
}

int precision(Type type) { return type == Type::float32 ? 24 : type == Type::half ? 11 : 8; }

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
  const std::string direction = parameters.has("dir") ? parameters.word("dir") : "forward";
  const std::string layout = parameters.has("layout") ? parameters.word("layout") : "nchw";
  dtype_ = parameters.has("dtype") ? parameters.word("dtype") : "float";
  std::vector<std::int64_t> size = parameters.has("size") ? parameters.integers("size") : std::vector<std::int64_t>{};
  const bool has_size = parameters.has("size");
  if (parameters.has("scale")) scale_text_ = parameters.word("scale");
  offset_ = parameters.integer("offset", 0);
  parameters.refuse_unknown();

  if (shape.size() != 4) throw BadInput(fmt::format("shape has {} sizes; accepted are 4: N,C,H,W", shape.size()));
  if (direction != "forward" && direction != "backward") {
    throw BadInput(fmt::format("dir={} is unknown; accepted are forward, backward", direction));
  }
  backward_ = direction == "backward";
  if (layout != "nchw" && layout != "nhwc") {
    throw BadInput(fmt::format("layout={} is unknown; accepted are nchw, nhwc", layout));
  }
  if (dtype_ != "float" && dtype_ != "half" && dtype_ != "bfloat16") {
    throw BadInput(fmt::format("dtype={} is unknown; accepted are float, half, bfloat16", dtype_));
  }
  type_ = dtype_ == "float" ? Type::float32 : dtype_ == "half" ? Type::half : Type::bfloat16;
  if (offset_ < 0 || offset_ > 255) throw BadInput(fmt::format("offset={} must be 0 to 255 elements", offset_));

  std::array<double, 2> scales{};
  if (!scale_text_.empty()) scales = parse_scales(scale_text_);
  if (!has_size) {  // As PyTorch computes them.
    for (std::size_t k = 0; k < 2; ++k) {
      const double wanted = std::floor(static_cast<double>(shape[2 + k]) * (scales[k] > 0 ? scales[k] : 2));
      size.push_back(static_cast<std::int64_t>(std::clamp(wanted, -1.0, static_cast<double>(kMostSize) + 1)));
    }
  }
  if (size.size() != 2)
    throw BadInput(fmt::format("size has {} numbers; accepted are 2: the output's H,W", size.size()));
  for (const std::int64_t n : {shape[2], shape[3], size[0], size[1]}) {
    if (n < 1 || n > kMostSize) {
      throw BadInput(fmt::format("images of {}x{} to {}x{}: heights and widths must be 1 to {}", shape[2], shape[3],
                                 size[0], size[1], kMostSize));
    }
  }
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  for (const std::int64_t n : {std::max(shape[2], size[0]), std::max(shape[3], size[1]), shape[0], shape[1]}) {
    if (n < 0) throw BadInput(fmt::format("shape={} has a negative size", fmt::join(shape, ",")));
    if (n > most) throw BadInput(fmt::format("shape={} has 2^59 elements or more", fmt::join(shape, ",")));
    most /= std::max<std::int64_t>(n, 1);
  }
  problem_ = {.batch = shape[0],
              .channels = shape[1],
              .in_height = shape[2],
              .in_width = shape[3],
              .out_height = size[0],
              .out_width = size[1],
              .scale_height = scales[0],
              .scale_width = scales[1],
              .layout = layout == "nchw" ? ImageLayout::nchw : ImageLayout::nhwc};
}

std::int64_t UpsampleCase::in_count() const {
  return problem_.batch * problem_.channels * problem_.in_height * problem_.in_width;
}

std::int64_t UpsampleCase::out_count() const {
  return problem_.batch * problem_.channels * problem_.out_height * problem_.out_width;
}

std::string UpsampleCase::title() const {
  const UpsampleNearest& p = problem_;
  return fmt::format("{}  {}x{}x{}x{} to {}x{}  {}{}{}{}", backward_ ? "backward" : "forward", p.batch, p.channels,
                     p.in_height, p.in_width, p.out_height, p.out_width, dtype_,
                     p.layout == ImageLayout::nhwc ? "  nhwc" : "", scale_text_.empty() ? "" : "  scale " + scale_text_,
                     offset_ == 0 ? "" : fmt::format("  offset {}", offset_));
}

std::string UpsampleCase::parameters() const {
  const UpsampleNearest& p = problem_;
  std::string text = fmt::format("shape={},{},{},{} dir={} dtype={}", p.batch, p.channels, p.in_height, p.in_width,
                                 backward_ ? "backward" : "forward", dtype_);
  if (p.layout == ImageLayout::nhwc) text += " layout=nhwc";
  if (p.out_height != 2 * p.in_height || p.out_width != 2 * p.in_width || !scale_text_.empty()) {
    text += fmt::format(" size={},{}", p.out_height, p.out_width);
  }
  if (!scale_text_.empty()) text += " scale=" + scale_text_;
  if (offset_ != 0) text += fmt::format(" offset={}", offset_);
  return text;
}

Images UpsampleCase::images() const {
  const auto address = static_cast<std::uintptr_t>(output().offset_bytes);  // From a 256-byte boundary on.
  return make_images(problem_, element_bytes(), address, address);
}

BufferLayout UpsampleCase::layout_of(const char* name, std::int64_t count) const {
  return {name, count, element_bytes(), offset_ * element_bytes()};
}

std::vector<BufferLayout> UpsampleCase::inputs() const {
  return {backward_ ? layout_of("dy", out_count()) : layout_of("x", in_count())};
}

BufferLayout UpsampleCase::output() const {
  return backward_ ? layout_of("dx", in_count()) : layout_of("y", out_count());
}

std::int64_t UpsampleCase::bytes_moved() const {
  const UpsampleNearest& p = problem_;
  const std::int64_t planes = p.batch * p.channels * element_bytes();
  // Inputs that no output shows, and outputs that no input counts, need not be read.
  const auto shown = [](std::int64_t in, std::int64_t out, double scale) {
    std::int64_t count = 0;
    std::int64_t last = -1;
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t source = source_on_host(o, in, out, scale);
      count += source != last ? 1 : 0;
      last = source;
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
  return std::clamp(24 - static_cast<int>(std::bit_width(terms)), 1, precision(type_));
}

void UpsampleCase::fill(std::size_t /*array*/, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed, bytes);
  if (!backward_) return;
  const int bits = value_bits();
  const auto width = static_cast<std::size_t>(element_bytes());
  parallel_for(static_cast<std::int64_t>(bytes.size() / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* const element = bytes.data() + static_cast<std::size_t>(i) * width;
      std::uint32_t random = 0;
      std::memcpy(&random, element, width);
      const std::uint32_t magnitude = random & ((1U << bits) - 1);
      const bool negative = (random >> (8 * width - 1)) != 0;
      // No -0: where all terms are one, its sign would depend on what the sum began with.
      const double value = std::ldexp(negative && magnitude != 0 ? -static_cast<double>(magnitude) : magnitude, -bits);
      from_double(type_, value, element);
    }
  });
}

void UpsampleCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  const UpsampleNearest& p = problem_;
  const auto width = static_cast<std::size_t>(element_bytes());
  const Strides in(p, p.in_height, p.in_width);
  const Strides out(p, p.out_height, p.out_width);
  const std::int64_t rows = backward_ ? p.in_height : p.out_height;
  const auto at = [&](std::int64_t offset) { return inputs[0].data() + static_cast<std::size_t>(offset) * width; };

  std::vector<std::int64_t> column_rule;  // Of each output the source; of each input the first output, and the end.
  if (backward_) {
    for (std::int64_t i = 0; i <= p.in_width; ++i) {
      column_rule.push_back(first_output_on_host(i, p.in_width, p.out_width, p.scale_width));
    }
  } else {
    for (std::int64_t o = 0; o < p.out_width; ++o) {
      column_rule.push_back(source_on_host(o, p.in_width, p.out_width, p.scale_width));
    }
  }

  parallel_for(p.batch * p.channels * rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t row = item % rows;
      const std::int64_t channel = item / rows % p.channels;
      const std::int64_t image = item / rows / p.channels;
      const std::int64_t in_start = image * in.image + channel * in.channel;
      const std::int64_t out_start = image * out.image + channel * out.channel;
      if (!backward_) {
        const std::int64_t from = in_start + in.row * source_on_host(row, p.in_height, p.out_height, p.scale_height);
        for (std::int64_t o = 0; o < p.out_width; ++o) {
          const std::int64_t to = out_start + row * out.row + o * out.column;
          std::memcpy(expected.data() + static_cast<std::size_t>(to) * width,
                      at(from + in.column * column_rule[static_cast<std::size_t>(o)]), width);
        }
        continue;
      }
      const std::int64_t top = first_output_on_host(row, p.in_height, p.out_height, p.scale_height);
      const std::int64_t bottom = first_output_on_host(row + 1, p.in_height, p.out_height, p.scale_height);
      for (std::int64_t i = 0; i < p.in_width; ++i) {
        double sum = 0;
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = column_rule[static_cast<std::size_t>(i)];
               c < column_rule[static_cast<std::size_t>(i) + 1]; ++c) {
            sum += to_double(type_, at(out_start + r * out.row + c * out.column));
          }
        }
        const std::int64_t to = in_start + row * in.row + i * in.column;
        from_double(type_, sum, expected.data() + static_cast<std::size_t>(to) * width);
      }
    }
  });
}

Difference UpsampleCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  if (!backward_) return compare_bits(expected, actual, element_bytes());
  return compare_bits(expected, actual, element_bytes(),
                      [t = type_](const std::byte* element) { return fmt::format("{:.9g}", to_double(t, element)); });
}

std::string UpsampleCase::coordinate(std::int64_t element) const {
  const UpsampleNearest& p = problem_;
  const std::int64_t rows = backward_ ? p.in_height : p.out_height;
  const std::int64_t columns = backward_ ? p.in_width : p.out_width;
  std::array<std::int64_t, 4> index{};  // n, c, h, w
  const bool channels_last = p.layout == ImageLayout::nhwc;
  const auto take = [&element](std::int64_t size) {
    const std::int64_t i = element % size;
    element /= size;
    return i;
  };
  if (channels_last) index[1] = take(p.channels);
  index[3] = take(columns);
  index[2] = take(rows);
  if (!channels_last) index[1] = take(p.channels);
  index[0] = element;
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string upsample_case_help() {
  return "shape=N,C,H,W   of the input\n"
         "size=H,W        of the output (default: floor of the input's times the scale)\n"
         "scale=S[,S]     as PyTorch's scale_factor, height first; the rule goes by it and not by the sizes (default: "
         "by "
         "sizes, doubled)\n"
         "dir=D           forward or backward (default: forward)\n"
         "dtype=T         float, half, bfloat16 (default: float)\n"
         "layout=L        nchw, or nhwc: channels last (default: nchw)\n"
         "offset=N        both arrays begin N elements behind a 256-byte boundary (default: 0)";
}

}  // namespace warpbook::chapter6
