/// \file
/// staged_rows: images of the nchw layout whose output rows 16 bytes do not divide, forward, at any scale.
///
/// A row of 271 halves begins at any multiple of 2 bytes, so its words cannot be stored on their own. But rows follow
/// each other without a gap, in a plane and from plane to plane: some of them together are one contiguous piece. A
/// block makes such a piece in shared memory, element by element, and then stores it by aligned 16 bytes without asking
/// where rows or planes end. It asks the rule once per row of the piece and once per column.
#pragma once

#include <bit>

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::staged_rows {

/// Threads of a block, and loads that each has under way.
inline constexpr int kThreads = 256;
inline constexpr int kLoads = 4;

/// A piece's bytes, and the most that a single row may have; rows that a piece has at most.
inline constexpr std::int64_t kPieceBytes = 16 << 10;
inline constexpr std::int64_t kMostRowBytes = 44 << 10;
inline constexpr int kMostRows = 512;

/// As long as there are not so many pieces, they are made smaller: each SM should have some.
inline constexpr std::int64_t kLeastPieces = 1024;

/// The block's threads, as one row.
__device__ __forceinline__ int thread_of_block() { return threadIdx.y * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int threads_of_block() { return blockDim.x * blockDim.y; }

//! [kernel]
/// Gathers `rows` rows from where they begin in `source`. threadIdx.x goes over columns, threadIdx.y over rows.
template <class W>
__device__ __forceinline__ void gather(W* staged, const W* source, const std::uint32_t* source_rows, int rows,
                                       const Axis& width) {
  const int row_step = blockDim.y;
  for (int column = threadIdx.x; column < width.out; column += blockDim.x) {
    const W* const from = source + width.source(column);
    for (int first = threadIdx.y; first < rows; first += kLoads * row_step) {
      W loaded[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        if (first + k * row_step < rows) loaded[k] = from[source_rows[first + k * row_step]];
      }
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const int r = first + k * row_step;
        if (r < rows) staged[r * width.out + column] = loaded[k];
      }
    }
  }
}

/// Stores `count` elements by words. `to` and `staged` lie `lead` elements behind a multiple of 16 bytes; what is no
/// whole word at either end goes singly.
template <class W> __device__ __forceinline__ void store(W* to, const W* staged, int count, int lead) {
  constexpr int kWide = 16 / int(sizeof(W));
  const int thread = thread_of_block();
  const int head = min(count, (kWide - lead) % kWide);
  const int words = (count - head) / kWide;
  const int behind = head + words * kWide;
  const auto* const from_words = reinterpret_cast<const uint4*>(staged + head);
  auto* const to_words = reinterpret_cast<uint4*>(to + head);
  for (int k = thread; k < words; k += threads_of_block()) to_words[k] = from_words[k];
  if (thread < head) to[thread] = staged[thread];
  if (thread < count - behind) to[behind + thread] = staged[behind + thread];
}

/// A block makes `piece_rows` of the output's `all_rows` rows, numbered through all planes.
template <class W>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(W* __restrict__ y, const W* __restrict__ x, Axis height, Axis width, Divisor plane_rows,
                   std::uint32_t piece_rows, std::uint32_t all_rows) {
  __shared__ std::uint32_t source_rows[kMostRows];  // Where each row's source begins, from the first row's plane on.
  const std::uint32_t first_row = blockIdx.x * piece_rows;
  const int rows = min(piece_rows, all_rows - first_row);
  const std::uint32_t first_plane = plane_rows.divide(first_row).quotient;
  for (int r = thread_of_block(); r < rows; r += threads_of_block()) {
    const auto [plane, row] = plane_rows.divide(first_row + r);
    source_rows[r] = ((plane - first_plane) * height.in + height.source(row)) * width.in;
  }
  __syncthreads();
  // An output keeps its place within 16 bytes, so that words can be stored as they lie.
  W* const to = y + std::int64_t{first_row} * width.out;
  const int lead = int(reinterpret_cast<std::uintptr_t>(to) % 16 / sizeof(W));
  W* const staged = dynamic_shared<W>() + lead;
  gather(staged, x + std::int64_t{first_plane} * height.in * width.in, source_rows, rows, width);
  __syncthreads();
  store(to, staged, rows * width.out, lead);
}
//! [kernel]

/// Why staged_rows does not take a problem; nullptr where it does.
inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nchw) return "takes the nchw layout only";
  if (!planes_fit_launches(images)) return "a plane has 2^31 elements or more";
  return images.width.out * std::int64_t{images.element_bytes} <= kMostRowBytes ? nullptr
                                                                                : "a row does not fit shared memory";
}

/// Output rows that a piece has.
inline std::int64_t piece_rows(const Images& images) {
  const std::int64_t row_bytes = images.width.out * std::int64_t{images.element_bytes};
  const std::int64_t fit = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  const std::int64_t share = ceil_div<std::int64_t>(images.planes() * images.height.out, kLeastPieces);
  // Sources are counted in 32 bits from the piece's first plane on: no more planes than that allows, two at least.
  const std::int64_t planes = (std::int64_t{1} << 32) / images.in_pixels();
  return std::min({fit, share, std::int64_t{kMostRows}, (planes - 1) * images.height.out});
}

/// Threads along a row: as many as it has columns, at most all; a power of two, or else whole warps.
inline int row_threads(int columns) {
  if (columns >= 32) return std::min(kThreads, ceil_div(columns, 32) * 32);
  return int(std::bit_ceil(unsigned(columns)));
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t rows = piece_rows(images);
  const int threads_x = row_threads(images.width.out);
  return in_parts(images.planes(), images.height.out, [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t all_rows = planes * images.height.out;
    return launch(forward_kernel<W>,
                  {.grid = ceil_div<std::int64_t>(all_rows, rows),
                   .block = {threads_x, kThreads / threads_x},
                   .shared_bytes = std::size_t(rows * images.width.out) * sizeof(W) + 16,
                   .stream = stream},
                  y + first * images.out_pixels(), x + first * images.in_pixels(), images.height, images.width,
                  Divisor(std::uint32_t(images.height.out)), std::uint32_t(rows), std::uint32_t(all_rows));
  });
}

}  // namespace warpbook::chapter6::staged_rows
