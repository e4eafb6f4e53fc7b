/// \file
/// Chapter 6's problem: nearest upsampling of images, forward and backward, by PyTorch's rules.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace warpbook {

/// How images lie in memory: rows of one channel's values, or each pixel's channels side by side.
enum class ImageLayout { nchw, nhwc };

/// Nearest upsampling (or downsampling) of a batch of images, as `torch.nn.functional.interpolate` does it.
struct UpsampleNearest {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  double scale_height = 0;  ///< As given to PyTorch's scale_factor; 0: derived from the sizes.
  double scale_width = 0;
  ImageLayout layout = ImageLayout::nchw;
};

namespace chapter6 {

/// One dimension of the images: which input an output comes from, and which outputs an input goes to.
struct Axis {
  int in = 0;
  int out = 0;
  float step = 1;       ///< Inputs from one output to the next.
  float back_step = 1;  ///< Outputs from one input to the next.

  /// The input that output o shows: floor(o * step) in float, as PyTorch computes it, rounding and all.
  __host__ __device__ int source(int o) const {
    const int i = static_cast<int>(floorf(static_cast<float>(o) * step));
    return i < in - 1 ? i : in - 1;
  }
  /// The first output that belongs to input i; the first of i + 1 ends them. PyTorch's backward rule: ceil(i *
  /// back_step).
  __host__ __device__ int first_output(int i) const {
    const int o = static_cast<int>(ceilf(static_cast<float>(i) * back_step));
    return o < out ? o : out;
  }
};

/// PyTorch's steps for one dimension. A scale that was given counts, even where it disagrees with the sizes; but
/// forward, where the size stays as it is, so do the inputs.
inline Axis make_axis(std::int64_t in, std::int64_t out, double scale) {
  Axis axis;
  axis.in = static_cast<int>(in);
  axis.out = static_cast<int>(out);
  axis.step =
      scale > 0 && in != out ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
  axis.back_step = scale > 0 ? static_cast<float>(scale) : static_cast<float>(out) / static_cast<float>(in);
  return axis;
}

/// The most outputs that an input can have along an axis: back_step, rounded up. That the rule rounds its products to
/// floats adds none: what is rounded down to an integer N lies at most half a unit above it, and back_step later it is
/// rounded to N + ceil(back_step) at most, where half a unit is no less. Above 2^20, where floats may lack that
/// integer, the answer is the greatest int.
inline int most_outputs(const Axis& axis) {
  constexpr int kMostSize = 1 << 20;
  if (axis.in > kMostSize || axis.out > kMostSize) return std::numeric_limits<int>::max();
  return axis.back_step < static_cast<float>(axis.out) ? static_cast<int>(std::ceil(axis.back_step)) : axis.out;
}

/// The problem as kernels see it.
struct Images {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  Axis height;
  Axis width;
  ImageLayout layout = ImageLayout::nchw;

  std::int64_t planes() const { return batch * channels; }
  std::int64_t in_pixels() const { return std::int64_t{height.in} * width.in; }
  std::int64_t out_pixels() const { return std::int64_t{height.out} * width.out; }
  std::int64_t in_count() const { return planes() * in_pixels(); }
  std::int64_t out_count() const { return planes() * out_pixels(); }
};

inline Images make_images(const UpsampleNearest& p) {
  return {.batch = p.batch,
          .channels = p.channels,
          .height = make_axis(p.in_height, p.out_height, p.scale_height),
          .width = make_axis(p.in_width, p.out_width, p.scale_width),
          .layout = p.layout};
}

/// True where every input becomes 2 x 2 outputs, by the sizes and by the steps.
inline bool is_two_by_two(const Images& images) {
  const auto doubles = [](const Axis& axis) {
    return axis.out == 2 * axis.in && axis.step == 0.5F && axis.back_step == 2.0F;
  };
  return doubles(images.height) && doubles(images.width);
}

}  // namespace chapter6
}  // namespace warpbook
