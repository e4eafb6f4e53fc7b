/// \file
/// strided_copy: any strided view made contiguous, and contiguous data written into one. The take-away of chapter 2.
///
///     warpbook::TensorView view{.dims = 2, .sizes = {1024, 512}, .strides = {1024, 2}, .offset = 1};
///     warpbook::make_contiguous(dst, src, view, sizeof(float), stream);   // dst = src[:, 1::2]
///     warpbook::write_into_view(dst, view, src, sizeof(float), stream);   // dst[:, 1::2] = src
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "chapters/chapter2_strided/v9_dispatch.cuh"

namespace warpbook {

namespace chapter2 {
/// Judges the arguments of both functions, and moves. The view's array is `src`, or `dst` where it is written.
inline cudaError_t checked_copy(void* dst, const void* src, const TensorView& view, int element_bytes, bool into_view,
                                cudaStream_t stream) {
  if (element_bytes < 1 || element_bytes > 16 || (element_bytes & (element_bytes - 1)) != 0) {
    return cudaErrorInvalidValue;
  }
  if (refuse_view(view, element_bytes) != nullptr) return cudaErrorInvalidValue;
  if (view.count() == 0) return cudaSuccess;
  if (into_view && !surely_distinct(view)) return cudaErrorInvalidValue;
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  if (src == nullptr || dst == nullptr || alignment_of(from | to) < element_bytes) return cudaErrorInvalidValue;
  const std::uintptr_t offset = static_cast<std::uintptr_t>(view.offset) * static_cast<unsigned>(element_bytes);
  const int view_alignment = alignment_of((into_view ? to : from) + offset);
  return v9::run({view, element_bytes, into_view, view_alignment, alignment_of(into_view ? from : to)}, src, dst,
                 stream);
}
}  // namespace chapter2

/// Makes a view contiguous: dst[i] = src[view.offset_of(i)] for each element i in row-major order, as
/// `torch.as_strided(...).contiguous()`.
///
/// \param dst view.count() elements, contiguous; device memory, aligned to element_bytes at least (16 for the most
///        speed), not overlapping what the view shows.
/// \param src the array that the view is one of: its first element, not the view's. Device memory, aligned likewise.
/// \param view sizes, strides and offset in elements; 0 to 25 dimensions; strides of 0 and overlapping elements are
///        fine.
/// \param element_bytes 1, 2, 4, 8 or 16: moving data needs no type.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
/// \return cudaErrorInvalidValue for what is no view (see `refuse_view`: a negative size, stride or offset, over 25
///         dimensions, 2^63 bytes or more), for another element size, and for a null or misaligned array with elements;
///         else what CUDA says of the launch.
inline cudaError_t make_contiguous(void* dst, const void* src, const TensorView& view, int element_bytes,
                                   cudaStream_t stream) {
  return chapter2::checked_copy(dst, src, view, element_bytes, false, stream);
}

/// Writes into a view: dst[view.offset_of(i)] = src[i] for each element i in row-major order, as
/// `torch.as_strided(...).copy_(src)`. What lies between the view's elements stays as it is.
///
/// \param dst the array that the view is one of: its first element, not the view's. Device memory.
/// \param view as in `make_contiguous`, but no two elements may be the same one. Views for which that is not certain
///        (see `surely_distinct`) are refused.
/// \param src view.count() elements, contiguous; device memory, not overlapping the view.
/// \param element_bytes,stream as in `make_contiguous`.
/// \return as `make_contiguous`; and cudaErrorInvalidValue for a view that may show an element twice.
inline cudaError_t write_into_view(void* dst, const TensorView& view, const void* src, int element_bytes,
                                   cudaStream_t stream) {
  return chapter2::checked_copy(dst, src, view, element_bytes, true, stream);
}

}  // namespace warpbook
