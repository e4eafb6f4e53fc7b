/// \file
/// Sums of up to two blocks' shared memory full of places, skewed or not: v7 with an eye on hot places, which a sample
/// finds (hot_places.cuh). Where most of the sample goes to one tile's half of the places, tiles take four in turn.
#pragma once

#include "chapters/chapter4_atomic_add/library/hot_places.cuh"
#include "chapters/chapter4_atomic_add/v7_two_tiles.cuh"

namespace warpbook::chapter4::any_skew_bins {

using hot_places::Care;
using hot_places::HotPlaces;
using hot_places::Late;
using hot_places::Sums;
using v6c::kBatch;
using v6c::kThreads;
using v7::Bin;
static_assert(kThreads == 32 * HotPlaces::kWarps);

/// The places of one tile of one or two: a half each, or four in turn.
struct Tile {
  unsigned places;       ///< Of all tiles.
  unsigned tile;         ///< This one.
  unsigned bins;         ///< Of a tile.
  bool in_turn = false;  ///< Four places in turn.

  /// Where its half begins, and how many places it has.
  __device__ __forceinline__ unsigned first() const { return tile * bins; }
  __device__ __forceinline__ unsigned size() const { return places - first() < bins ? places - first() : bins; }
  /// The bin of an index, if it has one here. `by_fours` is in_turn, for loops that are written for one of both.
  template <bool by_fours, class Index> __device__ __forceinline__ Bin bin_of(Index index) const {
    if constexpr (!by_fours) return v7::bin_of(index, first(), size());
    const auto place = static_cast<unsigned>(index);
    const bool short_index = static_cast<std::uint64_t>(index) >> 32U == 0;
    return {(place >> 1U & ~3U) | (place & 3U), short_index && place < places && (place & 4U) == 4 * tile};
  }
  template <class Index> __device__ __forceinline__ Bin bin_of(Index index) const {
    return in_turn ? bin_of<true>(index) : bin_of<false>(index);
  }
  /// The place of a bin; beyond the last where it has none.
  __device__ __forceinline__ unsigned place_of(unsigned bin) const {
    return in_turn ? (bin & ~3U) * 2 + 4 * tile + (bin & 3U) : first() + bin;
  }
};

/// Adds a block's bins to sums, by fours where those are aligned. Blocks begin at different places.
__device__ __forceinline__ void pass_on(float* sum, const float* bin, int bins, Tile tile, int worker, int workers) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(sum) % 16 == 0;
  const int vectors = bins / 4;
  const int first = static_cast<int>(std::int64_t{vectors} * worker / workers);
  for (int k = threadIdx.x; aligned && k < vectors; k += kThreads) {
    const int v = first + k < vectors ? first + k : first + k - vectors;
    const unsigned place = tile.place_of(4 * v);
    if (place + 4 > tile.places) continue;
    reduce_add(reinterpret_cast<float4*>(sum + place), reinterpret_cast<const float4*>(bin)[v]);
  }
  // What is left of the last vector, or all.
  for (unsigned p = (aligned ? tile.places / 4 * 4 : 0) + threadIdx.x; p < tile.places; p += kThreads) {
    if (const Bin b = tile.bin_of(p); b.here) reduce_add(sum + p, bin[b.number]);
  }
}

/// This thread's part of a sample of a share: four stretches, each as many neighbours as there are threads.
template <class Index> struct Sample {
  static constexpr int kStretches = 4;
  Index at[kStretches];

  __device__ __forceinline__ Sample(const Index* index, unsigned count) {
#pragma unroll
    for (int k = 0; k < kStretches; ++k) {
      const unsigned i = static_cast<unsigned>(std::int64_t{count} * k / kStretches) + threadIdx.x;
      at[k] = i < count ? index[i] : Index{-1};
    }
  }

  /// Whether a neighbour in the input has the same place.
  __device__ __forceinline__ bool neighbour_is_same() const {
    const Index neighbour = __shfl_down_sync(kFullWarp, at[0], 1);
    return threadIdx.x % 32 != 31 && at[0] >= 0 && at[0] == neighbour;
  }

  /// Whether two tiles take places in turn: where two thirds of the sample fall to one half, and neighbours in the
  /// input differ. All threads of the block call; both blocks of a share have one sample, and agree.
  __device__ __forceinline__ bool takes_turns(const Tile& tile, bool same) const {
    const Index one = threadIdx.x % 2 == 0 ? at[1] : at[3];
    const bool lower = one >= 0 && static_cast<std::uint64_t>(one) < tile.bins;
    const bool upper = !lower && one >= 0;
    const int lowers = __syncthreads_count(lower ? 1 : 0);
    const int uppers = __syncthreads_count(upper ? 1 : 0);
    const int sames = __syncthreads_count(same ? 1 : 0);
    return 3 * (lowers > uppers ? lowers : uppers) > 2 * (lowers + uppers) && sames * 8 <= kThreads;
  }

  /// Finds the block's hot places, of which `privates` at most get a sum for every thread. All threads call.
  __device__ __forceinline__ Care find(float* bin, HotPlaces& hot, const Tile& tile, int tiles, bool same,
                                       int privates) const {
    int bins[kStretches];
#pragma unroll
    for (int k = 0; k < kStretches; ++k) {
      const Bin found = tile.bin_of(at[k]);
      bins[k] = found.here ? static_cast<int>(found.number) : -1;
    }
    // A thousandth or two of the sample, and well above what an even draw gives each place. Half as many are enough
    // where there is room left: at such places, too, more are overtaken than at the rest.
    const unsigned hits = 6 + 4 * kStretches * kThreads / (tile.bins * tiles);
    return hot_places::find_hot(bin, hot, bins, bins, same, hits, privates, hits / 2);
  }
};

/// Adds a thread's values together: four reads, four additions, four exchanges. Who came too late goes round again.
__device__ __forceinline__ void add_together(SharedAddress bins, const Bin (&to)[kBatch], const float (&x)[kBatch]) {
  unsigned assumed[kBatch];
  bool waits[kBatch];
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    waits[k] = to[k].here;
    assumed[k] = 0;
    if (waits[k]) assumed[k] = load_relaxed(bins + to[k].number * 4);
  }
  bool any = false;
  do {
    unsigned found[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      found[k] = assumed[k];
      const unsigned desired = __float_as_uint(__uint_as_float(assumed[k]) + x[k]);
      if (waits[k]) found[k] = compare_and_swap(bins + to[k].number * 4, assumed[k], desired);
    }
    any = false;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      waits[k] = found[k] != assumed[k];  // Somebody was faster.
      assumed[k] = found[k];
      any = any || waits[k];
    }
  } while (any);
}

/// Adds a batch in the way that the sample asked for. `by_fours`: tiles take turns, and the input is not clustered.
template <bool by_fours, class Index>
__device__ __forceinline__ void add_batch(const Sums& sums, const Tile& tile, const Care& care,
                                          const Index (&at)[kBatch], const float (&x)[kBatch], Late& late) {
  Bin to[kBatch];
#pragma unroll
  for (int k = 0; k < kBatch; ++k) to[k] = tile.bin_of<by_fours>(at[k]);
  if (!by_fours && care.clustered) {
    hot_places::add_clustered(sums, to, x);
  } else if (care.hot) {
    hot_places::add_marked(sums, to, x, late);
  } else {
    add_together(sums.bins, to, x);
  }
}

template <class T, class Index>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       int places, int tiles, int bins, int privates) {
  __shared__ HotPlaces hot;
  let_next_launch_begin();
  auto* const bin = dynamic_shared<float>();
  auto* const private_sums = bin + bins;
  const int worker = blockIdx.x / tiles;
  const int workers = gridDim.x / tiles;
  Tile tile{static_cast<unsigned>(places), blockIdx.x % tiles, static_cast<unsigned>(bins)};
  v6c::Share<T, Index> share(value, index, count, worker, workers);
  const Sample<Index> sample(share.index, share.count);  // On its way during clearing, too.
  hot_places::clear_bins(bin, bins + privates * kThreads, hot);
  const bool same = sample.neighbour_is_same();
  if (tiles == 2) tile.in_turn = sample.takes_turns(tile, same);
  const Care care = sample.find(bin, hot, tile, tiles, same, privates);

  const Sums sums(bin, hot, private_sums + threadIdx.x);
  Late late;
  if (tile.in_turn) {
    share.add_all(
        [&](const Index(&at)[kBatch], const float(&x)[kBatch]) { add_batch<true>(sums, tile, care, at, x, late); });
  } else {
    share.add_all(
        [&](const Index(&at)[kBatch], const float(&x)[kBatch]) { add_batch<false>(sums, tile, care, at, x, late); });
  }
  late.add();
  __syncthreads();
  hot_places::fold_hot(bin, hot, private_sums, privates);
  __syncthreads();
  wait_for_launches_before();  // The sums may still be being cleared.
  pass_on(sum, bin, bins, tile, worker, workers);
}

/// Floats of bins that fit beside what else a block has in shared memory; a multiple of 4.
inline std::int64_t room_for_bins() {
  return (shared_bytes_limit() - static_cast<std::int64_t>(sizeof(HotPlaces)) - 1024) / 16 * 4;
}

inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= 2 * room_for_bins() ? nullptr : "the places do not fit in two blocks' shared memory";
}

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  const int tiles = p.places <= room_for_bins() ? 1 : 2;
  const std::int64_t bins = ceil_div<std::int64_t>(p.places, 4 * tiles) * 4;
  const std::int64_t room = (room_for_bins() - bins) / kThreads;
  const int privates = static_cast<int>(room < HotPlaces::kMostPrivate ? room : HotPlaces::kMostPrivate);
  const int shares = multiprocessors() > tiles ? multiprocessors() / tiles : 1;
  const auto kernel = [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; };
  return v6a::run_bins<Types...>(p, at, tiles * v6c::workers_for(p.count, shares), bins + privates * kThreads, stream,
                                 kernel, static_cast<int>(p.places), tiles, static_cast<int>(bins), privates);
}

}  // namespace warpbook::chapter4::any_skew_bins
