/// \file
/// v7k kept input: loads ask the L2 to keep what they read.
///
/// A transposing block reads parts of lines whose other parts another block will read, and writes whole runs that
/// nobody reads again. The L2 does not know: to it, a line that was written is as young as one that was read, and it
/// makes room by age. torch.compile's kernels, which were ahead of all steps up to here even on aligned matrices, load
/// with a hint: evict_last, lines to be kept before others. So do v7i's kernels here, for elements of 2 bytes and more;
/// those of one byte gain nothing. v7h's gather of halves, whose neighbours read the same lines again and again, has
/// the opposite hint at its stores: evict_first. v9 has both, but in the kernels of v5a, of v7d (asynchronous copies)
/// and of v7j, which have no registers to spare for it.
///
/// A line so kept stays, even when much else is read and written, until other such lines need its place. Whoever times
/// a kernel twice on the same input must free them in between (cudaCtxResetPersistingL2Cache), or the second run finds
/// them.
///
/// Expect the same counters, and a few percent less time, as Triton's kernels have. Why it is so on tensors that are
/// read only once, no counter has told us.
#pragma once

#include "chapters/chapter3_permute/v7i_output_order.cuh"

namespace warpbook::chapter3::v7k {

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return v7i::run_any<true>(p, src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v7k
