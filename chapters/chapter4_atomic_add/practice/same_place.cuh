/// \file
/// same place: the lanes of a warp that have values for one place add them up, and the lowest of them does the atomic.
///
/// Each lane looks at all 32 values of its warp and keeps those of its own group. A lane that is a group of its own
/// adds for itself: right, and an atomic per value.
#pragma once

#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter4::same_place {

inline constexpr int kThreads = 256;
inline constexpr unsigned kAllLanes = 0xffffffffU;

//! [kernel]
template <class Index>
__global__ void add_groups_kernel(float* sum, const float* __restrict__ value, const Index* __restrict__ index,
                                  std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int lane = threadIdx.x % 32;
  long long place = i < count ? static_cast<long long>(index[i]) : -1;
  if (place >= places) place = -1;
  const float mine = place >= 0 ? value[i] : 0;

  //! [exercise same_place]
  const unsigned group = __match_any_sync(kAllLanes, place);
  //! [exercise same_place]
  float total = 0;
  for (int other = 0; other < 32; ++other) {
    const float theirs = __shfl_sync(kAllLanes, mine, other);
    if ((group >> other & 1) != 0) total += theirs;
  }
  const bool lowest = __ffs(static_cast<int>(group)) - 1 == lane;
  if (lowest && place >= 0) atomicAdd(sum + place, total);
}
//! [kernel]

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (p.type != ElementType::float32) return cudaErrorInvalidValue;
  const LaunchConfig config{.grid = ceil_div<std::int64_t>(p.count, kThreads), .block = kThreads, .stream = stream};
  return with_types(p, [&]<class, class Index>() {
    return launch(add_groups_kernel<Index>, config, static_cast<float*>(at.dst), static_cast<const float*>(at.value),
                  static_cast<const Index*>(at.index), p.count, p.places);
  });
}

}  // namespace warpbook::chapter4::same_place
