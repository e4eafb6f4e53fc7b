/// \file
/// v6b wide rows: several words in flight a thread, where the last dimension stays last.
///
/// v3 moves one word a thread and ends: a load, a wait, a store, so a warp never has more than one load under way. Here
/// a thread computes all its addresses, starts all its loads, and then stores.
///
/// Expect the same requests and sectors as v3, fewer threads, and the last few percent up to the copy.
/// They did not come on an H200: README.md tells why.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "chapters/chapter3_permute/v2a_index_type.cuh"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::v6b {

/// Threads of a block, and words of each, which lie kThreads apart so that a warp's request stays contiguous.
template <class W> inline constexpr int kThreads = sizeof(W) == 16 ? 512 : 256;
template <class W> inline constexpr int kWords = sizeof(W) == 16 ? 2 : 4;

/// Strides by the output's dimensions. The number of dimensions is a run-time value here: it is the same for all
/// threads, and one kernel serves every rank.
template <template <class> class Divisor, class Index> struct Layout {
  int rank;
  Divisor<Index> dst_stride[kMaxRank];
  Index src_stride[kMaxRank];
};

//! [kernel]
template <class W, template <class> class Divisor, class Index, bool keeps = false>
__global__ void __launch_bounds__(kThreads<W>)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, Layout<Divisor, Index> layout, Index count) {
  const Index first = Index(blockIdx.x) * (kThreads<W> * kWords<W>)+threadIdx.x;
  W word[kWords<W>];
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    Index remaining = first + Index(i * kThreads<W>);
    //! [exercise word_guard]
    if (remaining < count) {
      //! [exercise word_guard]
      Index src_offset = 0;
#pragma unroll
      for (int d = 0; d < kMaxRank; ++d) {
        if (d == layout.rank - 1) break;
        const auto [index, rest] = layout.dst_stride[d].divide(remaining);
        src_offset += index * layout.src_stride[d];
        remaining = rest;
      }
      word[i] = load_keeping<keeps>(src + src_offset + remaining * layout.src_stride[layout.rank - 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < kWords<W>; ++i) {
    const Index dst_offset = first + Index(i * kThreads<W>);
    if (dst_offset < count) dst[dst_offset] = word[i];
  }
}
//! [kernel]

template <template <class> class Divisor, class Index, bool keeps = false>
cudaError_t run_as(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t count = p.count();
  const Strides to = dst_strides(p);
  const Strides from = src_strides(p);
  Layout<Divisor, Index> layout{};
  layout.rank = p.rank > 0 ? p.rank : 1;
  for (int d = 0; d < p.rank; ++d) {
    layout.dst_stride[d] = Divisor<Index>(static_cast<Index>(to[d]));
    layout.src_stride[d] = static_cast<Index>(from[p.permutation[d]]);
  }
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(
        permute_kernel<W, Divisor, Index, kHinted<keeps, bytes>>,
        {.grid = ceil_div<std::int64_t>(count, kThreads<W> * kWords<W>), .block = kThreads<W>, .stream = stream},
        static_cast<W*>(dst), static_cast<const W*>(src), layout, static_cast<Index>(count));
  });
}

/// Moves the widest words that the problem allows, dividing by `Divisor`.
template <template <class> class Divisor, bool keeps = false>
cudaError_t run_with(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  const PermuteProblem wide = with_elements_of(m, movement_bytes(m, src, dst));
  // Offsets stay below 2^31 up to the end of the last block's words, as FastDivisor needs.
  return fits_32_bits(wide.count() + 1024) ? run_as<Divisor, std::uint32_t, keeps>(wide, src, dst, stream)
                                           : run_as<Divisor, std::uint64_t, keeps>(wide, src, dst, stream);
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& p) {
  const PermuteProblem m = merged(p);
  return m.rank <= 1 || keeps_last_dimension(m) ? nullptr : "the last dimension must stay last";
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_with<PlainDivisor>(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v6b
