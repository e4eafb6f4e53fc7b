/// \file
/// Chapter 6's problem: nearest upsampling of images, forward and backward, by PyTorch's rules. A step's `refuse` says
/// why it does not take a problem, or nullptr.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/cuda/alignment.hpp"
#include "common/cuda/fast_division.cuh"

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

/// A float that is no negative number as an int, as a GPU converts it: what is too large becomes the greatest int, and
/// what is no number 0.
__host__ __device__ inline int saturated(float x) {
#ifdef __CUDA_ARCH__
  return static_cast<int>(x);
#else
  return x >= 2147483648.0F ? std::numeric_limits<int>::max() : x > 0 ? static_cast<int>(x) : 0;
#endif
}

/// One dimension of the images: which input an output comes from, and which outputs an input goes to.
struct Axis {
  int in = 0;
  int out = 0;
  float step = 1;       ///< Inputs from one output to the next.
  float back_step = 1;  ///< Outputs from one input to the next.

  /// The input that output o shows: floor(o * step) in float, as PyTorch computes it, rounding and all.
  __host__ __device__ int source(int o) const {
    const int i = saturated(floorf(static_cast<float>(o) * step));
    return i < in - 1 ? i : in - 1;
  }
  /// The first output that belongs to input i; the first of i + 1 ends them. PyTorch's backward rule: ceil(i *
  /// back_step).
  __host__ __device__ int first_output(int i) const {
    const int o = saturated(ceilf(static_cast<float>(i) * back_step));
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

/// The most outputs that an input can have along an axis: back_step, rounded up. That products are rounded to floats
/// adds none: what is rounded down to an integer N is rounded to N + ceil(back_step) at most, back_step later. Above
/// 2^20, where floats may lack that integer, the answer is the greatest int.
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
  int element_bytes = 4;
  int in_alignment = 16;   ///< The array of in_count() elements begins at a multiple of so many bytes; so does
  int out_alignment = 16;  ///< the other, of out_count(): 1, 2, 4, 8 or 16.

  std::int64_t planes() const { return batch * channels; }
  std::int64_t in_pixels() const { return std::int64_t{height.in} * width.in; }
  std::int64_t out_pixels() const { return std::int64_t{height.out} * width.out; }
  std::int64_t in_count() const { return planes() * in_pixels(); }
  std::int64_t out_count() const { return planes() * out_pixels(); }
};

/// \param in, out the addresses of the arrays of in_count() and out_count() elements, whichever of them is written.
inline Images make_images(const UpsampleNearest& p, int element_bytes = 4, std::uintptr_t in = 0,
                          std::uintptr_t out = 0) {
  return {.batch = p.batch,
          .channels = p.channels,
          .height = make_axis(p.in_height, p.out_height, p.scale_height),
          .width = make_axis(p.in_width, p.out_width, p.scale_width),
          .layout = p.layout,
          .element_bytes = element_bytes,
          .in_alignment = alignment_of(in),
          .out_alignment = alignment_of(out)};
}

/// The same along either side.
inline int most_outputs(const Images& images) {
  return std::max(most_outputs(images.height), most_outputs(images.width));
}

/// True where every input becomes 2 x 2 outputs, by the sizes and by the steps.
inline bool is_two_by_two(const Images& images) {
  const auto doubles = [](const Axis& axis) {
    return axis.out == 2 * axis.in && axis.step == 0.5F && axis.back_step == 2.0F;
  };
  return doubles(images.height) && doubles(images.width);
}

/// What most kernels divide by: numbers that the host knows.
using Divisor = FastDivisor<std::uint32_t>;

/// Items that one launch may have: their numbers, and those of the last block's idle threads, stay below 2^31.
inline constexpr std::int64_t kMostItems = (std::int64_t{1} << 31) - (1 << 20);

/// Whether a plane's items fit one launch (nhwc: an image's). Else only v1 takes the problem.
inline bool planes_fit_launches(const Images& images) {
  const std::int64_t channels = images.layout == ImageLayout::nhwc ? images.channels : 1;
  return channels <= kMostItems / images.in_pixels() && channels <= kMostItems / images.out_pixels();
}

/// Calls `part(first_row, rows)` for pieces of `rows` rows with at most kMostItems items together, until one fails.
/// A row (or plane, or image) has `row_items` items, and must have at most kMostItems.
template <class F> cudaError_t in_parts(std::int64_t rows, std::int64_t row_items, F&& part) {
  const std::int64_t most = std::max<std::int64_t>(1, kMostItems / std::max<std::int64_t>(1, row_items));
  for (std::int64_t first = 0; first < rows; first += most) {
    const cudaError_t error = part(first, std::min(most, rows - first));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace chapter6
}  // namespace warpbook
