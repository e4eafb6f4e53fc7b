/// \file
/// v6a any scale: wide stores for every scale, and for pixels whose channels lie side by side.
///
/// v2 to v5 know doubled images of one layout. All else still goes by v1: two or three 64-bit divisions an element, one
/// element a lane. Here the output decides, as in v1, but by packs. In nchw a thread takes 16 bytes of an output row,
/// asks the rule for the row once and for the column at each element, and gathers; neighbouring lanes find their inputs
/// in the same sectors, so that the L1 makes up for it. In nhwc a pixel's channels move together, whatever the scale:
/// the pack is of channels, both sides are wide, and the rule is asked once for it. The divisors are known on the host.
///
/// Backward a thread takes an input (nchw) or a pack of an input pixel's channels (nhwc), and adds up its outputs.
///
/// Expect v1's sectors, an eighth of its store requests and more for half, and arithmetic that hides behind the memory.
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "chapters/chapter6_upsample_nearest/v3_fast_division.cuh"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::v6a {

inline constexpr int kThreads = 256;

/// Elements of 16 bytes.
template <class T> inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

/// What divides an item's number: items of a row, of a pixel (nhwc), and rows of a plane.
struct Divisors {
  FastDivisor<std::uint32_t> row_items;
  FastDivisor<std::uint32_t> pixel_items;
  FastDivisor<std::uint32_t> rows;
};

inline Divisors make_divisors(std::int64_t row_items, std::int64_t pixel_items, std::int64_t rows) {
  return {FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(row_items)),
          FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(pixel_items)),
          FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(rows))};
}

//! [kernel]
/// nchw: an item is kWidth neighbours of an output row.
template <class W, int kWidth>
__global__ void forward_rows_kernel(Pack<W, kWidth>* __restrict__ y, const W* __restrict__ x, Axis height, Axis width,
                                    Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [row, pack] = divisors.row_items.divide(i);
  const auto [plane, row_of_plane] = divisors.rows.divide(row);
  const std::int64_t source_row = std::int64_t{plane} * height.in + height.source(static_cast<int>(row_of_plane));
  const W* const source = x + source_row * width.in;
  Pack<W, kWidth> result;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) result[k] = source[width.source(static_cast<int>(pack) * kWidth + k)];
  store_whole(&y[i], result);
}

/// nhwc: an item is a pack of an output pixel's channels.
template <class P>
__global__ void forward_pixels_kernel(P* __restrict__ y, const P* __restrict__ x, Axis height, Axis width,
                                      Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [row, item_of_row] = divisors.row_items.divide(i);
  const auto [column, item] = divisors.pixel_items.divide(item_of_row);
  const auto [image, row_of_image] = divisors.rows.divide(row);
  const std::int64_t source_row = std::int64_t{image} * height.in + height.source(static_cast<int>(row_of_image));
  const std::int64_t pixel = source_row * width.in + width.source(static_cast<int>(column));
  y[i] = x[pixel * divisors.pixel_items.divisor + item];
}

/// nchw: an item is an input.
template <class T>
__global__ void backward_rows_kernel(T* __restrict__ dx, const T* __restrict__ dy, Axis height, Axis width,
                                     Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [row, column] = divisors.row_items.divide(i);
  const auto [plane, row_of_plane] = divisors.rows.divide(row);
  const int last_row = height.first_output(static_cast<int>(row_of_plane) + 1);
  const int first_column = width.first_output(static_cast<int>(column));
  const int last_column = width.first_output(static_cast<int>(column) + 1);
  float sum = 0;
  for (int r = height.first_output(static_cast<int>(row_of_plane)); r < last_row; ++r) {
    const T* const output_row = dy + (std::int64_t{plane} * height.out + r) * width.out;
    for (int c = first_column; c < last_column; ++c) sum += static_cast<float>(output_row[c]);
  }
  dx[i] = static_cast<T>(sum);
}

/// nhwc: an item is a pack of an input pixel's channels.
template <class T, int kWidth>
__global__ void backward_pixels_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, kWidth>* __restrict__ dy,
                                       Axis height, Axis width, Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [row, item_of_row] = divisors.row_items.divide(i);
  const auto [column, item] = divisors.pixel_items.divide(item_of_row);
  const auto [image, row_of_image] = divisors.rows.divide(row);
  const int last_row = height.first_output(static_cast<int>(row_of_image) + 1);
  const int first_column = width.first_output(static_cast<int>(column));
  const int last_column = width.first_output(static_cast<int>(column) + 1);
  float sum[kWidth] = {};
  for (int r = height.first_output(static_cast<int>(row_of_image)); r < last_row; ++r) {
    const std::int64_t row_start = (std::int64_t{image} * height.out + r) * width.out;
    for (int c = first_column; c < last_column; ++c) {
      const Pack<T, kWidth> pack = dy[(row_start + c) * divisors.pixel_items.divisor + item];
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum[k] += static_cast<float>(pack[k]);
    }
  }
  Pack<T, kWidth> result;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) result[k] = static_cast<T>(sum[k]);
  store_whole(&dx[i], result);
}
//! [kernel]

/// Elements of T that a pack takes where `run` neighbours belong together: 16 bytes, or one element where these do not
/// fit the run or an array that goes by packs.
template <class T> bool takes_wide_packs(std::int64_t run, const T* a, const T* b = nullptr) {
  return run % kWide<T> == 0 && (reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) % 16 == 0;
}

/// Why a problem cannot be run here: its divisors or a plane's items do not fit 31 bits. v1 takes it then.
inline const char* refuse(const Images& images) {
  const std::int64_t channels = images.layout == ImageLayout::nhwc ? images.channels : 1;
  const auto fits = [&](const std::int64_t pixels) { return channels <= v3::kMostItems / pixels; };
  return fits(images.in_pixels()) && fits(images.out_pixels()) ? nullptr : "a plane has 2^31 elements or more";
}

template <class W, int kWidth> cudaError_t forward_rows(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t row_items = images.width.out / kWidth;
  const std::int64_t plane_items = row_items * images.height.out;
  return v3::in_parts(images.planes(), plane_items, [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t items = planes * plane_items;
    return launch(forward_rows_kernel<W, kWidth>,
                  {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<Pack<W, kWidth>*>(y) + first * plane_items, x + first * images.in_pixels(),
                  images.height, images.width, make_divisors(row_items, 1, images.height.out),
                  static_cast<std::uint32_t>(items));
  });
}

template <class W, int kWidth> cudaError_t forward_pixels(W* y, const W* x, const Images& images, cudaStream_t stream) {
  using P = Pack<W, kWidth>;
  const std::int64_t pixel_items = images.channels / kWidth;
  const std::int64_t image_items = pixel_items * images.out_pixels();
  return v3::in_parts(images.batch, image_items, [&](std::int64_t first, std::int64_t batch) {
    const std::int64_t items = batch * image_items;
    return launch(forward_pixels_kernel<P>,
                  {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<P*>(y) + first * image_items,
                  reinterpret_cast<const P*>(x) + first * pixel_items * images.in_pixels(), images.height, images.width,
                  make_divisors(pixel_items * images.width.out, pixel_items, images.height.out),
                  static_cast<std::uint32_t>(items));
  });
}

template <class T> cudaError_t backward_rows(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return v3::in_parts(images.planes(), images.in_pixels(), [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t items = planes * images.in_pixels();
    return launch(backward_rows_kernel<T>,
                  {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  dx + first * images.in_pixels(), dy + first * images.out_pixels(), images.height, images.width,
                  make_divisors(images.width.in, 1, images.height.in), static_cast<std::uint32_t>(items));
  });
}

/// Launches a backward kernel that goes by the input pixels' packs of kWidth channels.
template <class T, int kWidth>
cudaError_t launch_pixel_sums(void (*kernel)(Pack<T, kWidth>*, const Pack<T, kWidth>*, Axis, Axis, Divisors,
                                             std::uint32_t),
                              T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  using P = Pack<T, kWidth>;
  const std::int64_t pixel_items = images.channels / kWidth;
  const std::int64_t image_items = pixel_items * images.in_pixels();
  return v3::in_parts(images.batch, image_items, [&](std::int64_t first, std::int64_t batch) {
    const std::int64_t items = batch * image_items;
    return launch(kernel, {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<P*>(dx) + first * image_items,
                  reinterpret_cast<const P*>(dy) + first * pixel_items * images.out_pixels(), images.height,
                  images.width, make_divisors(pixel_items * images.width.in, pixel_items, images.height.in),
                  static_cast<std::uint32_t>(items));
  });
}

template <class T, int kWidth>
cudaError_t backward_pixels(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return launch_pixel_sums<T, kWidth>(backward_pixels_kernel<T, kWidth>, dx, dy, images, stream);
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  if (images.layout == ImageLayout::nhwc) {
    return takes_wide_packs(images.channels, y, x) ? forward_pixels<W, kWide<W>>(y, x, images, stream)
                                                   : forward_pixels<W, 1>(y, x, images, stream);
  }
  return takes_wide_packs(images.width.out, y) ? forward_rows<W, kWide<W>>(y, x, images, stream)
                                               : forward_rows<W, 1>(y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if (images.layout == ImageLayout::nchw) return backward_rows(dx, dy, images, stream);
  return takes_wide_packs(images.channels, dx, dy) ? backward_pixels<T, kWide<T>>(dx, dy, images, stream)
                                                   : backward_pixels<T, 1>(dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v6a
