/// \file
/// permute: any permutation of a tensor's dimensions, at about the speed of a copy. The take-away of chapter 3.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook {

/// Permutes a tensor's dimensions: dst[i_p[0], i_p[1], ...] = src[i_0, i_1, ...], as `torch.permute(p).contiguous()`.
///
/// \param dst the output, contiguous and row-major, of shape shape[permutation[0]] x shape[permutation[1]] x ...; in
///        device memory, aligned to element_bytes at least (16 for the most speed), not overlapping src.
/// \param src the input, contiguous and row-major, of the given shape; device memory, aligned likewise.
/// \param rank number of dimensions, 0 to 8. Rank 0 is one element.
/// \param shape `rank` sizes of the input, each 0 or more; host memory.
/// \param permutation `rank` dimensions of the input, in the output's order; host memory.
/// \param element_bytes 1, 2, 4, 8 or 16: moving data needs no type.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
///
/// Most kernels for elements of 2 bytes and more read with the hint that the L2 keep their lines before others
/// (evict_last), as torch.compile's do. Such lines leave when more of them come, or by cudaCtxResetPersistingL2Cache.
/// \return cudaErrorInvalidValue for a rank, permutation, size or element size outside the above, for a null or
///         misaligned array with elements, and for a tensor of 2^63 bytes or more; else what CUDA says of the launch.
inline cudaError_t permute(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,
                           int element_bytes, cudaStream_t stream) {
  using namespace chapter3;
  if (rank < 0 || rank > kMaxRank || (rank > 0 && (shape == nullptr || permutation == nullptr))) {
    return cudaErrorInvalidValue;
  }
  if (element_bytes < 1 || element_bytes > 16 || (element_bytes & (element_bytes - 1)) != 0) {
    return cudaErrorInvalidValue;
  }
  PermuteProblem problem;
  problem.rank = rank;
  problem.element_bytes = element_bytes;
  unsigned seen = 0;
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] < 0 || permutation[d] < 0 || permutation[d] >= rank) return cudaErrorInvalidValue;
    seen |= 1U << permutation[d];
    empty = empty || shape[d] == 0;
    problem.shape[d] = shape[d];
    problem.permutation[d] = permutation[d];
  }
  if (seen != (1U << rank) - 1) return cudaErrorInvalidValue;
  if (empty) return cudaSuccess;

  std::int64_t most = INT64_MAX / element_bytes;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] > most) return cudaErrorInvalidValue;
    most /= shape[d];
  }
  const auto address = reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
  if (src == nullptr || dst == nullptr || address % static_cast<std::uintptr_t>(element_bytes) != 0) {
    return cudaErrorInvalidValue;
  }
  return v9::run(problem, src, dst, stream);
}

}  // namespace warpbook
