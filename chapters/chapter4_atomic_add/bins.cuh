/// \file
/// Sums in a block's shared memory: one float a place, places that are hit again and again spread over several.
///
/// Shared memory has no atomic addition of floats: `atomicAdd` is a loop there (ATOMS.CAST.SPIN) that every thread of a
/// block which meets another at its address goes through again. A sample of the input tells how to keep them apart. A
/// place that a large share of the sample hits is hot: it gets 32 sums, a thread adding to the one that its lane and
/// warp select. And where neighbours in the input often have one place (sorted indices), lanes that share one add up
/// among themselves first. Neither is done, nor paid for, where the sample shows no need.
#pragma once

#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"

namespace warpbook::chapter4 {

/// Places are less than this where they are counted in bins.
inline constexpr int kMostBinPlaces = (1 << 17) - 1;

/// What a block's sample told, and the sums of the hot places.
struct HotPlaces {
  static constexpr int kEntries = 64;
  /// How often the sample must hit a place that is hot. Of 4096 samples: 0.3%.
  static constexpr unsigned kHits = 12;

  float sum[kEntries * 32];
  unsigned entry[kEntries];  // By the place's hash: its hits in the sample, and in the low 17 bits the place.

  __device__ static unsigned hash(int place) { return (static_cast<unsigned>(place) * 0x9e3779b1U) >> 26; }
  __device__ static int place_of(unsigned entry) { return static_cast<int>(entry & kMostBinPlaces); }
};

/// How a block adds up; the same for all its threads.
struct Care {
  bool hot;        ///< There are hot places.
  bool clustered;  ///< Neighbours in the input often have one place.
};

/// Clears what a block adds to: `bins` sums, and the hot places.
__device__ __forceinline__ void clear_bins(float* bin, int bins, HotPlaces& hot) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < bins; i += threads) bin[i] = 0;
  for (int i = thread; i < HotPlaces::kEntries * 32; i += threads) hot.sum[i] = 0;
  for (int i = thread; i < HotPlaces::kEntries; i += threads) hot.entry[i] = kMostBinPlaces;
}

//! [find_hot]
/// Looks at a sample: `samples` places of each thread, below 2 * bins, -1 for none, and whether a neighbour of one has
/// its place. All threads of the block call, and meet at barriers; the bins hold zeros before and after.
template <int samples>
__device__ __forceinline__ Care find_hot(float* bin, int bins, HotPlaces& hot, const int (&place)[samples],
                                         bool neighbour_is_same) {
  // The bins are counters for a while: integers are added without a loop. Places beyond the bins share one.
  auto* const hits = reinterpret_cast<unsigned*>(bin);
  const int same = __syncthreads_count(neighbour_is_same ? 1 : 0);
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (place[k] >= 0) atomicAdd(&hits[place[k] < bins ? place[k] : place[k] - bins], 1U);
  }
  __syncthreads();
  bool any = false;
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (place[k] < 0) continue;
    const unsigned times =
        atomicExch(&hits[place[k] < bins ? place[k] : place[k] - bins], 0U);  // Who asks first gets it all.
    if (times < HotPlaces::kHits) continue;
    any = true;
    // Of two hot places with one entry, the hotter gets it.
    atomicMax(&hot.entry[HotPlaces::hash(place[k])], times << 17 | static_cast<unsigned>(place[k]));
  }
  const bool any_hot = __syncthreads_or(any ? 1 : 0) != 0;
  return {any_hot, same * 8 > static_cast<int>(blockDim.x)};
}
//! [find_hot]

//! [add_to_bin]
/// Adds x to the sum of `place`: in its bin, or straight to `beyond[place]` in global memory where it has none. place
/// -1 adds nothing. All lanes of the warp call.
__device__ __forceinline__ void add_to_bin(float* bin, int bins, HotPlaces& hot, Care care, int place, float x,
                                           float* beyond) {
  const auto add = [&](float value) {
    if (care.hot) {
      const unsigned number = HotPlaces::hash(place);
      if (HotPlaces::place_of(hot.entry[number]) == place) {
        atomicAdd(&hot.sum[number * 32 + (threadIdx.x + threadIdx.x / 32) % 32], value);
        return;
      }
    }
    if (place < bins) {
      atomicAdd(&bin[place], value);
    } else {
      reduce_add(beyond + place, value);
    }
  };
  if (care.clustered) {
    constexpr int kFew = 4;  // Lanes that had better go through the loop.
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (;;) {
      const unsigned waiting = __ballot_sync(kFullWarp, place >= 0);
      if (waiting == 0) return;
      const int leader = __ffs(static_cast<int>(waiting)) - 1;
      const bool same = place == __shfl_sync(kFullWarp, place, leader);
      if (__popc(__ballot_sync(kFullWarp, same)) <= kFew) break;
      const float sum = warp_sum(same ? x : 0);
      if (lane == leader) add(sum);
      if (same) place = -1;
    }
  }
  if (place >= 0) add(x);
}
//! [add_to_bin]

/// Adds the hot places' sums to their bins. All threads of the block call, with a barrier before and after.
__device__ __forceinline__ void fold_hot(float* bin, int bins, const HotPlaces& hot, float* beyond) {
  for (int i = static_cast<int>(threadIdx.x); i < HotPlaces::kEntries; i += static_cast<int>(blockDim.x)) {
    const int place = HotPlaces::place_of(hot.entry[i]);
    if (place == kMostBinPlaces) continue;
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += hot.sum[i * 32 + k];
    if (place < bins) {
      bin[place] += sum;
    } else {
      reduce_add(beyond + place, sum);
    }
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
