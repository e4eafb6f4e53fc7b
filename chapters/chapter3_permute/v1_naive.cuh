/// \file
/// v1 naive: one thread an element, from output offset to index to input offset.
///
/// The definition, written down. A thread takes one offset of the output, turns it into an N-d index by dividing by the
/// output's strides, and turns the index into an offset of the input by multiplying with the input's. Offsets are
/// 64-bit, so that any tensor works.
///
/// Expect it to be slow twice over: 64-bit division has no instruction of its own and costs dozens of others, and
/// where the last dimension moves, neighbouring threads read addresses far apart, each fetching a 32-byte sector for
/// one element of it.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3 {

/// Calls `f.template operator()<rank>()` for a rank from 1 to kMaxRank; rank 0, one element, counts as 1.
template <class F> cudaError_t with_rank(int rank, F&& f) {
  switch (rank) {
  case 0:
  case 1:
    return f.template operator()<1>();
  case 2:
    return f.template operator()<2>();
  case 3:
    return f.template operator()<3>();
  case 4:
    return f.template operator()<4>();
  case 5:
    return f.template operator()<5>();
  case 6:
    return f.template operator()<6>();
  case 7:
    return f.template operator()<7>();
  case 8:
    return f.template operator()<8>();
  default:
    return cudaErrorInvalidValue;
  }
}

namespace v1 {

/// Strides by the output's dimensions.
template <int rank> struct Layout {
  std::int64_t dst_stride[rank];
  std::int64_t src_stride[rank];  // Of the input dimension that the output's dimension comes from.
};

//! [kernel]
template <int rank, class W>
__global__ void permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<rank> layout,
                               std::int64_t count) {
  const std::int64_t dst_offset = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (dst_offset >= count) return;

  //! [exercise offset_to_index]
  std::int64_t index[rank];
  std::int64_t remaining = dst_offset;
#pragma unroll
  for (int d = 0; d < rank - 1; ++d) {
    index[d] = remaining / layout.dst_stride[d];
    remaining -= index[d] * layout.dst_stride[d];
  }
  index[rank - 1] = remaining;

  std::int64_t src_offset = 0;
#pragma unroll
  for (int d = 0; d < rank; ++d) src_offset += index[d] * layout.src_stride[d];
  //! [exercise offset_to_index]

  dst[dst_offset] = src[src_offset];
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const std::int64_t count = p.count();
  if (count == 0) return cudaSuccess;
  const Strides to = dst_strides(p);
  const Strides from = src_strides(p);
  return with_rank(p.rank, [&]<int rank>() {
    return with_word_bytes(p.element_bytes, [&]<int bytes>() {
      Layout<rank> layout{};
      for (int d = 0; d < p.rank; ++d) {
        layout.dst_stride[d] = to[d];
        layout.src_stride[d] = from[p.permutation[d]];
      }
      using W = Word<bytes>;
      return launch(permute_kernel<rank, W>,
                    {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                    static_cast<W*>(dst), static_cast<const W*>(src), layout, count);
    });
  });
}

}  // namespace v1
}  // namespace warpbook::chapter3
