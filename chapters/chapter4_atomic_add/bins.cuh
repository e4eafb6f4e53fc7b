/// \file
/// Sums in a block's shared memory: one float a place, places that are hit again and again spread over several.
///
/// Shared memory has no atomic addition of floats: `atomicAdd` is a loop there (ATOMS.CAST.SPIN) that every thread of a
/// block which meets another at its address goes through again. A sample of the input tells how to keep them apart. A
/// place that a large share of the sample hits is hot: it gets 32 sums, a thread adding to the one that its lane and
/// warp select. And where neighbours in the input often have one place (sorted indices), lanes that share one add up
/// among themselves first. Neither is done, nor paid for, where the sample shows no need.
///
/// Which place is hot stands in its bin: instead of a sum it holds a NaN that no addition makes (a signalling one), and
/// in its last bits where the 32 sums are. So finding out costs a look at the bin, and no table.
#pragma once

#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"
#include "common/cuda/relaxed_load.cuh"

namespace warpbook::chapter4 {

/// The sums of the hot places.
struct HotPlaces {
  static constexpr int kMost = 64;
  static constexpr int kCopies = 32;
  /// How often the sample must hit a place that is hot. Of 4096 samples: 0.3%.
  static constexpr unsigned kHits = 12;
  static constexpr unsigned kMark = 0xff800001;  ///< What the bin of hot place 0 holds, as bits.

  float sum[kMost * kCopies];
  std::int64_t name[kMost];  ///< Whose sums they are: a bin, or a place.
  int found;                 ///< May be more than there is room for.

  /// The one of a hot place's sums that this thread adds to.
  __device__ float* sum_of(unsigned number) {
    return &sum[number * kCopies + (threadIdx.x + threadIdx.x / 32) % kCopies];
  }
  /// How many there are.
  __device__ int size() const { return found < kMost ? found : kMost; }
  __device__ float total(int number) const {
    float result = 0;
    for (int k = 0; k < kCopies; ++k) result += sum[number * kCopies + k];
    return result;
  }
};

/// How a block adds up; the same for all its threads.
struct Care {
  bool hot = false;        ///< There are hot places.
  bool clustered = false;  ///< Neighbours in the input often have one place.

  __device__ bool any() const { return hot || clustered; }
};

/// Clears what a block adds to: `bins` sums, a multiple of 4, and the hot places.
__device__ __forceinline__ void clear_bins(float* bin, int bins, HotPlaces& hot) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < bins / 4; i += threads) reinterpret_cast<float4*>(bin)[i] = make_float4(0, 0, 0, 0);
  for (int i = thread; i < HotPlaces::kMost * HotPlaces::kCopies; i += threads) hot.sum[i] = 0;
  if (thread == 0) hot.found = 0;
}

//! [find_hot]
/// Looks at a sample: `samples` bins of each thread, -1 for none, what they are called, and whether a neighbour of one
/// has its bin. All threads of the block call, and meet at barriers; the bins hold zeros before, and afterwards zeros
/// and marks.
template <int samples, class Name>
__device__ __forceinline__ Care find_hot(float* bin, HotPlaces& hot, const int (&sample)[samples],
                                         const Name (&name)[samples], bool neighbour_is_same) {
  auto* const hits = reinterpret_cast<unsigned*>(bin);  // Counters for a while: integers are added without a loop.
  const int same = __syncthreads_count(neighbour_is_same ? 1 : 0);
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (sample[k] >= 0) atomicAdd(&hits[sample[k]], 1U);
  }
  __syncthreads();
  unsigned times[samples];
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    times[k] = sample[k] >= 0 ? atomicExch(&hits[sample[k]], 0U) : 0;  // Who asks first gets it all.
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (times[k] < HotPlaces::kHits) continue;
    const int number = atomicAdd(&hot.found, 1);
    if (number >= HotPlaces::kMost) continue;
    hot.name[number] = name[k];
    hits[sample[k]] = HotPlaces::kMark + static_cast<unsigned>(number);
  }
  __syncthreads();
  return {hot.found > 0, same * 8 > static_cast<int>(blockDim.x)};
}
//! [find_hot]

//! [add_with_care]
/// Adds x to the sum of a bin, wherever that is; -1 adds nothing. All lanes of the warp call.
__device__ __forceinline__ void add_with_care(float* bin, HotPlaces& hot, Care care, int at, float x) {
  const auto add = [&](float value) {
    const unsigned number = load_relaxed(reinterpret_cast<unsigned*>(&bin[at])) - HotPlaces::kMark;
    if (number >= HotPlaces::kMost) {
      atomicAdd(&bin[at], value);
    } else {
      atomicAdd(hot.sum_of(number), value);
    }
  };
  if (care.clustered) {
    constexpr int kFew = 4;  // Lanes that had better go through the loop.
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (;;) {
      const unsigned waiting = __ballot_sync(kFullWarp, at >= 0);
      if (waiting == 0) return;
      const int leader = __ffs(static_cast<int>(waiting)) - 1;
      const bool same = at == __shfl_sync(kFullWarp, at, leader);
      if (__popc(__ballot_sync(kFullWarp, same)) <= kFew) break;
      const float sum = warp_sum(same ? x : 0);
      if (lane == leader) add(sum);
      if (same) at = -1;
    }
  }
  if (at >= 0) add(x);
}
//! [add_with_care]

//! [add_together]
/// Adds several values of a thread to as many bins, -1 for none: all sums are looked at, then all are exchanged, then
/// those again that somebody else was faster at. So the values wait for shared memory together, and not one after
/// another.
template <int values>
__device__ __forceinline__ void add_together(float* bin, const int (&at)[values], const float (&x)[values]) {
  auto* const word = reinterpret_cast<unsigned*>(bin);
  unsigned assumed[values];
  bool waits[values];
#pragma unroll
  for (int k = 0; k < values; ++k) {
    waits[k] = at[k] >= 0;
    assumed[k] = 0;
    if (waits[k]) assumed[k] = load_relaxed(&word[at[k]]);
  }
  bool any = false;
  do {
    unsigned found[values];
#pragma unroll
    for (int k = 0; k < values; ++k) {
      if (waits[k]) {
        found[k] = atomicCAS(&word[at[k]], assumed[k], __float_as_uint(__uint_as_float(assumed[k]) + x[k]));
      }
    }
    any = false;
#pragma unroll
    for (int k = 0; k < values; ++k) {
      if (waits[k]) {
        waits[k] = found[k] != assumed[k];
        assumed[k] = found[k];
      }
      any = any || waits[k];
    }
  } while (any);
}
//! [add_together]

/// Puts the hot places' sums into their bins. All threads of the block call, with a barrier before and after.
__device__ __forceinline__ void fold_hot(float* bin, const HotPlaces& hot) {
  for (int i = static_cast<int>(threadIdx.x); i < hot.size(); i += static_cast<int>(blockDim.x)) {
    bin[hot.name[i]] = hot.total(i);
  }
}

/// Bytes of shared memory that a block may have on the current device; 48 KiB where CUDA does not tell.
inline std::int64_t shared_bytes_limit() {
  int device = 0;
  int bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) {
    return 48 * 1024;
  }
  return bytes;
}

}  // namespace warpbook::chapter4
