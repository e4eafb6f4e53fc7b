/// \file
/// v6 fast division: a divisor that is known before the launch becomes a multiplication.
///
/// v5 still divides once per element, by a size that all threads share. nvcc makes two divisions of that, for n / d and
/// for n % d, about half of the kernel's instructions. The host knows the sizes. It works out a multiplier and a shift
/// for each, and a quotient costs three instructions (common/cuda/fast_division.cuh). The remainder follows from the
/// quotient.
///
/// Expect no division at all, and time only as far as arithmetic was the limit: where atomics are slow, nothing.
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::v6 {

//! [kernel]
inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_with<FastDivisor<std::uint32_t>>(p, a, stream);
}
//! [kernel]

}  // namespace warpbook::chapter5::v6
