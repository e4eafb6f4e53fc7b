/// \file
/// Sums in a block's shared memory: one float a place, places that are hit again and again spread over several.
///
/// Shared memory has no atomic addition of floats: `atomicAdd` is a loop there (ATOMS.CAST.SPIN) that every thread of a
/// block which meets another at its address goes through again. Two things keep them apart. Lanes of a warp that have
/// one place add up among themselves first, where they are many. And a sample of the input tells the places that a
/// large share of it hits; these get 32 sums each, a thread adding to the one that its lane and warp select.
#pragma once

#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"

namespace warpbook::chapter4 {

/// Places of a block that get 32 sums each.
struct HotPlaces {
  static constexpr int kMost = 32;
  static constexpr int kEntries = 256;
  static constexpr unsigned kNone = 0xffffffffU;
  /// Samples that a place must hit to be hot. With 4096 of them: 0.3% of the input.
  static constexpr unsigned kHits = 12;

  float sum[kMost * 32];
  unsigned entry[kEntries];  // By the place's hash: place * 256 + number, or kNone.
  int found;
  int used;

  __device__ static unsigned hash(int place) { return (static_cast<unsigned>(place) * 0x9e3779b1U) >> 24; }
};

/// Clears what a block adds to: `bins` sums, and the hot places.
__device__ __forceinline__ void clear_bins(float* bin, int bins, HotPlaces& hot) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < bins; i += threads) bin[i] = 0;
  for (int i = thread; i < HotPlaces::kMost * 32; i += threads) hot.sum[i] = 0;
  for (int i = thread; i < HotPlaces::kEntries; i += threads) hot.entry[i] = HotPlaces::kNone;
  if (thread == 0) hot.found = hot.used = 0;
}

//! [find_hot]
/// Finds the places that are hot among a sample: `samples` of each thread, -1 for none. The bins hold zeros before and
/// after; all threads of the block call, and meet at barriers.
template <int samples>
__device__ __forceinline__ void find_hot(float* bin, HotPlaces& hot, const int (&place)[samples]) {
  auto* const hits = reinterpret_cast<unsigned*>(bin);  // As counters for a while: integers are added without a loop.
  __syncthreads();
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (place[k] >= 0) atomicAdd(&hits[place[k]], 1U);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    // The first who asks gets the count, and clears it.
    if (place[k] < 0 || atomicExch(&hits[place[k]], 0U) < HotPlaces::kHits) continue;
    const int number = atomicAdd(&hot.found, 1);
    if (number >= HotPlaces::kMost) continue;
    // Where two hot places have one entry, the first stays an ordinary place.
    atomicExch(&hot.entry[HotPlaces::hash(place[k])],
               static_cast<unsigned>(place[k]) * 256 + static_cast<unsigned>(number));
  }
  __syncthreads();
}
//! [find_hot]

//! [add_to_bin]
/// bin[place] += x, for the lanes whose place is not -1. All lanes of the warp call. `any_hot` is the same in the
/// block.
__device__ __forceinline__ void add_to_bin(float* bin, HotPlaces& hot, bool any_hot, int place, float x) {
  constexpr int kFew = 4;  // Lanes that had better go through the loop.
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const auto add = [&](float value) {
    float* at = bin + place;
    if (any_hot) {
      const unsigned entry = hot.entry[HotPlaces::hash(place)];
      if (entry / 256 == static_cast<unsigned>(place)) {
        at = hot.sum + entry % 256 * 32 + (threadIdx.x + threadIdx.x / 32) % 32;
      }
    }
    atomicAdd(at, value);
  };
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
  if (place >= 0) add(x);
}
//! [add_to_bin]

/// Adds the hot places' sums to their bins. All threads of the block call, with a barrier before and after.
__device__ __forceinline__ void fold_hot(float* bin, const HotPlaces& hot) {
  for (int i = static_cast<int>(threadIdx.x); i < HotPlaces::kEntries; i += static_cast<int>(blockDim.x)) {
    const unsigned entry = hot.entry[i];
    if (entry == HotPlaces::kNone) continue;
    float sum = 0;
    for (unsigned k = 0; k < 32; ++k) sum += hot.sum[entry % 256 * 32 + k];
    bin[entry / 256] += sum;
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
