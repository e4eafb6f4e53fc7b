/// \file
/// v7b fast division: divisors known on the host, turned into multiplications.
///
/// v7a divides once for each dimension and element, twice over; a division has no instruction of its own. All
/// divisors are extents and strides that the host knows before the launch, so it computes for each a multiplier and a
/// shift, and a quotient costs a multiplication, an addition and a shift (common/cuda/fast_division.cuh).
///
/// Expect the divisions in the counters to disappear, the memory's counters to stay, and a gain as large as the share
/// of arithmetic in v7a's time: much for boxes, nothing for wide rows.
#pragma once

#include "chapters/chapter3_permute/v7a_any_permutation.cuh"

namespace warpbook::chapter3::v7b {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v7a::run_with<FastDivisor>(p, src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v7b
