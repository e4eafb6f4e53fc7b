/// \file
/// v3 collapsed dims: dimensions of size 1 go, and neighbours that are one run merge.
///
/// v2 divides for every dimension but the first. Some dimensions carry no information: in x[..., ::2] the step over a
/// whole row is the step between two rows, so all dimensions are one run of every second element. `collapse` in
/// common/cuda/tensor_view.hpp merges two neighbours where stride[i] = size[i + 1] x stride[i + 1]. The kernel is v2's.
///
/// Expect a division less per merged dimension, and nothing where none merges.
/// Source: PyTorch's aten/src/ATen/CollapseDims.h.
#pragma once

#include "chapters/chapter2_strided/v2_static_dims.cuh"

namespace warpbook::chapter2::v3 {

//! [kernel]
//! [view]
inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  //! [view]
  return v2::run(q.problem, q.src, q.dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter2::v3
