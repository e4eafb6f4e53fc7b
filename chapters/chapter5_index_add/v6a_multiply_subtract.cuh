/// \file
/// v6a multiply-subtract: the remainder from the quotient.
///
/// v5 asks for n / d and for n % d. The article proposes to compute the remainder as n - q * d, one multiplication and
/// one subtraction instead of a second division.
///
/// Expect nothing: a compiler sees both and does that by itself. `docs/results/nvidia-h200/sass/` holds the machine
/// code of both.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::v6a {

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_as<PlainDivisor>(p, a, PlainAdd{}, stream);
}

}  // namespace warpbook::chapter5::v6a
