/// \file
/// v7d staged steps: a step's source comes as it lies, and is picked apart in shared memory.
///
/// In x[..., ::2] of bytes v7a loads every element by itself: four requests for the 4 bytes that it writes, each of
/// which touches sectors that the other three touch again, and an index for each. But with so small a step all of the
/// source is wanted, sector by sector. So a block copies its part of it to shared memory in words of 16 bytes,
/// asynchronously and without registers in between, and picks the elements there. Rows are long, or have become one
/// long row by merging: nearly all blocks' elements lie in one row each, and there the next element is an addition
/// away. A block in which a row ends goes through global memory, as v7a does.
///
/// A first form took any view whose elements follow each other closely, short rows as well, and carried the index as
/// v7a does. Nsight Compute counted 81 instructions a pack of 4 bytes, with issue slots 78% busy; short rows were
/// slower than in v7a. Hence the one row.
///
/// Expect a few requests of 16 bytes where v7a has one for each element, and the time of the bytes.
#pragma once

#include <cuda_pipeline.h>

#include "chapters/chapter2_strided/v7c_shifted_rows.cuh"

namespace warpbook::chapter2::v7d {

inline constexpr int kThreads = 256;
inline constexpr int kMostTileBytes = 8 << 10;     ///< Of the result, that a block makes;
inline constexpr int kLeastTileBytes = 1 << 10;    ///< or so many, where the step is long.
inline constexpr int kMostStagedBytes = 24 << 10;  ///< Of the source, that it stages.
/// From how many tiles on a row is long.
inline constexpr int kTilesOfRow = 4;

/// What the kernel writes, as v7a::Extent, and a block's part of it.
struct Extent {
  std::uint32_t packs;
  int head;
  int tail;
  std::uint32_t count;
  std::uint32_t tile_packs;
  const char* src_begin;  // Whole words must not reach beyond the view's array.
  const char* src_end;
};

/// Brings [from, to) of the source, in aligned words of 16 bytes, to `staged`.
template <int bytes>
__device__ __forceinline__ void stage(char* staged, const char* from, const char* to, const Extent& extent) {
  const char* const aligned = from - reinterpret_cast<std::uintptr_t>(from) % 16;
  const int words = static_cast<int>((to - aligned + 15) / 16);
  for (int w = static_cast<int>(threadIdx.x); w < words; w += kThreads) {
    const char* const at = aligned + std::int64_t(w) * 16;
    if (at >= extent.src_begin && at + 16 <= extent.src_end) {
      __pipeline_memcpy_async(staged + w * 16, at, 16);
    } else {
      for (int b = 0; b < 16; b += bytes) {
        if (at + b >= extent.src_begin && at + b < extent.src_end) {
          *reinterpret_cast<Word<bytes>*>(staged + w * 16 + b) = *reinterpret_cast<const Word<bytes>*>(at + b);
        }
      }
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

//! [kernel]
template <class W>
__global__ void __launch_bounds__(kThreads, 8)
    staged_kernel(W* __restrict__ dst, const W* __restrict__ src,
                  const __grid_constant__ WalkedView<std::uint32_t> view, const __grid_constant__ Extent extent) {
  constexpr int pack = v7a::kPack<W>;
  using P = Pack<W, pack>;
  char* const staged = dynamic_shared<char>();
  const int thread = static_cast<int>(threadIdx.x);
  Walk<std::uint32_t> walk;
  if (blockIdx.x == 0 && thread < extent.head + extent.tail) {
    const std::uint32_t linear =
        thread < extent.head ? std::uint32_t(thread) : extent.count - std::uint32_t(extent.head + extent.tail - thread);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }

  const std::uint32_t first = blockIdx.x * extent.tile_packs;
  if (first >= extent.packs) return;
  const std::uint32_t packs = min(extent.tile_packs, extent.packs - first);
  P* const to = reinterpret_cast<P*>(dst + extent.head) + first;
  const std::uint32_t step = view.strides[0];
  walk.locate(view, std::uint32_t(extent.head) + first * pack);
  if (walk.last + packs * pack <= view.sizes[0].divisor) {
    const W* const begin = src + walk.offset(view);
    stage<int(sizeof(W))>(staged, reinterpret_cast<const char*>(begin),
                          reinterpret_cast<const char*>(begin + (packs * pack - 1) * step + 1), extent);
    __syncthreads();
    const W* const row = reinterpret_cast<const W*>(staged + reinterpret_cast<std::uintptr_t>(begin) % 16);
#pragma unroll 4
    for (std::uint32_t p = std::uint32_t(thread); p < packs; p += kThreads) {
      P word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = row[(p * pack + std::uint32_t(j)) * step];
      store_whole(to + p, word);
    }
    return;
  }
  for (std::uint32_t p = std::uint32_t(thread); p < packs; p += kThreads) {  // A row ends in the tile.
    walk.locate(view, std::uint32_t(extent.head) + (first + p) * pack);
    P word;
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      word[j] = src[walk.offset(view)];
      if (j + 1 < pack) walk.advance(view, 1, 0);
    }
    store_whole(to + p, word);
  }
}
//! [kernel]

/// Bytes of the result that a block makes of elements that lie a step apart.
inline int tile_bytes(int element_bytes, std::int64_t step) {
  int tile = kMostTileBytes;
  while (tile * step + 32 > kMostStagedBytes) tile /= 2;
  return tile / element_bytes * element_bytes;
}

/// Why the step has nothing to add for a collapsed problem; nullptr where it has.
inline const char* refuse(const StridedProblem& p) {
  const TensorView& view = p.view;
  if (p.into_view) return "a view that is written";
  if (p.element_bytes > 2) return "elements must have 1 or 2 bytes";
  const std::int64_t step = view.dims == 0 ? 0 : view.strides[view.dims - 1];
  if (step < 2 || step > kMostStagedBytes / kLeastTileBytes - 1) return "a step of 2 to 23 elements is needed";
  if (!fits_32_bits(view, kMostTileBytes)) return "2^31 elements or more";
  return view.sizes[view.dims - 1] * p.element_bytes >= kTilesOfRow * tile_bytes(p.element_bytes, step)
             ? nullptr
             : "rows must be as long as several tiles";
}

/// Moves a collapsed problem that is not refused.
inline cudaError_t run_staged(const Prepared& q, cudaStream_t stream) {
  const auto launch_with = [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = v7a::kPack<W>;
    const TensorView& view = q.problem.view;
    const std::int64_t count = view.count();
    const std::int64_t step = view.strides[view.dims - 1];
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % (pack * bytes)) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off;
    const std::int64_t packs = (count - head) / pack;
    const int tile = tile_bytes(bytes, step);
    const auto* const begin = reinterpret_cast<const char*>(q.src);
    const Extent extent{static_cast<std::uint32_t>(packs),
                        static_cast<int>(head),
                        static_cast<int>(count - head - packs * pack),
                        static_cast<std::uint32_t>(count),
                        static_cast<std::uint32_t>(tile / (pack * bytes)),
                        begin,
                        begin + (view.reach() + 1) * bytes};
    return launch(staged_kernel<W>,
                  {.grid = ceil_div<std::int64_t>(packs, extent.tile_packs),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(tile * step + 32),
                   .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), walked<std::uint32_t>(view, 0),
                  extent);
  };
  return q.problem.element_bytes == 1 ? launch_with.template operator()<1>() : launch_with.template operator()<2>();
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return refuse(q.problem) == nullptr ? run_staged(q, stream) : v7c::run_prepared(q, stream);
}

}  // namespace warpbook::chapter2::v7d
