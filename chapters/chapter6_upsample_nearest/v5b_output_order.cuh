/// \file
/// v5b output order: what is written is written from the first byte to the last.
///
/// v4 and v5a go by the input, so that a block writes two pieces a row apart. Four of five bytes are written; here they
/// decide. A thread takes 16 bytes of the output, wherever they lie, and reads the 8 bytes they come from; the row
/// below reads the same 8 bytes again, from the L2. The stores of all blocks that run at a time are one contiguous
/// piece.
///
/// Expect twice the load requests, the same DRAM traffic, and a percent or two where the output is far larger than
/// the L2; less than nothing where the second read is not free. Backward the output's order is v4's already.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::v5b {

inline constexpr int kThreads = 256;

//! [kernel]
template <class W, int kWidth>
__global__ void forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x,
                               FastDivisor<std::uint32_t> row_packs, std::uint32_t out_packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_packs) return;
  //! [exercise output_order]
  const auto [row, column] = row_packs.divide(i);
  const std::uint64_t source = std::uint64_t{row / 2} * row_packs.divisor + column;
  store_streaming(&y[i], v4::doubled(x[source]));
  //! [exercise output_order]
}
//! [kernel]

/// Launches a kernel that goes by the output's packs.
template <class W, int kWidth>
cudaError_t launch_rows(void (*kernel)(Pack<W, 2 * kWidth>*, const Pack<W, kWidth>*, FastDivisor<std::uint32_t>,
                                       std::uint32_t),
                        std::size_t shared_bytes, W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t row_packs = images.width.in / kWidth;
  return v3::in_parts(images.planes() * images.height.in, 2 * row_packs, [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t packs = 2 * rows * row_packs;
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(packs, kThreads),
                   .block = kThreads,
                   .shared_bytes = shared_bytes,
                   .stream = stream},
                  reinterpret_cast<Pack<W, 2 * kWidth>*>(y) + 2 * first * row_packs,
                  reinterpret_cast<const Pack<W, kWidth>*>(x) + first * row_packs,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(row_packs)), static_cast<std::uint32_t>(packs));
  });
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return launch_rows(forward_kernel<W, v4::kWide<W>>, 0, y, x, images, stream);
}

}  // namespace warpbook::chapter6::v5b
