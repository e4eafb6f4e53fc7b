/// \file
/// v6a multiply-subtract: the remainder from the quotient.
///
/// v5 asks for n / d and for n % d. The article proposes to compute the remainder as n - q * d, one multiplication and
/// one subtraction instead of a second division.
///
/// It looks like something that compilers do by themselves, and clang does: the emulator counts as many divisions in
/// this step as in v5. nvcc 13.0 does not. Its machine code for v5 takes two reciprocals a division and this step's one
/// (`docs/results/nvidia-h200/sass/chapter5_v5_collapsed_dims_float.txt` and
/// `chapter5_v6a_multiply_subtract_float.txt`). Expect time only as far as arithmetic was the limit.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::v6a {

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_as<PlainDivisor>(p, a, PlainAdd{}, stream);
}

}  // namespace warpbook::chapter5::v6a
