/// \file
/// v6b spread bins: no two threads at one address, as far as there is room.
///
/// v6a's loop is gone through as often as threads meet at an address. Where places are few there is room for several
/// sums of each: up to some 50 places every thread of a block has its own, up to some 1700 every lane of a warp, and
/// threads that meet are rare. Where places are many there is room for one sum a place, and only what a sample finds
/// hot or clustered is treated with care: see bins.cuh.
///
/// While a batch of values is being added, the next one is under way: a block is alone on its multiprocessor, and
/// nobody else would use the time.
///
/// Expect one place to cost no more than thousands, and skew little. What remains at the end is one atomic addition a
/// place and block.
#pragma once

#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"

namespace warpbook::chapter4 {

/// How a scatter is divided over blocks. Each block has bins of its own for all places, and a share of the values.
struct BinPlan {
  int bins = 0;     ///< Places that have one: the first so many.
  int copies = 1;   ///< Sums a bin: 1, or a power of two from 32, lanes of a warp never meeting, to 1024.
  int workers = 1;  ///< Blocks.

  std::size_t shared_bytes() const { return static_cast<std::size_t>(bins) * copies * sizeof(float); }
};

/// Floats of bins that fit beside what else a block has in shared memory; a multiple of 4.
inline std::int64_t room_for_bins() {
  return (shared_bytes_limit() - static_cast<std::int64_t>(sizeof(HotPlaces)) - 1024) / 16 * 4;
}

/// The plan for p.places with `bins` bins, both 1 at least.
inline BinPlan plan_bins(const ScatterProblem& p, std::int64_t bins) {
  constexpr int kThreads = v6a::kThreads;
  constexpr int kLeastValues = 4;  // A thread, or blocks would do little but clear and pass on.
  const std::int64_t room = room_for_bins();
  BinPlan plan;
  plan.bins = static_cast<int>(bins);
  while (plan.copies < kThreads && 2 * bins * plan.copies <= room) plan.copies *= 2;
  if (plan.copies < 32 || bins < p.places) plan.copies = 1;
  const std::int64_t resident = multiprocessors();
  const std::int64_t useful = ceil_div<std::int64_t>(p.count, kThreads * kLeastValues);
  plan.workers = static_cast<int>(useful < resident ? useful : resident);
  return plan;
}

namespace v6b {

inline constexpr int kThreads = v6a::kThreads;
inline constexpr int kBatch = 4;  // Values of a thread that are under way together.

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

/// An index as a place; -1 where it is outside.
template <class Index> __device__ __forceinline__ int place_of(Index index, std::int64_t places) {
  const auto place = static_cast<std::uint64_t>(static_cast<std::int64_t>(index));
  return place < static_cast<std::uint64_t>(places) ? static_cast<int>(place) : -1;
}

/// Adds a block's sums to dst, an atomic addition in T each, or to `sums`, floats by fours where those are aligned.
/// Blocks begin at different places, or all of them would meet.
template <class T>
__device__ __forceinline__ void pass_on(T* dst, float* sums, const float* bin, int bins, std::int64_t places) {
  const int thread = static_cast<int>(threadIdx.x);
  if (sums == nullptr) {
    for (int p = thread; p < bins; p += kThreads) {
      if (bin[p] != 0) fast_atomic_add<T, std::int64_t>(dst, p, places, from_float<T>(bin[p]));
    }
    return;
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(sums) % 16 == 0;
  const int vectors = aligned ? bins / 4 : 0;
  const auto first = static_cast<int>(std::int64_t(vectors) * blockIdx.x / gridDim.x);
  for (int k = thread; k < vectors; k += kThreads) {
    const int v = first + k < vectors ? first + k : first + k - vectors;
    const float4 sum = reinterpret_cast<const float4*>(bin)[v];
    reduce_add(reinterpret_cast<float4*>(sums) + v, sum);
  }
  for (int p = 4 * vectors + thread; p < bins; p += kThreads) reduce_add(sums + p, bin[p]);
}

/// The same where a place has several sums, which a warp adds up.
template <class T>
__device__ __forceinline__ void pass_on_copies(T* dst, float* sums, const float* bin, int bins, std::int64_t places,
                                               int copies) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int p = static_cast<int>(threadIdx.x / 32); p < bins; p += kThreads / 32) {
    float sum = 0;
    for (int c = lane; c < copies; c += 32) sum += bin[p * copies + c];
    sum = warp_sum(sum);
    if (lane != 0) continue;
    if (sums != nullptr) {
      reduce_add(sums + p, sum);
    } else if (sum != 0) {
      fast_atomic_add<T, std::int64_t>(dst, p, places, from_float<T>(sum));
    }
  }
}

//! [kernel]
template <class T, class Index, bool apart>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(T* dst, float* sums, const T* __restrict__ value, const Index* __restrict__ index,
                       std::int64_t count, std::int64_t places, int bins, int copies) {
  __shared__ HotPlaces hot;
  auto* const bin = dynamic_shared<float>();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t share = ceil_div<std::int64_t>(ceil_div<std::int64_t>(count, gridDim.x), 32) * 32;
  const std::int64_t begin = share * blockIdx.x;
  const std::int64_t end = begin + share < count ? begin + share : count;

  clear_bins(bin, bins * copies, hot);
  Care care{};
  if constexpr (apart) {
    __syncthreads();
  } else {
    constexpr int kSamples = 4;
    int sample[kSamples];
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      const std::int64_t i = begin + (end - begin) * (thread * kSamples + k) / (kThreads * kSamples);
      sample[k] = i < end ? place_of(index[i], places) : -1;
    }
    const std::int64_t neighbour = begin + (end - begin) * thread / kThreads + 1;
    const bool same = neighbour < end && sample[0] >= 0 && place_of(index[neighbour], places) == sample[0];
    care = find_hot(bin, bins, hot, sample, same);
  }

  const int copy = thread & (copies - 1);
  Batch<T, Index> next;
  next.load(value, index, begin + thread, end);
  for (std::int64_t i = begin; i < end; i += kThreads * kBatch) {
    const Batch<T, Index> now = next;
    next.load(value, index, i + kThreads * kBatch + thread, end);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int place = place_of(now.index[k], places);
      if constexpr (apart) {
        if (place >= 0) atomicAdd(&bin[place * copies + copy], to_float(now.value[k]));
      } else {
        add_to_bin(bin, bins, hot, care, place, to_float(now.value[k]), sums);
      }
    }
  }
  __syncthreads();
  if constexpr (apart) {
    pass_on_copies(dst, sums, bin, bins, places, copies);
  } else {
    fold_hot(bin, bins, hot, sums);
    __syncthreads();
    pass_on(dst, sums, bin, bins, places);
  }
}
//! [kernel]

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= room_for_bins() && p.places < kMostBinPlaces ? nullptr
                                                                  : "the places do not fit in a block's shared memory";
}

/// Runs the kernel for the types of p, which is not empty. Blocks add to `sums`, or to dst where it is nullptr: then
/// all places must have bins.
template <class T, class Index>
cudaError_t run_as(const ScatterProblem& p, const ScatterArrays& at, const BinPlan& plan, float* sums,
                   cudaStream_t stream) {
  const auto launch_it = [&](auto* kernel) {
    return launch(kernel,
                  {.grid = plan.workers, .block = kThreads, .shared_bytes = plan.shared_bytes(), .stream = stream},
                  static_cast<T*>(at.dst), sums, static_cast<const T*>(at.value), static_cast<const Index*>(at.index),
                  p.count, p.places, plan.bins, plan.copies);
  };
  return plan.copies > 1 ? launch_it(scatter_add_kernel<T, Index, true>)
                         : launch_it(scatter_add_kernel<T, Index, false>);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(
      p, [&]<class T, class Index>() { return run_as<T, Index>(p, at, plan_bins(p, p.places), nullptr, stream); });
}

}  // namespace v6b
}  // namespace warpbook::chapter4
