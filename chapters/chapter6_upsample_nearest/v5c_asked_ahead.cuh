/// \file
/// v5c asked ahead: few blocks at a time, because their input is in the L2 already.
///
/// The memory likes to write a narrow window: the fewer blocks are under way, the nearer to each other lie the rows
/// that they write. But v5b cannot do with fewer: a block waits for its load most of its life, and eight to an SM are
/// just enough to hide that. So the wait has to become short first. Every other block asks the L2, as it begins, for
/// the 2 KiB of input that two blocks about 1000 blocks later will read; nobody waits for them. What a block itself
/// reads has been asked for long ago. Then half of the blocks are enough, and the launch says so by the only means
/// there is: it asks for a quarter of an SM's shared memory, which the kernel does not use.
///
/// Expect v5b's requests and bytes, half of its warps, and one or two percent. Devices before compute capability 9.0
/// cannot ask ahead like this; there it is v5b.
#pragma once

#include "chapters/chapter6_upsample_nearest/v5b_output_order.cuh"

namespace warpbook::chapter6::v5c {

using v5b::kThreads;

/// How many blocks ahead a block asks, and for how many: 1 MiB of input, by 2 KiB.
inline constexpr std::uint32_t kBlocksAhead = 1056;
inline constexpr std::uint32_t kBlocksAsked = 2;

/// Blocks that an SM has at a time.
inline constexpr int kBlocksAnSm = 4;

//! [kernel]
template <class W, int kWidth>
__global__ void forward_kernel(Pack<W, 2 * kWidth>* __restrict__ y, const Pack<W, kWidth>* __restrict__ x,
                               FastDivisor<std::uint32_t> row_packs, std::uint32_t out_packs) {
  //! [exercise ahead]
  if (threadIdx.x == 0 && blockIdx.x % kBlocksAsked == 0) {
    // Of kThreads output packs half as many are of the input, as each goes into two rows.
    constexpr std::uint32_t kAsked = kBlocksAsked * kThreads / 2;
    const std::uint64_t first = (std::uint64_t{blockIdx.x} + kBlocksAhead) * (kThreads / 2);
    if (first + kAsked <= out_packs / 2) ask_for_l2(&x[first], kAsked * sizeof(x[0]));
  }
  //! [exercise ahead]
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_packs) return;
  const auto [row, column] = row_packs.divide(i);
  const std::uint64_t source = std::uint64_t{row / 2} * row_packs.divisor + column;
  store_streaming(&y[i], v4::doubled(x[source]));
}
//! [kernel]

/// The shared memory that leaves room for kBlocksAnSm blocks on an SM; 0 where blocks cannot ask ahead.
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
  if (error == cudaSuccess) bytes = static_cast<std::size_t>(of_sm / kBlocksAnSm - reserved);
  return error;
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  std::size_t shared_bytes = 0;
  const cudaError_t error = idle_shared_bytes(shared_bytes);
  if (error != cudaSuccess) return error;
  return v5b::launch_rows(forward_kernel<W, v4::kWide<W>>, shared_bytes, y, x, images, stream);
}

}  // namespace warpbook::chapter6::v5c
