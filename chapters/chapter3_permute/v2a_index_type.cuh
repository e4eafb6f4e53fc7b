/// \file
/// v2a index type: 32-bit offsets wherever the number of elements allows.
///
/// v1 divides 64-bit numbers, though few tensors have more than 2^32 elements. A 32-bit division takes fewer
/// instructions. The index type becomes a template parameter, chosen on the host by the number of elements.
///
/// Expect the 64-bit divisions in the counters to become as many 32-bit ones, and a gain wherever the memory was not
/// already what v1 waited for.
#pragma once

#include <limits>

#include "chapters/chapter3_permute/v1_naive.cuh"

namespace warpbook::chapter3 {

/// True where offsets, and the offset of the last thread of a grid that covers them, fit 32 bits.
inline bool fits_32_bits(std::int64_t count) { return count <= std::numeric_limits<std::int32_t>::max(); }

namespace v2a {

/// Strides by the output's dimensions.
template <int rank, class Index> struct Layout {
  Index dst_stride[rank];
  Index src_stride[rank];
};

//! [kernel]
template <int rank, class W, class Index>
__global__ void permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<rank, Index> layout,
                               Index count) {
  const Index dst_offset = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (dst_offset >= count) return;

  //! [exercise offset_to_index]
  Index index[rank];
  Index remaining = dst_offset;
#pragma unroll
  for (int d = 0; d < rank - 1; ++d) {
    index[d] = remaining / layout.dst_stride[d];
    remaining -= index[d] * layout.dst_stride[d];
  }
  index[rank - 1] = remaining;

  Index src_offset = 0;
#pragma unroll
  for (int d = 0; d < rank; ++d) src_offset += index[d] * layout.src_stride[d];
  //! [exercise offset_to_index]

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

}  // namespace v2a
}  // namespace warpbook::chapter3
