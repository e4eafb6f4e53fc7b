/// \file
/// Sums of more places than shared memory has room for: a part of dst at a time, so that it stays in the L2, which
/// `load_streaming` leaves to it. A pass is launched while the one before still runs. Its additions wait, or two parts
/// would share the L2.
#pragma once

#include "chapters/chapter4_atomic_add/library/hot_places.cuh"
#include "common/cuda/fast_atomic_add.cuh"

namespace warpbook::chapter4::passes {

using hot_places::HotPlaces;

inline constexpr int kThreads = 1024;
inline constexpr int kBlocksPerMultiprocessor = 2;
inline constexpr int kBatch = 4;                      // Values of a thread that are under way together.
inline constexpr int kRound = kBatch * kThreads;      // Values of a block.
inline constexpr std::uint64_t kNear = 1024;          // Places that are neighbours.
inline constexpr int kBits = 12;                      // Of a place's hash.
inline constexpr std::int64_t kPartBytes = 24 << 20;  ///< Of dst, at most: about half an H200's L2.

/// Passes for a problem: as many as dst has parts. One where a sector of dst would get less than four values on
/// average: what is fetched once anyway gains nothing by staying.
inline int passes_for(const ScatterProblem& p) {
  const std::int64_t bytes = p.places * element_bytes(p.type);
  const std::int64_t sectors = bytes / 32;
  if (p.count < 4 * sectors) return 1;
  return static_cast<int>(ceil_div<std::int64_t>(bytes, kPartBytes));
}

/// Which counter is a place's.
__device__ __forceinline__ int hash(std::int64_t place) {
  return static_cast<int>((static_cast<std::uint32_t>(place) * 0x9e3779b1U) >> (32 - kBits));
}

/// A part of dst: `size` places from `first` on.
struct Part {
  std::int64_t first;
  std::int64_t size;
  __device__ __forceinline__ bool has(std::int64_t place) const {
    return static_cast<std::uint64_t>(place - first) < static_cast<std::uint64_t>(size);
  }
};

/// A thread's values of a round. Values are asked for along with indices where dst has one part (`one_part`), else only
/// those that fall into the pass's.
template <class T, class Index> struct Batch {
  std::int64_t place[kBatch];
  T x[kBatch];

  __device__ __forceinline__ void load(const T* value, const Index* index, std::int64_t from, std::int64_t count,
                                       const Part& part, bool one_part) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t i = from + k * kThreads;
      place[k] = i < count ? static_cast<std::int64_t>(load_streaming(index + i)) : -1;
      if (one_part && i < count) x[k] = load_streaming(value + i);
    }
    if (one_part) return;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (part.has(place[k])) x[k] = load_streaming(value + from + k * kThreads);
    }
  }
};

/// Whether neighbours in the input have neighbouring places, as sorted indices do: then dst's sectors stay long enough
/// as it is. Every pass sees the same, and says the same. All threads of the block call.
template <class Index>
__device__ __forceinline__ bool neighbours_are_near(const Index* index, std::int64_t begin, std::int64_t count) {
  const std::int64_t here = begin < count ? static_cast<std::int64_t>(load_streaming(index + begin)) : -1;
  const std::int64_t ahead = __shfl_down_sync(kFullWarp, here, 1);
  const bool near = static_cast<std::uint64_t>(ahead) - static_cast<std::uint64_t>(here) + kNear <= 2 * kNear;
  return __syncthreads_count(threadIdx.x % 32 != 31 && near) * 2 > kThreads;
}

/// Adds x to its place: to a hot place's sum in shared memory, or to dst.
template <class T>
__device__ __forceinline__ void add_value(T* dst, std::int64_t places, std::int64_t place, T x, bool any_hot,
                                          const float* counter, HotPlaces& hot) {
  if (any_hot) {
    const unsigned number = __float_as_uint(counter[hash(place)]) - HotPlaces::kMark;
    if (number < HotPlaces::kMost && hot.name[number] == place) {
      atomicAdd(hot.sum_of(number), to_float(x));
      return;
    }
  }
  fast_atomic_add<T, std::int64_t>(dst, place, places, x);
}

template <class T, class Index>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       std::int64_t places, std::int64_t first, std::int64_t part_places) {
  __shared__ HotPlaces hot;
  __shared__ __align__(16) float counter[1 << kBits];
  let_next_launch_begin();
  const std::int64_t begin = std::int64_t(blockIdx.x) * kRound + threadIdx.x;
  hot_places::clear_bins(counter, 1 << kBits, hot);

  // Where neighbours are near, the first pass takes the block's share whole, and the others leave it.
  const bool one_part = part_places == places;
  const bool whole = !one_part && neighbours_are_near(index, begin, count);
  if (whole && first != 0) {
    wait_for_launches_before();  // Whoever comes after the last pass comes after all of them.
    return;
  }
  const Part part{first, whole ? places : part_places};

  Batch<T, Index> batch;  // A thread's values begin, begin + kThreads, ...
  batch.load(value, index, begin, count, part, one_part);
  int sample[kBatch];  // The first of them.
#pragma unroll
  for (int k = 0; k < kBatch; ++k) sample[k] = part.has(batch.place[k]) ? hash(batch.place[k]) : -1;
  const bool any_hot = hot_places::find_hot(counter, hot, sample, batch.place, false).hot;

  if (first != 0) wait_for_launches_before();
  for (std::int64_t i = begin; i < count;) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (part.has(batch.place[k])) add_value(dst, places, batch.place[k], batch.x[k], any_hot, counter, hot);
    }
    i += std::int64_t(gridDim.x) * kRound;
    if (i < count) batch.load(value, index, i, count, part, one_part);
  }
  __syncthreads();
  if (const int k = threadIdx.x; k < hot.size()) {
    fast_atomic_add<T, std::int64_t>(dst, hot.name[k], places, from_float<T>(hot.total(k)));
  }
}

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  const std::int64_t part = ceil_div<std::int64_t>(p.places, passes_for(p));
  const std::int64_t needed = ceil_div<std::int64_t>(p.count, kRound);
  const std::int64_t resident = kBlocksPerMultiprocessor * multiprocessors();
  const LaunchConfig config{.grid = needed < resident ? needed : resident, .block = kThreads, .stream = stream};
  return with_types<Types...>(p, [&]<class T, class Index>() {
    for (std::int64_t first = 0; first < p.places; first += part) {
      const cudaError_t error =
          launch_early_if(first > 0, scatter_add_kernel<T, Index>, config, static_cast<T*>(at.dst),
                          static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count, p.places,
                          first, first + part < p.places ? part : p.places - first);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  });
}

}  // namespace warpbook::chapter4::passes
