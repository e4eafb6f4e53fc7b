/// \file
/// narrow_window: doubled images of the nchw layout, forward, whose output is larger than the L2.
///
/// Memory likes to write a narrow window: the fewer rows are open at a time, the better. So a thread takes 16 bytes in
/// the *output's* order here, and the row below reads the same input again, from the L2. And fewer blocks run, which
/// only works if they wait less. Every other block therefore asks the L2 for the 2 KiB of input that two blocks about
/// 1000 blocks later will read. The launch asks for a quarter of an SM's shared memory that the kernel does not use:
/// that leaves room for four blocks per SM. Before compute capability 9.0 nobody can ask ahead, and only the order
/// changes.
#pragma once

#include "chapters/chapter6_upsample_nearest/v4_wide.cuh"

namespace warpbook::chapter6::narrow_window {

inline constexpr int kThreads = 256;
inline constexpr int kBlocksPerSm = 4;

/// How many blocks ahead a block asks, and for how many: 1 MiB of input, by 2 KiB.
inline constexpr std::uint32_t kBlocksAhead = 1056;
inline constexpr std::uint32_t kBlocksAsked = 2;

//! [kernel]
template <class W, int kWidth>
__global__ void forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x,
                               Divisor row_packs, std::uint32_t out_packs) {
  if (threadIdx.x == 0 && blockIdx.x % kBlocksAsked == 0) {
    // Of kThreads output packs half as many are of the input, as each goes into two rows.
    constexpr std::uint32_t kAsked = kBlocksAsked * kThreads / 2;
    const std::uint64_t first = (std::uint64_t{blockIdx.x} + kBlocksAhead) * (kThreads / 2);
    if (first + kAsked <= out_packs / 2) ask_for_l2(&x[first], kAsked * sizeof(x[0]));
  }
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_packs) return;
  const auto [row, column] = row_packs.divide(i);
  const std::uint64_t source = std::uint64_t{row / 2} * row_packs.divisor + column;
  store_streaming(&y[i], v4::doubled(x[source]));
}
//! [kernel]

/// Why narrow_window does not take a problem forward; nullptr where it does.
inline const char* refuse(const Images& images) {
  if (const char* reason = v2::refuse(images)) return reason;
  return v4::takes_packs(images, 8 / images.element_bytes)
             ? nullptr
             : "the width must be a multiple of 8 bytes, the arrays aligned to 8 and 16";
}

/// The shared memory that leaves room for kBlocksPerSm blocks on an SM; 0 where blocks cannot ask ahead.
inline cudaError_t idle_shared_bytes(std::size_t& bytes) {
  bytes = 0;
  int device = 0;
  int major = 0;
  int of_sm = 0;
  int reserved = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess || major < 9) return error;
  error = cudaDeviceGetAttribute(&of_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device);
  if (error == cudaSuccess) bytes = std::size_t(of_sm / kBlocksPerSm - reserved);
  return error;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  constexpr int kWidth = v4::kWide<W>;
  std::size_t shared_bytes = 0;
  const cudaError_t error = idle_shared_bytes(shared_bytes);
  if (error != cudaSuccess) return error;
  const std::int64_t row_packs = images.width.in / kWidth;
  return in_parts(images.planes() * images.height.in, 2 * row_packs, [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t packs = 2 * rows * row_packs;
    return launch(forward_kernel<W, kWidth>,
                  {.grid = ceil_div<std::int64_t>(packs, kThreads),
                   .block = kThreads,
                   .shared_bytes = shared_bytes,
                   .stream = stream},
                  reinterpret_cast<Pack<W, 2 * kWidth>*>(y) + 2 * first * row_packs,
                  reinterpret_cast<const Pack<W, kWidth>*>(x) + first * row_packs, Divisor(std::uint32_t(row_packs)),
                  std::uint32_t(packs));
  });
}

}  // namespace warpbook::chapter6::narrow_window
