/// \file
/// v1 naive: one thread per element, with a division and a remainder for each dimension.
///
/// This is the definition, written down. A thread takes the number of an element in row-major order, finds its index
/// along each dimension from the last to the first, and adds up index times stride. The number of dimensions is known
/// at run time only, and everything is 64 bits wide, so any view works.
///
/// Expect it to be slow even where the memory is read in order. A 64-bit division is a subroutine of dozens of
/// instructions, and every dimension but the first pays for one.
/// Source: PyTorch's IndexToOffset<T, uint64_t, -1> (aten/src/ATen/cuda/detail/TensorInfo.cuh).
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::v1 {

inline constexpr int kThreads = 256;

struct View {
  int dims;  // 1 or more.
  std::uint64_t sizes[kMaxViewDims];
  std::uint64_t strides[kMaxViewDims];
};

//! [kernel]
template <class W>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View view,
                   std::uint64_t count, bool into_view) {
  const std::uint64_t linear = std::uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (linear >= count) return;

  std::uint64_t offset = 0;
  //! [exercise index_to_offset]
  std::uint64_t rest = linear;
#pragma unroll 1
  for (int d = view.dims - 1; d > 0; --d) {
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
  const Prepared q = prepare(p, src, dst);
  View view{};
  view.dims = q.problem.view.dims;
  for (int d = 0; d < view.dims; ++d) {
    view.sizes[d] = static_cast<std::uint64_t>(q.problem.view.sizes[d]);
    view.strides[d] = static_cast<std::uint64_t>(q.problem.view.strides[d]);
  }
  return with_word_bytes(p.element_bytes,
                         [&]<int bytes>() { return launch_per_element(strided_kernel<Word<bytes>>, q, view, stream); });
}

}  // namespace warpbook::chapter2::v1
