/// \file
/// v6b known window: loops of a known length become loads under way.
///
/// Backward v6a's thread asks for an output, waits, adds, and only then asks for the next: how many there are it learns
/// from the rule. But the scale says on the host how many an input can have at most along each side. With that number
/// as a template parameter the loops are unrolled; a load has a condition instead of a turn, and all of a thread's
/// loads go out together. A thread does four neighbours (two, where the window is large): the row's rule, the divisions
/// and the store serve all of them. Where rows do not divide by that, it does so many rows of one column.
///
/// Forward there is one load an output, but v6a asks the columns' rule for each row anew. Here a thread takes the same
/// 16 bytes of two rows, and both rows' loads are under way together.
///
/// Expect v6a's sectors and fewer instructions, and times near those of doubled images where a warp's outputs fill the
/// sectors that it asks for.
#pragma once

#include <algorithm>

#include "chapters/chapter6_upsample_nearest/v6a_any_scale.cuh"

namespace warpbook::chapter6::v6b {

using v6a::Divisors;
using v6a::kThreads;
using v6a::kWide;

/// The largest window that there is a kernel for; what has more outputs along a side has loads enough in v6a's loops.
inline constexpr int kMostWindow = 4;

/// Inputs that a backward thread takes: neighbours of a row, or of a column.
template <int kWindow> inline constexpr int kTaken = kWindow <= 2 ? 4 : 2;

/// The window of a problem: the most outputs that an input can have along a side.
inline int window(const Images& images) { return std::max(most_outputs(images.height), most_outputs(images.width)); }

//! [kernel]
/// nchw: an item is kWidth neighbours in each of two output rows.
template <class W, int kWidth>
__global__ void forward_rows_kernel(Pack<W, kWidth>* __restrict__ y, const W* __restrict__ x, Axis height, Axis width,
                                    Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [pair, pack] = divisors.row_items.divide(i);
  const auto [plane, pair_of_plane] = divisors.rows.divide(pair);
  const int row = 2 * static_cast<int>(pair_of_plane);
  const bool two = row + 1 < height.out;
  const W* const source = x + std::int64_t{plane} * height.in * width.in;
  const W* const upper_source = source + std::int64_t{height.source(row)} * width.in;
  const W* const lower_source = source + std::int64_t{height.source(two ? row + 1 : row)} * width.in;
  Pack<W, kWidth> upper;
  Pack<W, kWidth> lower;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const int column = width.source(static_cast<int>(pack) * kWidth + k);
    upper[k] = upper_source[column];
    lower[k] = lower_source[column];
  }
  const std::uint32_t row_packs = divisors.row_items.divisor;
  Pack<W, kWidth>* const to = y + (std::int64_t{plane} * height.out + row) * row_packs + pack;
  store_whole(to, upper);
  if (two) store_whole(to + row_packs, lower);
}

/// nchw: an item is kColumns neighbours in each of kRows input rows. An input has at most kWindow outputs along a side.
template <class T, int kWindow, int kColumns, int kRows>
__global__ void backward_rows_kernel(T* __restrict__ dx, const T* __restrict__ dy, Axis height, Axis width,
                                     Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [group, item_of_row] = divisors.row_items.divide(i);
  const auto [plane, group_of_plane] = divisors.rows.divide(group);
  const int first_column = static_cast<int>(item_of_row) * kColumns;
  const int first_row = static_cast<int>(group_of_plane) * kRows;
  int columns[kColumns + 1];  // Where each input's outputs begin, and the last one's end.
#pragma unroll
  for (int c = 0; c <= kColumns; ++c) columns[c] = width.first_output(first_column + c);
  const T* const outputs = dy + std::int64_t{plane} * height.out * width.out;
  T* const to = dx + (std::int64_t{plane} * height.in + first_row) * width.in + first_column;
  int end = height.first_output(first_row);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (first_row + r >= height.in) break;
    const int begin = end;
    end = height.first_output(first_row + r + 1);
    float sum[kColumns] = {};
    //! [exercise window]
    const T* output_row = outputs + std::int64_t{begin} * width.out;
#pragma unroll
    for (int u = 0; u < kWindow; ++u) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int v = 0; v < kWindow; ++v) {
          const int column = columns[c] + v;
          if (begin + u < end && column < columns[c + 1]) sum[c] += static_cast<float>(output_row[column]);
        }
      }
      output_row += width.out;
    }
    //! [exercise window]
    Pack<T, kColumns> pack;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) pack[c] = static_cast<T>(sum[c]);
    store_whole(reinterpret_cast<Pack<T, kColumns>*>(to + std::int64_t{r} * width.in), pack);
  }
}

/// nhwc: an item is a pack of an input pixel's channels. An input has at most two outputs along a side.
template <class T, int kWidth>
__global__ void backward_pixels_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, kWidth>* __restrict__ dy,
                                       Axis height, Axis width, Divisors divisors, std::uint32_t items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  const auto [row, item_of_row] = divisors.row_items.divide(i);
  const auto [column, item] = divisors.pixel_items.divide(item_of_row);
  const auto [image, row_of_image] = divisors.rows.divide(row);
  const int first_row = height.first_output(static_cast<int>(row_of_image));
  const int last_row = height.first_output(static_cast<int>(row_of_image) + 1);
  const int first_column = width.first_output(static_cast<int>(column));
  const int last_column = width.first_output(static_cast<int>(column) + 1);
  const std::int64_t pixel = (std::int64_t{image} * height.out + first_row) * width.out + first_column;
  const std::int64_t pixel_packs = divisors.pixel_items.divisor;
  const Pack<T, kWidth>* const outputs = dy + pixel * pixel_packs + item;
  const auto has = [&](int u, int v) { return first_row + u < last_row && first_column + v < last_column; };
  Pack<T, kWidth> found[2][2];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      if (has(u, v)) found[u][v] = outputs[(std::int64_t{u} * width.out + v) * pixel_packs];
    }
  }
  float sum[kWidth] = {};
#pragma unroll
  for (int u = 0; u < 2; ++u) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      if (!has(u, v)) continue;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum[k] += static_cast<float>(found[u][v][k]);
    }
  }
  Pack<T, kWidth> result;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) result[k] = static_cast<T>(sum[k]);
  store_whole(&dx[i], result);
}
//! [kernel]

/// Why v6b does not take a problem forward; nullptr where it does.
template <class W> const char* refuse_forward(const W* y, const Images& images) {
  if (images.layout != ImageLayout::nchw) return "forward takes the nchw layout only";
  if (!v6a::takes_wide_packs(images.width.out, y)) return "the output's rows must go by 16 bytes";
  return v6a::refuse(images);
}

/// Why v6b does not take a problem backward; nullptr where it does.
inline const char* refuse_backward(const Images& images) {
  const int most = images.layout == ImageLayout::nchw ? kMostWindow : 2;
  return window(images) <= most ? v6a::refuse(images) : "an input has more outputs along a side than there are kernels";
}

/// Runs a problem that refuse_forward does not refuse.
template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  constexpr int kWidth = kWide<W>;
  const std::int64_t row_items = images.width.out / kWidth;
  const std::int64_t row_pairs = ceil_div<std::int64_t>(images.height.out, 2);
  return v3::in_parts(images.planes(), row_items * row_pairs, [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t items = planes * row_items * row_pairs;
    return launch(forward_rows_kernel<W, kWidth>,
                  {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<Pack<W, kWidth>*>(y + first * images.out_pixels()), x + first * images.in_pixels(),
                  images.height, images.width, v6a::make_divisors(row_items, 1, row_pairs),
                  static_cast<std::uint32_t>(items));
  });
}

template <int kWindow, int kColumns, int kRows, class T>
cudaError_t backward_rows(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const std::int64_t row_items = images.width.in / kColumns;
  const std::int64_t groups = ceil_div<std::int64_t>(images.height.in, kRows);
  return v3::in_parts(images.planes(), row_items * groups, [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t items = planes * row_items * groups;
    return launch(backward_rows_kernel<T, kWindow, kColumns, kRows>,
                  {.grid = ceil_div<std::int64_t>(items, kThreads), .block = kThreads, .stream = stream},
                  dx + first * images.in_pixels(), dy + first * images.out_pixels(), images.height, images.width,
                  v6a::make_divisors(row_items, 1, groups), static_cast<std::uint32_t>(items));
  });
}

template <int kWindow, class T> cudaError_t backward_by(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  constexpr int kItems = kTaken<kWindow>;
  const bool divides =
      images.width.in % kItems == 0 && reinterpret_cast<std::uintptr_t>(dx) % (kItems * sizeof(T)) == 0;
  return divides ? backward_rows<kWindow, kItems, 1>(dx, dy, images, stream)
                 : backward_rows<kWindow, 1, kItems>(dx, dy, images, stream);
}

template <class T, int kWidth>
cudaError_t backward_pixels(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return v6a::launch_pixel_sums<T, kWidth>(backward_pixels_kernel<T, kWidth>, dx, dy, images, stream);
}

/// Runs a problem that refuse_backward does not refuse.
template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if (images.layout == ImageLayout::nhwc) {
    return v6a::takes_wide_packs(images.channels, dx, dy) ? backward_pixels<T, kWide<T>>(dx, dy, images, stream)
                                                          : backward_pixels<T, 1>(dx, dy, images, stream);
  }
  switch (window(images)) {
  case 0:
  case 1:
    return backward_by<1>(dx, dy, images, stream);
  case 2:
    return backward_by<2>(dx, dy, images, stream);
  case 3:
    return backward_by<3>(dx, dy, images, stream);
  default:
    return backward_by<4>(dx, dy, images, stream);
  }
}

}  // namespace warpbook::chapter6::v6b
