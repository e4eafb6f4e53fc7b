/// \file
/// staged_steps: the source of a long row with a small step comes to shared memory whole, and is picked apart there.
/// Rows are long: a block in which one ends goes through global memory.
#pragma once

#include <cuda_pipeline.h>

#include "chapters/chapter2_strided/library/places.cuh"
#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::staged_steps {

using View = v6::View<std::uint32_t>;
using Walk = v6::Walk<std::uint32_t>;

inline constexpr int kThreads = 256;
inline constexpr int kMostTileBytes = 8 << 10;     ///< Of the result, that a block makes;
inline constexpr int kLeastTileBytes = 1 << 10;    ///< or so many, where the step is long.
inline constexpr int kMostStagedBytes = 24 << 10;  ///< Of the source, that it stages.
inline constexpr int kTilesOfRow = 4;              ///< From how many tiles on a row is long.

struct Plan {
  Packs<std::uint32_t> whole;
  std::uint32_t tile_packs;  ///< That a block makes.
  SourceRange source;
};

/// Brings [from, to) of the source, in aligned words of 16 bytes, to `staged`.
template <int bytes>
__device__ __forceinline__ void stage(char* staged, const char* from, const char* to, const Plan& plan) {
  const char* const aligned = from - reinterpret_cast<std::uintptr_t>(from) % 16;
  const int words = static_cast<int>((to - aligned + 15) / 16);
  for (int w = threadIdx.x; w < words; w += kThreads) {
    const char* const at = aligned + std::int64_t(w) * 16;
    if (plan.source.holds(at, at + 16)) {
      __pipeline_memcpy_async(staged + w * 16, at, 16);
    } else {
      for (int b = 0; b < 16; b += bytes) {
        if (at + b >= plan.source.begin && at + b < plan.source.end) {
          *reinterpret_cast<Word<bytes>*>(staged + w * 16 + b) = *reinterpret_cast<const Word<bytes>*>(at + b);
        }
      }
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

template <class W>
__global__ void __launch_bounds__(kThreads, 8)
    staged_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View view,
                  const __grid_constant__ Plan plan) {
  constexpr int pack = 4 / sizeof(W);
  using P = Pack<W, pack>;
  char* const staged = dynamic_shared<char>();
  Walk walk;
  if (blockIdx.x == 0 && threadIdx.x < plan.whole.ends) {
    const std::uint32_t linear = plan.whole.end(threadIdx.x, pack);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }

  const std::uint32_t first = blockIdx.x * plan.tile_packs;
  if (first >= plan.whole.count) return;
  const std::uint32_t packs = min(plan.tile_packs, plan.whole.count - first);
  P* const to = reinterpret_cast<P*>(dst + plan.whole.head) + first;
  const std::uint32_t step = view.strides[0];
  walk.locate(view, plan.whole.head + first * pack);
  if (walk.last + packs * pack <= view.sizes[0].divisor) {
    const W* const begin = src + walk.offset(view);
    stage<int(sizeof(W))>(staged, reinterpret_cast<const char*>(begin),
                          reinterpret_cast<const char*>(begin + (packs * pack - 1) * step + 1), plan);
    __syncthreads();
    const W* const row = reinterpret_cast<const W*>(staged + reinterpret_cast<std::uintptr_t>(begin) % 16);
#pragma unroll 4
    for (std::uint32_t p = threadIdx.x; p < packs; p += kThreads) {
      P word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = row[(p * pack + j) * step];
      store_whole(to + p, word);
    }
    return;
  }
  for (std::uint32_t p = threadIdx.x; p < packs; p += kThreads) {  // A row ends in the tile.
    walk.locate(view, plan.whole.head + (first + p) * pack);
    P word;
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      word[j] = src[walk.offset(view)];
      if (j + 1 < pack) walk.advance(view, 1, 0);
    }
    store_whole(to + p, word);
  }
}

/// Bytes of the result that a block makes of elements that lie a step apart.
inline int tile_bytes(int element_bytes, std::int64_t step) {
  int tile = kMostTileBytes;
  while (tile * step + 32 > kMostStagedBytes) tile /= 2;
  return tile / element_bytes * element_bytes;
}

inline const char* refuse(const StridedProblem& q) {
  if (q.into_view) return "a view that is written";
  if (q.element_bytes > 2) return "elements must have 1 or 2 bytes";
  const std::int64_t step = q.view.strides[q.view.dims - 1];
  if (step < 2 || step > kMostStagedBytes / kLeastTileBytes - 1) return "a step of 2 to 23 elements is needed";
  if (!fits_32_bits(q.view, kMostTileBytes)) return "2^31 elements or more";
  return q.view.sizes[q.view.dims - 1] * q.element_bytes >= kTilesOfRow * tile_bytes(q.element_bytes, step)
             ? nullptr
             : "rows must be as long as several tiles";
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  const std::int64_t step = view.strides[view.dims - 1];
  const auto launch_with = [&]<int bytes>() {
    using W = Word<bytes>;
    const int tile = tile_bytes(bytes, step);
    const Plan plan{packs_of<std::uint32_t>(q, 4 / bytes), static_cast<std::uint32_t>(tile / 4), source_of(q)};
    return launch(staged_kernel<W>,
                  {.grid = ceil_div<std::int64_t>(plan.whole.count, plan.tile_packs),
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(tile * step + 32),
                   .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), View(view, 0), plan);
  };
  return q.problem.element_bytes == 1 ? launch_with.template operator()<1>() : launch_with.template operator()<2>();
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::staged_steps
