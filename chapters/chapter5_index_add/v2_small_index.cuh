/// \file
/// v2 small index: a loop over the entries, and all threads over the row.
///
/// v1 loads the index once per element of src. PyTorch turns that round for few entries: every thread loops over the
/// entries, loads an index once, and strides over the row with it. What is left to find is an element's place in the
/// row, once in dst's shape and once in src's.
///
/// Expect fewer loads of the index, and a division more than v1's three, as the place is found twice. And expect a
/// dependence on the shape. The grid covers one row: long rows fill the device, short rows leave it empty while the
/// entries pass.
/// Source: PyTorch, indexFuncSmallIndex in aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/elements.cuh"

namespace warpbook::chapter5::v2 {

/// A tensor's row: `dim` counts as one place, and `row_stride` steps along it. PyTorch's TensorInfo.
struct TensorRow {
  using Number = std::uint64_t;
  int dims;
  Number size[kMaxViewDims];
  Number stride[kMaxViewDims];
  Number row_stride;

  /// Of `view` without `dim`.
  static TensorRow of(const TensorView& view, int dim) {
    TensorRow row{view.dims, {}, {}, static_cast<Number>(view.strides[dim])};
    for (int d = 0; d < view.dims; ++d) {
      row.size[d] = static_cast<Number>(d == dim ? 1 : view.sizes[d]);
      row.stride[d] = static_cast<Number>(view.strides[d]);
    }
    return row;
  }

  /// Offset of the row's element number `linear`. PyTorch's IndexToOffset.
  __device__ __forceinline__ Number offset_of(Number linear) const {
    Number offset = 0;
    for (int d = dims - 1; d > 0; --d) {
      offset += linear % size[d] * stride[d];
      linear /= size[d];
    }
    return offset + linear * stride[0];
  }
};

//! [kernel]
template <class T, class Row, class Number = typename Row::Number>
__global__ void small_index_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                   Row dst_row, Row src_row, std::int64_t rows, Number entries, Number row_elements,
                                   float alpha) {
  const Number first = Number(blockIdx.x) * blockDim.x + threadIdx.x;
  const Number step = Number(gridDim.x) * blockDim.x;
  //! [exercise each_entry]
  for (Number entry = 0; entry < entries; ++entry) {
    const std::int64_t row = index[entry];
    if (!inside(row, rows, entry, outside)) continue;
    for (Number element = first; element < row_elements; element += step) {
      const Number to = dst_row.offset_of(element) + Number(row) * dst_row.row_stride;
      const Number from = src_row.offset_of(element) + entry * src_row.row_stride;
      atomicAdd(dst + to, narrow<T>(alpha * widen(src[from])));
    }
  }
  //! [exercise each_entry]
}
//! [kernel]

struct Grid {
  std::int64_t blocks = 1;
  std::int64_t threads = 1;
};

/// PyTorch's: blocks of 128 threads or fewer, 8 per multiprocessor or fewer.
inline Grid pytorch_grid(std::int64_t work) {
  return {std::min<std::int64_t>(ceil_div<std::int64_t>(work, 128), std::int64_t(multiprocessors()) * 8),
          std::min<std::int64_t>(work, 128)};
}

template <class T, class Row>
cudaError_t launch_small(const IndexAddProblem& p, const IndexAddArrays& a, const Row& dst_row, const Row& src_row,
                         Grid grid, cudaStream_t stream) {
  using Number = typename Row::Number;
  return launch(small_index_kernel<T, Row>, {.grid = grid.blocks, .block = grid.threads, .stream = stream},
                static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, dst_row, src_row,
                p.rows(), static_cast<Number>(p.entries()), static_cast<Number>(p.row_elements()), alpha_of<T>(p));
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_types(p)) return reason;
  return p.entries() <= 4096 ? nullptr : "so many entries, one by one, take milliseconds";
}

inline cudaError_t run_on(Grid grid, const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_type<Types::early>(p.type, [&]<class T>() {
    return launch_small<T>(p, a, TensorRow::of(p.dst, p.dim), TensorRow::of(p.src, p.dim), grid, stream);
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_on(pytorch_grid(p.row_elements()), p, a, stream);
}

}  // namespace warpbook::chapter5::v2
