/// \file
/// v3 half2: values packed by hand, two halves per atomic.
///
/// The hardware does add halves, if they come in pairs: one instruction adds to both halves of a word in the L2,
/// without a loop. So the inner product is packed. A thread multiplies and adds pairs, and adds its pair of sums to a
/// pair of totals, which a second kernel adds up. Neighbours share a word, so the count must be even and both arrays
/// aligned to 4 bytes. A scatter has nothing to pack: a value's neighbour goes elsewhere.
///
/// Expect v1's loop gone. What is left is one addition per thread, all to one address, which the L2 does one after
/// another. The sums are halves still.
/// Source: BBuf's article, atomic_add_half_pack2.cu, which adds one sum to both halves; this one keeps two.
#pragma once

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "common/cuda/fast_atomic_add.cuh"

namespace warpbook::chapter4::v3 {

//! [inner]
template <class Pair>
__global__ void inner_product_kernel(Pair* total, const Pair* __restrict__ a, const Pair* __restrict__ b,
                                     std::int64_t pairs) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  //! [exercise half2]
  Pair sum{};
  sum.x = 0.0F;
  sum.y = 0.0F;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs; i += threads) {
    sum = __hfma2(a[i], b[i], sum);
  }
  reduce_add(total, sum);
  //! [exercise half2]
}
//! [inner]

/// dst[0] += total.x + total.y.
template <class T, class Pair> __global__ void add_pair_kernel(T* dst, const Pair* total) {
  *dst = *dst + (total->x + total->y);
}

inline const char* refuse_inner(const InnerProblem& p) {
  if (p.type == ElementType::float32) return "floats need no packing";
  if (p.count % 2 != 0) return "the number of elements must be even";
  return p.alignment >= 4 ? nullptr : "both arrays must be aligned to 4 bytes";
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  if (p.count == 0) return cudaSuccess;
  if (refuse_inner(p) != nullptr) return cudaErrorInvalidValue;
  return with_element(p.type, [&]<class T>() {
    if constexpr (sizeof(T) == 2) {
      using Pair = typename detail::PairOf<T>::Type;
      auto* const total = static_cast<Pair*>(at.scratch);
      cudaError_t error = cudaMemsetAsync(total, 0, sizeof(Pair), stream);
      if (error != cudaSuccess) return error;
      error = launch_inner(inner_product_kernel<Pair>, total, p.count / 2, at, stream);
      if (error != cudaSuccess) return error;
      return launch(add_pair_kernel<T, Pair>, {.stream = stream}, static_cast<T*>(at.dst), total);
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace warpbook::chapter4::v3
