/// \file
/// Aside: several words under way per thread, where the last dimension stays last.
///
/// v3 moves one word per thread: load, wait, store. v4c has shown what four loads under way are worth. Here a thread
/// computes the addresses of several words, starts all loads, and stores afterwards.
///
/// We expected the last percents up to the copy. They did not come: v3 has so many warps that their loads, one each,
/// already keep the memory busy.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::wide_rows {

/// Threads of a block, and words of each, which lie kThreads apart so that a warp's request stays contiguous.
template <class W> inline constexpr int kThreads = sizeof(W) == 16 ? 512 : 256;
template <class W> inline constexpr int kWords = sizeof(W) == 16 ? 2 : 4;

/// Strides by the output's dimensions. The rank is a run-time value: one kernel serves every rank.
template <class Index> struct Layout {
  int rank;
  Index dst_stride[kMaxRank];
  Index src_stride[kMaxRank];
};

//! [kernel]
template <class W, class Index>
__global__ void __launch_bounds__(kThreads<W>)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<Index> layout, Index count) {
  const Index first = Index(blockIdx.x) * (kThreads<W> * kWords<W>)+threadIdx.x;
  W word[kWords<W>];
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    Index place = first + Index(i * kThreads<W>);
    //! [exercise word_guard]
    if (place < count) {
      //! [exercise word_guard]
      Index from = 0;
#pragma unroll
      for (int d = 0; d < kMaxRank - 1; ++d) {
        if (d == layout.rank - 1) break;
        const Index index = place / layout.dst_stride[d];
        place -= index * layout.dst_stride[d];
        from += index * layout.src_stride[d];
      }
      word[i] = src[from + place * layout.src_stride[layout.rank - 1]];
    }
  }
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    const Index dst_offset = first + Index(i * kThreads<W>);
    if (dst_offset < count) dst[dst_offset] = word[i];
  }
}
//! [kernel]

inline const char* refuse(const PermuteProblem& p) {
  const PermuteProblem m = merged(p);
  return m.rank <= 1 || keeps_last_dimension(m) ? nullptr : "the last dimension must stay last";
}

/// Moves words of a simplified problem with offsets of type Index.
template <class Index> cudaError_t run_as(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t count = q.count();
  const Strides to = dst_strides(q);
  const Strides from = src_strides(q);
  Layout<Index> layout{};
  layout.rank = q.rank > 0 ? q.rank : 1;
  for (int d = 0; d < q.rank; ++d) {
    layout.dst_stride[d] = static_cast<Index>(to[d]);
    layout.src_stride[d] = static_cast<Index>(from[q.permutation[d]]);
  }
  return with_word_bytes(q.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(
        permute_kernel<W, Index>,
        {.grid = ceil_div<std::int64_t>(count, kThreads<W> * kWords<W>), .block = kThreads<W>, .stream = stream},
        static_cast<W*>(dst), static_cast<const W*>(src), layout, static_cast<Index>(count));
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p);
  return fits_32_bits(q.count() + 1024) ? run_as<std::uint32_t>(q, src, dst, stream)
                                        : run_as<std::uint64_t>(q, src, dst, stream);
}

}  // namespace warpbook::chapter3::wide_rows
