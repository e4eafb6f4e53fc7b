#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::project {

constexpr int kThreads = 256;

template <class Number> struct View {
  int dims;
  FastDivisor<Number> sizes[kMaxViewDims];
  Number strides[kMaxViewDims];
};

template <class W, class Number>
__global__ void move_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View<Number> view,
                            Number count, bool into_view) {
  const Number linear = Number(blockIdx.x) * kThreads + threadIdx.x;
  if (linear >= count) return;
  Number left = linear;
  Number offset = 0;
  for (int d = view.dims - 1; d > 0; --d) {
    const auto [quotient, index] = view.sizes[d].divide(left);
    offset += index * view.strides[d];
    left = quotient;
  }
  offset += left * view.strides[0];
  dst[into_view ? offset : linear] = src[into_view ? linear : offset];
}

template <class Number> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const TensorView& from = q.problem.view;
  View<Number> view{};
  view.dims = from.dims;
  for (int d = 0; d < from.dims; ++d) {
    view.sizes[d] = FastDivisor<Number>(Number(from.sizes[d]));
    view.strides[d] = Number(from.strides[d]);
  }
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(move_kernel<W, Number>,
                  {.grid = ceil_div<std::int64_t>(q.problem.count(), kThreads), .block = kThreads, .stream = stream},
                  reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), view, Number(q.problem.count()),
                  q.problem.into_view);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  return fits_32_bits(q.problem.view, kThreads) ? run_as<std::uint32_t>(q, stream) : run_as<std::uint64_t>(q, stream);
}

}  // namespace warpbook::chapter2::project
