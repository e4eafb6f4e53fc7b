/// \file
/// Sums over a block's threads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace warpbook {

/// Turns counts in shared memory, `per_thread` for each of the block's `threads` threads, into the sums of those before
/// them. All threads call it; they must be synchronised before and after.
/// \return the sum of all counts.
template <int threads, int per_thread> __device__ __forceinline__ std::uint32_t exclusive_scan(std::uint32_t* counts) {
  __shared__ std::uint32_t warp_sums[threads / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t* const own = counts + threadIdx.x * per_thread;
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < per_thread; ++i) sum += own[i];
  std::uint32_t before = sum;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffffU, before, step);
    if (lane >= step) before += other;
  }
  if (lane == 31) warp_sums[warp] = before;
  __syncthreads();
  before -= sum;
  std::uint32_t all = 0;
  for (unsigned w = 0; w < threads / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    all += warp_sums[w];
  }
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const std::uint32_t count = own[i];
    own[i] = before;
    before += count;
  }
  return all;
}

}  // namespace warpbook
