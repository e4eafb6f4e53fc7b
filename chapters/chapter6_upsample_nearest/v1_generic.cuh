/// \file
/// v1 generic: one thread per element, and the rules as they stand.
///
/// Forward, a thread takes one output. It divides to get the output's plane, row and column, asks the rule which
/// input belongs there, and copies. Backward, it takes one input, asks which outputs show it, and adds them up. The sum
/// is a float for every type: a half has eleven bits, and the sum of four of them may need thirteen.
///
/// Expect most of the time to go into 64-bit divisions, two per element, or three with channels last. Each is a
/// subroutine. Forward, every input of a doubled image is also read four times.
/// Source: PyTorch's `UpSampleNearest2d.cu` is made like this.
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter6::v1 {

inline constexpr int kThreads = 256;

struct Place {
  std::int64_t plane;  ///< nchw: image and channel; nhwc: image.
  int row;
  int column;
  int channel;  ///< nhwc only, else 0.
};

template <bool kChannelsLast>
__device__ __forceinline__ Place place_of(std::int64_t i, std::int64_t channels, int rows, int columns) {
  Place place{};
  if constexpr (kChannelsLast) {
    place.channel = int(i % channels);
    i /= channels;
  }
  place.column = int(i % columns);
  i /= columns;
  place.row = int(i % rows);
  place.plane = i / rows;
  return place;
}

template <bool kChannelsLast>
__device__ __forceinline__ std::int64_t offset_of(const Place& place, std::int64_t channels, int rows, int columns) {
  const std::int64_t pixel = (place.plane * rows + place.row) * columns + place.column;
  return kChannelsLast ? pixel * channels + place.channel : pixel;
}

//! [kernel]
template <class W, bool kChannelsLast>
__global__ void forward_kernel(W* __restrict__ y, const W* __restrict__ x, Images images, std::int64_t out_count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= out_count) return;
  Place place = place_of<kChannelsLast>(i, images.channels, images.height.out, images.width.out);
  place.row = images.height.source(place.row);
  place.column = images.width.source(place.column);
  y[i] = x[offset_of<kChannelsLast>(place, images.channels, images.height.in, images.width.in)];
}

template <class T, bool kChannelsLast>
__global__ void backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, Images images, std::int64_t in_count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  //! [exercise contributions]
  const Place place = place_of<kChannelsLast>(i, images.channels, images.height.in, images.width.in);
  const int last_row = images.height.first_output(place.row + 1);
  const int last_column = images.width.first_output(place.column + 1);
  float sum = 0;
  for (int row = images.height.first_output(place.row); row < last_row; ++row) {
    for (int column = images.width.first_output(place.column); column < last_column; ++column) {
      const Place output{place.plane, row, column, place.channel};
      sum += float(dy[offset_of<kChannelsLast>(output, images.channels, images.height.out, images.width.out)]);
    }
  }
  dx[i] = T(sum);
  //! [exercise contributions]
}
//! [kernel]

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t count = images.out_count();
  const auto kernel = images.layout == ImageLayout::nhwc ? forward_kernel<W, true> : forward_kernel<W, false>;
  return launch(kernel, {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream}, y, x,
                images, count);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const std::int64_t count = images.in_count();
  const auto kernel = images.layout == ImageLayout::nhwc ? backward_kernel<T, true> : backward_kernel<T, false>;
  return launch(kernel, {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream}, dx, dy,
                images, count);
}

}  // namespace warpbook::chapter6::v1
