/// \file
/// v4 wide: 16 bytes to each of two rows.
///
/// v3's stores carry two elements per lane: 4 bytes with halves, where the hardware takes 16. Here a thread takes 8
/// bytes of a row, doubles each element, and stores 16 bytes to each of two rows. Backward it loads 16 bytes from each
/// of two rows and stores 8. Why not 16 and 32? A thread's 32 bytes of a row would be two stores, each with holes
/// between the lanes. A width that 8 bytes do not divide goes by smaller packs.
///
/// Expect half of v3's requests with float, a quarter with half, the same sectors, and more bytes under way.
#pragma once

#include "chapters/chapter6_upsample_nearest/v3_fast_division.cuh"

namespace warpbook::chapter6::v4 {

inline constexpr int kThreads = 256;

/// Each element twice.
template <class W, int kWidth> __device__ __forceinline__ Pack<W, 2 * kWidth> doubled(Pack<W, kWidth> pack) {
  Pack<W, 2 * kWidth> result;
#pragma unroll
  for (int k = 0; k < 2 * kWidth; ++k) result[k] = pack[k / 2];
  return result;
}

/// The sums of 2 x 2 elements, in float.
template <class T, int kWidth>
__device__ __forceinline__ Pack<T, kWidth / 2> sums_of_four(Pack<T, kWidth> upper, Pack<T, kWidth> lower) {
  Pack<T, kWidth / 2> result;
#pragma unroll
  for (int k = 0; k < kWidth / 2; ++k) {
    result[k] = v2::sum_of_four(Pack<T, 2>{upper[2 * k], upper[2 * k + 1]}, Pack<T, 2>{lower[2 * k], lower[2 * k + 1]});
  }
  return result;
}

//! [kernel]
template <class W, int kWidth>
__global__ void forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x,
                               Divisor row_packs, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  //! [exercise wide_pair]
  const Pack<W, 2 * kWidth> pack = doubled(x[i]);
  const std::uint64_t row = row_packs.divide(i).quotient;
  const std::uint64_t upper = i + row * row_packs.divisor;
  y[upper] = pack;
  y[upper + row_packs.divisor] = pack;
  //! [exercise wide_pair]
}

template <class T, int kWidth>
__global__ void backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, 2 * kWidth>* __restrict__ dy,
                                Divisor row_packs, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  //! [exercise wide_gradient]
  const std::uint64_t row = row_packs.divide(i).quotient;
  const std::uint64_t upper = i + row * row_packs.divisor;
  store_whole(&dx[i], sums_of_four(dy[upper], dy[upper + row_packs.divisor]));
  //! [exercise wide_gradient]
}
//! [kernel]

/// Elements of 8 bytes: what a thread takes of the small images.
template <class T> inline constexpr int kWide = 8 / int(sizeof(T));

/// Whether the small images go by packs of `width` elements, and the large ones by packs of twice as many.
inline bool takes_packs(const Images& images, int width) {
  return images.width.in % width == 0 && images.in_alignment >= width * images.element_bytes &&
         images.out_alignment >= 2 * width * images.element_bytes;
}

/// Why a doubled image does not go by the widest packs; nullptr where it does.
inline const char* refuse_narrow(const Images& images) {
  if (const char* reason = v2::refuse(images)) return reason;
  return takes_packs(images, 8 / images.element_bytes)
             ? nullptr
             : "the width must be a multiple of 8 bytes, the arrays aligned to 8 and 16";
}

template <class W, int kWidth = kWide<W>>
cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  if constexpr (kWidth > 1) {
    if (!takes_packs(images, kWidth)) return forward<W, kWidth / 2>(y, x, images, stream);
  }
  return v3::launch_words(forward_kernel<W, kWidth>, kThreads, 1, y, x, images, stream);
}

template <class T, int kWidth = kWide<T>>
cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (kWidth > 1) {
    if (!takes_packs(images, kWidth)) return backward<T, kWidth / 2>(dx, dy, images, stream);
  }
  return v3::launch_words(backward_kernel<T, kWidth>, kThreads, 1, dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v4
