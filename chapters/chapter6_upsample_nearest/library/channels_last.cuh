/// \file
/// channels_last: images of the nhwc layout, at any scale, forward and backward.
///
/// A pixel's channels lie side by side and move together. So the item is a pack of a pixel's channels, 16 bytes where
/// they divide: both sides are wide, and the rule is asked once for the whole pack. Backward, up to a scale of 2, all
/// of a pixel's outputs are under way together.
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

/// `items` are of the input. kFew: a pixel has at most 2 x 2 outputs.
template <class T, int kWidth, bool kFew>
__global__ void backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, kWidth>* __restrict__ dy,
                                v5::Items items, Divisor pixel_packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [image, row, item] = items.place(i);
  const auto [column, pack] = pixel_packs.divide(item);
  const int first_row = items.height.first_output(row);
  const int first_column = items.width.first_output(int(column));
  const int rows = items.height.first_output(row + 1) - first_row;
  const int columns = items.width.first_output(int(column) + 1) - first_column;
  const std::int64_t pixel_step = pixel_packs.divisor;
  const std::int64_t first = (image * items.height.out + first_row) * items.width.out + first_column;
  dy += first * pixel_step + pack;
  const auto output = [&](int r, int c) { return dy[(std::int64_t{r} * items.width.out + c) * pixel_step]; };
  float sum[kWidth] = {};
  if constexpr (kFew) {
    const auto has = [&](int k) { return k / 2 < rows && k % 2 < columns; };
    Pack<T, kWidth> found[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (has(k)) found[k] = output(k / 2, k % 2);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (has(k)) add(sum, found[k]);
    }
  } else {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) add(sum, output(r, c));
    }
  }
  Pack<T, kWidth> result;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) result[k] = T(sum[k]);
  store_whole(&dx[i], result);
}

inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nhwc) return "takes the nhwc layout only";
  return planes_fit_launches(images) ? nullptr : "an image has 2^31 elements or more";
}

/// Launches a kernel whose items are packs P of the pixels along `height` and `width`: of what it writes.
template <class P>
cudaError_t launch_pixels(void (*kernel)(P*, const P*, v5::Items, Divisor), void* to, const void* from,
                          const Images& images, int height, int width, cudaStream_t stream) {
  const std::int64_t pixel_packs = images.channels * images.element_bytes / std::int64_t{sizeof(P)};
  const std::int64_t to_packs = pixel_packs * height * width;
  const std::int64_t from_packs = pixel_packs * (images.in_pixels() + images.out_pixels()) - to_packs;
  return in_parts(images.batch, to_packs, [&](std::int64_t first, std::int64_t batch) {
    const std::int64_t count = batch * to_packs;
    const v5::Items items = {images.height, images.width, Divisor(std::uint32_t(pixel_packs * width)),
                             Divisor(std::uint32_t(height)), std::uint32_t(count)};
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(count, v5::kThreads), .block = v5::kThreads, .stream = stream},
                  static_cast<P*>(to) + first * to_packs, static_cast<const P*>(from) + first * from_packs, items,
                  Divisor(std::uint32_t(pixel_packs)));
  });
}

/// Elements of T that a pack has: 16 bytes where they divide a pixel's channels and both arrays.
inline bool takes_packs(const Images& images) {
  return images.channels * images.element_bytes % 16 == 0 && images.in_alignment == 16 && images.out_alignment == 16;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const int height = images.height.out;
  const int width = images.width.out;
  return takes_packs(images) ? launch_pixels(forward_kernel<Word<16>>, y, x, images, height, width, stream)
                             : launch_pixels(forward_kernel<W>, y, x, images, height, width, stream);
}

template <bool kFew, class T> cudaError_t backward_by(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  constexpr int kWide = 16 / int(sizeof(T));
  const int height = images.height.in;
  const int width = images.width.in;
  return takes_packs(images) ? launch_pixels(backward_kernel<T, kWide, kFew>, dx, dy, images, height, width, stream)
                             : launch_pixels(backward_kernel<T, 1, kFew>, dx, dy, images, height, width, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const bool few = most_outputs(images.height) <= 2 && most_outputs(images.width) <= 2;
  return few ? backward_by<true>(dx, dy, images, stream) : backward_by<false>(dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::channels_last
