#pragma once

#include <type_traits>

#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter4::project {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBins = 4096;

static __global__ void clear_kernel(float* sum, std::int64_t places) {
  const std::int64_t p = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (p < places) sum[p] = 0;
}

template <class T> __global__ void round_kernel(T* dst, const float* sum, std::int64_t places) {
  const std::int64_t p = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (p < places) dst[p] = from_float<T>(to_float(dst[p]) + sum[p]);
}

template <bool bins, class T, class Index>
__global__ void add_kernel(float* sum, const T* __restrict__ value, const Index* __restrict__ index, std::int64_t count,
                           std::int64_t places) {
  __shared__ float bin[bins ? kMostBins : 1];
  if (bins) {
    for (int p = threadIdx.x; p < places; p += kThreads) bin[p] = 0;
    __syncthreads();
  }
  const std::int64_t threads = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    const std::int64_t place = index[i];
    if (place >= 0 && place < places) atomicAdd(bins ? &bin[place] : &sum[place], to_float(value[i]));
  }
  if (bins) {
    __syncthreads();
    for (int p = threadIdx.x; p < places; p += kThreads) {
      if (bin[p] != 0) atomicAdd(&sum[p], bin[p]);
    }
  }
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return with_types(p, [&]<class T, class Index>() {
    constexpr bool kDirect = std::is_same_v<T, float>;
    const LaunchConfig over_places{.grid = ceil_div<std::int64_t>(p.places, kThreads), .block = kThreads, .stream = stream};
    const bool few = p.places <= kMostBins;
    const std::int64_t needed = ceil_div<std::int64_t>(p.count, kThreads);
    const std::int64_t most = few ? std::int64_t{multiprocessors()} * 4 : needed;
    auto* const sum = static_cast<float*>(kDirect ? at.dst : at.scratch);
    cudaError_t error = kDirect ? cudaSuccess : launch(clear_kernel, over_places, sum, p.places);
    if (error == cudaSuccess) {
      error = launch(few ? add_kernel<true, T, Index> : add_kernel<false, T, Index>,
                     {.grid = needed < most ? needed : most, .block = kThreads, .stream = stream}, sum,
                     static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count, p.places);
    }
    if (kDirect || error != cudaSuccess) return error;
    return launch(round_kernel<T>, over_places, static_cast<T*>(at.dst), static_cast<const float*>(sum), p.places);
  });
}

}  // namespace warpbook::chapter4::project
