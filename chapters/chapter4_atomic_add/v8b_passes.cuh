/// \file
/// v8b passes: a part of dst at a time, so that it stays in the L2.
///
/// v8a moves 5 to 9 bytes a value more than it has to, and does much in shared memory. The trouble was another: the L2
/// adds 76 billion floats a second where dst fits it (v1 at 65,536 places), and a third of that where dst does not,
/// since each addition fetches its sector from DRAM and has it written back. So let dst fit: go over all values as
/// often as dst has parts of some 20 MB, and add what falls into the pass's part. Every pass reads the indices again,
/// 8 bytes a value at the speed of DRAM; the additions to a part cost no DRAM but the part itself, once.
///
/// Indices and values are read once a pass, and say so (`load_streaming`): the L2 is for dst.
///
/// A block looks at its first values, as v6b's blocks look at a sample, and keeps the sums of hot places in shared
/// memory: additions to one place queue in the L2, and skewed indices would wait for that queue. The bins are counters
/// only, and a place's hash tells which. Where the first values show that neighbours go to neighbouring places, the
/// first pass takes the block's share whole: sorted indices need no passes. Blocks take rounds of values in turn, not
/// stretches, so that at any moment all of them are in one region of the arrays; sorted, of dst, too.
///
/// A pass is launched while the one before still runs, and looks at its first values when blocks of that one leave. Its
/// additions wait, or two parts of dst would share the L2 (let go at once, 16 Mi evenly drawn floats took 343 us
/// instead of 315). A block that leaves everything to the first pass waits for nothing else.
///
/// Expect the bytes of dst's random sectors replaced by those of the indices, twice or three times; and skew to cost
/// little.
#pragma once

#include "chapters/chapter4_atomic_add/bins.cuh"
#include "chapters/chapter4_atomic_add/fast_atomic_add.cuh"
#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/cuda/early_launch.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter4::v8b {

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

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       std::int64_t places, std::int64_t first, std::int64_t part) {
  __shared__ HotPlaces hot;
  __shared__ __align__(16) float counter[1 << kBits];
  let_next_launch_begin();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t begin = std::int64_t(blockIdx.x) * kRound + thread;
  clear_bins(counter, 1 << kBits, hot);

  // Where neighbours in the input have neighbouring places, as sorted indices do, dst's sectors stay long enough as it
  // is: the first pass takes the block's share whole, the others leave it. They all see the same and say the same.
  const bool one_part = part == places;
  bool whole = false;
  if (!one_part) {
    const std::int64_t here = begin < count ? static_cast<std::int64_t>(load_streaming(index + begin)) : -1;
    const std::int64_t ahead = __shfl_down_sync(kFullWarp, here, 1);
    const bool near = static_cast<std::uint64_t>(ahead) - static_cast<std::uint64_t>(here) + kNear <= 2 * kNear;
    whole = __syncthreads_count(thread % 32 != 31 && near) * 2 > kThreads;
    if (whole && first != 0) {
      wait_for_launches_before();  // Whoever comes after the last pass comes after all of them.
      return;
    }
  }

  // A thread's values begin, begin + kThreads, ...: where dst has one part, values are asked for along with indices.
  std::int64_t place[kBatch];
  T x[kBatch];
  const auto load_places = [&](std::int64_t from) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t i = from + k * kThreads;
      place[k] = i < count ? static_cast<std::int64_t>(load_streaming(index + i)) : -1;
      if (one_part && i < count) x[k] = load_streaming(value + i);
    }
  };
  const std::int64_t taken = whole ? places : part;  // From `first` on.
  const auto mine = [&](std::int64_t p) {
    return static_cast<std::uint64_t>(p - first) < static_cast<std::uint64_t>(taken);
  };
  const auto load_values = [&](std::int64_t from) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (!one_part && mine(place[k])) x[k] = load_streaming(value + from + k * kThreads);
    }
  };
  load_places(begin);
  load_values(begin);
  int sample[kBatch];  // The first of them.
#pragma unroll
  for (int k = 0; k < kBatch; ++k) sample[k] = mine(place[k]) ? hash(place[k]) : -1;
  const bool any_hot = find_hot(counter, hot, sample, place, false).hot;

  if (first != 0) wait_for_launches_before();
  for (std::int64_t i = begin; i < count;) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (!mine(place[k])) continue;
      if (any_hot) {
        const unsigned number = __float_as_uint(counter[hash(place[k])]) - HotPlaces::kMark;
        if (number < HotPlaces::kMost && hot.name[number] == place[k]) {
          atomicAdd(hot.sum_of(number), to_float(x[k]));
          continue;
        }
      }
      fast_atomic_add<T, std::int64_t>(dst, place[k], places, x[k]);
    }
    i += std::int64_t(gridDim.x) * kRound;
    load_places(i);
    load_values(i);
  }
  __syncthreads();
  if (thread < hot.size()) {
    fast_atomic_add<T, std::int64_t>(dst, hot.name[thread], places, from_float<T>(hot.total(thread)));
  }
}
//! [kernel]

/// For the types of p.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  const std::int64_t part = ceil_div<std::int64_t>(p.places, passes_for(p));
  const std::int64_t needed = ceil_div<std::int64_t>(p.count, kRound);
  const std::int64_t resident = kBlocksPerMultiprocessor * multiprocessors();
  const LaunchConfig config{.grid = needed < resident ? needed : resident, .block = kThreads, .stream = stream};
  const auto pass = [&](std::int64_t first, bool early) {
    const auto launch_it = [&](auto... arguments) {
      auto* const kernel = scatter_add_kernel<T, Index>;
      return early ? launch_early(kernel, config, arguments...) : launch(kernel, config, arguments...);
    };
    return launch_it(static_cast<T*>(at.dst), static_cast<const T*>(at.value), static_cast<const Index*>(at.index),
                     p.count, p.places, first, first + part < p.places ? part : p.places - first);
  };
  for (std::int64_t first = 0; first < p.places; first += part) {
    const cudaError_t error = pass(first, first > 0);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

}  // namespace warpbook::chapter4::v8b
