/// \file
/// v2 two by two: a kernel for the images that everybody doubles.
///
/// v1 works out what is obvious in a doubled image: input (row, column) becomes outputs (2 row, 2 column) and their
/// three neighbours. Here a thread takes one input and writes a pair to each of two rows. Backward it reads these two
/// pairs. The rows of all planes are numbered consecutively, and row r becomes rows 2r and 2r + 1 in any plane. So one
/// of v1's two divisions is left, the one by the width.
///
/// Expect each input to be read once, stores of two elements per lane, and more than twice v1's speed.
/// Source: OneFlow's `UpsampleNearest2D2XForward` (BBuf, "Three efficient CUDA algorithms", 2023).
#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::v2 {

inline constexpr int kThreads = 256;

/// The sum of two pairs, in float.
template <class T> __device__ __forceinline__ T sum_of_four(Pack<T, 2> upper, Pack<T, 2> lower) {
  return T(float(upper[0]) + float(upper[1]) + float(lower[0]) + float(lower[1]));
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
  const std::int64_t upper = i + row * width;
  dx[i] = sum_of_four(dy[upper], dy[upper + width]);
}
//! [kernel]

/// Why v2 to v4 do not take a problem; nullptr where they do.
inline const char* refuse(const Images& images) {
  if (images.layout != ImageLayout::nchw) return "takes the nchw layout only";
  if (!is_two_by_two(images)) return "doubles images only";
  return images.out_alignment >= 2 * images.element_bytes ? nullptr : "the large array must be aligned to a pair";
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
