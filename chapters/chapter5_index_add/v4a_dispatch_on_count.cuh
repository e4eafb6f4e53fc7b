/// \file
/// v4a dispatch on count: few entries to v2, many to v3.
///
/// That is PyTorch's rule, with its cut: 16 entries or fewer go to the small-index kernel. The chapter's cases with 1
/// to 256 entries of 4096 elements sweep the cut: compare the rows of v2 and v3 there. A table with v3 in place of this
/// step is a table without dispatch.
///
/// Expect the better of the two where rows are long. Expect harm where they are short: the rule looks at the entries
/// alone. 15 entries into a tensor of one dimension have rows of one element, and v2's grid for that is one thread,
/// which loops 15 times: the article's bad case.
#pragma once

#include "chapters/chapter5_index_add/v2_small_index.cuh"
#include "chapters/chapter5_index_add/v3_large_index.cuh"

namespace warpbook::chapter5::v4a {

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return p.entries() < kLargeIndex ? v2::run(p, a, stream) : v3::run(p, a, stream);
}

}  // namespace warpbook::chapter5::v4a
