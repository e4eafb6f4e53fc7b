/// \file
/// v5 warp sums: add up what a warp has for one place, then one atomic.
///
/// Up to here every value is an atomic of its own, and those to one place wait for one another in the L2, some 2 ns
/// each. But the lanes of a warp can talk. A match tells each lane which others have its place. They add up by
/// shuffles, in as many rounds as the largest group has doublings, and one lane of each group adds the sum.
///
/// Expect reductions divided by the number of lanes that share a place: 32 for one place. Where places are many, the
/// match gains nothing. The inner product adds up a warp's sums by shuffles: atomics divided by 32.
/// Source: E. Westphal, "Voting and Shuffling to Optimize Atomic Operations", NVIDIA, 2015.
#pragma once

#include "chapters/chapter4_atomic_add/v2_float_sums.cuh"
#include "common/cuda/warp_sums.cuh"

namespace warpbook::chapter4::v5 {

//! [group_sum]
/// The sum over the lanes in `group`, in its lowest lane. `group` holds this lane and is the same in all its lanes; all
/// lanes of the warp call.
__device__ __forceinline__ float group_sum(float x, unsigned group) {
  const int lane = threadIdx.x % 32;
  unsigned above = group & (0xfffffffeU << lane);  // Lanes of the group that are to be added to this one.
  unsigned rank = __popc(group & ((1U << lane) - 1));
  //! [exercise group_sum]
  while (__any_sync(kFullWarp, above != 0) != 0) {
    const int next = __ffs(static_cast<int>(above)) - 1;
    const float other = __shfl_sync(kFullWarp, x, next < 0 ? lane : next);
    if (next >= 0) x += other;
    // Lanes of odd rank have given away what they had.
    above &= ~__ballot_sync(kFullWarp, (rank & 1) != 0);
    rank >>= 1;
  }
  //! [exercise group_sum]
  return x;
}
//! [group_sum]

//! [kernel]
template <class T, class Index>
__global__ void scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  std::int64_t place = i < count ? index[i] : -1;
  if (place >= places) place = -1;
  const float x = place >= 0 ? to_float(value[i]) : 0;
  //! [exercise same_group]
  const unsigned group = __match_any_sync(kFullWarp, static_cast<long long>(place));
  //! [exercise same_group]
  const float total = group_sum(x, group);
  const bool lowest = (group & ((1U << (threadIdx.x % 32)) - 1)) == 0;
  if (lowest && place >= 0) atomicAdd(sum + place, total);
}
//! [kernel]

template <class T>
__global__ void inner_product_kernel(float* total, const T* __restrict__ a, const T* __restrict__ b,
                                     std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum += to_float(a[i]) * to_float(b[i]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return run_in_float(p, at, stream, [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; });
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return run_in_float(p, at, stream, [&]<class T>() { return inner_product_kernel<T>; });
}

}  // namespace warpbook::chapter4::v5
