/// \file
/// index_add: adds rows of one tensor to the rows of another that an index names. The take-away of chapter 5.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/v9_dispatch.cuh"

namespace warpbook {

/// What `index_add` adds where: `dim`, sizes and strides of dst and src (`contiguous_view` makes those of a contiguous
/// tensor), alpha, and whether the result has to be the same on every run. Its types and alignment are set by the
/// arrays.
using IndexAddProblem = chapter5::IndexAddProblem;

/// dst[..., index[i], ...] += alpha * src[..., i, ...] for every i, as `dst.index_add_(dim, index, src, alpha)`.
///
/// \tparam T half, bfloat16, float, double, or an integer of 8 (signed or not), 16, 32 or 64 bits.
/// \tparam Index int32_t or int64_t.
/// \param workspace device memory, aligned to 256 bytes; what it holds before does not matter. With null the call only
///        sets `workspace_bytes` to what the problem needs (0 is possible), as CUB does, and touches nothing else.
/// \param workspace_bytes what lies at `workspace`.
/// \param problem dimension, sizes and strides. `dst` and `src` are views of 1 to 25 dimensions with offset 0, strides
///        of 0 or more, and equal sizes but for `dim`; no two elements of dst share a place, those of src may (stride
///        0). `alpha` is the factor of half, bfloat16 (both compute in float), float and double, `alpha_integer` that
///        of integers, which wrap around. `deterministic` asks for the same result on every run.
/// \param dst, src device memory, aligned to the element; to 16 bytes, with rows of whole 16 bytes, for the most speed.
///        They do not overlap.
/// \param index device memory: src.sizes[dim] contiguous values.
/// \param outside device-accessible memory, or null. An index outside [0, dst.sizes[dim]) adds nothing and nothing is
///        written for it; all others are added. Where there is one, *outside becomes the largest position of such an
///        index, plus 1, unless it was larger before; else it is not touched. Set it to 0 beforehand and read it when
///        the stream got there: PyTorch stops the program instead.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
/// \return cudaErrorInvalidValue for a problem outside the above, null or misaligned arrays that hold elements, or too
///         small a workspace; cudaErrorNotSupported for more than 2^30 entries where these have to be sorted
///         (`deterministic`, integers of 8 and 16 bits); else what CUDA says of the launches.
///
/// The kernel is chosen by shape (v9_dispatch.cuh). Where a row gets many entries, sums are in float at least, half
/// and bfloat16 rounded once at the end; where rows are many, atomics add in the tensor's type, in no order.
template <class T, class Index>
cudaError_t index_add(void* workspace, std::size_t& workspace_bytes, const IndexAddProblem& problem, T* dst,
                      const Index* index, const T* src, unsigned long long* outside, cudaStream_t stream) {
  using namespace chapter5;
  static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                "the index holds int32_t or int64_t");
  IndexAddProblem p = problem;
  p.type = element_type<T>();
  p.index_bytes = sizeof(Index);
  if (refuse_problem(p) != nullptr || p.dst.offset != 0 || p.src.offset != 0) return cudaErrorInvalidValue;
  if (workspace == nullptr) {  // Where the arrays will begin is not known.
    workspace_bytes = 0;
    for (p.alignment = 16; p.alignment > 0; p.alignment /= 2) {
      workspace_bytes = std::max(workspace_bytes, v9::workspace_bytes(p));
    }
    return cudaSuccess;
  }
  if (p.empty()) return cudaSuccess;
  const auto aligned = [](const void* array, std::size_t bytes) {
    return array != nullptr && reinterpret_cast<std::uintptr_t>(array) % bytes == 0;
  };
  if (!aligned(index, sizeof(Index)) || !aligned(src, sizeof(T))) return cudaErrorInvalidValue;
  if (p.rows() > 0 && !aligned(dst, sizeof(T))) return cudaErrorInvalidValue;
  if (outside != nullptr && !aligned(outside, sizeof(*outside))) return cudaErrorInvalidValue;
  p.alignment = alignment_of(dst, src);
  if (workspace_bytes < v9::workspace_bytes(p) || !aligned(workspace, 256)) return cudaErrorInvalidValue;
  return v9::run_as<BitsOf<T>>(v9::choose(p), p,
                               {.dst = dst,
                                .index = index,
                                .src = src,
                                .outside = outside,
                                .workspace = workspace,
                                .workspace_bytes = workspace_bytes},
                               stream);
}

}  // namespace warpbook
