/// \file
/// any_rows: output rows that 16 bytes do not divide, at any scale, in either layout, forward.
///
/// Rows follow each other without a gap, in a plane and from plane to plane: the output is one array of aligned words.
/// A thread divides once to find the row that its word begins in; where that row ends within the word, the rest comes
/// from the next one. In the nhwc layout a row's elements are the channels of its pixels. Where images grow, a thread
/// makes two words that cut their rows at the same columns.
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

/// Stores what of a word the array has.
template <class W, int kWide>
__device__ __forceinline__ void store_word(W* y, std::uint32_t begin, std::uint32_t end, const Pack<W, kWide>& word) {
  if (end - begin == kWide) {
    store_whole(reinterpret_cast<Pack<W, kWide>*>(y + begin), word);
    return;
  }
#pragma unroll
  for (std::uint32_t k = 0; k < kWide; ++k) {
    if (k < end - begin) y[begin + k] = word[k];
  }
}

/// kPixels: a pixel has several elements. kShort: a row may have less than 16 bytes. kWords: words that a thread makes;
/// two need rows of 16 bytes and a lead of 0.
template <class W, bool kPixels, bool kShort, int kWords>
__global__ void __launch_bounds__(kThreads) forward_kernel(W* __restrict__ y, const W* __restrict__ x, Rows all) {
  constexpr std::uint32_t kWide = 16 / sizeof(W);
  const std::uint32_t words_apart = all.row.divisor;  // kWide rows have as many words as a row has elements.
  std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if constexpr (kWords > 1) i += all.row.divide(i).quotient * (kWords - 1) * words_apart;
  const std::uint32_t begin = i == 0 ? 0 : i * kWide - all.lead;
  if (begin >= all.count) return;
  auto [row, element] = all.row.divide(begin);
  const W* from[kWords];
  const W* next[kWords];
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const std::uint32_t own = kWords == 1 ? row : min(row + w * kWide, all.rows - 1);
    from[w] = source_row(x, all, own);
    next[w] = element + kWide > all.row.divisor && own + 1 < all.rows ? source_row(x, all, own + 1) : from[w];
  }
  const std::uint32_t channels = kPixels ? all.channels.divisor : 1;
  int column = int(element);
  std::uint32_t channel = 0;
  if constexpr (kPixels) {
    const auto [pixel, of_pixel] = all.channels.divide(element);
    column = int(pixel);
    channel = of_pixel;
  }
  Pack<W, kWide> word[kWords];
#pragma unroll
  for (std::uint32_t k = 0; k < kWide; ++k) {
    const std::uint32_t source = std::uint32_t(all.width.source(column)) * channels + channel;
#pragma unroll
    for (int w = 0; w < kWords; ++w) word[w][k] = from[w][source];
    if (kPixels && ++channel < channels) continue;
    channel = 0;
    if (++column < all.width.out) continue;
    column = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) from[w] = next[w];
    if (kShort && ++row + 1 < all.rows) next[0] = source_row(x, all, row + 1);
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const std::uint32_t first = w == 0 ? begin : begin + w * kWide * words_apart;
    if (first < all.count) store_word(y, first, min((i + w * words_apart + 1) * kWide - all.lead, all.count), word[w]);
  }
}

inline const char* refuse(const Images& images) {
  return planes_fit_launches(images) ? nullptr : "a plane or an image has 2^31 elements or more";
}

template <class W> auto kernel_for(bool pixels, bool short_rows, bool two_words) {
  if (short_rows) return pixels ? forward_kernel<W, true, true, 1> : forward_kernel<W, false, true, 1>;
  if (two_words) return pixels ? forward_kernel<W, true, false, 2> : forward_kernel<W, false, false, 2>;
  return pixels ? forward_kernel<W, true, false, 1> : forward_kernel<W, false, false, 1>;
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
    constexpr std::int64_t kWide = 16 / std::int64_t{sizeof(W)};
    const std::int64_t words = ceil_div<std::int64_t>(lead + all.count, kWide);
    const bool two_words = images.width.out > images.width.in && row >= kWide && all.rows >= 2 * kWide && lead == 0;
    const std::int64_t threads = two_words ? ceil_div(words, 2 * row) * row : words;
    return launch(kernel_for<W>(pixel != 1, row < kWide, two_words),
                  {.grid = ceil_div<std::int64_t>(threads, kThreads), .block = kThreads, .stream = stream}, to,
                  x + first * images.in_pixels() * pixel, all);
  });
}

}  // namespace warpbook::chapter6::any_rows
