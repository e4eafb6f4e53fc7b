/// \file
/// v6b spread bins: no two threads at one address, as far as there is room.
///
/// v6a's loop is gone through as often as threads meet at an address. Where places are few there is room for several
/// sums of each: up to some 50 places every thread of a block has its own, up to some 1700 every lane of a warp, and
/// threads that meet are rare. Where places are many there is room for one sum a place, and only the places that are
/// hit most get more: see bins.cuh. Places that do not fit at all are cut into tiles: a block has a tile's bins, reads
/// everything, and adds what belongs to it.
///
/// While a batch of values is being added, the next one is under way: a block is alone on its multiprocessor, and
/// nobody else would use the time.
///
/// Expect one place to cost no more than thousands, and skew little. What remains at the end is one atomic addition a
/// place and block.
#pragma once

#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"

namespace warpbook::chapter4 {

/// How blocks pass on their sums.
enum class Flush : int {
  atomics,   ///< One atomic addition to dst a place and block.
  vectors,   ///< Eight or four places an atomic operation (v7).
  partials,  ///< Stored in scratch, a row a block, and added up by a kernel of its own (v9).
};

/// How a scatter is divided over blocks.
struct BinPlan {
  int tiles = 1;        ///< A block's places are one of so many parts.
  int tile_places = 0;  ///< Places of a tile; a multiple of 8.
  int copies = 1;       ///< Sums a place: 1, or a power of two from 32, lanes of a warp never meeting, to 1024.
  int workers = 1;      ///< Blocks a tile; each takes a part of the values.

  std::size_t shared_bytes() const { return static_cast<std::size_t>(tile_places) * copies * sizeof(float); }
};

/// Most tiles that are worth their reading everything once each.
inline constexpr int kMostTiles = 4;

/// The plan for p.places up to kMostTiles times what fits; tiles == 0 where they are more.
inline BinPlan plan_bins(const ScatterProblem& p) {
  constexpr int kThreads = v6a::kThreads;
  constexpr int kLeastValues = 4;  // A thread, or blocks would do little but clear and pass on.
  const std::int64_t room = (shared_bytes_limit() - static_cast<std::int64_t>(sizeof(HotPlaces)) - 1024) / 4;
  BinPlan plan;
  plan.tiles = 0;
  if (p.places > room / 8 * 8 * kMostTiles) return plan;
  plan.tiles = static_cast<int>(ceil_div<std::int64_t>(p.places, room / 8 * 8));
  plan.tile_places = static_cast<int>(ceil_div<std::int64_t>(ceil_div<std::int64_t>(p.places, plan.tiles), 8) * 8);
  while (plan.copies < kThreads && std::int64_t{2} * plan.tile_places * plan.copies <= room) plan.copies *= 2;
  if (plan.copies < 32) plan.copies = 1;
  const std::int64_t resident = multiprocessors() / plan.tiles;
  const std::int64_t useful = ceil_div<std::int64_t>(p.count, kThreads * kLeastValues);
  plan.workers = static_cast<int>(useful < resident ? useful : resident);
  if (plan.workers < 1) plan.workers = 1;
  return plan;
}

namespace v6b {

inline constexpr int kThreads = v6a::kThreads;
inline constexpr int kBatch = 8;  // Values of a thread that are under way together.

/// Values and places of one thread, on their way from memory.
template <class T, class Index> struct Batch {
  T value[kBatch];
  Index index[kBatch];

  __device__ __forceinline__ void load(const T* __restrict__ values, const Index* __restrict__ indices,
                                       std::int64_t first, std::int64_t end) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t i = first + k * kThreads;
      index[k] = i < end ? indices[i] : Index{-1};
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::int64_t i = first + k * kThreads;
      value[k] = i < end ? values[i] : from_float<T>(0);
    }
  }
};

/// An index's place in a tile that begins at `first`; -1 where it is outside.
template <class Index> __device__ __forceinline__ int place_in_tile(Index index, std::int64_t first, int tile_places) {
  const auto place = static_cast<std::uint64_t>(static_cast<std::int64_t>(index) - first);
  return place < static_cast<std::uint64_t>(tile_places) ? static_cast<int>(place) : -1;
}

/// Adds a block's sums to dst, eight places of 2 bytes or four of 4 an operation. dst + first must be aligned to 16
/// bytes.
template <class T>
__device__ __forceinline__ void flush_vectors(T* dst, const float* bin, std::int64_t first, int places) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  for (int p = static_cast<int>(threadIdx.x) * kElements; p < places; p += kThreads * kElements) {
    if (p + kElements > places) {  // The last vector is not whole.
      for (int k = p; k < places; ++k) {
        detail::add_single(dst + first + k, from_float<T>(bin[k]));
      }
    } else if constexpr (sizeof(T) == 4) {
      reduce_add(reinterpret_cast<float4*>(dst + first + p), float4{bin[p], bin[p + 1], bin[p + 2], bin[p + 3]});
    } else {
      using Pair = typename detail::PairOf<T>::Type;
      Pack<Pair, 4> sums;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        sums[k].x = from_float<T>(bin[p + 2 * k]);
        sums[k].y = from_float<T>(bin[p + 2 * k + 1]);
      }
      reduce_add(reinterpret_cast<Pack<Pair, 4>*>(dst + first + p), sums);
    }
  }
}

/// Passes on a block's sums; all its threads call.
template <class T>
__device__ __forceinline__ void pass_on(T* dst, float* row, const float* bin, std::int64_t first, int own,
                                        std::int64_t places, Flush flush) {
  const int thread = static_cast<int>(threadIdx.x);
  if (flush == Flush::partials) {
    for (int p = thread; p < own; p += kThreads) row[p] = bin[p];
  } else if (flush == Flush::vectors) {
    flush_vectors(dst, bin, first, own);
  } else {
    for (int p = thread; p < own; p += kThreads) {
      if (bin[p] != 0) fast_atomic_add<T, std::int64_t>(dst, first + p, places, from_float<T>(bin[p]));
    }
  }
}

/// The same where a place has several sums, which a warp adds up.
template <class T>
__device__ __forceinline__ void pass_on_copies(T* dst, float* row, const float* bin, std::int64_t first, int own,
                                               std::int64_t places, int copies, Flush flush) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int p = static_cast<int>(threadIdx.x / 32); p < own; p += kThreads / 32) {
    float sum = 0;
    for (int c = lane; c < copies; c += 32) sum += bin[p * copies + c];
    sum = warp_sum(sum);
    if (lane != 0) continue;
    if (flush == Flush::partials) {
      row[p] = sum;
    } else if (sum != 0) {
      fast_atomic_add<T, std::int64_t>(dst, first + p, places, from_float<T>(sum));
    }
  }
}

//! [kernel]
template <class T, class Index, bool apart>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(T* dst, float* partial, const T* __restrict__ value, const Index* __restrict__ index,
                       std::int64_t count, std::int64_t places, BinPlan plan, Flush flush) {
  __shared__ HotPlaces hot;
  auto* const bin = dynamic_shared<float>();
  const int thread = static_cast<int>(threadIdx.x);
  const int tile = static_cast<int>(blockIdx.x) % plan.tiles;
  const int worker = static_cast<int>(blockIdx.x) / plan.tiles;
  const std::int64_t first = std::int64_t(tile) * plan.tile_places;
  const int own = static_cast<int>(places - first < plan.tile_places ? places - first : plan.tile_places);
  const std::int64_t share = ceil_div<std::int64_t>(ceil_div<std::int64_t>(count, plan.workers), 32) * 32;
  const std::int64_t begin = share * worker;
  const std::int64_t end = begin + share < count ? begin + share : count;

  clear_bins(bin, plan.tile_places * plan.copies, hot);
  if constexpr (apart) {
    __syncthreads();
  } else {
    constexpr int kSamples = 4;
    int sample[kSamples];
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      const std::int64_t i = begin + (end - begin) * (thread * kSamples + k) / (kThreads * kSamples);
      sample[k] = i < end ? place_in_tile(index[i], first, own) : -1;
    }
    find_hot(bin, hot, sample);
  }
  const bool any_hot = hot.found > 0;

  const int copy = thread & (plan.copies - 1);
  Batch<T, Index> next;
  next.load(value, index, begin + thread, end);
  for (std::int64_t i = begin; i < end; i += kThreads * kBatch) {
    const Batch<T, Index> now = next;
    next.load(value, index, i + kThreads * kBatch + thread, end);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int place = place_in_tile(now.index[k], first, own);
      if constexpr (apart) {
        if (place >= 0) atomicAdd(&bin[place * plan.copies + copy], to_float(now.value[k]));
      } else {
        add_to_bin(bin, hot, any_hot, place, to_float(now.value[k]));
      }
    }
  }
  __syncthreads();
  float* const row = partial + worker * places + first;
  if constexpr (apart) {
    pass_on_copies(dst, row, bin, first, own, places, plan.copies, flush);
  } else {
    fold_hot(bin, hot);
    __syncthreads();
    pass_on(dst, row, bin, first, own, places, flush);
  }
}
//! [kernel]

/// Bytes of scratch where blocks leave partial sums.
inline std::size_t partial_bytes(const ScatterProblem& p, const BinPlan& plan) {
  return static_cast<std::size_t>(p.places) * static_cast<std::size_t>(plan.workers) * sizeof(float);
}

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return plan_bins(p).tiles > 0 ? nullptr : "the places do not fit in the shared memory of four blocks";
}

/// Runs the kernel for the types of p, which is not empty and not refused. `partial` may be nullptr where it is not
/// used.
template <class T, class Index>
cudaError_t run_as(const ScatterProblem& p, const ScatterArrays& at, float* partial, Flush flush, cudaStream_t stream) {
  const BinPlan plan = plan_bins(p);
  const auto launch_it = [&](auto* kernel) {
    return launch(
        kernel,
        {.grid = plan.tiles * plan.workers, .block = kThreads, .shared_bytes = plan.shared_bytes(), .stream = stream},
        static_cast<T*>(at.dst), partial, static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count,
        p.places, plan, flush);
  };
  return plan.copies > 1 ? launch_it(scatter_add_kernel<T, Index, true>)
                         : launch_it(scatter_add_kernel<T, Index, false>);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(p,
                    [&]<class T, class Index>() { return run_as<T, Index>(p, at, nullptr, Flush::atomics, stream); });
}

}  // namespace v6b
}  // namespace warpbook::chapter4
