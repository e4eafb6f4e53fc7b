/// \file
/// v5 collapsed dims: as few dimensions as memory has, their number known to the compiler, in 32 bits.
///
/// v4 finds an element's place in a row with a 64-bit division per dimension and tensor, in a loop of unknown length.
/// But dimensions that are one in memory can be one in the arithmetic. Collapsing around `dim` leaves a contiguous
/// tensor at most one dimension before it and one behind it, whatever its rank. So nearly every row has one, two or
/// three dimensions. With their number known the loop is gone, and with one dimension no division is left. Where
/// offsets fit 32 bits, numbers have 32.
///
/// Expect no 64-bit division, and the speed of the atomics. The article saw 300 us become 180 on an A100.
/// Source: PyTorch, aten/src/ATen/CollapseDims.h, and IndexToOffset<T, IndexType, Dims>.
#pragma once

#include "chapters/chapter5_index_add/v4_dispatch_on_rows.cuh"

namespace warpbook::chapter5::v5 {

//! [kernel]
/// A row of `rank` dimensions.
template <int rank, class Divisor> struct CollapsedRow {
  using Number = std::uint32_t;
  Divisor size[rank];
  Number stride[rank];
  Number row_stride;

  /// Offset of the row's element number `linear`.
  __device__ __forceinline__ Number offset_of(Number linear) const {
    Number offset = 0;
#pragma unroll
    for (int d = rank - 1; d > 0; --d) {
      const auto [quotient, remainder] = size[d].divide(linear);
      offset += remainder * stride[d];
      linear = quotient;
    }
    return offset + linear * stride[0];
  }
};
//! [kernel]

/// A view with `dim` set to one place, collapsed.
inline TensorView collapsed_row(TensorView view, int dim) {
  view.sizes[dim] = 1;
  return collapse(view).view;
}

/// The row for kernels; outer dimensions of size 1 where it has fewer than `rank`.
template <int rank, class Divisor> CollapsedRow<rank, Divisor> row_of(const TensorView& row, std::int64_t row_stride) {
  CollapsedRow<rank, Divisor> result;
  for (int d = 0; d < rank; ++d) {
    const int from = d - (rank - row.dims);
    result.size[d] = Divisor{static_cast<std::uint32_t>(from >= 0 ? row.sizes[from] : 1)};
    result.stride[d] = static_cast<std::uint32_t>(from >= 0 ? row.strides[from] : 0);
  }
  result.row_stride = static_cast<std::uint32_t>(row_stride);
  return result;
}

/// Calls `f.template operator()<T>(dst_row, src_row)` with a problem's collapsed rows.
template <class Divisor, class F> cudaError_t with_rows(const IndexAddProblem& p, F&& f) {
  if (p.empty()) return cudaSuccess;
  const TensorView dst = collapsed_row(p.dst, p.dim);
  const TensorView src = collapsed_row(p.src, p.dim);
  return with_type<Types::early>(p.type, [&]<class T>() {
    const auto call = [&]<int rank>() {
      return f.template operator()<T>(row_of<rank, Divisor>(dst, p.dst.strides[p.dim]),
                                      row_of<rank, Divisor>(src, p.src.strides[p.dim]));
    };
    const int rank = std::max(dst.dims, src.dims);
    return rank <= 1   ? call.template operator()<1>()
           : rank == 2 ? call.template operator()<2>()
                       : call.template operator()<3>();
  });
}

/// v4's choice on collapsed rows.
template <class Divisor> cudaError_t run_with(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return with_rows<Divisor>(p, [&]<class T>(const auto& dst_row, const auto& src_row) {
    return v4::row_fills_device(p)
               ? v2::launch_small<T>(p, a, dst_row, src_row, v4::fitting_grid(p.row_elements()), stream)
               : v3::launch_large<T, Divisor>(p, a, dst_row, src_row, v4::fitting_grid(p.src.count()), stream);
  });
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_types(p)) return reason;
  if (p.empty()) return nullptr;
  if (std::max(collapsed_row(p.dst, p.dim).dims, collapsed_row(p.src, p.dim).dims) > 3) {
    return "a row has more than three dimensions, collapsed";
  }
  // A grid's stride beyond the last element must fit, too.
  const std::int64_t slack = std::int64_t(multiprocessors()) * 2048;
  return fits_32_bits(p.dst, slack) && fits_32_bits(p.src, slack) ? nullptr : "offsets do not fit 32 bits";
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_with<v3::ModuloDivisor<std::uint32_t>>(p, a, stream);
}

}  // namespace warpbook::chapter5::v5
