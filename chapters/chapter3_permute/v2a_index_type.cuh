/// \file
/// v2a index type: 32-bit offsets wherever the tensor is small enough.
///
/// v1 divides 64-bit numbers, although few tensors have more than 2^31 elements. A 32-bit division takes about a third
/// of the instructions. So the type of the offsets becomes a template parameter, and the host chooses it by the number
/// of elements.
///
/// Expect every 64-bit division to become a 32-bit one, and a gain only where v1 waited for arithmetic: on rows that
/// stay whole. Where the last dimension moves, v1 waits for memory, and that does not change.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::v2a {

/// Strides by the output's dimensions.
template <int rank, class Index> struct Layout {
  Index dst_stride[rank];
  Index src_stride[rank];  // Of the input dimension that the output's dimension comes from.
};

//! [kernel]
template <int rank, class W, class Index>
__global__ void permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<rank, Index> layout,
                               Index count) {
  const Index dst_offset = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (dst_offset >= count) return;

  //! [exercise index_type]
  Index remaining = dst_offset;
  Index src_offset = 0;
#pragma unroll
  for (int d = 0; d < rank - 1; ++d) {
    const Index index = remaining / layout.dst_stride[d];
    remaining -= index * layout.dst_stride[d];
    src_offset += index * layout.src_stride[d];
  }
  src_offset += remaining * layout.src_stride[rank - 1];
  //! [exercise index_type]

  dst[dst_offset] = src[src_offset];
}
//! [kernel]

template <class Index> cudaError_t run_as(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const std::int64_t count = p.count();
  const Strides to = dst_strides(p);
  const Strides from = src_strides(p);
  return with_rank(p.rank, [&]<int rank>() {
    return with_word_bytes(p.element_bytes, [&]<int bytes>() {
      Layout<rank, Index> layout{};
      for (int d = 0; d < p.rank; ++d) {
        layout.dst_stride[d] = static_cast<Index>(to[d]);
        layout.src_stride[d] = static_cast<Index>(from[p.permutation[d]]);
      }
      using W = Word<bytes>;
      return launch(permute_kernel<rank, W, Index>,
                    {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                    static_cast<W*>(dst), static_cast<const W*>(src), layout, static_cast<Index>(count));
    });
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return fits_32_bits(p.count()) ? run_as<std::uint32_t>(p, src, dst, stream)
                                 : run_as<std::uint64_t>(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v2a
