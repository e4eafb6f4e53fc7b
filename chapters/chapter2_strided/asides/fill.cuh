/// \file
/// Yardstick: what writing alone takes.
///
/// A broadcast view reads little and writes much. A copy reads half of what it moves, so it is no limit for such a
/// view. A cudaMemsetAsync of the output is.
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter2::fill {

/// What every byte of the output becomes.
inline constexpr int kByte = 0x5a;

inline cudaError_t run(const StridedProblem& p, const void* /*src*/, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return cudaMemsetAsync(dst, kByte, static_cast<std::size_t>(p.count() * p.element_bytes), stream);
}

}  // namespace warpbook::chapter2::fill
