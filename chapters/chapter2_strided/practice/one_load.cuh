/// \file
/// one load: rows of a view in packs of 16 bytes. Where the last dimension is a broadcast, a pack shows one element.
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::one_load {

inline constexpr int kThreads = 256;

/// A view of three dimensions. A row is the last one, and has whole packs.
struct Rows {
  std::uint32_t inner;  // Rows of the second dimension.
  std::uint32_t row_packs;
  std::int64_t strides[3];
};

//! [kernel]
template <class W, int pack, bool broadcast>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(Pack<W, pack>* __restrict__ dst, const W* __restrict__ src, Rows rows, std::uint32_t packs) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= packs) return;
  const std::uint32_t row = i / rows.row_packs;
  const std::int64_t in_row = std::int64_t{i % rows.row_packs} * pack;
  const W* from = src + row / rows.inner * rows.strides[0] + row % rows.inner * rows.strides[1];

  //! [exercise one_load]
  constexpr int loads = broadcast ? 1 : pack;
  //! [exercise one_load]
  W element[loads];
#pragma unroll
  for (int j = 0; j < loads; ++j) element[j] = from[(in_row + j) * rows.strides[2]];
  Pack<W, pack> word;
#pragma unroll
  for (int j = 0; j < pack; ++j) word[j] = element[j % loads];
  store_whole(dst + i, word);
}
//! [kernel]

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const TensorView& view = p.view;
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    constexpr int pack = 16 / bytes;
    if (view.dims != 3 || view.sizes[2] % pack != 0 || p.alignment < 16 || p.into_view) return cudaErrorNotSupported;
    const Rows rows{static_cast<std::uint32_t>(view.sizes[1]),
                    static_cast<std::uint32_t>(view.sizes[2] / pack),
                    {view.strides[0], view.strides[1], view.strides[2]}};
    const auto packs = static_cast<std::uint32_t>(p.count() / pack);
    using W = Word<bytes>;
    return launch(view.strides[2] == 0 ? rows_kernel<W, pack, true> : rows_kernel<W, pack, false>,
                  {.grid = ceil_div(packs, std::uint32_t{kThreads}), .block = kThreads, .stream = stream},
                  static_cast<Pack<W, pack>*>(dst), static_cast<const W*>(src) + view.offset, rows, packs);
  });
}

}  // namespace warpbook::chapter2::one_load
