/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No step is best everywhere. After merging dimensions, five cases remain: nothing moves, which is a copy; whole rows
/// move (v6b, with v7b's division); one of the fast dimensions is short (v7d's boxes); aligned matrices are transposed
/// (v6a); and all else that moves its last dimension (v7c's tiles). The choice looks at nothing but shape, permutation
/// and alignment.
///
/// Expect each case's best step, everywhere. This is what `permute.cuh` gives away, so what is measured is what people
/// take.
#pragma once

#include "chapters/chapter3_permute/v7c_any_rank_tile.cuh"
#include "chapters/chapter3_permute/v7d_rows_and_columns.cuh"

namespace warpbook::chapter3::v9 {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (m.rank <= 1) {
    const auto bytes = static_cast<std::size_t>(m.count() * m.element_bytes);
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor>(m, src, dst, stream);
  const PermuteProblem q = with_elements_of(m, movement_bytes(m, src, dst));
  if (v7c::refuse(q) != nullptr) return v7d::run_boxes(q, src, dst, stream);
  return v6a::refuse(q, src, dst) == nullptr ? v6a::run(q, src, dst, stream) : v7c::run_tiles(q, src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v9
