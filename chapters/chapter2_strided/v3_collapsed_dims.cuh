/// \file
/// v3 collapsed dims: dimensions of size 1 dropped, neighbours that are one run merged.
///
/// v2 divides for each dimension but the first. Many dimensions carry no information: in [:, ::2] of a tensor of shape
/// (64, 1024, 1024), stepping over the last dimension's 1024 elements is no step of the one before, but in
/// [:, :, :, ::2] of (64, 32, 32, 1024) all rows follow each other evenly, and four dimensions are one. The rule is
/// `collapse` in common/cuda/tensor_view.hpp: stride[i] = size[i + 1] x stride[i + 1]. The kernel is v2's.
///
/// Expect fewer divisions where dimensions merge, and nothing at all where none do.
#pragma once

#include "chapters/chapter2_strided/v2_static_dims.cuh"

namespace warpbook::chapter2::v3 {

//! [kernel]
inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return v2::run(q.problem, q.src, q.dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter2::v3
