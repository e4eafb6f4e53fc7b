/// \file
/// upsample_nearest: nearest upsampling of images, forward and backward, with PyTorch's answers. The take-away of
/// chapter 6.
///
/// What is true of both functions:
/// - The problem says batch, channels, the images' heights and widths before and after, the layout, and the scales that
///   were asked for, if any. With a scale of 0 the rule goes by the sizes. Heights and widths are 1 to 2^31 - 1; scales
///   are 0 or more, and finite. Downsampling is upsampling by less than 1.
/// - Arrays are contiguous in the layout, in device memory, and aligned to an element at least (16 bytes for the most
///   speed). They must not overlap.
/// - The work is queued on `stream`. The call does not wait, allocates nothing, and can be captured in a graph.
/// - Returned is cudaErrorInvalidValue for sizes and scales outside the above, a negative batch or number of channels,
///   2^63 bytes or more, and a null or misaligned array with elements; else what CUDA says of the launch. An empty
///   batch is no error, and nothing is launched.
///
/// Source of the rules: PyTorch's `UpSample.cuh`, nearest_neighbor_compute_source_index and its backward. Source of the
/// kernel for doubled images: OneFlow's upsample_nearest_2d.
#pragma once

#include <cmath>
#include <limits>

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "chapters/chapter6_upsample_nearest/v7_dispatch.cuh"

namespace warpbook {

namespace detail {

/// cudaSuccess where the problem can be run; `empty` says whether there is anything to run.
inline cudaError_t check_upsample(const UpsampleNearest& p, const void* in, const void* out, int element_bytes,
                                  bool& empty) {
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t size : {p.in_height, p.in_width, p.out_height, p.out_width}) {
    if (size < 1 || size > kMostSize) return cudaErrorInvalidValue;
  }
  for (const double scale : {p.scale_height, p.scale_width}) {
    if (!(scale >= 0) || std::isinf(scale)) return cudaErrorInvalidValue;
  }
  if (p.batch < 0 || p.channels < 0) return cudaErrorInvalidValue;
  empty = p.batch == 0 || p.channels == 0;
  if (empty) return cudaSuccess;

  std::int64_t most = std::numeric_limits<std::int64_t>::max() / element_bytes;
  const std::int64_t height = p.in_height > p.out_height ? p.in_height : p.out_height;
  const std::int64_t width = p.in_width > p.out_width ? p.in_width : p.out_width;
  for (const std::int64_t size : {height, width, p.batch, p.channels}) {
    if (size > most) return cudaErrorInvalidValue;
    most /= size;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out);
  const bool usable = in != nullptr && out != nullptr && address % unsigned(element_bytes) == 0;
  return usable ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace detail

/// y = the images of x, each of its outputs the nearest input. T: any type of 1, 2, 4 or 8 bytes; its bits are moved.
template <class T> cudaError_t upsample_nearest(T* y, const T* x, const UpsampleNearest& problem, cudaStream_t stream) {
  using W = Word<sizeof(T)>;
  static_assert(sizeof(T) <= 8, "an element has 1, 2, 4 or 8 bytes");
  bool empty = false;
  const cudaError_t error = detail::check_upsample(problem, x, y, sizeof(T), empty);
  if (error != cudaSuccess || empty) return error;
  const chapter6::Images images = chapter6::make_images(problem, sizeof(T), reinterpret_cast<std::uintptr_t>(x),
                                                        reinterpret_cast<std::uintptr_t>(y));
  return chapter6::v7::forward(reinterpret_cast<W*>(y), reinterpret_cast<const W*>(x), images, stream);
}

/// dx = the gradient of x: for each input the sum of dy over its outputs, added up in float and rounded once to T.
/// T: float, __half or __nv_bfloat16. The problem is that of the forward call.
template <class T>
cudaError_t upsample_nearest_backward(T* dx, const T* dy, const UpsampleNearest& problem, cudaStream_t stream) {
  bool empty = false;
  const cudaError_t error = detail::check_upsample(problem, dy, dx, sizeof(T), empty);
  if (error != cudaSuccess || empty) return error;
  const chapter6::Images images = chapter6::make_images(problem, sizeof(T), reinterpret_cast<std::uintptr_t>(dx),
                                                        reinterpret_cast<std::uintptr_t>(dy));
  return chapter6::v7::backward(dx, dy, images, stream);
}

}  // namespace warpbook
