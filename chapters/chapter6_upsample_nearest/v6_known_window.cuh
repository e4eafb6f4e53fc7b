/// \file
/// v6 known window: backward loops of a known length become loads under way.
///
/// v5's thread learns from the rule how many outputs its input has, so it can only ask for them one after another. But
/// the scale tells the host how many there can be at most along each side. With that number as a template parameter the
/// loops are unrolled: a load gets a condition instead of a turn, and all loads of a thread go out together. A thread
/// takes four neighbours, or two where the window is large, so that they share the row's rule, the divisions and the
/// store. Where rows do not divide by four, it takes fewer columns of more rows.
///
/// Expect more sectors per request than v5's, as lanes lie further apart, less than half of its instructions, and less
/// than half of its time where an input has several outputs.
#pragma once

#include "chapters/chapter6_upsample_nearest/v5_any_scale.cuh"

namespace warpbook::chapter6::v6 {

using v5::Items;

/// The largest window that there is a kernel for. What has more outputs along a side keeps v5's loop busy.
inline constexpr int kMostWindow = 4;

//! [kernel]
//! [backward]
/// An item is kColumns neighbours in each of kRows input rows. An input has at most kWindow outputs along a side.
template <class T, int kWindow, int kColumns, int kRows>
__global__ void backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, Items items) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const auto [plane, group, item] = items.place(i);
  const Axis height = items.height;
  const Axis width = items.width;
  const int first_column = item * kColumns;
  const int first_row = group * kRows;
  int columns[kColumns + 1];  // Where each input's outputs begin, and the last one's end.
#pragma unroll
  for (int c = 0; c <= kColumns; ++c) columns[c] = width.first_output(first_column + c);
  const T* const outputs = dy + plane * height.out * width.out;
  T* const to = dx + (plane * height.in + first_row) * width.in + first_column;
  int end = height.first_output(first_row);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (first_row + r >= height.in) break;
    const int begin = end;
    end = height.first_output(first_row + r + 1);
    float sum[kColumns] = {};
    const T* output_row = outputs + std::int64_t{begin} * width.out;
#pragma unroll
    for (int u = 0; u < kWindow; ++u) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int v = 0; v < kWindow; ++v) {
          const int column = columns[c] + v;
          if (begin + u < end && column < columns[c + 1]) sum[c] += float(output_row[column]);
        }
      }
      output_row += width.out;
    }
    Pack<T, kColumns> pack;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) pack[c] = T(sum[c]);
    store_whole(reinterpret_cast<Pack<T, kColumns>*>(to + std::int64_t{r} * width.in), pack);
  }
}
//! [backward]
//! [kernel]

inline const char* refuse(const Images& images) {
  if (const char* reason = v5::refuse(images)) return reason;
  return most_outputs(images) <= kMostWindow ? nullptr : "an input has more than four outputs along a side";
}

/// Columns that a thread takes at most: 16 bytes of them where an input has one output at most.
template <int kWindow, class T>
inline constexpr int kMostColumns = kWindow == 1   ? 16 / int(sizeof(T))
                                    : kWindow == 2 ? 4
                                                   : 2;

/// Rows that it takes: one where the window is large, four where 16 bytes are one load, otherwise as many as make four
/// inputs.
template <int kWindow, int kColumns, class T>
inline constexpr int kTakenRows = kWindow > 2                                            ? 1
                                  : kWindow == 1 && kColumns == kMostColumns<kWindow, T> ? 4
                                                                                         : ceil_div(4, kColumns);

template <int kWindow, int kColumns, class T>
cudaError_t backward_by(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (kColumns > 1) {
    const bool divides = images.width.in % kColumns == 0 && images.in_alignment >= kColumns * images.element_bytes;
    if (!divides) return backward_by<kWindow, kColumns / 2>(dx, dy, images, stream);
  }
  constexpr int kRows = kTakenRows<kWindow, kColumns, T>;
  const std::int64_t per_row = images.width.in / kColumns;
  const std::int64_t groups = ceil_div<std::int64_t>(images.height.in, kRows);
  return in_parts(images.planes(), per_row * groups, [&](std::int64_t first, std::int64_t planes) {
    return v5::launch_items(backward_kernel<T, kWindow, kColumns, kRows>, dx + first * images.in_pixels(),
                            dy + first * images.out_pixels(), images, planes, per_row, groups, stream);
  });
}

template <class T, int kWindow = kMostWindow>
cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (kWindow > 1) {
    if (most_outputs(images) < kWindow) return backward<T, kWindow - 1>(dx, dy, images, stream);
  }
  return backward_by<kWindow, kMostColumns<kWindow, T>>(dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v6
