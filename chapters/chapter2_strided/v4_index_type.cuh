/// \file
/// v4 index type: 32-bit numbers where sizes *and* strides allow.
///
/// v3 divides 64-bit numbers, though few tensors have 2^31 elements. A 32-bit division takes far fewer instructions.
/// Two things have to fit: the number of elements, which is divided, and the offset of the last element, which is
/// multiplied. A view of two elements may reach over 8 GiB (`fits_32_bits` in common/cuda/tensor_view.hpp).
///
/// Expect as many 32-bit divisions as v3 had 64-bit ones, and the largest gain so far.
/// Source: PyTorch's canUse32BitIndexMath.
#pragma once

#include "chapters/chapter2_strided/v3_collapsed_dims.cuh"

namespace warpbook::chapter2::v4 {

inline constexpr int kThreads = 256;

/// A view of so many dimensions; 0: known at run time.
template <int dims> struct View {
  int count;
  std::uint32_t sizes[dims == 0 ? kMaxViewDims : dims];
  std::uint32_t strides[dims == 0 ? kMaxViewDims : dims];
};

//! [kernel]
template <int dims, class W>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View<dims> view,
                   std::uint32_t count, bool into_view) {
  const std::uint32_t linear = blockIdx.x * kThreads + threadIdx.x;
  if (linear >= count) return;

  std::uint32_t offset = 0;
  //! [exercise index_to_offset]
  std::uint32_t rest = linear;
#pragma unroll
  for (int d = (dims == 0 ? view.count : dims) - 1; d > 0; --d) {
    offset += rest % view.sizes[d] * view.strides[d];
    rest /= view.sizes[d];
  }
  offset += rest * view.strides[0];
  //! [exercise index_to_offset]

  dst[into_view ? offset : linear] = src[into_view ? linear : offset];
}
//! [kernel]

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  //! [exercise index_width]
  const bool narrow = fits_32_bits(q.problem.view, kThreads);
  //! [exercise index_width]
  if (!narrow) return v2::run(q.problem, q.src, q.dst, stream);
  return with_dims(q.problem.view.dims, [&]<int dims>() {
    View<dims> view{};
    view.count = q.problem.view.dims;
    for (int d = 0; d < view.count; ++d) {
      view.sizes[d] = static_cast<std::uint32_t>(q.problem.view.sizes[d]);
      view.strides[d] = static_cast<std::uint32_t>(q.problem.view.strides[d]);
    }
    return with_word_bytes(p.element_bytes, [&]<int bytes>() {
      return launch_per_element(strided_kernel<dims, Word<bytes>>, q, view, stream);
    });
  });
}

}  // namespace warpbook::chapter2::v4
