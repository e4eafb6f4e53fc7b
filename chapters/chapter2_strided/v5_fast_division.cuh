/// \file
/// v5 fast division: divisions become multiplications.
///
/// v4 still divides for each dimension, in some twenty instructions. All divisors are sizes that the host knows before
/// the launch. So the host computes a multiplier and a shift for each size, and a quotient costs a multiplication, an
/// addition and a shift (common/cuda/fast_division.cuh).
///
/// Expect no division in the counters, and a gain as large as the divisions' share of v4's time.
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", 1994.
#pragma once

#include "chapters/chapter2_strided/v4_index_type.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter2::v5 {

inline constexpr int kThreads = 256;

/// A view of so many dimensions; 0: known at run time.
template <int dims> struct View {
  int count;
  FastDivisor<std::uint32_t> sizes[dims == 0 ? kMaxViewDims : dims];
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
  //! [exercise fast_division]
  std::uint32_t rest = linear;
#pragma unroll
  for (int d = (dims == 0 ? view.count : dims) - 1; d > 0; --d) {
    const auto [quotient, index] = view.sizes[d].divide(rest);
    offset += index * view.strides[d];
    rest = quotient;
  }
  offset += rest * view.strides[0];
  //! [exercise fast_division]

  dst[into_view ? offset : linear] = src[into_view ? linear : offset];
}
//! [kernel]

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  if (!fits_32_bits(q.problem.view, kThreads)) return v2::run(q.problem, q.src, q.dst, stream);
  return with_dims(q.problem.view.dims, [&]<int dims>() {
    View<dims> view{};
    view.count = q.problem.view.dims;
    for (int d = 0; d < view.count; ++d) {
      view.sizes[d] = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(q.problem.view.sizes[d]));
      view.strides[d] = static_cast<std::uint32_t>(q.problem.view.strides[d]);
    }
    return with_word_bytes(p.element_bytes, [&]<int bytes>() {
      return launch_per_element(strided_kernel<dims, Word<bytes>>, q, view, stream);
    });
  });
}

}  // namespace warpbook::chapter2::v5
