/// \file
/// multiply_subtract: the remainder from the quotient.
///
/// v5 asks for n / d and for n % d. The article proposes n - q * d instead: one multiplication and one subtraction for
/// a second division. clang does so by itself, so the emulator counts as many divisions here as in v5. nvcc 13.0 does
/// not: its machine code has two reciprocals per division in v5, and one here. Expect time only as far as arithmetic
/// was the limit.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::multiply_subtract {

//! [kernel]
inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_with<PlainDivisor<std::uint32_t>>(p, a, stream);
}
//! [kernel]

}  // namespace warpbook::chapter5::multiply_subtract
