/// \file
/// v2 static dims: the number of dimensions is a template parameter.
///
/// The compiler cannot unroll v1's loop, because it learns the number of iterations only at run time. With the number
/// as a template parameter it writes the divisions one after another and keeps sizes and strides in registers. The
/// price is a kernel for each number of dimensions and element size. Beyond kMostStaticDims v1's kernel runs.
///
/// Expect the same divisions without the loop around them, so a small gain.
/// Source: PyTorch's IndexToOffset<T, uint64_t, dims>.
#pragma once

#include "chapters/chapter2_strided/v1_naive.cuh"

namespace warpbook::chapter2::v2 {

inline constexpr int kThreads = 256;

template <int dims> struct View {
  std::uint64_t sizes[dims];
  std::uint64_t strides[dims];
};

//! [kernel]
template <int dims, class W>
__global__ void __launch_bounds__(kThreads)
    strided_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View<dims> view,
                   std::uint64_t count, bool into_view) {
  const std::uint64_t linear = std::uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (linear >= count) return;

  std::uint64_t offset = 0;
  //! [exercise index_to_offset]
  std::uint64_t rest = linear;
#pragma unroll
  for (int d = dims - 1; d > 0; --d) {
    offset += rest % view.sizes[d] * view.strides[d];
    rest /= view.sizes[d];
  }
  offset += rest * view.strides[0];
  //! [exercise index_to_offset]

  dst[into_view ? offset : linear] = src[into_view ? linear : offset];
}
//! [kernel]

//! [view]
inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare(p, src, dst);
  //! [view]
  return with_dims(q.problem.view.dims, [&]<int dims>() {
    if constexpr (dims == 0) {
      return v1::run(p, src, dst, stream);
    } else {
      View<dims> view{};
      for (int d = 0; d < dims; ++d) {
        view.sizes[d] = static_cast<std::uint64_t>(q.problem.view.sizes[d]);
        view.strides[d] = static_cast<std::uint64_t>(q.problem.view.strides[d]);
      }
      return with_word_bytes(p.element_bytes, [&]<int bytes>() {
        return launch_per_element(strided_kernel<dims, Word<bytes>>, q, view, stream);
      });
    }
  });
}

}  // namespace warpbook::chapter2::v2
