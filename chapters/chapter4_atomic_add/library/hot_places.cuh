/// \file
/// Places that are hit again and again: found by a sample, and given several sums in a block's shared memory.
///
/// A hot place gets 32 sums, or, where a block has room for that, one for every thread. Its bin holds a signalling NaN,
/// which no addition makes, and in its last bits where the sums are.
#pragma once

#include "chapters/chapter4_atomic_add/v7_two_tiles.cuh"
#include "common/cuda/shared_address.cuh"

namespace warpbook::chapter4::hot_places {

using v7::Bin;

struct HotPlaces {
  static constexpr int kMost = 64;
  static constexpr int kCopies = 32;
  static constexpr int kMostPrivate = 8;  ///< Of those with a sum for every thread.
  static constexpr int kWarps = 32;       ///< Of a block that has such places.
  /// How often the sample must hit a place that is hot. Of 4096 samples: 0.3%.
  static constexpr unsigned kHits = 12;
  static constexpr unsigned kPrivateHits = 40;  ///< The same, for a place that threads have sums of their own for.
  /// A place's number is where its sums begin, in units of 32: behind the common ones come those for every thread. A
  /// bin holds kMark and the number, as bits.
  static constexpr unsigned kMark = 0xff800001;
  static constexpr unsigned kNumbers = kMost + kMostPrivate * kWarps;

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
  /// One thread adds them up. Neighbours of it, with the numbers beside this one, begin in other banks.
  __device__ float total(int number) const {
    float result = 0;
    for (int k = 0; k < kCopies; ++k) result += sum[number * kCopies + (k + number) % kCopies];
    return result;
  }
};

/// How a block adds up; the same for all its threads.
struct Care {
  bool hot = false;        ///< There are hot places.
  bool clustered = false;  ///< Neighbours in the input often have one place.
};

/// Clears what a block adds to: `bins` sums, a multiple of 4, and the hot places.
__device__ __forceinline__ void clear_bins(float* bin, int bins, HotPlaces& hot) {
  const int thread = threadIdx.x;
  const int threads = blockDim.x;
  for (int i = thread; i < bins / 4; i += threads) reinterpret_cast<float4*>(bin)[i] = make_float4(0, 0, 0, 0);
  for (int i = thread; i < HotPlaces::kMost * HotPlaces::kCopies; i += threads) hot.sum[i] = 0;
  if (thread == 0) hot.found = hot.found_private = 0;
}

/// Looks at a sample: `samples` bins of each thread, -1 for none, what they are called, and whether a neighbour of one
/// has its bin. All threads of the block call; the bins hold zeros before, zeros and marks afterwards. `hits_needed`
/// make a place hot, `hits_of_warm` where room is left (0: none). So many `privates` may have a sum for every thread.
template <int samples, class Name>
__device__ __forceinline__ Care find_hot(float* bin, HotPlaces& hot, const int (&sample)[samples],
                                         const Name (&name)[samples], bool neighbour_is_same,
                                         unsigned hits_needed = HotPlaces::kHits, int privates = 0,
                                         unsigned hits_of_warm = 0) {
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
  bool any_hot = false;
#pragma unroll
  for (int k = 0; k < samples; ++k) {
    if (times[k] < hits_needed) continue;
    any_hot = true;
    const int own = privates > 0 && times[k] >= HotPlaces::kPrivateHits ? atomicAdd(&hot.found_private, 1) : privates;
    const int common = own < privates ? 0 : atomicAdd(&hot.found, 1);
    if (common >= HotPlaces::kMost) continue;
    hot.name[own < privates ? HotPlaces::kMost + own : common] = name[k];
    const int number = own < privates ? HotPlaces::kMost + own * HotPlaces::kWarps : common;
    hits[sample[k]] = HotPlaces::kMark + static_cast<unsigned>(number);
  }
  if (hits_of_warm > 0 && __syncthreads_or(any_hot ? 1 : 0) != 0) {
#pragma unroll
    for (int k = 0; k < samples; ++k) {
      if (times[k] >= hits_needed || times[k] < hits_of_warm) continue;
      const int common = atomicAdd(&hot.found, 1);
      if (common >= HotPlaces::kMost) continue;
      hot.name[common] = name[k];
      hits[sample[k]] = HotPlaces::kMark + static_cast<unsigned>(common);
    }
  }
  __syncthreads();
  return {hot.found + hot.found_private > 0, same * 8 > static_cast<int>(blockDim.x)};
}

/// Where a thread finds the sums that its block adds to.
struct Sums {
  SharedAddress bins;    ///< One float each.
  SharedAddress common;  ///< The one of the first hot place's sums that this thread adds to.
  SharedAddress own;  ///< This thread's sum of the first place that threads have sums of their own for, less what the
                      ///< numbers before take.

  /// `own_sum` is this thread's sum of the first place of those.
  __device__ __forceinline__ Sums(float* bin, HotPlaces& hot, float* own_sum)
      : bins(shared_address(bin)), common(shared_address(hot.sum_of(0))),
        own(shared_address(own_sum) - HotPlaces::kMost * kBytes) {}

  static __device__ __forceinline__ bool is_mark(unsigned held) {
    return held - HotPlaces::kMark < HotPlaces::kNumbers;
  }
  /// The sum of a bin, which holds `held`. Without branches: lanes of a warp would go all three ways.
  __device__ __forceinline__ SharedAddress of(unsigned bin, unsigned held) const {
    const unsigned number = held - HotPlaces::kMark;
    const SharedAddress first{number < HotPlaces::kMost ? common.at : own.at};
    return SharedAddress{is_mark(held) ? (first + number * kBytes).at : (bins + bin * 4).at};
  }
  /// Adds x to the sum of a bin, wherever that is.
  __device__ __forceinline__ void add(unsigned bin, float x) const {
    atomic_add(of(bin, load_relaxed(bins + bin * 4)), x);
  }

private:
  static constexpr unsigned kBytes = HotPlaces::kCopies * 4;  // From one number to the next.
};

/// Adds x to bin `at` by add(at, x), -1 adds nothing: lanes that share a bin add up among themselves first. All lanes
/// of the warp call.
template <class Add> __device__ __forceinline__ void add_by_leaders(int at, float x, const Add& add) {
  constexpr int kFew = 4;  // Lanes that had better add by themselves.
  const int lane = threadIdx.x % 32;
  for (;;) {
    const unsigned waiting = __ballot_sync(kFullWarp, at >= 0);
    if (waiting == 0) return;
    const int leader = __ffs(static_cast<int>(waiting)) - 1;
    const bool same = at == __shfl_sync(kFullWarp, at, leader);
    if (__popc(__ballot_sync(kFullWarp, same)) <= kFew) break;
    const float sum = warp_sum(same ? x : 0);
    if (lane == leader) add(at, sum);
    if (same) at = -1;
  }
  if (at >= 0) add(at, x);
}

/// A lane's value that somebody else was faster than. It waits until a lane of the warp has a second one: adding takes
/// a warp as long for one lane as for many.
struct Late {
  SharedAddress sum{};  ///< What it is added to.
  float x = 0;
  bool waits = false;

  /// Adds it by the hardware's loop, where nobody loses again and again.
  __device__ __forceinline__ void add() {
    if (waits) atomic_add(sum, x);
    waits = false;
  }
};

/// Adds several values of a thread where places are hot, two at a time: their bins are looked at together, then the
/// sums of hot places, and both are exchanged once. What came too late becomes `late`. All lanes of the warp call.
template <int values>
__device__ __forceinline__ void add_marked(const Sums& sums, const Bin (&bin)[values], const float (&x)[values],
                                           Late& late) {
  constexpr int kTogether = 2;
  static_assert(values % kTogether == 0);
#pragma unroll
  for (int first = 0; first < values; first += kTogether) {
    SharedAddress sum[kTogether];
    unsigned held[kTogether];
    unsigned found[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      held[k] = 0;
      if (bin[first + k].here) held[k] = load_relaxed(sums.bins + bin[first + k].number * 4);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const bool hot = Sums::is_mark(held[k]);
      sum[k] = sums.of(bin[first + k].number, held[k]);
      if (hot) held[k] = load_relaxed(sum[k]);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const auto desired = __float_as_uint(__uint_as_float(held[k]) + x[first + k]);
      found[k] = held[k];
      if (bin[first + k].here) found[k] = compare_and_swap(sum[k], held[k], desired);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const bool lost = found[k] != held[k];
      if (__any_sync(kFullWarp, lost && late.waits)) late.add();
      if (lost) late = {sum[k], x[first + k], true};
    }
  }
}

/// The same where neighbours in the input have one place: values 0 and 1, 2 and 3, ... of a thread are neighbours.
template <int values>
__device__ __forceinline__ void add_clustered(const Sums& sums, const Bin (&bin)[values], const float (&x)[values]) {
#pragma unroll
  for (int k = 0; k < values; k += 2) {
    const bool pair = bin[k].here && bin[k + 1].here && bin[k].number == bin[k + 1].number;
    const auto add = [&](int at, float value) { sums.add(static_cast<unsigned>(at), value); };
    add_by_leaders(bin[k].here ? static_cast<int>(bin[k].number) : -1, pair ? x[k] + x[k + 1] : x[k], add);
    add_by_leaders(bin[k + 1].here && !pair ? static_cast<int>(bin[k + 1].number) : -1, x[k + 1], add);
  }
}

/// Puts the hot places' sums into their bins. All threads of the block call, with a barrier before and after.
__device__ __forceinline__ void fold_hot(float* bin, const HotPlaces& hot, const float* private_sums = nullptr,
                                         int privates = 0) {
  const int thread = threadIdx.x;
  const int threads = blockDim.x;
  for (int i = thread; i < hot.size(); i += threads) bin[hot.name[i]] = hot.total(i);
  const int found = hot.found_private < privates ? hot.found_private : privates;
  for (int i = thread / 32; i < found; i += threads / 32) {
    float sum = 0;
    for (int k = thread % 32; k < threads; k += 32) sum += private_sums[i * threads + k];
    sum = warp_sum(sum);
    if (thread % 32 == 0) bin[hot.name[HotPlaces::kMost + i]] = sum;
  }
}

}  // namespace warpbook::chapter4::hot_places
