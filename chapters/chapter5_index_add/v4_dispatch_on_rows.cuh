/// \file
/// v4 dispatch on rows: v2 where one row fills the device, v3 everywhere else.
///
/// v3 divides once more per element than v2, and v2 leaves the device empty where rows are short. PyTorch asks how many
/// entries there are, and gives 16 or fewer to v2. The right question is how many threads a row makes. So v2 gets few
/// entries only where a row has an element for every thread that the device holds. Blocks always have 256 threads:
/// PyTorch's min(work, 128) makes blocks with a part of a warp, whose other lanes idle.
///
/// Expect v2's time for 15 entries of 4 MiB, and v3's for all short rows (asides/count_rule.cuh has PyTorch's rule).
/// Source: the dispatch is PyTorch's; the question is the article's, which calls PyTorch's grids unreasonable.
#pragma once

#include "chapters/chapter5_index_add/v3_large_index.cuh"

namespace warpbook::chapter5::v4 {

inline constexpr std::int64_t kThreads = 256;
inline constexpr std::int64_t kFewEntries = 16;

/// Whole warps, and as many blocks as are resident at a time.
inline v2::Grid fitting_grid(std::int64_t work) {
  //! [exercise dispatch_grid]
  return {std::min(ceil_div(work, kThreads), std::int64_t(multiprocessors()) * 8), kThreads};
  //! [exercise dispatch_grid]
}

//! [kernel]
/// True where the loop over entries is the better form.
inline bool row_fills_device(const IndexAddProblem& p) {
  //! [exercise dispatch_rule]
  return p.entries() <= kFewEntries && p.row_elements() >= std::int64_t(multiprocessors()) * 2048;
  //! [exercise dispatch_rule]
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return row_fills_device(p) ? v2::run_on(fitting_grid(p.row_elements()), p, a, stream)
                             : v3::run_on(fitting_grid(p.src.count()), p, a, stream);
}
//! [kernel]

}  // namespace warpbook::chapter5::v4
