/// \file
/// v6c loads ahead: the next values are under way while these are added.
///
/// A thread of v6b loads an index and a value, waits for memory, adds, and only then asks for the next. Here a thread
/// takes four values at a time, as two pairs, and asks for the next four before it adds these. They stay packed until
/// they are used: taking a pair apart means waiting for it. With that much under way, one block fills a multiprocessor,
/// and has all of the shared memory for sums: up to one per thread. Warps add them up, a few places at a time.
///
/// Expect half of the index loads, each twice as wide, and a time near that of reading.
#pragma once

#include "chapters/chapter4_atomic_add/v6b_lane_sums.cuh"
#include "common/cuda/pack.cuh"
#include "common/cuda/shared_address.cuh"

namespace warpbook::chapter4::v6c {

using v6a::kThreads;
inline constexpr int kPairs = 2;  // Of a thread, under way together.
inline constexpr int kBatch = 2 * kPairs;
inline constexpr int kRound = kBatch * kThreads;  // Values of a block.

//! [batches]
/// A block's share of the values, and this thread's next batch of it, which is on its way from memory.
template <class T, class Index> struct Share {
  const T* value;
  const Index* index;
  unsigned count;  ///< Values.
  unsigned whole;  ///< Of these in rounds of pairs. The rest, or all that are misaligned, go one by one.
  Word<2 * sizeof(T)> next_value[kPairs];
  Pack<Index, 2> next_index[kPairs];

  /// Of one of `workers`. Asks for the first batch.
  __device__ __forceinline__ Share(const T* values, const Index* indices, std::int64_t all, int worker, int workers) {
    const std::int64_t share = ceil_div<std::int64_t>(ceil_div<std::int64_t>(all, workers), 64) * 64;
    const std::int64_t begin = share * worker < all ? share * worker : all;
    value = values + begin;
    index = indices + begin;
    count = static_cast<unsigned>(all - begin < share ? all - begin : share);
    const bool aligned = reinterpret_cast<std::uintptr_t>(value) % (2 * sizeof(T)) == 0 &&
                         reinterpret_cast<std::uintptr_t>(index) % (2 * sizeof(Index)) == 0;
    whole = aligned ? count / kRound * kRound : 0;
    if (whole > 0) load(0);
  }

  /// Values 0, 1, 2 * kThreads, 2 * kThreads + 1, ... behind the first `done`.
  __device__ __forceinline__ void load(unsigned done) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const unsigned i = done + 2 * threadIdx.x + k * 2 * kThreads;
      next_index[k] = *reinterpret_cast<const Pack<Index, 2>*>(index + i);
      next_value[k] = *reinterpret_cast<const Word<2 * sizeof(T)>*>(value + i);
    }
  }

  /// Calls add(indices, values), kBatch each, until all of this thread's are added.
  template <class Add> __device__ __forceinline__ void add_all(const Add& add) {
    Index at[kBatch];
    float x[kBatch];
    // [ahead]
    for (unsigned done = 0; done < whole;) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        at[k] = next_index[k / 2][k % 2];
        x[k] = to_float(element_of<T>(next_value[k / 2], k % 2));
      }
      done += kRound;
      if (done < whole) load(done);
      add(at, x);
    }
    // [ahead]
    for (unsigned i = whole; i < count; i += kRound) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const unsigned j = i + k * kThreads + threadIdx.x;
        at[k] = j < count ? index[j] : Index{-1};
        x[k] = j < count ? to_float(value[j]) : 0;
      }
      add(at, x);
    }
  }
};
//! [batches]

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       int places, int copies) {
  let_next_launch_begin();
  auto* const bin = dynamic_shared<float>();
  Share<T, Index> share(value, index, count, blockIdx.x, gridDim.x);
  for (int k = threadIdx.x; k < places * copies; k += kThreads) bin[k] = 0;
  __syncthreads();

  const SharedAddress mine = shared_address(bin + (threadIdx.x & (copies - 1)));
  share.add_all([&](const Index(&at)[kBatch], const float(&x)[kBatch]) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const auto place = static_cast<unsigned>(at[k]);
      const bool here = static_cast<std::uint64_t>(at[k]) >> 32U == 0 && place < unsigned(places);
      if (here) atomic_add(mine + place * copies * 4, x[k]);
    }
  });
  __syncthreads();

  sum_runs<kThreads>(bin, places, copies);
  __syncthreads();
  wait_for_launches_before();  // The sums may still be being cleared.
  for (int p = threadIdx.x; p < places; p += kThreads) {
    if (const float total = bin[p * copies]; total != 0) atomicAdd(sum + p, total);
  }
}
//! [kernel]

/// Shares of the values, a block's or two: at most one per multiprocessor, four values per thread at least.
inline int workers_for(std::int64_t count, int multiprocessors) {
  const std::int64_t useful = ceil_div<std::int64_t>(count, kRound);
  return static_cast<int>(useful < multiprocessors ? useful : multiprocessors);
}

inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places * 32 <= v6a::floats_limit() ? nullptr : "a sum per lane and place does not fit in shared memory";
}

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  int copies = 32;
  while (copies < kThreads && 2 * copies * p.places <= v6a::floats_limit()) copies *= 2;
  const auto kernel = [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; };
  return v6a::run_bins<Types...>(p, at, workers_for(p.count, multiprocessors()), p.places * copies, stream, kernel,
                                 static_cast<int>(p.places), copies);
}

}  // namespace warpbook::chapter4::v6c
