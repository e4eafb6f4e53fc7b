/// \file
/// v3 packs: 16 bytes an access, and a scalar tail.
///
/// v2 spends an address, two loads and a store on each element; a warp's request carries 64 bytes of halves where the
/// hardware takes 512. A Pack is an aligned struct of 16 bytes, so that copying it is one access: 4 floats or 8 halves.
/// What does not fill a pack at the end is done by the first threads, one element each.
///
/// Expect a quarter of the requests for float, an eighth for half, the same sectors, and more bytes under way for each
/// thread: this is where the copy's speed should be. All arrays must be aligned to 16 bytes.
#pragma once

#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"

namespace warpbook::chapter1::v3 {

/// Threads of a block, and waves of blocks.
inline constexpr int kThreads = 256;
inline constexpr int kWaves = 32;

/// Why the steps v3 to v5 refuse arrays.
inline constexpr const char* kMisaligned = "all arrays must be aligned to 16 bytes";

/// One pack's product, element by element. Packs come by value: a reference to a pack in global memory is no copy of
/// it, and nvcc then loads its elements one by one.
struct Multiply {
  template <class T> __device__ FullPack<T> operator()(FullPack<T> x, FullPack<T> y) const {
    FullPack<T> z;
#pragma unroll
    for (int k = 0; k < kPerPack<T>; ++k) z[k] = x[k] * y[k];
    return z;
  }
};

/// Elements behind the last whole pack, one for each of the first threads of the grid.
template <class T>
__device__ void multiply_tail(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y, std::int64_t count) {
  //! [exercise tail]
  const std::int64_t tail = count % kPerPack<T>;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (thread < tail) {
    const std::int64_t i = count - tail + thread;
    z[i] = x[i] * y[i];
  }
  //! [exercise tail]
}

//! [kernel]
template <class T, class MultiplyPack>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  const MultiplyPack multiply;
  const std::int64_t packs = count / kPerPack<T>;
  //! [exercise packs_stride]
  const std::int64_t grid_stride = std::int64_t{gridDim.x} * blockDim.x;
  //! [exercise packs_stride]
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  //! [exercise packs]
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs; i += grid_stride) {
    z_packs[i] = multiply.template operator()<T>(x_packs[i], y_packs[i]);
  }
  //! [exercise packs]
  multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T, class MultiplyPack>
cudaError_t run_with(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::int64_t grid = 0;
  const cudaError_t error = v2::grid_of_waves(ceil_div<std::int64_t>(count, kPerPack<T>), kThreads, kWaves, grid);
  if (error != cudaSuccess) return error;
  return launch(multiply_kernel<T, MultiplyPack>, {.grid = grid, .block = kThreads, .stream = stream}, z, x, y, count);
}

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  return run_with<T, Multiply>(z, x, y, count, stream);
}

}  // namespace warpbook::chapter1::v3
