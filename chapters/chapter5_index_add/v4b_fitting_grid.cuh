/// \file
/// v4b fitting grid: the small-index kernel only where a row fills the card, and blocks of whole warps.
///
/// The question is not how many entries there are but how many threads a row makes. So v2 gets few entries whose rows
/// have an element for every thread the card holds, where it saves loads of the index; all else goes to v3, whose grid
/// covers all of src. Blocks have 256 threads always: PyTorch's min(work, 128) makes blocks with part of a warp, whose
/// other lanes idle.
///
/// Expect the article's bad case, (33554432,) += (15,), to take 15 threads at once instead of one thread 15 times.
#pragma once

#include "chapters/chapter5_index_add/v2_small_index.cuh"
#include "chapters/chapter5_index_add/v3_large_index.cuh"

namespace warpbook::chapter5::v4b {

/// True where the loop over entries is the better form.
inline bool small_index_fits(const IndexAddProblem& p) {
  return p.entries() < kLargeIndex && p.row_elements() >= std::int64_t(multiprocessors()) * 2048;
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return small_index_fits(p) ? v2::run_with(p, a, fitting_grid(p.row_elements()), stream)
                             : v3::run_with(p, a, fitting_grid(p.src.count()), stream);
}

}  // namespace warpbook::chapter5::v4b
