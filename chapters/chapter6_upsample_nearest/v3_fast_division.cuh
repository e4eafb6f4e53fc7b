/// \file
/// v3 fast division: the last division goes.
///
/// v2 divides each element's number by the width, in 64 bits: dozens of instructions beside two stores. But the host
/// knows the width. It works out a multiplier and a shift that do the same, and indices fit 32 bits: a batch of 2^31
/// inputs or more goes in several launches.
///
/// Expect the same requests and sectors, far fewer instructions, and a gain where v2 waited for them: with halves,
/// where half the bytes take half the time.
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
#pragma once

#include "chapters/chapter6_upsample_nearest/v2_two_by_two.cuh"

namespace warpbook::chapter6::v3 {

inline constexpr int kThreads = 256;

//! [kernel]
template <class W>
__global__ void forward_kernel(Pack<W, 2>* __restrict__ y, const W* __restrict__ x, Divisor width,
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
__global__ void backward_kernel(T* __restrict__ dx, const Pack<T, 2>* __restrict__ dy, Divisor width,
                                std::uint32_t in_count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= in_count) return;
  //! [exercise sum_without_division]
  const std::uint64_t row = width.divide(i).quotient;
  const std::uint64_t upper = i + row * width.divisor;
  dx[i] = v2::sum_of_four(dy[upper], dy[upper + width.divisor]);
  //! [exercise sum_without_division]
}
//! [kernel]

/// Launches a kernel that goes by the words of the small images, `words_each` per thread. `Out` and `In` are the words
/// that it writes and reads: one of the small images, and one of twice the size in each of two rows of the large ones.
template <class Out, class In>
cudaError_t launch_words(void (*kernel)(Out*, const In*, Divisor, std::uint32_t), int threads, int words_each,
                         void* out, const void* in, const Images& images, cudaStream_t stream) {
  constexpr bool kForward = sizeof(Out) > sizeof(In);
  constexpr int kSmallBytes = kForward ? sizeof(In) : sizeof(Out);
  const std::int64_t row_words = std::int64_t{images.width.in} * images.element_bytes / kSmallBytes;
  return in_parts(images.planes() * images.height.in, row_words, [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t words = rows * row_words;
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(words, threads * words_each), .block = threads, .stream = stream},
                  static_cast<Out*>(out) + (kForward ? 2 : 1) * first * row_words,
                  static_cast<const In*>(in) + (kForward ? 1 : 2) * first * row_words,
                  Divisor(std::uint32_t(row_words)), std::uint32_t(words));
  });
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return launch_words(forward_kernel<W>, kThreads, 1, y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return launch_words(backward_kernel<T>, kThreads, 1, dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v3
