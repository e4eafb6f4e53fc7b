/// \file
/// Chapter 6 on large arrays.

#include <cmath>

#include "chapters/chapter6_upsample_nearest/upsample_nearest.cuh"
#include "tests/chapters/size/size.cuh"

namespace warpbook::size {
namespace {

/// Where an element of an image lies.
struct Place {
  std::int64_t plane, y, x;  // A plane is an image's channel.
};

struct Shape {
  std::int64_t batch, channels, height, width;
  bool channels_last;

  __host__ __device__ std::int64_t count() const { return batch * channels * height * width; }
  __host__ __device__ Place place(std::int64_t i) const {
    if (!channels_last) return {i / width / height, i / width % height, i % width};
    const std::int64_t pixel = i / channels;
    return {pixel / width / height * channels + i % channels, pixel / width % height, pixel % width};
  }
  __host__ __device__ std::int64_t index(const Place& p) const {
    if (!channels_last) return (p.plane * height + p.y) * width + p.x;
    return ((p.plane / channels * height + p.y) * width + p.x) * channels + p.plane % channels;
  }
};

/// Outputs by PyTorch's rule: the input at floor(output * in / out), computed in float.
struct Nearest {
  Shape in;
  Shape out;
  float y_step;
  float x_step;
  __host__ __device__ static std::int64_t source(std::int64_t o, float step, std::int64_t size) {
    const auto i = static_cast<std::int64_t>(floorf(static_cast<float>(o) * step));
    return i < size - 1 ? i : size - 1;
  }
  __host__ __device__ std::uint16_t operator()(std::int64_t i) const {
    const Place p = out.place(i);
    return Bits<std::uint16_t>{}(in.index({p.plane, source(p.y, y_step, in.height), source(p.x, x_step, in.width)}));
  }
};

/// Of doubled images: the sum of four outputs' gradients.
struct SumOfFour {
  Shape in;
  Shape out;
  SmallValue value;
  __host__ __device__ float operator()(std::int64_t i) const {
    const Place p = in.place(i);
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += value(out.index({p.plane, 2 * p.y + k / 2, 2 * p.x + k % 2}));
    return static_cast<float>(sum);
  }
};

UpsampleNearest problem_of(const Shape& in, const Shape& out) {
  UpsampleNearest p;
  p.batch = in.batch;
  p.channels = in.channels;
  p.in_height = in.height;
  p.in_width = in.width;
  p.out_height = out.height;
  p.out_width = out.width;
  p.layout = in.channels_last ? ImageLayout::nhwc : ImageLayout::nchw;
  return p;
}

std::int64_t side_of(std::int64_t pixels) {
  return static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(pixels)))) | 1;
}

Outcome forward(const Shape& in, std::int64_t height, std::int64_t width) {
  Shape out = in;
  out.height = height;
  out.width = width;
  const Array<std::uint16_t> x(in.count());
  const Array<std::uint16_t> y(out.count());
  x.fill(Bits<std::uint16_t>{});
  check(upsample_nearest(y.data(), static_cast<const std::uint16_t*>(x.data()), problem_of(in, out), nullptr),
        "upsample");
  const Nearest expect{in, out, static_cast<float>(in.height) / static_cast<float>(height),
                       static_cast<float>(in.width) / static_cast<float>(width)};
  Outcome outcome;
  compare_all(outcome, y, expect);
  compare_parts(outcome, y, expect);
  return outcome;
}

Outcome backward(const Shape& in) {
  Shape out = in;
  out.height *= 2;
  out.width *= 2;
  const Array<float> dy(out.count());
  const Array<float> dx(in.count());
  const SmallValue value{0x4444};
  dy.fill(value);
  check(upsample_nearest_backward(dx.data(), static_cast<const float*>(dy.data()), problem_of(in, out), nullptr),
        "upsample_nearest_backward");
  const SumOfFour expect{in, out, value};
  Outcome outcome;
  compare_all(outcome, dx, expect);
  compare_parts(outcome, dx, expect);
  outcome.elements = out.count();
  outcome.bytes = out.count() * 4;
  return outcome;
}

Shape images(std::int64_t pixels, std::int64_t batch, std::int64_t channels, bool channels_last) {
  const std::int64_t side = side_of(pixels / (batch * channels));
  return {batch, channels, side, side + 1, channels_last};
}

Outcome doubled(std::int64_t least) {
  const Shape in = images(least / 4, 3, 5, false);
  return forward(in, 2 * in.height, 2 * in.width);
}
Outcome one_plane(std::int64_t least) {
  const Shape in = images(least / 4, 1, 1, false);
  return forward(in, 2 * in.height, 2 * in.width);
}
Outcome any_size(std::int64_t least) {
  const Shape in = images(least / 2, 3, 5, false);
  return forward(in, in.height * 3 / 2 + 1, in.width * 7 / 5 + 3);
}
Outcome doubled_channels_last(std::int64_t least) {
  const Shape in = images(least / 4, 2, 24, true);
  return forward(in, 2 * in.height, 2 * in.width);
}
Outcome gradient(std::int64_t least) { return backward(images(least / 4, 3, 5, false)); }
Outcome gradient_channels_last(std::int64_t least) { return backward(images(least / 4, 2, 24, true)); }

}  // namespace

std::vector<Check> upsample_checks() {
  return {{"6", "upsample_nearest: doubled images", doubled},
          {"6", "upsample_nearest: one plane of more than 2^31", one_plane},
          {"6", "upsample_nearest: to 1.5 and 1.4 times", any_size},
          {"6", "upsample_nearest: doubled, channels last", doubled_channels_last},
          {"6", "upsample_nearest_backward: doubled", gradient},
          {"6", "upsample_nearest_backward: channels last", gradient_channels_last}};
}

}  // namespace warpbook::size
