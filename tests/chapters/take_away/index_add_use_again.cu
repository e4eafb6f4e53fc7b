/// \file
/// A second file of the same program: what the header defines may be defined in both.
#include "index_add.cuh"

#include <cstddef>
#include <cstdint>

cudaError_t index_add_elsewhere(float* dst, const std::int64_t* index, const float* src, cudaStream_t stream);

cudaError_t index_add_elsewhere(float* dst, const std::int64_t* index, const float* src, cudaStream_t stream) {
  const std::int64_t shape[2] = {40, 24};
  warpbook::IndexAddProblem problem;
  problem.dst = warpbook::contiguous_view(2, shape);
  problem.src = problem.dst;
  std::size_t bytes = 0;
  const cudaError_t error = warpbook::index_add(nullptr, bytes, problem, dst, index, src, nullptr, stream);
  if (error != cudaSuccess || bytes > 0) return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
  return warpbook::index_add(dst, bytes, problem, dst, index, src, nullptr, stream);  // No byte of it is used.
}
