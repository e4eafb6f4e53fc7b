/// \file
/// v7a fast atomics: a half is added as a pair whose other half adds nothing.
///
/// No instruction adds one half to memory. `atomicAdd` of a half is a loop: read, add, compare and swap, until nobody
/// came between. That is two trips to the L2 at least, and more where entries meet. But the L2 adds a *pair* of halves
/// by itself. So a half goes there as a pair, and the neighbour gets -0.0, which changes nothing. The kernels are v6's
/// but for that call, and for the length of dst, which says whether there is a neighbour.
///
/// Expect float's time to stay, and half to become faster than float, because it has half the bytes.
/// Source: PyTorch, fastAtomicAdd in aten/src/ATen/native/cuda/KernelUtils.cuh. Chapter 4 tells more.
#pragma once

#include "chapters/chapter5_index_add/v6_fast_division.cuh"
#include "common/cuda/fast_atomic_add.cuh"

namespace warpbook::chapter5::v7a {

using Number = std::uint32_t;

//! [kernel]
template <class T, class Row>
__global__ void small_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, Number entries, Number row_elements,
                                   float alpha, std::int64_t dst_length) {
  const Number first = Number(blockIdx.x) * blockDim.x + threadIdx.x;
  const Number step = Number(gridDim.x) * blockDim.x;
  for (Number entry = 0; entry < entries; ++entry) {
    const std::int64_t row = index[entry];
    if (!inside(row, rows, entry, outside)) continue;
    for (Number element = first; element < row_elements; element += step) {
      const Number to = dst_row.offset_of(element) + Number(row) * dst_row.row_stride;
      const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
      fast_atomic_add(dst, std::int64_t(to), dst_length, narrow<T>(alpha * widen(src[from])));
    }
  }
}

//! [large]
template <class T, class Row>
__global__ void large_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, FastDivisor<Number> inner,
                                   bool index_major, Number count, float alpha, std::int64_t dst_length) {
  const Number step = Number(gridDim.x) * blockDim.x;
  for (Number number = Number(blockIdx.x) * blockDim.x + threadIdx.x; number < count; number += step) {
    const auto [quotient, remainder] = inner.divide(number);
    const Number entry = index_major ? quotient : remainder;
    const Number element = index_major ? remainder : quotient;
    const std::int64_t row = index[entry];
    if (!inside(row, rows, entry, outside)) continue;
    const Number to = dst_row.offset_of(element) + Number(row) * dst_row.row_stride;
    const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
    fast_atomic_add(dst, std::int64_t(to), dst_length, narrow<T>(alpha * widen(src[from])));
  }
}
//! [large]
//! [kernel]

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const auto entries = static_cast<Number>(p.entries());
  const auto row_elements = static_cast<Number>(p.row_elements());
  return v5::with_rows<FastDivisor<Number>>(p, [&]<class T, class Row>(const Row& dst_row, const Row& src_row) {
    auto* const dst = static_cast<T*>(a.dst);
    const auto* const src = static_cast<const T*>(a.src);
    const IndexView index = index_view(p, a);
    const std::int64_t dst_length = p.dst.reach() + 1;
    const bool index_major = index_is_major(p.dst, p.dim);
    const bool small = v4::row_fills_device(p);
    const auto [blocks, threads] = v4::fitting_grid(small ? p.row_elements() : p.src.count());
    const LaunchConfig config{.grid = blocks, .block = threads, .stream = stream};
    if (small) {
      return launch(small_index_kernel<T, Row>, config, dst, index, src, a.outside, dst_row, src_row, p.rows(), entries,
                    row_elements, alpha_of<T>(p), dst_length);
    }
    return launch(large_index_kernel<T, Row>, config, dst, index, src, a.outside, dst_row, src_row, p.rows(),
                  FastDivisor<Number>(index_major ? row_elements : entries), index_major,
                  static_cast<Number>(p.src.count()), alpha_of<T>(p), dst_length);
  });
}

}  // namespace warpbook::chapter5::v7a
