/// \file
/// permute: any permutation of a tensor's dimensions, at about the speed of a copy. The take-away of chapter 3.
#pragma once

#include "chapters/chapter3_permute/library/plan.cuh"
#include "chapters/chapter3_permute/permute.hpp"
#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook {

namespace chapter3 {

/// Judges the arguments of `permute`, and puts them into a problem.
/// \param dst,src,rank,shape,permutation,element_bytes as `permute` has them.
/// \param problem set to what they say.
/// \param empty set where there are no elements: then nothing is to do, and the arrays may be null.
/// \return as `permute`, without a launch.
inline cudaError_t judge_arguments(const void* dst, const void* src, int rank, const std::int64_t* shape,
                                   const int* permutation, int element_bytes, PermuteProblem& problem, bool& empty) {
  if (rank < 0 || rank > kMaxRank || (rank > 0 && (shape == nullptr || permutation == nullptr))) {
    return cudaErrorInvalidValue;
  }
  if (element_bytes < 1 || element_bytes > 16 || (element_bytes & (element_bytes - 1)) != 0) {
    return cudaErrorInvalidValue;
  }
  problem = {};
  problem.rank = rank;
  problem.element_bytes = element_bytes;
  unsigned seen = 0;
  empty = false;
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
  if (src == nullptr || dst == nullptr) return cudaErrorInvalidValue;
  problem.alignment = alignment_of(src, dst);
  return problem.alignment >= element_bytes ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace chapter3

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
  chapter3::PermuteProblem problem;
  bool empty = false;
  const cudaError_t error =
      chapter3::judge_arguments(dst, src, rank, shape, permutation, element_bytes, problem, empty);
  return error != cudaSuccess || empty ? error : chapter3::v9::run(problem, src, dst, stream);
}

/// A problem, and the kernel that was fastest on it: made by `plan_permute`. It owns nothing; a copy is as good.
struct PermutePlan {
  chapter3::PermuteProblem problem;  ///< What it was made for.
  chapter3::plan::Choice choice;     ///< What was fastest, and by how much.
};

/// Makes a plan by timing: every kernel that takes the problem runs on these arrays some 3 to 32 times, first among
/// them the one that `permute` would take, which is kept unless another is faster by more than 1%. Takes about a tenth
/// of a second, waits for the stream, and leaves the permuted tensor in dst. For what is permuted very often; a plan
/// holds for arrays of the same alignment, and on the same kind of device.
///
/// A template only so that who makes no plan need not compile its kernels.
///
/// \param plan what is made; as it was where the call fails.
/// \param dst,src,rank,shape,permutation,element_bytes,stream as `permute` has them. The stream must not be captured.
/// \param flush device memory that is overwritten between samples, so that no kernel finds its input in the L2.
/// \param flush_bytes its size: twice the L2's is enough. nullptr and 0 time with whatever the L2 holds, as is right
///        where the tensor was made just before. Lines that kernels asked the L2 to keep are made ordinary before each
///        sample (cudaCtxResetPersistingL2Cache), anybody's.
/// \return cudaErrorInvalidValue for what `permute` does not take, and for a null flush with bytes; else what CUDA says
///         of the launches. Where times are modelled (on the emulator) nothing is timed: the plan is `permute`'s
///         choice.
template <class Plan = PermutePlan>
cudaError_t plan_permute(Plan& plan, void* dst, const void* src, int rank, const std::int64_t* shape,
                         const int* permutation, int element_bytes, void* flush, std::size_t flush_bytes,
                         cudaStream_t stream) {
  Plan made;
  bool empty = false;
  cudaError_t error = chapter3::judge_arguments(dst, src, rank, shape, permutation, element_bytes, made.problem, empty);
  if (error == cudaSuccess && flush == nullptr && flush_bytes > 0) error = cudaErrorInvalidValue;
  if (error == cudaSuccess && !empty) {
    error = chapter3::plan::choose(made.problem, src, dst, {flush, flush_bytes}, stream, made.choice);
  }
  if (error == cudaSuccess) plan = made;
  return error;
}

/// Permutes as planned. As `permute`, it does not wait, allocates nothing, and can be captured in a graph.
/// \param plan made for this problem. Where the arrays' alignment does not suit its kernel, `permute`'s choice runs.
/// \param dst,src other arrays than the plan was made with are welcome.
/// \param stream as above.
/// \return as `permute`.
inline cudaError_t permute(const PermutePlan& plan, void* dst, const void* src, cudaStream_t stream) {
  chapter3::PermuteProblem problem;
  bool empty = false;
  const cudaError_t error =
      chapter3::judge_arguments(dst, src, plan.problem.rank, plan.problem.shape.data(), plan.problem.permutation.data(),
                                plan.problem.element_bytes, problem, empty);
  return error != cudaSuccess || empty ? error : chapter3::plan::run(problem, plan.choice, src, dst, stream);
}

}  // namespace warpbook
