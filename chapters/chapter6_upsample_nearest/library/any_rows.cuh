/// \file
/// any_rows: output rows that 16 bytes do not divide, at any scale, in either layout, forward.
///
/// A row of 271 halves begins at any multiple of 2 bytes, so its words cannot be stored row by row. But rows follow
/// each other without a gap, in a plane and from plane to plane: the output is one array of aligned words. A thread
/// makes one of 16 bytes. It divides once to find the row that it begins in, and where that row ends within the word,
/// the rest comes from the next one. In the nhwc layout a row's elements are the channels of its pixels.
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::any_rows {

inline constexpr int kThreads = 256;

/// The output as one array.
struct Rows {
  Axis height;
  Axis width;
  Divisor row;       ///< Elements of a row,
  Divisor plane;     ///< rows of a plane (nhwc: of an image),
  Divisor channels;  ///< and elements of a pixel: 1 in the nchw layout.
  std::uint32_t rows;
  std::uint32_t count;
  std::uint32_t lead;  ///< Elements between a multiple of 16 bytes and the first.
};

/// Where the source of an output row begins.
template <class W> __device__ __forceinline__ const W* source_row(const W* x, const Rows& all, std::uint32_t row) {
  const auto [plane, row_of_plane] = all.plane.divide(row);
  const std::int64_t row_of_source = std::int64_t{plane} * all.height.in + all.height.source(int(row_of_plane));
  return x + row_of_source * all.width.in * all.channels.divisor;
}

/// kPixels: a pixel has several elements. kShort: a row may have less than 16 bytes.
template <class W, bool kPixels, bool kShort>
__global__ void __launch_bounds__(kThreads) forward_kernel(W* __restrict__ y, const W* __restrict__ x, Rows all) {
  constexpr std::uint32_t kWide = 16 / sizeof(W);
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t begin = i == 0 ? 0 : i * kWide - all.lead;
  const std::uint32_t end = min((i + 1) * kWide - all.lead, all.count);
  if (begin >= end) return;
  auto [row, element] = all.row.divide(begin);
  const W* from = source_row(x, all, row);
  const W* next = element + kWide > all.row.divisor && row + 1 < all.rows ? source_row(x, all, row + 1) : from;
  const std::uint32_t channels = kPixels ? all.channels.divisor : 1;
  int column = int(element);
  std::uint32_t channel = 0;
  if constexpr (kPixels) {
    const auto [pixel, of_pixel] = all.channels.divide(element);
    column = int(pixel);
    channel = of_pixel;
  }
  Pack<W, kWide> word;
#pragma unroll
  for (std::uint32_t k = 0; k < kWide; ++k) {
    word[k] = from[std::uint32_t(all.width.source(column)) * channels + channel];
    if (kPixels && ++channel < channels) continue;
    channel = 0;
    if (++column == all.width.out) {
      column = 0;
      from = next;
      if (kShort && ++row + 1 < all.rows) next = source_row(x, all, row + 1);
    }
  }
  if (end - begin == kWide) {
    store_whole(reinterpret_cast<Pack<W, kWide>*>(y + begin), word);
  } else {
    for (std::uint32_t k = 0; k < end - begin; ++k) y[begin + k] = word[k];
  }
}

inline const char* refuse(const Images& images) {
  return planes_fit_launches(images) ? nullptr : "a plane or an image has 2^31 elements or more";
}

template <class W> auto kernel_for(bool pixels, bool short_rows) {
  if (short_rows) return pixels ? forward_kernel<W, true, true> : forward_kernel<W, false, true>;
  return pixels ? forward_kernel<W, true, false> : forward_kernel<W, false, false>;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t pixel = images.layout == ImageLayout::nhwc ? images.channels : 1;
  const std::int64_t row = images.width.out * pixel;
  const std::int64_t out_plane = images.out_pixels() * pixel;
  return in_parts(images.out_count() / out_plane, out_plane, [&](std::int64_t first, std::int64_t planes) {
    W* const to = y + first * out_plane;
    const std::int64_t lead = std::int64_t(reinterpret_cast<std::uintptr_t>(to) % 16 / sizeof(W));
    const Rows all = {.height = images.height,
                      .width = images.width,
                      .row = Divisor(std::uint32_t(row)),
                      .plane = Divisor(std::uint32_t(images.height.out)),
                      .channels = Divisor(std::uint32_t(pixel)),
                      .rows = std::uint32_t(planes * images.height.out),
                      .count = std::uint32_t(planes * out_plane),
                      .lead = std::uint32_t(lead)};
    const std::int64_t words = ceil_div<std::int64_t>(lead + all.count, 16 / std::int64_t{sizeof(W)});
    return launch(kernel_for<W>(pixel != 1, row * std::int64_t{sizeof(W)} < 16),
                  {.grid = ceil_div<std::int64_t>(words, kThreads), .block = kThreads, .stream = stream}, to,
                  x + first * images.in_pixels() * pixel, all);
  });
}

}  // namespace warpbook::chapter6::any_rows
