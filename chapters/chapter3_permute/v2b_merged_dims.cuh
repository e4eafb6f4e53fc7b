/// \file
/// v2b merged dims: dimensions of size 1 dropped, neighbours that move together merged.
///
/// v2a pays a division for each dimension but the last. Many dimensions carry no information: (0,1,2,3) -> (2,3,0,1)
/// moves 2 and 3 as a block and 0 and 1 as a block, and is a transposed matrix. The rule is `merged` in permute.hpp;
/// the kernel is v2a's, with fewer dimensions to divide by.
///
/// Expect fewer divisions where dimensions merge, and nothing at all where none do.
#pragma once

#include "chapters/chapter3_permute/v2a_index_type.cuh"

namespace warpbook::chapter3::v2b {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v2a::run(merged(p), src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v2b
