/// \file
/// gather: a thread gathers several elements of the output, all its loads before its stores; for rows that stay rows,
/// for elements of 8 and 16 bytes, and for what is too large for all others. It takes any problem.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::gather {

/// Threads of a block, and words of each, which lie kThreads apart so that a warp's request stays contiguous.
template <class W> inline constexpr int kThreads = sizeof(W) == 16 ? 512 : 256;
template <class W> inline constexpr int kWords = sizeof(W) == 16 ? 2 : 4;

/// Strides by the output's dimensions. The number of dimensions is a run-time value: it is the same for all threads,
/// and one kernel serves every rank.
template <class Index> struct Layout {
  int rank;
  FastDivisor<Index> dst_stride[kMaxRank];
  Index src_stride[kMaxRank];
};

template <class W, class Index>
__global__ void __launch_bounds__(kThreads<W>)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<Index> layout, Index count) {
  const Index first = Index(blockIdx.x) * (kThreads<W> * kWords<W>)+threadIdx.x;
  W word[kWords<W>];
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    Index remaining = first + Index(i * kThreads<W>);
    if (remaining < count) {
      Index src_offset = 0;
#pragma unroll
      for (int d = 0; d < kMaxRank; ++d) {
        if (d == layout.rank - 1) break;
        const auto [index, rest] = layout.dst_stride[d].divide(remaining);
        src_offset += index * layout.src_stride[d];
        remaining = rest;
      }
      word[i] = load_keeping<(sizeof(W) > 1)>(src + src_offset + remaining * layout.src_stride[layout.rank - 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    const Index dst_offset = first + Index(i * kThreads<W>);
    if (dst_offset < count) dst[dst_offset] = word[i];
  }
}

/// Gathers elements by offsets of the type Index. `p` is not empty.
template <class Index> cudaError_t run_as(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t count = p.count();
  const Strides to = dst_strides(p);
  const Strides from = src_strides(p);
  Layout<Index> layout{};
  layout.rank = p.rank > 0 ? p.rank : 1;
  for (int d = 0; d < p.rank; ++d) {
    layout.dst_stride[d] = FastDivisor<Index>(static_cast<Index>(to[d]));
    layout.src_stride[d] = static_cast<Index>(from[p.permutation[d]]);
  }
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(
        permute_kernel<W, Index>,
        {.grid = ceil_div<std::int64_t>(count, kThreads<W> * kWords<W>), .block = kThreads<W>, .stream = stream},
        static_cast<W*>(dst), static_cast<const W*>(src), layout, static_cast<Index>(count));
  });
}

/// Gathers words, however wide the problem's elements are. `m` is simplified and not empty.
inline cudaError_t run_words(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  // Offsets stay below 2^31 up to the end of the last block's words, as FastDivisor needs.
  return fits_32_bits(m.count() + 1024) ? run_as<std::uint32_t>(m, src, dst, stream)
                                        : run_as<std::uint64_t>(m, src, dst, stream);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return p.count() == 0 ? cudaSuccess : run_words(simplified(p), src, dst, stream);
}

}  // namespace warpbook::chapter3::gather
