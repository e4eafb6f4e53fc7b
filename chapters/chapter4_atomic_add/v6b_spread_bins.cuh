/// \file
/// v6b spread bins: no two threads at one address, as far as there is room.
///
/// v6a's loop is gone through as often as threads meet at an address. Where places are few there is room for several
/// sums of each: up to some 50 places every thread of a block has its own, up to some 1700 every lane of a warp, and
/// threads that meet are rare. Where places are many there is room for one sum a place, and only what a sample finds
/// hot or clustered is treated with care: see bins.cuh. The hottest places get a sum for every thread.
///
/// While a batch of values is being added, the next one is under way: a block is alone on its multiprocessor, and
/// nobody else would use the time. Two neighbouring values and two indices are loaded at a time, 16 bytes of indices.
/// They stay words until they are used: two halves that are taken apart at once have to be there at once, and what was
/// meant to be under way is waited for (the form before this one did, and was slower for halves than for floats, which
/// are twice as long).
///
/// Where places are hot, an addition looks at its bin first, and adds to one of three kinds of sums: told apart by
/// address and not by branches. What is overtaken meanwhile waits until its lane has a second such value: then the
/// warp's lanes add all that wait, by the hardware's loop, which costs as much for one of them. And addresses of shared
/// memory are made once (shared_address.cuh), not before each addition.
///
/// Expect one place to cost no more than thousands, and skew little. What remains at the end is one atomic addition a
/// place and block, by neighbours together: a lane at a time, 256 places took 10 us more.
#pragma once

#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"
#include "common/cuda/early_launch.cuh"

namespace warpbook::chapter4 {

/// Element e of a word of several, as float.
template <class T, class Words> __device__ __forceinline__ float element_of(Words words, int e) {
  const auto bits = static_cast<Word<sizeof(T)>>(words >> (8 * static_cast<int>(sizeof(T)) * e));
  return to_float(reinterpret_cast<const T&>(bits));
}

/// How a scatter is divided over blocks. `tiles` neighbouring blocks, one or two, have a share of the values, and each
/// of them bins for its part of the places.
struct BinPlan {
  int tiles = 1;
  int bins = 0;      ///< Of a tile: a multiple of 4.
  int copies = 1;    ///< Sums a bin: 1, or a power of two from 32, lanes of a warp never meeting, to 1024.
  int workers = 1;   ///< Shares.
  int privates = 0;  ///< Hot places that every thread may have a sum of its own for.

  std::size_t shared_bytes() const {
    const int floats = bins * copies + privates * v6a::kThreads;
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
};

/// Floats of bins that fit beside what else a block has in shared memory; a multiple of 4.
inline std::int64_t room_for_bins() {
  return (shared_bytes_limit() - static_cast<std::int64_t>(sizeof(HotPlaces)) - 1024) / 16 * 4;
}

/// The plan for p.places, 1 at least, in so many tiles.
inline BinPlan plan_bins(const ScatterProblem& p, int tiles) {
  constexpr int kThreads = v6a::kThreads;
  constexpr int kLeastValues = 4;  // A thread, or blocks would do little but clear and pass on.
  const std::int64_t room = room_for_bins();
  BinPlan plan;
  plan.tiles = tiles;
  const std::int64_t bins = ceil_div<std::int64_t>(p.places, 4 * tiles) * 4;
  plan.bins = static_cast<int>(bins);
  while (plan.copies < kThreads && 2 * bins * plan.copies <= room) plan.copies *= 2;
  if (plan.copies < 32 || tiles > 1) plan.copies = 1;
  if (plan.copies == 1) {
    const std::int64_t privates = (room - bins) / kThreads;
    plan.privates = static_cast<int>(privates < HotPlaces::kMostPrivate ? privates : HotPlaces::kMostPrivate);
  }
  const std::int64_t resident = multiprocessors() > tiles ? multiprocessors() / tiles : 1;
  const std::int64_t useful = ceil_div<std::int64_t>(p.count, kThreads * kLeastValues);
  plan.workers = static_cast<int>(useful < resident ? useful : resident);
  return plan;
}

namespace v6b {

inline constexpr int kThreads = v6a::kThreads;
static_assert(kThreads == 32 * HotPlaces::kWarps);
inline constexpr int kPairs = 2;  // Of a thread, under way together.
inline constexpr int kBatch = 2 * kPairs;
inline constexpr int kRound = kBatch * kThreads;  // Values of a block.

/// Values and indices of one thread, on their way from memory: as words, since taking them apart means waiting.
template <class T, class Index> struct Batch {
  Word<2 * sizeof(T)> value[kPairs];
  Pack<Index, 2> index[kPairs];

  /// Values 0, 1, 2 * kThreads, 2 * kThreads + 1, ...
  __device__ __forceinline__ void load(const T* __restrict__ values, const Index* __restrict__ indices) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      index[k] = *reinterpret_cast<const Pack<Index, 2>*>(indices + k * 2 * kThreads);
      value[k] = *reinterpret_cast<const Word<2 * sizeof(T)>*>(values + k * 2 * kThreads);
    }
  }

  /// One of the kBatch values.
  __device__ __forceinline__ float x(int k) const { return element_of<T>(value[k / 2], k % 2); }
};

/// The places of one tile of one or two. Two tiles have a half of the places each, or take four places in turn: at two
/// instructions a value more, and each has its share also where the first places are the popular ones.
struct Tile {
  unsigned places;       ///< Of all tiles.
  unsigned tile;         ///< This one.
  unsigned bins;         ///< Of a tile.
  bool in_turn = false;  ///< Four places in turn.

  /// Where its half begins, and how many places it has.
  __device__ __forceinline__ unsigned first() const { return tile * bins; }
  __device__ __forceinline__ unsigned size() const {
    const unsigned left = places > first() ? places - first() : 0;
    return left < bins ? left : bins;
  }
  /// The bin of an index, if it has one here. `by_fours` is in_turn, for loops that are written for one of both.
  template <bool by_fours, class Index> __device__ __forceinline__ Bin bin_of(Index index) const {
    const auto place = static_cast<unsigned>(index);
    const bool short_index = static_cast<std::uint64_t>(index) >> 32U == 0;
    if constexpr (by_fours) {
      return {(place >> 1U & ~3U) | (place & 3U), short_index && place < places && (place & 4U) == 4 * tile};
    } else {
      return {place - first(), short_index && place - first() < size()};
    }
  }
  template <class Index> __device__ __forceinline__ Bin bin_of(Index index) const {
    return in_turn ? bin_of<true>(index) : bin_of<false>(index);
  }
  /// The place of a bin; beyond the last where it has none.
  __device__ __forceinline__ unsigned place_of(unsigned bin) const {
    return in_turn ? (bin & ~3U) * 2 + 4 * tile + (bin & 3U) : first() + bin;
  }
};

/// Adds a block's sums to dst, an atomic addition in T each, or to `sums`, floats by fours where those are aligned.
/// Blocks begin at different places, or all of them would meet.
template <class T>
__device__ __forceinline__ void pass_on(T* dst, float* sums, const float* bin, int bins, Tile tile, int worker,
                                        int workers) {
  const int thread = static_cast<int>(threadIdx.x);
  if (sums == nullptr) {
    for (int p = thread; p < static_cast<int>(tile.places); p += kThreads) {
      if (bin[p] != 0) fast_atomic_add<T, std::int64_t>(dst, p, tile.places, from_float<T>(bin[p]));
    }
    return;
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(sums) % 16 == 0;
  const int vectors = bins / 4;
  const auto first = static_cast<int>(std::int64_t(vectors) * worker / workers);
  for (int k = thread; aligned && k < vectors; k += kThreads) {
    const int v = first + k < vectors ? first + k : first + k - vectors;
    const unsigned place = tile.place_of(4 * v);
    if (place + 4 > tile.places) continue;
    const float4 sum = reinterpret_cast<const float4*>(bin)[v];
    reduce_add(reinterpret_cast<float4*>(sums + place), sum);
  }
  // What is left of the last vector, or all.
  for (unsigned place = (aligned ? tile.places / 4 * 4 : 0) + thread; place < tile.places; place += kThreads) {
    if (const Bin b = tile.bin_of(place); b.here) reduce_add(sums + place, bin[b.number]);
  }
}

/// Whether two tiles take places in turn: where two thirds of a sample fall to one half, and neighbours in the input
/// differ. `sampled` and `neighbour_is_same` are this thread's part of a sample. All threads of the block call; both
/// blocks of a share have one sample, and agree.
template <class Index>
__device__ __forceinline__ bool takes_turns(const Tile& tile, Index sampled, bool neighbour_is_same) {
  const bool lower = sampled >= 0 && static_cast<std::uint64_t>(sampled) < tile.bins;
  const bool upper = !lower && sampled >= 0;
  const int lowers = __syncthreads_count(lower ? 1 : 0);
  const int uppers = __syncthreads_count(upper ? 1 : 0);
  const int same = __syncthreads_count(neighbour_is_same ? 1 : 0);
  return 3 * (lowers > uppers ? lowers : uppers) > 2 * (lowers + uppers) && same * 8 <= kThreads;
}

/// Where a place has several sums, a warp adds them up: to `total`, one a place.
__device__ __forceinline__ void add_up_copies(float* total, const float* bin, int bins, int copies) {
  constexpr int kTogether = 4;  // Places of a warp whose sums wait for one another's shuffles.
  constexpr int kWarps = kThreads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int first = static_cast<int>(threadIdx.x / 32); first < bins; first += kWarps * kTogether) {
    float sum[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int p = first + k * kWarps;
      sum[k] = 0;
      for (int c = lane; p < bins && c < copies; c += 32) sum[k] += bin[p * copies + c];
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum[k] = warp_sum(sum[k]);
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (lane == k && first + k * kWarps < bins) total[first + k * kWarps] = sum[k];
    }
  }
}

//! [kernel]
/// Adds a batch, in the way that the block takes. `by_fours`: tiles take turns, and the input is not clustered.
template <bool apart, bool by_fours>
__device__ __forceinline__ void add_batch(const Sums& sums, const Care& care, int copies, const Bin (&to)[kBatch],
                                          const float (&x)[kBatch], Late& late) {
  if constexpr (apart) {
    const unsigned copy = threadIdx.x & (copies - 1);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (to[k].here) atomic_add(sums.bins + (to[k].number * copies + copy) * 4, x[k]);
    }
  } else if (!by_fours && care.clustered) {
    add_clustered(sums, to, x);
  } else if (care.hot) {
    add_marked(sums, to, x, late);
  } else {
    add_together(sums.bins, to, x);
  }
}

/// Adds the first `count` values of a share, whole rounds; `next` has this thread's part of the first round.
template <bool apart, bool by_fours, class T, class Index>
__device__ __forceinline__ void add_rounds(const Sums& sums, const Tile& tile, const Care& care, int copies,
                                           Batch<T, Index>& next, const T* __restrict__ value,
                                           const Index* __restrict__ index, unsigned count, Late& late) {
  const unsigned thread = threadIdx.x;
  for (unsigned done = 0; done < count;) {
    Bin to[kBatch];
    float x[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      to[k] = tile.bin_of<by_fours>(next.index[k / 2][k % 2]);
      x[k] = next.x(k);
    }
    done += kRound;
    if (done < count) next.load(value + (done + 2 * thread), index + (done + 2 * thread));
    add_batch<apart, by_fours>(sums, care, copies, to, x, late);
  }
}

template <class T, class Index, bool apart>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(T* dst, float* sums, const T* __restrict__ value, const Index* __restrict__ index,
                       std::int64_t count, std::int64_t places, int tiles, int bins, int copies, int privates) {
  __shared__ HotPlaces hot;
  let_next_launch_begin();  // v7's rounding; its blocks wait beside these, and begin without delay.
  auto* const bin = dynamic_shared<float>();
  auto* const private_sums = bin + bins * copies;
  const int thread = static_cast<int>(threadIdx.x);
  const int worker = static_cast<int>(blockIdx.x) / tiles;
  const int workers = static_cast<int>(gridDim.x) / tiles;
  Tile tile{static_cast<unsigned>(places), blockIdx.x % static_cast<unsigned>(tiles), static_cast<unsigned>(bins)};
  const std::int64_t share = ceil_div<std::int64_t>(ceil_div<std::int64_t>(count, workers), 64) * 64;
  const std::int64_t begin = share * worker < count ? share * worker : count;
  const std::int64_t end = begin + share < count ? begin + share : count;
  const bool aligned = reinterpret_cast<std::uintptr_t>(value) % (2 * sizeof(T)) == 0 &&
                       reinterpret_cast<std::uintptr_t>(index) % (2 * sizeof(Index)) == 0;
  const std::int64_t whole = aligned ? begin + (end - begin) / kRound * kRound : begin;  // Up to here by rounds.

  Batch<T, Index> next;
  if (begin < whole) next.load(value + begin + 2 * thread, index + begin + 2 * thread);
  // The sample: four stretches of the share, each as many neighbours as there are threads. On its way during clearing.
  constexpr int kSamples = 4;
  Index sampled[kSamples];
#pragma unroll
  for (int k = 0; !apart && k < kSamples; ++k) {
    const std::int64_t i = begin + (end - begin) * k / kSamples + thread;
    sampled[k] = i < end ? index[i] : Index{-1};
  }
  clear_bins(bin, bins * copies + privates * kThreads, hot);
  Care care{};
  if constexpr (apart) {
    __syncthreads();
  } else {
    const Index neighbour = __shfl_down_sync(kFullWarp, sampled[0], 1);  // Of whichever tile.
    const bool same = thread % 32 != 31 && sampled[0] >= 0 && sampled[0] == neighbour;
    if (tiles == 2) tile.in_turn = takes_turns(tile, thread % 2 == 0 ? sampled[1] : sampled[3], same);
    int sample[kSamples];
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      const Bin found = tile.bin_of(sampled[k]);
      sample[k] = found.here ? static_cast<int>(found.number) : -1;
    }
    // A thousandth or two of the sample, and well above what an even draw gives each place. Half as many are enough
    // where there is room left: at such places, too, more are overtaken than at the rest.
    const unsigned hits_needed = 6 + 4 * kSamples * kThreads / static_cast<unsigned>(bins * tiles);
    care = find_hot(bin, hot, sample, sample, same, hits_needed, privates, hits_needed / 2);
  }

  const Sums block_sums(bin, hot, private_sums + thread);
  Late late;
  const auto by_rounds = static_cast<unsigned>(whole - begin);
  if constexpr (apart) {
    add_rounds<apart, false>(block_sums, tile, care, copies, next, value + begin, index + begin, by_rounds, late);
  } else if (tile.in_turn) {
    add_rounds<apart, true>(block_sums, tile, care, copies, next, value + begin, index + begin, by_rounds, late);
  } else {
    add_rounds<apart, false>(block_sums, tile, care, copies, next, value + begin, index + begin, by_rounds, late);
  }
  for (std::int64_t i = whole; i < end; i += kRound) {  // The rest, or all that are misaligned.
    Bin to[kBatch];
    float x[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t j = i + k * kThreads + thread;
      to[k] = j < end ? tile.bin_of(index[j]) : Bin{};
      x[k] = j < end ? to_float(value[j]) : 0;
    }
    add_batch<apart, false>(block_sums, care, copies, to, x, late);
  }
  late.add();
  __syncthreads();
  if constexpr (apart) {
    add_up_copies(hot.sum, bin, static_cast<int>(places), copies);
  } else {
    fold_hot(bin, hot, private_sums, privates);
  }
  __syncthreads();
  wait_for_launches_before();  // Who clears `sums` may still be at it.
  pass_on(dst, sums, apart ? hot.sum : bin, bins, tile, worker, workers);
}
//! [kernel]

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= room_for_bins() ? nullptr : "the places do not fit in a block's shared memory";
}

/// Runs the kernel for the types of p, which is not empty. Blocks add to `sums`, or to dst where it is nullptr: then
/// there is one tile. `early`: it may begin while the launch before it, which clears `sums`, is running.
template <class T, class Index>
cudaError_t run_as(const ScatterProblem& p, const ScatterArrays& at, const BinPlan& plan, float* sums, bool early,
                   cudaStream_t stream) {
  const auto launch_it = [&](auto* kernel) {
    const LaunchConfig config{
        .grid = plan.workers * plan.tiles, .block = kThreads, .shared_bytes = plan.shared_bytes(), .stream = stream};
    auto* const dst = static_cast<T*>(at.dst);
    auto* const value = static_cast<const T*>(at.value);
    auto* const index = static_cast<const Index*>(at.index);
    return early ? launch_early(kernel, config, dst, sums, value, index, p.count, p.places, plan.tiles, plan.bins,
                                plan.copies, plan.privates)
                 : launch(kernel, config, dst, sums, value, index, p.count, p.places, plan.tiles, plan.bins,
                          plan.copies, plan.privates);
  };
  return plan.copies > 1 ? launch_it(scatter_add_kernel<T, Index, true>)
                         : launch_it(scatter_add_kernel<T, Index, false>);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(
      p, [&]<class T, class Index>() { return run_as<T, Index>(p, at, plan_bins(p, 1), nullptr, false, stream); });
}

}  // namespace v6b
}  // namespace warpbook::chapter4
