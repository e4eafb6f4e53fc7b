/// \file
/// lone_elements: where each element lies alone in its sector, loads say that nobody comes back for the line. Where
/// there are gaps between the DRAM's blocks of 64 bytes, the hint costs more than it saves, and we do not know why;
/// there the loads are plain.
#pragma once

#include <algorithm>

#include "chapters/chapter2_strided/library/few_dims.cuh"

namespace warpbook::chapter2::lone_elements {

inline constexpr int kThreads = 128;
inline constexpr int kSectorBytes = 32;
inline constexpr int kBlockBytes = 64;  ///< That the DRAM is read in.

template <bool passing, class W, int dims>
__global__ void __launch_bounds__(kThreads)
    lone_elements_kernel(W* __restrict__ dst, const W* __restrict__ src,
                         const __grid_constant__ few_dims::View<dims> view, std::uint32_t count) {
  const std::uint32_t linear = blockIdx.x * kThreads + threadIdx.x;
  if (linear < count) dst[linear] = load_passing<passing>(src + view.place(linear));
}

/// Bytes between the nearest neighbours along any dimension.
inline std::int64_t least_step(const StridedProblem& q) {
  return *std::min_element(q.view.strides.begin(), q.view.strides.begin() + q.view.dims) * q.element_bytes;
}

inline const char* refuse(const StridedProblem& q) {
  if (q.into_view) return "a view that is written";
  if (q.view.dims > kMostStaticDims) return "more than 5 dimensions";
  if (least_step(q) < kSectorBytes) return "elements share sectors";
  return fits_32_bits(q.view, kThreads) ? nullptr : "2^31 elements or more";
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  const std::int64_t count = q.problem.count();
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return few_dims::with_view(q.problem.view, [&]<int dims>(const few_dims::View<dims>& view) {
      const bool passing = least_step(q.problem) <= kBlockBytes;
      return launch(passing ? lone_elements_kernel<true, W, dims> : lone_elements_kernel<false, W, dims>,
                    {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                    reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), view,
                    static_cast<std::uint32_t>(count));
    });
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::lone_elements
