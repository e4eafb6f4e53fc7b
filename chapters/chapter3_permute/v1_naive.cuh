/// \file
/// v1 naive: one thread per element.
///
/// This is the definition, written down. A thread takes one place in the output, divides by the output's strides to get
/// an index along each dimension, and multiplies the indices by the input's strides. All offsets have 64 bits, so any
/// tensor works.
///
/// Expect it to be slow for two reasons. A 64-bit division is a subroutine of dozens of instructions. And where the
/// last dimension moves, the 32 threads of a warp read 32 addresses that lie far apart: 32 sectors per request instead
/// of 4.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::v1 {

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
  std::int64_t remaining = dst_offset;
  std::int64_t src_offset = 0;
#pragma unroll
  for (int d = 0; d < rank - 1; ++d) {
    const std::int64_t index = remaining / layout.dst_stride[d];
    remaining -= index * layout.dst_stride[d];
    src_offset += index * layout.src_stride[d];
  }
  src_offset += remaining * layout.src_stride[rank - 1];
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

}  // namespace warpbook::chapter3::v1
