/// \file
/// channels_last: images of the nhwc layout, at any scale, forward and backward. The item is a pack of a pixel's
/// channels, so the rule is asked once for all of them.
#pragma once

#include "chapters/chapter6_upsample_nearest/v5_any_scale.cuh"

namespace warpbook::chapter6::channels_last {

/// `items` are of the output, `pixel_packs` of them per pixel.
template <class P>
__global__ void forward_kernel(P* __restrict__ y, const P* __restrict__ x, v5::Items items, Divisor pixel_packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [image, row, item] = items.place(i);
  const auto [column, pack] = pixel_packs.divide(item);
  const std::int64_t source_row = image * items.height.in + items.height.source(row);
  const std::int64_t pixel = source_row * items.width.in + items.width.source(int(column));
  y[i] = x[pixel * pixel_packs.divisor + pack];
}

template <class T, int kWidth> __device__ __forceinline__ void add(float (&sum)[kWidth], const Pack<T, kWidth>& pack) {
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sum[k] += float(pack[k]);
}

/// The outputs of a pixel along a side: the first and how many.
struct Outputs {
  int first;
  int count;
};
__device__ __forceinline__ Outputs outputs_of(const Axis& axis, int input) {
  const int first = axis.first_output(input);
  return {first, axis.first_output(input + 1) - first};
}

/// Adds a pixel's outputs, of which `first` is the first. kWindow: at most so many along a side, all under way
/// together; 0: any number, one after another.
template <int kWindow, class T, int kWidth>
__device__ __forceinline__ Pack<T, kWidth> sum_outputs(const Pack<T, kWidth>* first, int rows, int columns,
                                                       std::int64_t row_step, std::int64_t pixel_step) {
  float sum[kWidth] = {};
  if constexpr (kWindow == 0) {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) add(sum, first[r * row_step + c * pixel_step]);
    }
  } else {
    constexpr int kMost = kWindow * kWindow;
    const auto has = [&](int k) { return k / kWindow < rows && k % kWindow < columns; };
    Pack<T, kWidth> found[kMost];
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (has(k)) found[k] = first[k / kWindow * row_step + k % kWindow * pixel_step];
    }
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (has(k)) add(sum, found[k]);
    }
  }
  Pack<T, kWidth> result;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) result[k] = T(sum[k]);
  return result;
}

/// `items` are packs of the input, each in kRows rows.
template <class T, int kWidth, int kWindow, int kRows>
__global__ void backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, kWidth>* __restrict__ dy,
                                v5::Items items, Divisor pixel_packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [image, group, item] = items.place(i);
  const auto [column, pack] = pixel_packs.divide(item);
  const Outputs columns = outputs_of(items.width, int(column));
  const std::int64_t pixel_step = pixel_packs.divisor;
  const std::int64_t row_step = items.width.out * pixel_step;
  dy += image * items.height.out * row_step + columns.first * pixel_step + pack;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = group * kRows + r;
    if (kRows > 1 && row >= items.height.in) break;
    const Outputs rows = outputs_of(items.height, row);
    store_whole(&dx[(image * items.height.in + row) * items.per_row.divisor + item],
                sum_outputs<kWindow>(dy + rows.first * row_step, rows.count, columns.count, row_step, pixel_step));
  }
}

inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nhwc) return "takes the nhwc layout only";
  return planes_fit_launches(images) ? nullptr : "an image has 2^31 elements or more";
}

/// Launches a kernel whose items are packs P of the pixels along `height` and `width`, which it writes, each in
/// `rows_each` rows.
template <class P>
cudaError_t launch_pixels(void (*kernel)(P*, const P*, v5::Items, Divisor), void* to, const void* from,
                          const Images& images, int height, int width, int rows_each, cudaStream_t stream) {
  const std::int64_t pixel_packs = images.channels * images.element_bytes / std::int64_t{sizeof(P)};
  const std::int64_t groups = ceil_div(height, rows_each);
  const std::int64_t to_packs = pixel_packs * height * width;
  const std::int64_t from_packs = pixel_packs * (images.in_pixels() + images.out_pixels()) - to_packs;
  return in_parts(images.batch, to_packs, [&](std::int64_t first, std::int64_t batch) {
    const std::int64_t count = batch * groups * pixel_packs * width;
    const v5::Items items = {images.height, images.width, Divisor(std::uint32_t(pixel_packs * width)),
                             Divisor(std::uint32_t(groups)), std::uint32_t(count)};
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(count, v5::kThreads), .block = v5::kThreads, .stream = stream},
                  static_cast<P*>(to) + first * to_packs, static_cast<const P*>(from) + first * from_packs, items,
                  Divisor(std::uint32_t(pixel_packs)));
  });
}

/// Whether packs of so many bytes divide a pixel's channels and both arrays.
inline bool takes_packs(const Images& images, int bytes = 16) {
  return images.channels * images.element_bytes % bytes == 0 && images.in_alignment >= bytes &&
         images.out_alignment >= bytes;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const int height = images.height.out;
  const int width = images.width.out;
  return takes_packs(images) ? launch_pixels(forward_kernel<Word<16>>, y, x, images, height, width, 1, stream)
                             : launch_pixels(forward_kernel<W>, y, x, images, height, width, 1, stream);
}

/// Rows that a thread takes: several where its loads of one row are few and narrow.
template <int kWindow, int kBytes>
inline constexpr int kTakenRows = kBytes == 16                  ? 1
                                  : kWindow == 1                ? 4
                                  : kWindow == 2 && kBytes == 2 ? 2
                                                                : 1;

template <int kWindow, class T, int kWidth = 16 / int(sizeof(T))>
cudaError_t backward_by(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  constexpr int kBytes = kWidth * int(sizeof(T));
  if constexpr (kWidth > 1) {
    if (!takes_packs(images, kBytes)) return backward_by<kWindow, T, kWidth / 2>(dx, dy, images, stream);
  }
  constexpr int kRows = kTakenRows<kWindow, kBytes>;
  return launch_pixels(backward_kernel<T, kWidth, kWindow, kRows>, dx, dy, images, images.height.in, images.width.in,
                       kRows, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  switch (most_outputs(images)) {
  case 1:
    return backward_by<1>(dx, dy, images, stream);
  case 2:
    return backward_by<2>(dx, dy, images, stream);
  case 3:
    return backward_by<3>(dx, dy, images, stream);
  case 4:
    return backward_by<4>(dx, dy, images, stream);
  default:
    return backward_by<0>(dx, dy, images, stream);
  }
}

}  // namespace warpbook::chapter6::channels_last
