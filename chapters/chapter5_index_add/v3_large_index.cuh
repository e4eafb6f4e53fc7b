/// \file
/// v3 large index: all threads over all of src, in the order that memory has.
///
/// v2's grid covers one row. With a thousand entries of a thousand elements that is a thousand threads, where an H200
/// has room for 270,000. PyTorch's other kernel spreads over all elements of src, as v1 does, and divides an element's
/// number into its entry and its place in the row. Which of the two changes faster follows memory (*index-major*):
/// where a row's elements lie closer together than the rows do, neighbouring threads take elements of one row; where
/// `dim` is the last dimension, they take neighbouring entries.
///
/// Expect it to fill the device whatever the shape, and one more division per element. OneFlow has this form alone.
/// Source: PyTorch, indexFuncLargeIndex in aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include "chapters/chapter5_index_add/v2_small_index.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter5::v3 {

using v2::Grid;
using v2::TensorRow;

template <class Number> struct ModuloDivisor {
  Number divisor;
  __device__ Division<Number> divide(Number n) const { return {n / divisor, n % divisor}; }
};

//! [kernel]
template <class T, class Row, class Divisor, class Number = typename Row::Number>
__global__ void large_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, Divisor inner, bool index_major,
                                   Number count, float alpha) {
  const Number step = Number(gridDim.x) * blockDim.x;
  for (Number number = Number(blockIdx.x) * blockDim.x + threadIdx.x; number < count; number += step) {
    const auto [quotient, remainder] = inner.divide(number);
    const Number entry = index_major ? quotient : remainder;
    const Number element = index_major ? remainder : quotient;
    const std::int64_t row = index[entry];
    if (!inside(row, rows, entry, outside)) continue;
    const Number to = dst_row.offset_of(element) + Number(row) * dst_row.row_stride;
    const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
    atomicAdd(dst + to, narrow<T>(alpha * widen(src[from])));
  }
}
//! [kernel]

template <class T, class Divisor, class Row>
cudaError_t launch_large(const IndexAddProblem& p, const IndexAddArrays& a, const Row& dst_row, const Row& src_row,
                         Grid grid, cudaStream_t stream) {
  using Number = typename Row::Number;
  const bool index_major = index_is_major(p.dst, p.dim);
  return launch(large_index_kernel<T, Row, Divisor>, {.grid = grid.blocks, .block = grid.threads, .stream = stream},
                static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, dst_row, src_row,
                p.rows(), Divisor{static_cast<Number>(index_major ? p.row_elements() : p.entries())}, index_major,
                static_cast<Number>(p.src.count()), alpha_of<T>(p));
}

inline cudaError_t run_on(Grid grid, const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_type<Types::early>(p.type, [&]<class T>() {
    return launch_large<T, ModuloDivisor<std::uint64_t>>(p, a, TensorRow::of(p.dst, p.dim), TensorRow::of(p.src, p.dim),
                                                         grid, stream);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v3::run_on(v2::pytorch_grid(p.src.count()), p, a, stream);
}

}  // namespace warpbook::chapter5::v3
