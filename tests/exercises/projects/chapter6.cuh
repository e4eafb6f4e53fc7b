#pragma once

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter6::project {

constexpr int kThreads = 256;

template <class W>
__global__ void any_kernel(W* __restrict__ y, const W* __restrict__ x, Axis height, Axis width, std::int64_t count) {
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t line = i / width.out;
  const int column = int(i - line * width.out);
  const std::int64_t plane = line / height.out;
  const int row = int(line - plane * height.out);
  y[i] = x[(plane * height.in + height.source(row)) * width.in + width.source(column)];
}

template <int n, class W>
__global__ void doubled_kernel(Pack<W, 2 * n>* __restrict__ y, const Pack<W, n>* __restrict__ x, std::uint32_t row_packs,
                               std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= packs) return;
  const Pack<W, n> pack = x[i];
  Pack<W, 2 * n> twice;
#pragma unroll
  for (int k = 0; k < 2 * n; ++k) twice[k] = pack[k / 2];
  const std::uint64_t upper = i + std::uint64_t(i / row_packs) * row_packs;
  store_whole(&y[upper], twice);
  store_whole(&y[upper + row_packs], twice);
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  constexpr int kWide = 8 / int(sizeof(W));
  const std::int64_t packs = images.in_count() / kWide;
  if (is_two_by_two(images) && images.width.in % kWide == 0 && images.in_alignment >= 8 && images.out_alignment == 16 &&
      packs < 0x7fffffff) {
    return launch(doubled_kernel<kWide, W>, {.grid = ceil_div<std::int64_t>(packs, kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<Pack<W, 2 * kWide>*>(y), reinterpret_cast<const Pack<W, kWide>*>(x),
                  std::uint32_t(images.width.in / kWide), std::uint32_t(packs));
  }
  return launch(any_kernel<W>, {.grid = ceil_div<std::int64_t>(images.out_count(), kThreads), .block = kThreads, .stream = stream}, y,
                x, images.height, images.width, images.out_count());
}

}  // namespace warpbook::chapter6::project
