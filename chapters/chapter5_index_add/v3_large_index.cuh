/// \file
/// v3 large index: all threads over all of src, in the order that memory has.
///
/// v2's grid covers one row. With a thousand entries of a thousand elements that is a thousand threads, where the card
/// has room for 270,000. PyTorch's other kernel spreads over all elements of src again, as v1 does, and first divides
/// an element's number into its entry and its place in the row. Which of the two runs faster follows memory
/// (*index-major*): where a row's elements lie closer together than the rows, neighbouring threads take elements of one
/// row; where `dim` is the last dimension, they take neighbouring entries.
///
/// Expect it to fill the card whatever the shape, for one more division an element, and to be v2's better wherever the
/// entries are many. OneFlow has this form alone: the row of this step is its choice, no dispatch at all.
/// Source: PyTorch, indexFuncLargeIndex in aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include "chapters/chapter5_index_add/pytorch_form.cuh"

namespace warpbook::chapter5::v3 {

//! [kernel]
template <class T, class Number, template <class> class Divisor, class Row, class Add>
__global__ void large_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, Divisor<Number> inner, bool index_major,
                                   Number count, float alpha, std::int64_t dst_length, Add add) {
  const auto step = static_cast<Number>(gridDim.x) * blockDim.x;
  for (auto number = static_cast<Number>(blockIdx.x) * blockDim.x + threadIdx.x; number < count; number += step) {
    //! [exercise index_major]
    const auto [quotient, remainder] = inner.divide(number);
    const Number entry = index_major ? quotient : remainder;
    const Number element = index_major ? remainder : quotient;
    //! [exercise index_major]
    const std::int64_t row = index[static_cast<std::int64_t>(entry)];
    if (!inside(row, rows, static_cast<std::int64_t>(entry), outside)) continue;
    const Number to = dst_row.offset_of(element) + static_cast<Number>(row) * dst_row.row_stride;
    const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
    add(dst, static_cast<std::int64_t>(to), dst_length, narrow<T>(alpha * widen(src[from])));
  }
}
//! [kernel]

/// Launches the kernel with rows as they are given.
template <class T, class Number, template <class> class Divisor, int rank, class Add>
cudaError_t launch_large(const IndexAddProblem& p, const IndexAddArrays& a, const TensorView& dst_row,
                         const TensorView& src_row, Grid grid, Add add, cudaStream_t stream) {
  using Row = RowView<Number, Divisor, rank>;
  const bool index_major = index_is_major(p.dst, p.dim);
  return launch(large_index_kernel<T, Number, Divisor, Row, Add>,
                {.grid = grid.blocks, .block = grid.threads, .stream = stream}, static_cast<T*>(a.dst),
                index_view(p, a), static_cast<const T*>(a.src), a.outside,
                row_view<Number, Divisor, rank>(dst_row, p.dst.strides[p.dim]),
                row_view<Number, Divisor, rank>(src_row, p.src.strides[p.dim]), p.rows(),
                Divisor<Number>(static_cast<Number>(index_major ? p.row_elements() : p.entries())), index_major,
                static_cast<Number>(p.src.count()), alpha_of<T>(p), p.dst.reach() + 1, add);
}

/// The kernel as this step has it: 64 bits, the dimensions as they come.
inline cudaError_t run_with(const IndexAddProblem& p, const IndexAddArrays& a, Grid grid, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_early_type(p.type, [&]<class T>() {
    return launch_large<T, std::uint64_t, ModuloDivisor, 0>(p, a, row_of(p.dst, p.dim), row_of(p.src, p.dim), grid,
                                                            PlainAdd{}, stream);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_with(p, a, pytorch_grid(p.src.count()), stream);
}

}  // namespace warpbook::chapter5::v3
