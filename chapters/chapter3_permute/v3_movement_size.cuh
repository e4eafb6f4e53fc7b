/// \file
/// v3 movement size: words of up to 16 bytes, where the last dimension stays last.
///
/// v2b moves one element per thread. For a half that is one address calculation, one load and one store for 2 bytes.
/// Where the last dimension keeps its place, runs of it move as they are. So let the "element" be a word of 16 bytes,
/// if the last dimension holds a whole number of them and both arrays are aligned. The rule is `movement_bytes` in
/// permute.hpp; the kernel is still v2a's, with a wider word and a shorter last dimension.
///
/// Expect an eighth of the threads, requests and divisions for halves, and nothing where the last dimension moves.
#pragma once

#include "chapters/chapter3_permute/v2b_merged_dims.cuh"

namespace warpbook::chapter3::v3 {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  const PermuteProblem m = merged(p);
  //! [exercise movement_size]
  return v2b::run(with_elements_of(m, movement_bytes(m)), src, dst, stream);
  //! [exercise movement_size]
}
//! [kernel]

}  // namespace warpbook::chapter3::v3
