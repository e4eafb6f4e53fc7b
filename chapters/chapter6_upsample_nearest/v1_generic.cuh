/// \file
/// v1 generic: one thread an element, and the rules as they stand.
///
/// Forward, a thread takes an output, divides its number into plane, row and column, asks the rule for the input's row
/// and column, and copies. Backward it takes an input, asks which outputs show it, and adds them up, in float whatever
/// the type: a half has eleven bits, and a sum of four may need thirteen. This is how PyTorch's kernels are made.
///
/// Expect the divisions to be what it waits for (64-bit ones here, two an element, three with channels last), and
/// requests that carry one element a lane: the output is written in order, but an input of half the width is read twice
/// as often as needed.
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter6::v1 {

inline constexpr int kThreads = 256;

/// Where an element lies.
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
    place.channel = static_cast<int>(i % channels);
    i /= channels;
  }
  place.column = static_cast<int>(i % columns);
  i /= columns;
  place.row = static_cast<int>(i % rows);
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
  //! [exercise source]
  Place place = place_of<kChannelsLast>(i, images.channels, images.height.out, images.width.out);
  place.row = images.height.source(place.row);
  place.column = images.width.source(place.column);
  y[i] = x[offset_of<kChannelsLast>(place, images.channels, images.height.in, images.width.in)];
  //! [exercise source]
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
      const std::int64_t offset =
          offset_of<kChannelsLast>(output, images.channels, images.height.out, images.width.out);
      sum += static_cast<float>(dy[offset]);
    }
  }
  dx[i] = static_cast<T>(sum);
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
