/// \file
/// v2 two by two: a kernel for the case that everybody has.
///
/// v1 asks rules, in float, what the doubled image makes plain: input (row, column) is outputs (2 row, 2 column) and
/// their three neighbours. A thread takes one input and writes a pair to each of two rows; backward it reads these two
/// pairs. The number of a row in the whole batch doubles as well, so that one division by the width is left of v1's
/// two, and each input is read once.
///
/// It takes doubled images of the nchw layout; the output must be aligned to a pair.
///
/// Expect half the load requests, store requests of two elements a lane, one division, and more than twice v1's speed.
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::v2 {

inline constexpr int kThreads = 256;

/// The sum of two pairs, in float.
template <class T> __device__ __forceinline__ T sum_of_four(Pack<T, 2> upper, Pack<T, 2> lower) {
  return static_cast<T>(static_cast<float>(upper[0]) + static_cast<float>(upper[1]) + static_cast<float>(lower[0]) +
                        static_cast<float>(lower[1]));
}

//! [kernel]
template <class W>
__global__ void forward_kernel(Pack<W, 2>* __restrict__ y, const W* __restrict__ x, std::int64_t width,
                               std::int64_t in_count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  //! [exercise pair]
  const Pack<W, 2> pair{x[i], x[i]};
  const std::int64_t row = i / width;          // Of all rows of all planes.
  const std::int64_t upper = i + row * width;  // In pairs: 2 row * width + column.
  y[upper] = pair;
  y[upper + width] = pair;
  //! [exercise pair]
}

template <class T>
__global__ void backward_kernel(T* __restrict__ dx, const Pack<T, 2>* __restrict__ dy, std::int64_t width,
                                std::int64_t in_count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  const std::int64_t row = i / width;
  const Pack<T, 2> upper = dy[i + row * width];
  const Pack<T, 2> lower = dy[i + row * width + width];
  dx[i] = sum_of_four(upper, lower);
}
//! [kernel]

/// Why v2 to v5 do not take a problem; nullptr where they do.
inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nchw) return "takes the nchw layout only";
  return is_two_by_two(images) ? nullptr : "doubles images only";
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return launch(forward_kernel<W>,
                {.grid = ceil_div<std::int64_t>(images.in_count(), kThreads), .block = kThreads, .stream = stream},
                reinterpret_cast<Pack<W, 2>*>(y), x, images.width.in, images.in_count());
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return launch(backward_kernel<T>,
                {.grid = ceil_div<std::int64_t>(images.in_count(), kThreads), .block = kThreads, .stream = stream}, dx,
                reinterpret_cast<const Pack<T, 2>*>(dy), images.width.in, images.in_count());
}

}  // namespace warpbook::chapter6::v2
