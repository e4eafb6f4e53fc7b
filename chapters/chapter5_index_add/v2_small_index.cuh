/// \file
/// v2 small index: a loop over the entries, and all threads over the row.
///
/// v1 loads the index for every element of src. PyTorch turns that round for few entries: every thread loops over the
/// entries, loads an index once, and strides over the row with it. What is left for an element is its place in the row,
/// in dst's shape and in src's.
///
/// Expect fewer index loads, and about v1's divisions: a row has a dimension less, but its place is found twice, once a
/// tensor. And expect a dependence on the shape: the grid covers one row. Few long rows fill the card; many short rows
/// leave it empty, while the entries pass one by one.
/// Source: PyTorch, indexFuncSmallIndex in aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include "chapters/chapter5_index_add/pytorch_form.cuh"

namespace warpbook::chapter5::v2 {

//! [kernel]
template <class T, class Number, class Row, class Add>
__global__ void small_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, Number entries, Number row_elements,
                                   float alpha, std::int64_t dst_length, Add add) {
  const auto first = static_cast<Number>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto step = static_cast<Number>(gridDim.x) * blockDim.x;
  //! [exercise each_entry]
  for (Number entry = 0; entry < entries; ++entry) {
    const std::int64_t row = index[static_cast<std::int64_t>(entry)];
    if (!inside(row, rows, static_cast<std::int64_t>(entry), outside)) continue;
    for (Number element = first; element < row_elements; element += step) {
      const Number to = dst_row.offset_of(element) + static_cast<Number>(row) * dst_row.row_stride;
      const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
      add(dst, static_cast<std::int64_t>(to), dst_length, narrow<T>(alpha * widen(src[from])));
    }
  }
  //! [exercise each_entry]
}
//! [kernel]

/// Launches the kernel with rows as they are given.
template <class T, class Number, template <class> class Divisor, int rank, class Add>
cudaError_t launch_small(const IndexAddProblem& p, const IndexAddArrays& a, const TensorView& dst_row,
                         const TensorView& src_row, Grid grid, Add add, cudaStream_t stream) {
  using Row = RowView<Number, Divisor, rank>;
  return launch(small_index_kernel<T, Number, Row, Add>, {.grid = grid.blocks, .block = grid.threads, .stream = stream},
                static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside,
                row_view<Number, Divisor, rank>(dst_row, p.dst.strides[p.dim]),
                row_view<Number, Divisor, rank>(src_row, p.src.strides[p.dim]), p.rows(),
                static_cast<Number>(p.entries()), static_cast<Number>(p.row_elements()), alpha_of<T>(p),
                p.dst.reach() + 1, add);
}

/// The kernel as this step has it: 64 bits, the dimensions as they come.
inline cudaError_t run_with(const IndexAddProblem& p, const IndexAddArrays& a, Grid grid, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_early_type(p.type, [&]<class T>() {
    return launch_small<T, std::uint64_t, ModuloDivisor, 0>(p, a, row_of(p.dst, p.dim), row_of(p.src, p.dim), grid,
                                                            PlainAdd{}, stream);
  });
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_types(p)) return reason;
  return p.entries() <= 65536 ? nullptr : "so many entries, one by one, take seconds";
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_with(p, a, pytorch_grid(p.row_elements()), stream);
}

}  // namespace warpbook::chapter5::v2
