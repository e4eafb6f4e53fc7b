/// \file
/// v7 two tiles: two neighbouring blocks share the places.
///
/// 65,536 places do not fit a block's shared memory, and v2 to v5 send every value to the L2 instead. But half of the
/// places fit. So two neighbouring blocks have the same share of the values: each adds what falls to its half of the
/// places, and skips the rest. They read at about the same time, so that the second one finds the values in the L2. At
/// the end every block adds a sum for each of its places, four neighbours by one atomic operation of Hopper. Blocks
/// begin at different places, or all of them would meet at the same addresses.
///
/// Expect indices and values to be read once from memory and twice from the L2, and far fewer reductions.
/// Source: PTX ISA 8.1, "red" with .v4.
#pragma once

#include "chapters/chapter4_atomic_add/v6c_loads_ahead.cuh"
#include "common/cuda/reductions.cuh"

namespace warpbook::chapter4::v7 {

using v6c::kBatch;
using v6c::kThreads;

/// A bin of this block, or not (then `here` is false, and the number nothing).
struct Bin {
  unsigned number;
  bool here;
};

/// The bin of an index, where a block has `size` places from `first` on.
template <class Index> __device__ __forceinline__ Bin bin_of(Index index, unsigned first, unsigned size) {
  const auto place = static_cast<unsigned>(index);
  return {place - first, static_cast<std::uint64_t>(index) >> 32U == 0 && place - first < size};
}

//! [flush]
/// Adds `size` bins to sums, four at a time where those are aligned, beginning elsewhere in each of the `workers`. All
/// threads of the block call.
__device__ __forceinline__ void flush(float* sum, const float* bin, int size, int worker, int workers) {
  const int vectors = reinterpret_cast<std::uintptr_t>(sum) % 16 == 0 ? size / 4 : 0;
  const int first = static_cast<int>(std::int64_t{vectors} * worker / workers);
  for (int k = threadIdx.x; k < vectors; k += kThreads) {
    const int v = first + k < vectors ? first + k : first + k - vectors;
    reduce_add(reinterpret_cast<float4*>(sum) + v, reinterpret_cast<const float4*>(bin)[v]);
  }
  for (int p = 4 * vectors + threadIdx.x; p < size; p += kThreads) atomicAdd(sum + p, bin[p]);
}
//! [flush]

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads, 1)
    scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       int places, int bins) {
  let_next_launch_begin();
  auto* const bin = dynamic_shared<float>();
  const int worker = blockIdx.x / 2;
  const int workers = gridDim.x / 2;
  const int first = blockIdx.x % 2 * bins;  // The tile's places.
  const int left = places > first ? places - first : 0;
  const int size = left < bins ? left : bins;
  v6c::Share<T, Index> share(value, index, count, worker, workers);
  for (int p = threadIdx.x; p < size; p += kThreads) bin[p] = 0;
  __syncthreads();

  const SharedAddress mine = shared_address(bin);
  share.add_all([&](const Index(&at)[kBatch], const float(&x)[kBatch]) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (const Bin to = bin_of(at[k], first, size); to.here) atomic_add(mine + to.number * 4, x[k]);
    }
  });
  __syncthreads();

  wait_for_launches_before();  // The sums may still be being cleared.
  flush(sum + first, bin, size, worker, workers);
}
//! [kernel]

inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= v6a::floats_limit() / 4 * 8 ? nullptr : "the places do not fit in two blocks' shared memory";
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  const std::int64_t bins = ceil_div<std::int64_t>(p.places, 8) * 4;
  const int pairs = multiprocessors() > 1 ? multiprocessors() / 2 : 1;
  const auto kernel = [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; };
  return v6a::run_bins(p, at, 2 * v6c::workers_for(p.count, pairs), bins, stream, kernel, static_cast<int>(p.places),
                       static_cast<int>(bins));
}

}  // namespace warpbook::chapter4::v7
