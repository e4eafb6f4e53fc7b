/// \file
/// count_rule: PyTorch's dispatch, which looks at the number of entries alone.
///
/// 16 entries or fewer go to v2's kernel, more to v3's, each with PyTorch's grid. Expect the better of the two where
/// rows are long, and harm where they are short. 15 entries into a tensor of one dimension have rows of one element,
/// and v2's grid for that is one thread, which loops 15 times: the article's bad case.
/// Source: PyTorch, index_add_cuda_impl in aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include "chapters/chapter5_index_add/v4_dispatch_on_rows.cuh"

namespace warpbook::chapter5::count_rule {

//! [kernel]
inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return p.entries() <= v4::kFewEntries ? v2::run(p, a, stream) : v3::run(p, a, stream);
}
//! [kernel]

}  // namespace warpbook::chapter5::count_rule
