/// \file
/// v2b merged dims: dimensions that move together become one.
///
/// v2a pays one division for every dimension but the last. Many dimensions carry no information. When NCHW becomes
/// NHWC, H and W stay neighbours, so H x W can be one dimension, and the problem is a batch of transposed matrices. The
/// rule is `merged` in permute.hpp; the kernel is v2a's, with fewer dimensions to divide by.
///
/// Expect fewer divisions where dimensions merge. Our headline cases have nothing to merge, so expect nothing there:
/// this step prepares v4a, which takes matrices and needs to recognise an image as one.
#pragma once

#include "chapters/chapter3_permute/v2a_index_type.cuh"

namespace warpbook::chapter3::v2b {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  //! [exercise merge]
  return v2a::run(merged(p), src, dst, stream);
  //! [exercise merge]
}
//! [kernel]

}  // namespace warpbook::chapter3::v2b
