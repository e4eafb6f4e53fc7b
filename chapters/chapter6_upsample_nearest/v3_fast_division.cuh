/// \file
/// v3 fast division: the last division goes.
///
/// v2 divides each element's number by the width, in 64 bits: some dozens of instructions for two stores. The width is
/// known on the host, so that the division becomes a multiplication, an addition and a shift in 32 bits; a batch of
/// 2^31 inputs or more goes in several launches.
///
/// Expect the same memory counters as v2's, a fraction of its instructions, and time where it waited for them.
#pragma once

#include <algorithm>

#include "chapters/chapter6_upsample_nearest/v2_two_by_two.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter6::v3 {

inline constexpr int kThreads = 256;

//! [kernel]
template <class W>
__global__ void forward_kernel(Pack<W, 2>* __restrict__ y, const W* __restrict__ x, FastDivisor<std::uint32_t> width,
                               std::uint32_t in_count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  //! [exercise division]
  const Pack<W, 2> pair{x[i], x[i]};
  const std::uint64_t row = width.divide(i).quotient;
  const std::uint64_t upper = i + row * width.divisor;
  y[upper] = pair;
  y[upper + width.divisor] = pair;
  //! [exercise division]
}

template <class T>
__global__ void backward_kernel(T* __restrict__ dx, const Pack<T, 2>* __restrict__ dy, FastDivisor<std::uint32_t> width,
                                std::uint32_t in_count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  const std::uint64_t row = width.divide(i).quotient;
  const Pack<T, 2> upper = dy[i + row * width.divisor];
  const Pack<T, 2> lower = dy[i + row * width.divisor + width.divisor];
  dx[i] = v2::sum_of_four(upper, lower);
}
//! [kernel]

/// Items that one launch may have: their numbers, and those of the last block's idle threads, stay below 2^31.
inline constexpr std::int64_t kMostItems = (std::int64_t{1} << 31) - (1 << 20);

/// Calls `part(first_row, rows)` for pieces of `rows` rows with at most kMostItems items together, until one fails.
/// A row has `row_items` items, and must have at most kMostItems.
template <class F> cudaError_t in_parts(std::int64_t rows, std::int64_t row_items, F&& part) {
  const std::int64_t most = std::max<std::int64_t>(1, kMostItems / std::max<std::int64_t>(1, row_items));
  for (std::int64_t first = 0; first < rows; first += most) {
    const cudaError_t error = part(first, std::min(most, rows - first));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t width = images.width.in;
  return in_parts(images.planes() * images.height.in, width, [&](std::int64_t first, std::int64_t rows) {
    const auto count = static_cast<std::uint32_t>(rows * width);
    return launch(forward_kernel<W>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<Pack<W, 2>*>(y) + 2 * first * width, x + first * width,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(width)), count);
  });
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const std::int64_t width = images.width.in;
  return in_parts(images.planes() * images.height.in, width, [&](std::int64_t first, std::int64_t rows) {
    const auto count = static_cast<std::uint32_t>(rows * width);
    return launch(backward_kernel<T>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                  dx + first * width, reinterpret_cast<const Pack<T, 2>*>(dy) + 2 * first * width,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(width)), count);
  });
}

}  // namespace warpbook::chapter6::v3
