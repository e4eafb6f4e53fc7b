/// \file
/// v5 any scale: wide stores, whatever the scale.
///
/// v2 to v4 only double. All other scales still go by v1, with its divisions and one element per store. Here a thread
/// makes the same 16 bytes of two output rows. It asks the rule twice for a row and once per element for the column,
/// and gathers: a thread's neighbouring outputs find their inputs in the same sectors. All divisors are known on the
/// host. Backward a thread takes one input, as in v1, without the divisions.
///
/// Expect v1's load requests with more sectors each, which come from the L1, an eighth of its store requests for half,
/// and several times its speed. Backward expect less: a thread still asks for an output, waits, adds, and then asks
/// again.
#pragma once

#include "chapters/chapter6_upsample_nearest/v1_generic.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::v5 {

inline constexpr int kThreads = 256;

/// What a launch works on: items, `per_row` of them in each of a plane's `rows` rows, numbered through all planes.
struct Items {
  Axis height;
  Axis width;
  Divisor per_row;
  Divisor rows;
  std::uint32_t count;

  struct Place {
    std::int64_t plane;
    int row;   ///< Of the plane's rows.
    int item;  ///< Of the row's items.
  };
  __device__ __forceinline__ Place place(std::uint32_t i) const {
    const auto [row, item] = per_row.divide(i);
    const auto [plane, row_of_plane] = rows.divide(row);
    return {plane, int(row_of_plane), int(item)};
  }
};

//! [kernel]
/// An item is kWidth neighbours in each of two output rows.
template <class W, int kWidth> __global__ void forward_kernel(W* __restrict__ y, const W* __restrict__ x, Items items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [plane, pair, item] = items.place(i);
  const int row = 2 * pair;
  const bool two = row + 1 < items.height.out;
  const W* const source = x + plane * items.height.in * items.width.in;
  const W* const upper_source = source + std::int64_t{items.height.source(row)} * items.width.in;
  const W* const lower_source = source + std::int64_t{items.height.source(two ? row + 1 : row)} * items.width.in;
  Pack<W, kWidth> upper;
  Pack<W, kWidth> lower;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const int column = items.width.source(item * kWidth + k);
    upper[k] = upper_source[column];
    lower[k] = lower_source[column];
  }
  const std::uint32_t row_packs = items.per_row.divisor;
  Pack<W, kWidth>* const to =
      reinterpret_cast<Pack<W, kWidth>*>(y) + (plane * items.height.out + row) * row_packs + item;
  store_whole(to, upper);
  if (two) store_whole(to + row_packs, lower);
}

//! [backward]
/// An item is an input.
template <class T> __global__ void backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, Items items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [plane, row, column] = items.place(i);
  const int last_row = items.height.first_output(row + 1);
  const int first_column = items.width.first_output(column);
  const int last_column = items.width.first_output(column + 1);
  float sum = 0;
  for (int r = items.height.first_output(row); r < last_row; ++r) {
    const T* const output_row = dy + (plane * items.height.out + r) * items.width.out;
    for (int c = first_column; c < last_column; ++c) sum += float(output_row[c]);
  }
  dx[i] = T(sum);
}
//! [backward]
//! [kernel]

/// Why v5 and what is built on it do not take a problem; nullptr where they do.
inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nchw) return "takes the nchw layout only";
  return planes_fit_launches(images) ? nullptr : "a plane has 2^31 elements or more";
}

/// Whether the outputs' rows go by 16 bytes.
inline bool takes_packs(const Images& images) {
  return std::int64_t{images.width.out} * images.element_bytes % 16 == 0 && images.out_alignment == 16;
}

/// Launches a kernel that goes by items of so many planes' rows: `per_row` of them in each of a plane's `rows` rows.
template <class T>
cudaError_t launch_items(void (*kernel)(T*, const T*, Items), T* to, const T* from, const Images& images,
                         std::int64_t planes, std::int64_t per_row, std::int64_t rows, cudaStream_t stream) {
  const std::int64_t count = planes * rows * per_row;
  return launch(kernel, {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream}, to,
                from,
                {images.height, images.width, Divisor(std::uint32_t(per_row)), Divisor(std::uint32_t(rows)),
                 std::uint32_t(count)});
}

template <class W, int kWidth> cudaError_t forward_by(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t per_row = images.width.out / kWidth;
  const std::int64_t pairs = ceil_div(images.height.out, 2);
  return in_parts(images.planes(), per_row * pairs, [&](std::int64_t first, std::int64_t planes) {
    return launch_items(forward_kernel<W, kWidth>, y + first * images.out_pixels(), x + first * images.in_pixels(),
                        images, planes, per_row, pairs, stream);
  });
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  constexpr int kWide = 16 / int(sizeof(W));
  return takes_packs(images) ? forward_by<W, kWide>(y, x, images, stream) : forward_by<W, 1>(y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return in_parts(images.planes(), images.in_pixels(), [&](std::int64_t first, std::int64_t planes) {
    return launch_items(backward_kernel<T>, dx + first * images.in_pixels(), dy + first * images.out_pixels(), images,
                        planes, images.width.in, images.height.in, stream);
  });
}

}  // namespace warpbook::chapter6::v5
