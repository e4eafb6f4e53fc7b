/// \file
/// v3 half2: values packed by hand, two halves an atomic.
///
/// The hardware does add halves, by twos: RED.ADD.F16x2 adds to both halves of a word in the L2, with no loop. So the
/// inner product is packed: a thread multiplies and adds pairs (HFMA2), and adds its pair of sums to a pair of totals,
/// which a second kernel adds up. Neighbours are halves of one word, so the count must be even and both arrays aligned
/// to 4 bytes; a scatter has no neighbours to pack, as each value has a place of its own.
///
/// Expect the loop of v1 gone, and the additions to one address to be as many as threads: what is left is the L2 doing
/// them one after another. The sums are halves still.
///
/// Source: BBuf's article, atomic_add_half_pack2.cu, which adds one sum to both halves; this one keeps two.
#pragma once

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"

namespace warpbook::chapter4::v3 {

//! [kernel]
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
//! [kernel]

/// dst[0] += total.x + total.y.
template <class T, class Pair> __global__ void add_pair_kernel(T* dst, const Pair* total) {
  *dst = *dst + (total->x + total->y);
}

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_inner(const InnerProblem& p, const void* a, const void* b) {
  if (p.type == ElementType::float32) return "floats need no packing";
  if (p.count % 2 != 0) return "the number of elements must be even";
  const auto address = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b);
  return address % 4 == 0 ? nullptr : "both arrays must be aligned to 4 bytes";
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.count == 0) return cudaSuccess;
  if (refuse_inner(p, at.a, at.b) != nullptr) return cudaErrorInvalidValue;
  return with_element(p.type, [&]<class T>() {
    if constexpr (sizeof(T) == 2) {
      using Pair = typename detail::PairOf<T>::Type;
      auto* const total = static_cast<Pair*>(at.scratch);
      cudaError_t error = cudaMemsetAsync(total, 0, sizeof(Pair), stream);
      if (error != cudaSuccess) return error;
      error = launch(inner_product_kernel<Pair>,
                     {.grid = resident_grid(p.count / 2, kThreads), .block = kThreads, .stream = stream}, total,
                     static_cast<const Pair*>(at.a), static_cast<const Pair*>(at.b), p.count / 2);
      if (error != cudaSuccess) return error;
      return launch(add_pair_kernel<T, Pair>, {.grid = 1, .block = 1, .stream = stream}, static_cast<T*>(at.dst),
                    total);
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace warpbook::chapter4::v3
