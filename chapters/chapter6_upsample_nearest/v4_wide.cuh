/// \file
/// v4 wide: 16 bytes to each of two rows.
///
/// v3's stores carry two elements: 4 bytes of half, where the hardware takes 16. A thread takes 8 bytes of a row now,
/// doubles each element, and stores 16 bytes to each of the two rows; backward it loads two times 16 bytes and
/// stores 8. The small side has 8 bytes and not 16, because then both sides are contiguous over a warp: with 16 a
/// thread's 32 bytes of a row would be two stores, each of them with holes.
///
/// The index stays v3's, in packs: the width in packs divides the pack's number. The width must be a whole number of
/// packs, and the arrays aligned; where they are not, smaller packs do.
///
/// Backward nothing is read twice, and of up to 128 MiB of floats the loads say so: their lines may leave the L2 first.
/// What lies there from before and is not in memory yet then stays, and need not be written back while this kernel
/// wants the memory's time. Of more there are too many such lines for that to last, and the hint costs time; so it does
/// for half where nothing is left to write back.
///
/// Expect a half (float) or a quarter (half) of v3's requests, the same sectors, and more bytes under way.
#pragma once

#include "chapters/chapter6_upsample_nearest/v3_fast_division.cuh"

namespace warpbook::chapter6::v4 {

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kOnceBytes = 128 << 20;  // Of the large gradient, up to which loads say "once".

/// Elements of the small side that a thread takes: 8 bytes.
template <class T> inline constexpr int kWide = 8 / static_cast<int>(sizeof(T));

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
                               FastDivisor<std::uint32_t> row_packs, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  //! [exercise wide]
  const Pack<W, 2 * kWidth> pack = doubled(x[i]);
  const std::uint64_t row = row_packs.divide(i).quotient;
  const std::uint64_t upper = i + row * row_packs.divisor;
  y[upper] = pack;
  y[upper + row_packs.divisor] = pack;
  //! [exercise wide]
}

/// \param kOnce loads say that this is the last use.
template <class T, int kWidth, bool kOnce>
__global__ void backward_kernel(Pack<T, kWidth>* __restrict__ dx, const Pack<T, 2 * kWidth>* __restrict__ dy,
                                FastDivisor<std::uint32_t> row_packs, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const std::uint64_t row = row_packs.divide(i).quotient;
  const std::uint64_t upper = i + row * row_packs.divisor;
  if constexpr (kOnce) {
    store_whole(&dx[i], sums_of_four(load_once(&dy[upper]), load_once(&dy[upper + row_packs.divisor])));
  } else {
    store_whole(&dx[i], sums_of_four(dy[upper], dy[upper + row_packs.divisor]));
  }
}
//! [kernel]

/// True where the small side goes in packs of kWidth elements and the large one in packs of twice as many.
template <int kWidth, class T> bool takes_packs(const T* large, const T* small, const Images& images) {
  return images.width.in % kWidth == 0 && reinterpret_cast<std::uintptr_t>(large) % (2 * kWidth * sizeof(T)) == 0 &&
         reinterpret_cast<std::uintptr_t>(small) % (kWidth * sizeof(T)) == 0;
}

/// Why v4 and v5 refuse a width or arrays.
inline constexpr const char* kUneven = "the width must be a multiple of 8 bytes, the arrays aligned to 8 and 16";

/// Launches a forward kernel that goes by the input's packs of kWidth elements, `packs_each` a thread.
template <int kWidth, class W>
cudaError_t launch_packs(void (*kernel)(Pack<W, 2 * kWidth>*, const Pack<W, kWidth>*, FastDivisor<std::uint32_t>,
                                        std::uint32_t),
                         int threads, int packs_each, W* y, const W* x, const Images& images, cudaStream_t stream) {
  const std::int64_t row_packs = images.width.in / kWidth;
  return v3::in_parts(images.planes() * images.height.in, row_packs, [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t packs = rows * row_packs;
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(packs, threads * packs_each), .block = threads, .stream = stream},
                  reinterpret_cast<Pack<W, 2 * kWidth>*>(y) + 2 * first * row_packs,
                  reinterpret_cast<const Pack<W, kWidth>*>(x) + first * row_packs,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(row_packs)), static_cast<std::uint32_t>(packs));
  });
}

/// The same for a backward kernel.
template <int kWidth, class T>
cudaError_t launch_sums(void (*kernel)(Pack<T, kWidth>*, const Pack<T, 2 * kWidth>*, FastDivisor<std::uint32_t>,
                                       std::uint32_t),
                        int threads, int packs_each, T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const std::int64_t row_packs = images.width.in / kWidth;
  return v3::in_parts(images.planes() * images.height.in, row_packs, [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t packs = rows * row_packs;
    return launch(kernel,
                  {.grid = ceil_div<std::int64_t>(packs, threads * packs_each), .block = threads, .stream = stream},
                  reinterpret_cast<Pack<T, kWidth>*>(dx) + first * row_packs,
                  reinterpret_cast<const Pack<T, 2 * kWidth>*>(dy) + 2 * first * row_packs,
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(row_packs)), static_cast<std::uint32_t>(packs));
  });
}

template <int kWidth, class W> cudaError_t forward_by(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return launch_packs<kWidth>(forward_kernel<W, kWidth>, kThreads, 1, y, x, images, stream);
}

template <int kWidth, class T> cudaError_t backward_by(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  if constexpr (2 * kWidth * sizeof(T) == 16 && sizeof(T) == 4) {  // With the hint, smaller blocks are 3% faster.
    if (images.out_count() * std::int64_t{sizeof(T)} <= kOnceBytes) {
      return launch_sums<kWidth>(backward_kernel<T, kWidth, true>, kThreads / 2, 1, dx, dy, images, stream);
    }
  }
  return launch_sums<kWidth>(backward_kernel<T, kWidth, false>, kThreads, 1, dx, dy, images, stream);
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  return forward_by<kWide<W>>(y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  return backward_by<kWide<T>>(dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v4
