/// \file
/// v7d staged runs: what a block needs of the source comes as it lies, and is picked apart in shared memory.
#pragma once

#include <cuda_pipeline.h>

#include "chapters/chapter2_strided/v7c_shifted_rows.cuh"

namespace warpbook::chapter2::v7d {

inline constexpr int kThreads = 256;
inline constexpr int kMostTileBytes = 16 << 10;     ///< Of the result, that a block makes.
inline constexpr int kMostStagedBytes = 24 << 10;   ///< Of the source, that it stages.

/// What the kernel writes, as v7a::Extent, and how a block goes about it.
struct Extent {
  std::uint32_t packs;
  int head;
  int tail;
  std::uint32_t count;
  int tile_packs;    // Packs of a block.
  int staged_bytes;  // Room for the source.
  const char* src_begin;
  const char* src_end;
};

/// Brings [from, to) of the source, and what stands around it in words of 16 bytes, to `staged`.
template <int bytes>
__device__ __forceinline__ void stage(char* staged, const char* from, const char* to, const Extent& extent) {
  const char* const aligned = from - reinterpret_cast<std::uintptr_t>(from) % 16;
  const int words = static_cast<int>((to - aligned + 15) / 16);
  for (int w = static_cast<int>(threadIdx.x); w < words; w += kThreads) {
    const char* const at = aligned + std::int64_t(w) * 16;
    if (at >= extent.src_begin && at + 16 <= extent.src_end) {
      __pipeline_memcpy_async(staged + w * 16, at, 16);
    } else {  // Beyond the array nothing is read.
      for (int b = 0; b < 16; b += bytes) {
        if (at + b >= extent.src_begin && at + b < extent.src_end) {
          *reinterpret_cast<Word<bytes>*>(staged + w * 16 + b) = *reinterpret_cast<const Word<bytes>*>(at + b);
        }
      }
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// Makes packs [first, end) of the result; element `offset` of the view is at from[offset - base].
template <class W>
__device__ __forceinline__ void pick(W* __restrict__ dst, const W* from, std::uint32_t base,
                                     const WalkedView<std::uint32_t>& view, const Extent& extent, std::uint32_t first,
                                     std::uint32_t end) {
  constexpr int pack = v7a::kPack<W>;
  using P = Pack<W, pack>;
  P* const dst_packs = reinterpret_cast<P*>(dst + extent.head);
  std::uint32_t p = first + threadIdx.x;
  if (p >= end) return;
  Walk<std::uint32_t> walk;
  walk.locate(view, std::uint32_t(extent.head) + p * pack);
#pragma unroll 4
  for (; p < end; p += kThreads) {
    P word;
    if (pack == 1 || walk.last + pack <= view.sizes[0].divisor) {  // The pack lies in one row.
      const std::uint32_t offset = walk.offset(view) - base;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = from[offset + std::uint32_t(j) * view.strides[0]];
    } else {
      Walk<std::uint32_t> one = walk;
#pragma unroll
      for (int j = 0; j < pack; ++j) {
        word[j] = from[one.offset(view) - base];
        if (j + 1 < pack) one.advance(view, 1, 0);
      }
    }
    store_whole(dst_packs + p, word);
    walk.advance(view, view.step_last, view.step_second);
  }
}

//! [kernel]
template <class W>
__global__ void __launch_bounds__(kThreads)
    staged_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ WalkedView<std::uint32_t> view,
                  const __grid_constant__ Extent extent) {
  constexpr int pack = v7a::kPack<W>;
  char* const staged = dynamic_shared<char>();
  Walk<std::uint32_t> walk;
  const int i = static_cast<int>(threadIdx.x);
  if (pack > 1 && blockIdx.x == 0 && i < extent.head + extent.tail) {
    const std::uint32_t linear =
        i < extent.head ? std::uint32_t(i) : extent.count - std::uint32_t(extent.head + extent.tail - i);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }
  const std::uint32_t first = blockIdx.x * std::uint32_t(extent.tile_packs);
  const std::uint32_t end = min(first + std::uint32_t(extent.tile_packs), extent.packs);
  if (first >= end) return;
  walk.locate(view, std::uint32_t(extent.head) + first * pack);
  const std::uint32_t base = walk.offset(view);
  walk.locate(view, std::uint32_t(extent.head) + end * pack - 1);
  const std::uint32_t last = walk.offset(view);
  const char* const from = reinterpret_cast<const char*>(src + base);
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 16);
  if (lead + std::int64_t(last - base + 1) * int(sizeof(W)) <= extent.staged_bytes) {
    stage<int(sizeof(W))>(staged, from, reinterpret_cast<const char*>(src + last + 1), extent);
    pick<W>(dst, reinterpret_cast<const W*>(staged + lead), base, view, extent, first, end);
  } else {  // A gap lies between.
    pick<W>(dst, src, 0, view, extent, first, end);
  }
}
//! [kernel]

/// The view's elements follow each other in the source in their own order.
inline bool in_order(const TensorView& view) {
  std::int64_t reach = 0;
  for (int d = view.dims - 1; d >= 0; --d) {
    if (view.strides[d] < reach) return false;
    reach += (view.sizes[d] - 1) * view.strides[d];
  }
  return true;
}

/// Elements of the source from the first to the last of `count` of the view's, where they begin with a row.
inline std::int64_t span(const TensorView& view, std::int64_t count) {
  std::int64_t result = 1;
  for (int d = view.dims - 1; d >= 0 && count > 1; --d) {
    const std::int64_t taken = std::min(view.sizes[d], count);
    result += (taken - 1) * view.strides[d];
    count = ceil_div<std::int64_t>(count, taken);
  }
  return result;
}

/// Packs of a block; 0: tiles do not fit.
inline int tile_packs(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const int bytes = q.problem.element_bytes;
  if (q.problem.into_view || bytes > 4 || !fits_32_bits(view, kMostTileBytes) || !in_order(view)) return 0;
  const int pack_bytes = 4;
  for (int tile = kMostTileBytes; tile >= 1024; tile /= 2) {
    const std::int64_t staged = span(view, tile / bytes) * bytes + 32;
    if (staged <= kMostStagedBytes) return tile / pack_bytes;
  }
  return 0;
}

/// Moves a collapsed problem for which `tile_packs` is not 0.
inline cudaError_t run_staged(const Prepared& q, cudaStream_t stream) {
  const int packs_of_tile = tile_packs(q);
  const auto launch_with = [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = v7a::kPack<W>;
    const TensorView& view = q.problem.view;
    const std::int64_t count = view.count();
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % (pack * bytes)) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off < count ? pack - off : count;
    const std::int64_t whole = (count - head) / pack;
    // Some room more than a tile needs as a rule: it may cross the end of a plane.
    const std::int64_t usual = span(view, std::int64_t{packs_of_tile} * pack) * bytes + 32;
    const int room = static_cast<int>(std::min<std::int64_t>(kMostStagedBytes, usual + 4096)) / 16 * 16;
    const char* const src = reinterpret_cast<const char*>(q.src);
    const Extent extent{static_cast<std::uint32_t>(whole),
                        static_cast<int>(head),
                        static_cast<int>(count - head - whole * pack),
                        static_cast<std::uint32_t>(count),
                        packs_of_tile,
                        room,
                        src,
                        src + (view.reach() + 1) * bytes};
    const std::int64_t grid = whole == 0 ? 1 : ceil_div<std::int64_t>(whole, packs_of_tile);
    return launch(
        staged_kernel<W>,
        {.grid = grid, .block = kThreads, .shared_bytes = static_cast<std::size_t>(room), .stream = stream},
        reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), walked<std::uint32_t>(view, kThreads * pack),
        extent);
  };
  switch (q.problem.element_bytes) {
  case 1:
    return launch_with.template operator()<1>();
  case 2:
    return launch_with.template operator()<2>();
  default:
    return launch_with.template operator()<4>();
  }
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return tile_packs(q) > 0 ? run_staged(q, stream) : v7c::run_prepared(p, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7d
