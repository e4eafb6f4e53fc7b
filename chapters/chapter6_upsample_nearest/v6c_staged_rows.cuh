/// \file
/// v6c staged rows: wide stores for rows that packs do not divide.
///
/// An output row of 271 halves begins at any multiple of 2 bytes, and so v6a stores it element by element, each with
/// the divisions and rules of its own. But rows follow each other without a gap, in a plane and from plane to plane:
/// some of them together are one contiguous piece, whatever the width. A block makes such a piece in shared memory,
/// where single elements cost little, and then stores it by 16 aligned bytes without asking where rows or planes end.
/// The rule is asked once for each row of the tile, and once for each column: an element is then a load and a store to
/// shared memory. (A tile that ended with its plane was ten times slower than PyTorch on planes of 7 x 6: 42 halves are
/// little work for a block.)
///
/// Expect an eighth of the store requests for half, a quarter for float, and no division per element. Backward a load
/// per output is needed anyway: v6b does it.
#pragma once

#include <algorithm>
#include <bit>

#include "chapters/chapter6_upsample_nearest/v6a_any_scale.cuh"

namespace warpbook::chapter6::v6c {

using v6a::kWide;

/// Threads of a block, and loads that each has under way.
inline constexpr int kThreads = 256;
inline constexpr int kLoads = 4;

/// A tile's bytes, and the most that a single row may have; rows that a tile has at most.
inline constexpr std::int64_t kTileBytes = 16 << 10;
inline constexpr std::int64_t kMostRowBytes = 44 << 10;
inline constexpr int kMostRows = 512;

/// As long as there are not so many tiles, they are made smaller: each SM should have some.
inline constexpr std::int64_t kLeastTiles = 1024;

//! [kernel]
/// A block makes `tile_rows` of the output's `all_rows` rows, numbered through all planes. threadIdx.x goes over
/// columns, threadIdx.y over rows.
template <class W>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(W* __restrict__ y, const W* __restrict__ x, Axis height, Axis width,
                   FastDivisor<std::uint32_t> plane_rows, std::uint32_t tile_rows, std::uint32_t all_rows) {
  __shared__ std::uint32_t source_rows[kMostRows];  // Where each row's source begins, from the first row's plane on.
  const std::uint32_t first_row = blockIdx.x * tile_rows;
  const int rows = static_cast<int>(min(tile_rows, all_rows - first_row));
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  const std::uint32_t first_plane = plane_rows.divide(first_row).quotient;
  for (int r = thread; r < rows; r += threads) {
    const auto [plane, row] = plane_rows.divide(first_row + r);
    const std::uint32_t source_row = (plane - first_plane) * height.in + height.source(static_cast<int>(row));
    source_rows[r] = source_row * width.in;
  }
  __syncthreads();

  // An output keeps its place within 16 bytes, so that words can be stored as they lie. The ends go singly.
  W* const outputs = y + std::int64_t{first_row} * width.out;
  const int count = rows * width.out;
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(outputs) / sizeof(W) % kWide<W>);
  W* const staged = dynamic_shared<W>() + lead;
  const W* const source = x + std::int64_t{first_plane} * height.in * width.in;
  //! [exercise staged]
  for (int column = static_cast<int>(threadIdx.x); column < width.out; column += static_cast<int>(blockDim.x)) {
    const W* const from = source + width.source(column);
    for (int first = static_cast<int>(threadIdx.y); first < rows; first += kLoads * static_cast<int>(blockDim.y)) {
      W loaded[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const int r = first + k * static_cast<int>(blockDim.y);
        if (r < rows) loaded[k] = from[source_rows[r]];
      }
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const int r = first + k * static_cast<int>(blockDim.y);
        if (r < rows) staged[r * width.out + column] = loaded[k];
      }
    }
  }
  __syncthreads();

  const int head = min(count, (kWide<W> - lead) % kWide<W>);
  const int words = (count - head) / kWide<W>;
  const int behind = head + words * kWide<W>;
  const auto* const from = reinterpret_cast<const uint4*>(staged + head);
  auto* const to = reinterpret_cast<uint4*>(outputs + head);
  for (int k = thread; k < words; k += threads) to[k] = from[k];
  if (thread < head) outputs[thread] = staged[thread];
  if (thread < count - behind) outputs[behind + thread] = staged[behind + thread];
  //! [exercise staged]
}
//! [kernel]

/// Why v6c does not take a problem forward; nullptr where it does.
inline const char* refuse(const Images& images, int element_bytes) {
  if (images.layout != ImageLayout::nchw) return "takes the nchw layout only";
  if (images.width.out * std::int64_t{element_bytes} > kMostRowBytes) return "a row does not fit shared memory";
  return v6a::refuse(images);
}

/// Output rows that a tile has.
inline std::int64_t tile_rows(const Images& images, int element_bytes) {
  const std::int64_t fit = std::max<std::int64_t>(1, kTileBytes / (images.width.out * std::int64_t{element_bytes}));
  const std::int64_t share = ceil_div<std::int64_t>(images.planes() * images.height.out, kLeastTiles);
  // Sources are counted in 32 bits from the tile's first plane on: no more planes than that allows, two at least.
  const std::int64_t planes = (std::int64_t{1} << 32) / images.in_pixels();
  return std::min({fit, share, std::int64_t{kMostRows}, (planes - 1) * images.height.out});
}

/// Threads along a row: as many as it has columns, at most all; a power of two, or else whole warps.
inline int row_threads(int columns) {
  if (columns >= 32) return std::min(kThreads, ceil_div(columns, 32) * 32);
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(columns)));
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t rows = tile_rows(images, sizeof(W));
  const int threads_x = row_threads(images.width.out);
  return v3::in_parts(images.planes(), images.height.out, [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t all_rows = planes * images.height.out;
    return launch(forward_kernel<W>,
                  {.grid = ceil_div<std::int64_t>(all_rows, rows),
                   .block = {threads_x, kThreads / threads_x},
                   .shared_bytes = static_cast<std::size_t>(rows * images.width.out) * sizeof(W) + 16,
                   .stream = stream},
                  y + first * images.out_pixels(), x + first * images.in_pixels(), images.height, images.width,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(images.height.out)),
                  static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(all_rows));
  });
}

}  // namespace warpbook::chapter6::v6c
