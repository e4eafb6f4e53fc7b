/// \file
/// fewer dims: v1's kernel, on a view with as few dimensions as it can have.
///
/// v1 divides once per dimension and thread, the first one left out. A dimension of size 1 says nothing. Two neighbours
/// are one dimension where a step along the outer one is a walk over the whole inner one.
#pragma once

#include "chapters/chapter2_strided/v1_naive.cuh"

namespace warpbook::chapter2::fewer_dims {

//! [kernel]
inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  StridedProblem q = p;
  //! [exercise fewer_dims]
  q.view.dims = 0;
  for (int inner = 0; inner < p.view.dims; ++inner) {
    const std::int64_t size = p.view.sizes[inner];
    const std::int64_t stride = p.view.strides[inner];
    const int outer = q.view.dims - 1;
    if (size == 1) continue;
    if (outer >= 0 && q.view.strides[outer] == size * stride) {
      q.view.sizes[outer] *= size;
      q.view.strides[outer] = stride;
    } else {
      q.view.sizes[q.view.dims] = size;
      q.view.strides[q.view.dims++] = stride;
    }
  }
  //! [exercise fewer_dims]
  return v1::run(q, src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter2::fewer_dims
