/// \file
/// v3 packs: 16 bytes per access, and a scalar tail.
///
/// v2 spends an address, two loads and a store on each element, and a request of halves carries 64 bytes where the
/// hardware takes 512. A Pack is an aligned struct of 16 bytes, so that copying it is one access: 4 floats or 8 halves.
/// What does not fill a pack at the end is done by the first threads, one element each.
///
/// Expect a quarter of the requests for float, an eighth for half, the same sectors, and about the speed of a copy.
/// All arrays must be aligned to 16 bytes.
/// Source: OneFlow's elementwise template.
#pragma once

#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter1::v3 {

inline constexpr int kThreads = 256;

/// Why the steps that move packs refuse arrays.
inline constexpr const char* kMisaligned = "all arrays must be aligned to 16 bytes";

/// Elements of T that one 16-byte access moves, and a pack of them.
template <class T> inline constexpr int kPerPack = 16 / int(sizeof(T));
template <class T> using FullPack = Pack<T, kPerPack<T>>;

/// One pack's product, element by element. Packs come by value: through a reference to global memory, nvcc loads their
/// elements one by one.
template <class T> __device__ __forceinline__ FullPack<T> multiply_pack(FullPack<T> x, FullPack<T> y) {
  FullPack<T> z;
#pragma unroll
  for (int k = 0; k < kPerPack<T>; ++k) z[k] = x[k] * y[k];
  return z;
}

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
template <class T>
__global__ void multiply_kernel(T* __restrict__ z, const T* __restrict__ x, const T* __restrict__ y,
                                std::int64_t count) {
  const std::int64_t packs = count / kPerPack<T>;
  //! [exercise packs_stride]
  const std::int64_t grid_stride = std::int64_t{gridDim.x} * blockDim.x;
  //! [exercise packs_stride]
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z);
  const auto* const x_packs = reinterpret_cast<const FullPack<T>*>(x);
  const auto* const y_packs = reinterpret_cast<const FullPack<T>*>(y);
  //! [exercise packs]
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs; i += grid_stride) {
    z_packs[i] = multiply_pack<T>(x_packs[i], y_packs[i]);
  }
  //! [exercise packs]
  multiply_tail(z, x, y, count);
}
//! [kernel]

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::int64_t grid = 0;
  const std::int64_t packs = ceil_div<std::int64_t>(count, kPerPack<T>);
  const cudaError_t error = v2::grid_of_waves(packs, kThreads, v2::kWaves, grid);
  if (error != cudaSuccess) return error;
  return launch(multiply_kernel<T>, {.grid = grid, .block = kThreads, .stream = stream}, z, x, y, count);
}

}  // namespace warpbook::chapter1::v3
