/// \file
/// How v6 and v7 go through a view: two digits of the index are carried on, and the rest is divided anew when both run
/// over.
#pragma once

#include "common/cuda/fast_division.cuh"
#include "common/cuda/tensor_view.hpp"

namespace warpbook::chapter2 {

/// A view whose dimensions stand innermost first, at least three of them, so that kernels need no cases.
template <class Index> struct WalkedView {
  int dims;
  FastDivisor<Index> sizes[kMaxViewDims];
  Index strides[kMaxViewDims];
  Index step_last;    ///< A step of a thread, in indices of the innermost dimension,
  Index step_second;  ///< and what is left of it in whole turns of that.
};

/// Prepares a view for threads that go `step` elements at a time.
template <class Index> WalkedView<Index> walked(const TensorView& view, std::int64_t step) {
  WalkedView<Index> result{};
  result.dims = view.dims < 3 ? 3 : view.dims;
  for (int d = 0; d < result.dims; ++d) {
    const int from = view.dims - 1 - d;
    result.sizes[d] = FastDivisor<Index>(static_cast<Index>(from < 0 ? 1 : view.sizes[from]));
    result.strides[d] = static_cast<Index>(from < 0 ? 0 : view.strides[from]);
  }
  const std::int64_t last = view.dims == 0 ? 1 : view.sizes[view.dims - 1];
  result.step_last = static_cast<Index>(step % last);
  result.step_second = static_cast<Index>(step / last);
  return result;
}

/// Where a thread stands in a view.
template <class Index> struct Walk {
  Index linear;  ///< The element's number in row-major order.
  Index last;    ///< Its index along the innermost dimension,
  Index second;  ///< along the one before,
  Index outer;   ///< and the offset that all others make.

  //! [walk]
  /// Goes to element `to`, by division.
  __device__ __forceinline__ void locate(const WalkedView<Index>& view, Index to) {
    linear = to;
    auto division = view.sizes[0].divide(to);
    last = division.remainder;
    division = view.sizes[1].divide(division.quotient);
    second = division.remainder;
    outer = 0;
#pragma unroll 1
    for (int d = 2; d < view.dims - 1; ++d) {
      division = view.sizes[d].divide(division.quotient);
      outer += division.remainder * view.strides[d];
    }
    outer += division.quotient * view.strides[view.dims - 1];
  }

  /// Goes on by second_by whole turns of the innermost dimension and last_by more; the two digits carry.
  __device__ __forceinline__ void advance(const WalkedView<Index>& view, Index last_by, Index second_by) {
    //! [exercise carry]
    linear += second_by * view.sizes[0].divisor + last_by;
    last += last_by;
    second += second_by;
    if (last >= view.sizes[0].divisor) {
      last -= view.sizes[0].divisor;
      ++second;
    }
    if (second >= view.sizes[1].divisor) locate(view, linear);
    //! [exercise carry]
  }
  //! [walk]

  /// The element's place in the array.
  __device__ __forceinline__ Index offset(const WalkedView<Index>& view) const {
    return outer + second * view.strides[1] + last * view.strides[0];
  }
};

}  // namespace warpbook::chapter2
