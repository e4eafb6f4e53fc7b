/// \file
/// v6b fast division: divisors known on the host become multiplications.
///
/// What v6a cannot remove is the quotient itself: some twenty instructions for 32 bits. The sizes are known before the
/// launch, so the host computes a multiplier and a shift for each, and a quotient costs three instructions
/// (common/cuda/fast_division.cuh).
///
/// Expect the emulator's counter of divisions to read 0, and time only as far as arithmetic was the limit: where the
/// atomics are slow, nothing.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::v6b {

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_as<FastDivisor>(p, a, PlainAdd{}, stream);
}

}  // namespace warpbook::chapter5::v6b
