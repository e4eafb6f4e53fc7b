/// \file
/// v6b lane sums: several sums per place, so that lanes of a warp do not meet.
///
/// v6a's loop is repeated as often as threads meet at a bin, and with skewed indices many want the same one. Where
/// places are few there is room for several sums of each: up to 32, one per lane. A lane adds to the one that its
/// number selects. In the end a thread adds up a place's sums. It begins at a sum of its own number, or all threads
/// would read the same bank. A block with few values makes do with fewer sums, at most two per value, since they have
/// to be cleared and added up; and half of the shared memory is enough, so that two blocks fit.
///
/// Expect the same time for skewed indices as for evenly spread ones.
#pragma once

#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"

namespace warpbook::chapter4::v6b {

using v6a::kThreads;

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       std::int64_t places, int copies) {
  let_next_launch_begin();
  auto* const bin = dynamic_shared<float>();
  for (int k = threadIdx.x; k < places * copies; k += kThreads) bin[k] = 0;
  __syncthreads();

  const int copy = threadIdx.x & (copies - 1);  // A power of two.
  const std::int64_t threads = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    const Index place = index[i];
    if (place >= 0 && place < places) atomicAdd(&bin[static_cast<int>(place) * copies + copy], to_float(value[i]));
  }
  __syncthreads();

  wait_for_launches_before();  // The sums may still be being cleared.
  for (int p = threadIdx.x; p < places; p += kThreads) {
    float total = 0;
    for (int c = 0; c < copies; ++c) total += bin[p * copies + ((c + p) & (copies - 1))];
    if (total != 0) atomicAdd(sum + p, total);
  }
}
//! [kernel]

/// Sums per place in a block of so many values: a power of two, at most 32.
inline int copies_for(std::int64_t places, std::int64_t values) {
  const std::int64_t room = (v6a::floats_limit() - 1) / 2;
  const std::int64_t most = 2 * values < room ? 2 * values : room;
  int copies = 1;
  while (copies < 32 && 2 * copies * places <= most) copies *= 2;
  return copies;
}

inline const char* refuse_scatter(const ScatterProblem& p) { return v6a::refuse_scatter(p); }

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  const std::int64_t blocks = v6a::blocks_for(p.count, p.places);
  const int copies = copies_for(p.places, p.count / blocks);
  const auto kernel = [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; };
  return v6a::run_bins<Types...>(p, at, blocks, p.places * copies, stream, kernel, p.places, copies);
}

}  // namespace warpbook::chapter4::v6b
