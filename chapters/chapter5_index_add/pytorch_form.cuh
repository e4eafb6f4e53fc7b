/// \file
/// The form that PyTorch's kernels have, which v2 to v7a share: views with their collapsed dimensions, offsets from
/// linear numbers, and grids. Source: PyTorch, aten/src/ATen/cuda/detail/TensorInfo.cuh and
/// aten/src/ATen/native/cuda/Indexing.cu.
#pragma once

#include "chapters/chapter5_index_add/kernel_parts.cuh"

namespace warpbook::chapter5 {

/// Divides as the source says it: a quotient and a remainder.
template <class Number> struct ModuloDivisor {
  Number divisor = 1;

  ModuloDivisor() = default;
  explicit ModuloDivisor(Number d) : divisor(d) {}

  __device__ Division<Number> divide(Number n) const { return {n / divisor, n % divisor}; }
};

/// A tensor's rows as a kernel takes them: dimension `dim` counts as 1, and `row_stride` steps along it.
/// \tparam rank number of dimensions; 0: it is told at run time.
template <class Number, template <class> class Divisor, int rank> struct RowView {
  static constexpr int kDims = rank == 0 ? kMaxViewDims : rank;
  int dims;
  Divisor<Number> size[kDims];
  Number stride[kDims];
  Number row_stride;

  /// Offset of a row's element number `linear`.
  __device__ __forceinline__ Number offset_of(Number linear) const {
    Number offset = 0;
    if constexpr (rank == 0) {
      for (int d = dims - 1; d > 0; --d) {
        const auto [quotient, remainder] = size[d].divide(linear);
        offset += remainder * stride[d];
        linear = quotient;
      }
    } else {
#pragma unroll
      for (int d = rank - 1; d > 0; --d) {
        const auto [quotient, remainder] = size[d].divide(linear);
        offset += remainder * stride[d];
        linear = quotient;
      }
    }
    return offset + linear * stride[0];
  }
};

/// A view with dimension `dim` set to one place: what a row is made of. Not collapsed.
inline TensorView row_of(const TensorView& view, int dim) {
  TensorView row = view;
  row.sizes[dim] = 1;
  return row;
}

/// The same collapsed: a contiguous tensor's row has one or two dimensions.
inline TensorView collapsed_row(const TensorView& view, int dim) { return collapse(row_of(view, dim)).view; }

template <class Number, template <class> class Divisor, int rank>
RowView<Number, Divisor, rank> row_view(const TensorView& row, std::int64_t row_stride) {
  RowView<Number, Divisor, rank> result;
  result.dims = std::max(row.dims, 1);
  for (int d = 0; d < result.kDims; ++d) {  // Static ranks may be more than there are: outer dimensions of size 1.
    const int from = rank == 0 ? d : d - (rank - row.dims);
    const bool given = from >= 0 && from < row.dims;
    result.size[d] = Divisor<Number>(static_cast<Number>(given ? row.sizes[from] : 1));
    result.stride[d] = static_cast<Number>(given ? row.strides[from] : 0);
  }
  result.row_stride = static_cast<Number>(row_stride);
  return result;
}

/// A grid and its blocks.
struct Grid {
  std::int64_t blocks = 1;
  std::int64_t threads = 1;
};

/// PyTorch's: blocks of 128 threads or fewer, 8 a multiprocessor or fewer.
inline Grid pytorch_grid(std::int64_t work) {
  return {std::min<std::int64_t>(ceil_div<std::int64_t>(work, 128), std::int64_t(multiprocessors()) * 8),
          std::min<std::int64_t>(work, 128)};
}

/// Whole warps, and as many blocks as are resident at a time.
inline Grid fitting_grid(std::int64_t work) {
  constexpr std::int64_t kThreads = 256;
  return {std::min<std::int64_t>(ceil_div<std::int64_t>(work, kThreads), std::int64_t(multiprocessors()) * 8),
          kThreads};
}

/// From so many entries on PyTorch takes the kernel for large indices.
inline constexpr std::int64_t kLargeIndex = 17;

/// How an element is added.
struct PlainAdd {
  template <class T> __device__ void operator()(T* dst, std::int64_t offset, std::int64_t, T value) const {
    atomicAdd(dst + offset, value);
  }
};

}  // namespace warpbook::chapter5
