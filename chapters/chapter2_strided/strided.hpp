/// \file
/// The problem of chapter 2: a strided view of an array becomes contiguous, or contiguous data go into a view.
///
/// Every step has the signature `cudaError_t run(const StridedProblem&, const void* src, void* dst, cudaStream_t)`.
/// `refuse` says why one does not take a simplified problem, or nullptr; `run_prepared` moves one that is not refused.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/cuda/alignment.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/tensor_view.hpp"

namespace warpbook::chapter2 {

/// From the view: dst[i] = src[view.offset_of(i)]; into it: dst[view.offset_of(i)] = src[i]; for each i below the
/// count.
struct StridedProblem {
  TensorView view;
  int element_bytes = 4;    ///< 1, 2, 4, 8 or 16: moving data needs no type.
  bool into_view = false;   ///< The view is written, and the contiguous array read. No two of its elements may meet.
  int view_alignment = 16;  ///< What the view's first element is aligned to, in bytes,
  int alignment = 16;       ///< and the contiguous array: a power of 2, an element at least, 16 at most.

  std::int64_t count() const { return view.count(); }
};

/// A problem whose view begins at element 0, and where its two sides begin.
struct Prepared {
  StridedProblem problem;
  const std::byte* src;
  std::byte* dst;
};

/// `q`, made of `p` without its view's offset, with that in the pointers instead.
inline Prepared prepared(const StridedProblem& q, const StridedProblem& p, const void* src, void* dst) {
  const std::int64_t bytes = p.view.offset * p.element_bytes;
  return {q, static_cast<const std::byte*>(src) + (p.into_view ? 0 : bytes),
          static_cast<std::byte*>(dst) + (p.into_view ? bytes : 0)};
}

/// The same view from element 0 on, with a dimension at least: one element is a row of one.
inline StridedProblem at_origin(const StridedProblem& p) {
  StridedProblem q = p;
  q.view.offset = 0;
  if (q.view.dims == 0) {
    q.view.dims = 1;
    q.view.sizes[0] = q.view.strides[0] = 1;
  }
  return q;
}

/// Moves the view's offset into the pointer, so that the kernels count from 0. `p` is not empty.
inline Prepared prepare(const StridedProblem& p, const void* src, void* dst) {
  return prepared(at_origin(p), p, src, dst);
}

/// The problem with the fewest dimensions, at least one, and without the view's offset. `p` is not empty.
inline StridedProblem collapsed(const StridedProblem& p) {
  StridedProblem q = p;
  q.view = collapse(p.view).view;
  return at_origin(q);
}

/// The same, with the view's offset moved into the pointers.
inline Prepared prepare_collapsed(const StridedProblem& p, const void* src, void* dst) {
  return prepared(collapsed(p), p, src, dst);
}

//! [movement]
/// The largest of 1, 2, 4, 8 and 16 bytes that can move at a time in a collapsed problem: the last dimension is
/// contiguous, it and the steps of all others are whole numbers of such words, and both sides are aligned to it.
/// Otherwise one element.
inline int movement_bytes(const StridedProblem& q) {
  const int last = q.view.dims - 1;
  if (q.view.strides[last] != 1) return q.element_bytes;
  std::int64_t all = q.view_alignment | q.alignment | q.view.sizes[last] * q.element_bytes;
  for (int d = 0; d < last; ++d) all |= q.view.strides[d] * q.element_bytes;
  for (int bytes = 16; bytes > q.element_bytes; bytes /= 2) {
    if (all % bytes == 0) return bytes;
  }
  return q.element_bytes;
}
//! [movement]

/// The problem with the fewest dimensions, in the widest elements, without the view's offset. `p` is not empty.
inline StridedProblem simplified(const StridedProblem& p) {
  StridedProblem q = collapsed(p);
  const int bytes = movement_bytes(q);
  const std::int64_t elements = bytes / q.element_bytes;
  if (elements == 1) return q;
  q.view.sizes[q.view.dims - 1] /= elements;
  for (int d = 0; d < q.view.dims - 1; ++d) q.view.strides[d] /= elements;
  q.element_bytes = bytes;
  return collapsed(q);  // The last dimension may have become 1.
}

/// The same, with the view's offset moved into the pointers.
inline Prepared prepare_simplified(const StridedProblem& p, const void* src, void* dst) {
  return prepared(simplified(p), p, src, dst);
}

/// Runs a kernel for simplified problems, `run(prepared, stream)`, on a problem as it is given.
/// \return cudaErrorInvalidValue where `refuse(problem)` tells a reason.
template <class Run>
cudaError_t run_simplified(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream,
                           const char* (*refuse)(const StridedProblem&), const Run& run) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_simplified(p, src, dst);
  return refuse(q.problem) == nullptr ? run(q, stream) : cudaErrorInvalidValue;
}

/// How a contiguous result falls into aligned packs of `pack` elements. The `ends` elements before the first whole
/// pack and behind the last one are written one by one.
template <class Index> struct Packs {
  Index count;  ///< Whole packs, from element `head` on.
  Index head;
  Index ends;  ///< Elements in front and behind together.

  __host__ __device__ Index end(Index i, int pack) const { return i < head ? i : i + count * Index(pack); }
};

/// The packs of a problem that reads its view.
template <class Index> Packs<Index> packs_of(const Prepared& q, int pack) {
  const std::int64_t elements = q.problem.count();
  const std::int64_t address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % 16);
  const std::int64_t off = address / q.problem.element_bytes % pack;
  const std::int64_t head = off == 0 ? 0 : pack - off < elements ? pack - off : elements;
  const std::int64_t count = (elements - head) / pack;
  return {static_cast<Index>(count), static_cast<Index>(head), static_cast<Index>(elements - count * pack)};
}

/// Launches a kernel for elements W with blocks of 256 threads, one thread per element.
template <class W, class View, class Index>
cudaError_t launch_per_element(void (*kernel)(W*, const W*, View, Index, bool), const Prepared& q,
                               const std::type_identity_t<View>& view, cudaStream_t stream) {
  const std::int64_t count = q.problem.count();
  return launch(kernel, {.grid = ceil_div<std::int64_t>(count, 256), .block = 256, .stream = stream},
                reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), view, static_cast<Index>(count),
                q.problem.into_view);
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
