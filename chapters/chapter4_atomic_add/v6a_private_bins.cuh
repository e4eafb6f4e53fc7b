/// \file
/// v6a private bins: a block adds up in its own shared memory first.
///
/// v5 finds values of one place only within a warp, and values of different warps still meet in the L2. But a block can
/// have a bin for every place, a sum of its own in shared memory, as long as the places fit there (some 58,000 on an
/// H200). The additions then meet within the block, and global memory sees one addition per place and block. The inner
/// product has one sum per block.
///
/// Expect the L2's queue gone, and a queue in shared memory instead. There a float atomic is a retry loop: threads that
/// collide repeat it. It is fast for some hundred places and more, and slow for one place and for skewed indices.
#pragma once

#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"

namespace warpbook::chapter4::v6a {

inline constexpr int kThreads = 1024;

//! [kernel]
template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    scatter_add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                       std::int64_t places) {
  let_next_launch_begin();
  auto* const bin = dynamic_shared<float>();
  for (int p = threadIdx.x; p < places; p += kThreads) bin[p] = 0;
  __syncthreads();

  //! [exercise private_bins]
  const std::int64_t threads = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    const Index place = index[i];
    if (place >= 0 && place < places) atomicAdd(&bin[place], to_float(value[i]));
  }
  __syncthreads();
  //! [exercise private_bins]

  wait_for_launches_before();  // The sums may still be being cleared.
  for (int p = threadIdx.x; p < places; p += kThreads) {
    const float total = bin[p];
    if (total != 0) atomicAdd(sum + p, total);
  }
}
//! [kernel]

//! [inner]
template <class T>
__global__ void inner_product_kernel(float* total, const T* __restrict__ a, const T* __restrict__ b,
                                     std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum += to_float(a[i]) * to_float(b[i]);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
//! [inner]

inline std::int64_t floats_limit() { return shared_bytes_limit() / 4; }

/// Blocks of kThreads for the values: as many as fit on the device at once, at most two per multiprocessor.
inline std::int64_t blocks_for(std::int64_t count, std::int64_t floats) {
  const std::int64_t resident = (2 * floats < floats_limit() ? 2 : 1) * std::int64_t{multiprocessors()};
  const std::int64_t needed = ceil_div<std::int64_t>(count, kThreads);
  return needed < resident ? needed : resident;
}

/// Runs a kernel that adds up in `floats` of shared memory per block, and then adds to floats. It waits for the launch
/// before. `kernel.template operator()<T, Index>()` names it; `more` are its parameters behind the number of values.
template <class... Types, class Kernel, class... More>
cudaError_t run_bins(const ScatterProblem& p, const ScatterArrays& at, std::int64_t blocks, std::int64_t floats,
                     cudaStream_t stream, Kernel&& kernel, More... more) {
  const LaunchConfig config{.grid = blocks,
                            .block = kThreads,
                            .shared_bytes = static_cast<std::size_t>(floats) * sizeof(float),
                            .stream = stream};
  return with_types<Types...>(p, [&]<class T, class Index>() {
    return with_float_sums(static_cast<T*>(at.dst), p.places, at.scratch, stream, [&](float* sum, bool early) {
      return launch_early_if(early, kernel.template operator()<T, Index>(), config, sum,
                             static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count, more...);
    });
  });
}

inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= floats_limit() ? nullptr : "the places do not fit in a block's shared memory";
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  const auto kernel = [&]<class T, class Index>() { return scatter_add_kernel<T, Index>; };
  return run_bins(p, at, blocks_for(p.count, p.places), p.places, stream, kernel, p.places);
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return run_in_float(p, at, stream, [&]<class T>() { return inner_product_kernel<T>; });
}

}  // namespace warpbook::chapter4::v6a
