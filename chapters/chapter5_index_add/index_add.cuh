/// \file
/// index_add: adds rows of one tensor to the rows of another that an index names. The take-away of chapter 5.
#pragma once

#include "chapters/chapter5_index_add/v10_dispatch.cuh"

namespace warpbook {

/// What the tensors of `index_add` hold.
using IndexAddType = chapter5::ElementType;
/// The tensors of `index_add`: types, `dim`, sizes and strides of dst and src, alpha.
using IndexAddProblem = chapter5::IndexAddProblem;

/// dst[..., index[i], ...] += alpha * src[..., i, ...] for every i, as `dst.index_add_(dim, index, src, alpha)`.
///
/// \param workspace device memory, aligned to 256 bytes; what it holds before does not matter. With null the call only
///        sets `workspace_bytes` to what the problem needs (0 is possible), as CUB does, and touches nothing else.
/// \param workspace_bytes what lies at `workspace`.
/// \param problem types, dimension, sizes and strides. `dst` and `src` are views of 1 to 25 dimensions with offset 0,
///        strides of 0 or more, and equal sizes but for `dim`; no two elements of dst share a place; src may
///        (stride 0), and must not overlap dst. `contiguous_view` makes the view of a contiguous tensor.
///        `alpha` is the factor for half, bfloat16 (both compute in float), float and double; `alpha_integer` that for
///        integers, which wrap around.
/// \param dst, src device memory, aligned to the element; to 16 bytes, with rows of whole 16 bytes, for the most speed.
/// \param index device memory: src.sizes[dim] values of int32 (index_bytes = 4) or int64 (8), contiguous.
/// \param outside device-accessible memory, or null. An index outside [0, dst.sizes[dim]) adds nothing and nothing is
///        written for it; all others are added. Where there is one, *outside becomes the largest position of such an
///        index, plus 1, unless it was larger before; else it is not touched. Set it to 0 beforehand and read it when
///        the stream got there: PyTorch stops the program instead.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
/// \return cudaErrorInvalidValue for a problem outside the above, null or misaligned arrays that hold elements, or too
///         small a workspace; cudaErrorNotSupported for more than 2^30 entries of integers of 1 or 2 bytes; else what
///         CUDA says of the launches.
///
/// Where several entries name a row, the kernel is chosen by shape: few rows, few entries, and many entries a row are
/// summed in float at least (half and bfloat16 are rounded once, at the end) and give the same result on every run.
/// Else atomics add, in the tensor's type and in no order.
inline cudaError_t index_add(void* workspace, std::size_t& workspace_bytes, const IndexAddProblem& problem, void* dst,
                             const void* index, const void* src, unsigned long long* outside, cudaStream_t stream) {
  using namespace chapter5;
  if (refuse_problem(problem) != nullptr || problem.dst.offset != 0 || problem.src.offset != 0) {
    return cudaErrorInvalidValue;
  }
  const std::size_t needed = v10::workspace_bytes(problem);
  if (workspace == nullptr) {
    workspace_bytes = needed;
    return cudaSuccess;
  }
  if (problem.empty()) return cudaSuccess;
  const auto aligned = [](const void* p, int bytes) {
    return p != nullptr && reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  const int bytes = element_bytes(problem.type);
  if (!aligned(index, problem.index_bytes) || !aligned(src, bytes)) return cudaErrorInvalidValue;
  if (problem.rows() > 0 && !aligned(dst, bytes)) return cudaErrorInvalidValue;
  if (outside != nullptr && !aligned(outside, 8)) return cudaErrorInvalidValue;
  if (workspace_bytes < needed || !aligned(workspace, 256)) return cudaErrorInvalidValue;
  return v10::run(problem,
                  {.dst = dst,
                   .index = index,
                   .src = src,
                   .outside = outside,
                   .workspace = workspace,
                   .workspace_bytes = workspace_bytes},
                  stream);
}

}  // namespace warpbook
