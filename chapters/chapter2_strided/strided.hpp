/// \file
/// The problem of chapter 2: a strided view of an array becomes contiguous, or contiguous data go into a view.
///
/// Every step has the signature `cudaError_t run(const StridedProblem&, const void* src, void* dst, cudaStream_t)`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/cuda/tensor_view.hpp"

namespace warpbook::chapter2 {

/// from the view: dst[i] = src[view.offset_of(i)]; into it: dst[view.offset_of(i)] = src[i]; for each i below the
/// count.
struct StridedProblem {
  TensorView view;
  int element_bytes = 4;   ///< 1, 2, 4, 8 or 16: moving data needs no type.
  bool into_view = false;  ///< The view is written, and the contiguous array read. No two of its elements may meet.

  /// Number of elements that move.
  std::int64_t count() const { return view.count(); }
};

/// The problem with the fewest dimensions, at least one, and with the view's offset moved into the pointers.
struct Prepared {
  StridedProblem problem;
  const std::byte* src;
  std::byte* dst;
};

/// Moves the view's offset into the pointer, so that the kernels count from 0. `p` is not empty.
inline Prepared prepare(const StridedProblem& p, const void* src, void* dst) {
  Prepared result{p, static_cast<const std::byte*>(src), static_cast<std::byte*>(dst)};
  const std::int64_t bytes = p.view.offset * p.element_bytes;
  if (p.into_view) {
    result.dst += bytes;
  } else {
    result.src += bytes;
  }
  TensorView& view = result.problem.view;
  view.offset = 0;
  if (view.dims == 0) {  // One element is a row of one.
    view.dims = 1;
    view.sizes[0] = view.strides[0] = 1;
  }
  return result;
}

/// The same, with dimensions merged.
inline Prepared prepare_collapsed(const StridedProblem& p, const void* src, void* dst) {
  StridedProblem q = p;
  q.view = collapse(p.view).view;
  return prepare(q, src, dst);
}

/// The largest of 1, 2, 4, 8 and 16 bytes that can move at a time: the last dimension is contiguous, it and the steps
/// of all others are whole numbers of such words, and both arrays are aligned to it. Otherwise one element.
inline int movement_bytes(const Prepared& p) {
  const TensorView& view = p.problem.view;
  const int last = view.dims - 1;
  if (view.strides[last] != 1) return p.problem.element_bytes;
  auto all = reinterpret_cast<std::uintptr_t>(p.src) | reinterpret_cast<std::uintptr_t>(p.dst);
  all |= static_cast<std::uintptr_t>(view.sizes[last] * p.problem.element_bytes);
  for (int d = 0; d < last; ++d) all |= static_cast<std::uintptr_t>(view.strides[d] * p.problem.element_bytes);
  for (int bytes = 16; bytes > p.problem.element_bytes; bytes /= 2) {
    if (all % static_cast<std::uintptr_t>(bytes) == 0) return bytes;
  }
  return p.problem.element_bytes;
}

/// The same movement in elements of `bytes`, which `movement_bytes` allows.
inline Prepared with_elements_of(const Prepared& p, int bytes) {
  Prepared result = p;
  TensorView& view = result.problem.view;
  const std::int64_t elements = bytes / p.problem.element_bytes;
  if (elements == 1) return result;
  view.sizes[view.dims - 1] /= elements;
  for (int d = 0; d < view.dims - 1; ++d) view.strides[d] /= elements;
  result.problem.element_bytes = bytes;
  return prepare_collapsed(result.problem, p.src, p.dst);  // The last dimension may have become 1.
}

/// Up to how many dimensions a kernel of its own is compiled for. PyTorch stops at 2.
inline constexpr int kMostStaticDims = 5;

/// Calls `f.template operator()<dims>()` for 1 to kMostStaticDims dimensions, and with 0 for any other count.
template <class F> auto with_dims(int dims, F&& f) {
  switch (dims) {
  case 1:
    return f.template operator()<1>();
  case 2:
    return f.template operator()<2>();
  case 3:
    return f.template operator()<3>();
  case 4:
    return f.template operator()<4>();
  case 5:
    return f.template operator()<5>();
  default:
    return f.template operator()<0>();
  }
}

}  // namespace warpbook::chapter2
