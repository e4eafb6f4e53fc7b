/// \file
/// Sums in a block's shared memory: one float a place, places that are hit again and again spread over several.
///
/// Shared memory has no atomic addition of floats: `atomicAdd` is a loop there (ATOMS.CAST.SPIN) that every thread of a
/// block which meets another at its address goes through again. A sample of the input tells how to keep them apart. A
/// place that a large share of the sample hits is hot: it gets 32 sums, a thread adding to the one that its lane and
/// warp select; or, where a block has room for that, one for every thread, and no loop at all. And where neighbours in
/// the input often have one place (sorted indices), lanes that share one add up among themselves first. Neither is
/// done, nor paid for, where the sample shows no need.
///
/// Which place is hot stands in its bin: instead of a sum it holds a NaN that no addition makes (a signalling one), and
/// in its last bits where its sums are. So finding out costs a look at the bin, and no table.
#pragma once

#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"
#include "common/cuda/relaxed_load.cuh"

namespace warpbook::chapter4 {

/// The sums of the hot places.
struct HotPlaces {
  static constexpr int kMost = 64;
  static constexpr int kCopies = 32;
  static constexpr int kMostPrivate = 8;  ///< Of those with a sum for every thread. Their numbers begin at kMost.
  /// How often the sample must hit a place that is hot. Of 4096 samples: 0.3%.
  static constexpr unsigned kHits = 12;
  static constexpr unsigned kPrivateHits = 40;   ///< The same, for a place that threads have sums of their own for.
  static constexpr unsigned kMark = 0xff800001;  ///< What the bin of hot place 0 holds, as bits.

  alignas(16) float sum[kMost * kCopies];
  std::int64_t name[kMost + kMostPrivate];  ///< Whose sums they are: a bin, or a place.
  int found;                                ///< May be more than there is room for.
  int found_private;                        ///< The same.

  /// The one of a hot place's sums that this thread adds to.
  __device__ float* sum_of(unsigned number) {
    return &sum[number * kCopies + (threadIdx.x + threadIdx.x / 32) % kCopies];
  }
  /// How many there are, without those that threads have sums of their own for.
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
  float* own = nullptr;    ///< This thread's sums of the private hot places, a block's width apart.

  __device__ bool any() const { return hot || clustered; }
};

/// Clears what a block adds to: `bins` sums, a multiple of 4, and the hot places.
__device__ __forceinline__ void clear_bins(float* bin, int bins, HotPlaces& hot) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < bins / 4; i += threads) reinterpret_cast<float4*>(bin)[i] = make_float4(0, 0, 0, 0);
  for (int i = thread; i < HotPlaces::kMost * HotPlaces::kCopies; i += threads) hot.sum[i] = 0;
  if (thread == 0) hot.found = hot.found_private = 0;
}

//! [find_hot]
/// Looks at a sample: `samples` bins of each thread, -1 for none, what they are called, and whether a neighbour of one
/// has its bin. All threads of the block call, and meet at barriers; the bins hold zeros before, and afterwards zeros
/// and marks. `hits_needed` make a place hot. `private_sums` has zeros, one for each thread and each of `privates`
/// places.
template <int samples, class Name>
__device__ __forceinline__ Care find_hot(float* bin, HotPlaces& hot, const int (&sample)[samples],
                                         const Name (&name)[samples], bool neighbour_is_same,
                                         unsigned hits_needed = HotPlaces::kHits, float* private_sums = nullptr,
                                         int privates = 0) {
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
    if (times[k] < hits_needed) continue;
    int number = HotPlaces::kMost + HotPlaces::kMostPrivate;
    if (privates > 0 && times[k] >= HotPlaces::kPrivateHits) {
      const int taken = atomicAdd(&hot.found_private, 1);
      if (taken < privates) number = HotPlaces::kMost + taken;
    }
    if (number >= HotPlaces::kMost + HotPlaces::kMostPrivate) {
      number = atomicAdd(&hot.found, 1);
      if (number >= HotPlaces::kMost) continue;
    }
    hot.name[number] = name[k];
    hits[sample[k]] = HotPlaces::kMark + static_cast<unsigned>(number);
  }
  __syncthreads();
  Care care{hot.found + hot.found_private > 0, same * 8 > static_cast<int>(blockDim.x)};
  if (private_sums != nullptr) care.own = private_sums + threadIdx.x;
  return care;
}
//! [find_hot]

/// Adds x to the sum of a bin, wherever that is; `held` is what the bin holds.
__device__ __forceinline__ void add_to_sum(float* bin, HotPlaces& hot, Care care, unsigned held, int at, float x) {
  const unsigned number = held - HotPlaces::kMark;
  if (number - HotPlaces::kMost < HotPlaces::kMostPrivate) {
    care.own[(number - HotPlaces::kMost) * blockDim.x] += x;  // Nobody else's: no loop.
  } else {
    atomicAdd(number < HotPlaces::kMost ? hot.sum_of(number) : &bin[at], x);
  }
}

//! [add_with_care]
/// Adds x to the sum of a bin, wherever that is; -1 adds nothing. All lanes of the warp call.
__device__ __forceinline__ void add_with_care(float* bin, HotPlaces& hot, Care care, int at, float x) {
  const auto add = [&](float value) {
    add_to_sum(bin, hot, care, load_relaxed(reinterpret_cast<unsigned*>(&bin[at])), at, value);
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
/// another. No place may be hot: the longer the look is ago, the more often somebody was faster.
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

/// The same where places are hot: all sums are looked at together, and then each is added to by itself.
template <int values>
__device__ __forceinline__ void add_marked(float* bin, HotPlaces& hot, Care care, const int (&at)[values],
                                           const float (&x)[values]) {
  unsigned held[values];
#pragma unroll
  for (int k = 0; k < values; ++k) {
    held[k] = 0;
    if (at[k] >= 0) held[k] = load_relaxed(reinterpret_cast<unsigned*>(&bin[at[k]]));
  }
#pragma unroll
  for (int k = 0; k < values; ++k) {
    if (at[k] >= 0) add_to_sum(bin, hot, care, held[k], at[k], x[k]);
  }
}

/// Puts the hot places' sums into their bins. All threads of the block call, with a barrier before and after.
__device__ __forceinline__ void fold_hot(float* bin, const HotPlaces& hot, const float* private_sums = nullptr,
                                         int privates = 0) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < hot.size(); i += threads) bin[hot.name[i]] = hot.total(i);
  const int found = hot.found_private < privates ? hot.found_private : privates;
  for (int i = thread / 32; i < found; i += threads / 32) {
    float sum = 0;
    for (int k = thread % 32; k < threads; k += 32) sum += private_sums[i * threads + k];
    sum = warp_sum(sum);
    if (thread % 32 == 0) bin[hot.name[HotPlaces::kMost + i]] = sum;
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
