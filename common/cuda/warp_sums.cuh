/// \file
/// Sums of floats over the threads of a warp and of a block, by shuffles.
#pragma once

#include <cuda_runtime.h>

namespace warpbook {

/// All lanes of a warp.
inline constexpr unsigned kFullWarp = 0xffffffffU;

/// The sum over a full warp, in every lane.
__device__ __forceinline__ float warp_sum(float x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kFullWarp, x, distance);
  return x;
}

/// The sum over a block of whole warps, in its first warp's lanes.
__device__ __forceinline__ float block_sum(float x) {
  __shared__ float of_warp[32];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) x = warp_sum(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
  return x;
}

/// Adds up each of `runs` runs of `length` floats in shared memory, into its first one. A warp of the block's `threads`
/// takes a run. All threads call it; they must be synchronised before and after.
template <int threads> __device__ __forceinline__ void sum_runs(float* first_of_all, int runs, int length) {
  constexpr int kTogether = 4;  // Runs of a warp whose sums wait for one another's shuffles.
  constexpr int kWarps = threads / 32;
  const int lane = threadIdx.x % 32;
  for (int first = threadIdx.x / 32; first < runs; first += kWarps * kTogether) {
    float sum[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int run = first + k * kWarps;
      sum[k] = 0;
      for (int i = lane; run < runs && i < length; i += 32) sum[k] += first_of_all[run * length + i];
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum[k] = warp_sum(sum[k]);
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (lane == k && first + k * kWarps < runs) first_of_all[(first + k * kWarps) * length] = sum[k];
    }
  }
}

}  // namespace warpbook
