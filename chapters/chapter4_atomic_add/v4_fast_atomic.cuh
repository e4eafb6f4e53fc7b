/// \file
/// v4 fast atomic: a half2 atomic whose other half adds nothing.
///
/// v3's atomic is fast, but the caller must pack, and a scatter cannot. Here one half is added together with its
/// neighbour in memory, to which -0.0 is added. That changes no number, while +0.0 would turn -0.0 into
/// +0.0. Any place works. An element without a neighbour inside the array, the first or the last, goes by v1's loop.
///
/// Expect v1's loop gone from the scatter wherever there are two places or more. Which half of its word an element is
/// selects an address and a value: no lane waits for another. The sums are halves still.
/// Source: PyTorch's fastAtomicAdd. common/cuda/fast_atomic_add.cuh has it for every type and device.
#pragma once

#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "common/cuda/fast_atomic_add.cuh"

namespace warpbook::chapter4::v4 {

//! [kernel]
/// array[i] += x for a half or a bfloat16, atomically, in an array of `length`.
template <class T> __device__ __forceinline__ void add_as_pair(T* array, std::int64_t i, std::int64_t length, T x) {
  T* const address = array + i;
  const bool upper = reinterpret_cast<std::uintptr_t>(address) % 4 != 0;  // The upper half of its word.
  //! [exercise half_atomic]
  if (upper ? i > 0 : i + 1 < length) {
    //! [exercise half_atomic]
    constexpr unsigned kMinusZero = 0x8000;
    const unsigned bits = reinterpret_cast<const std::uint16_t&>(x);
    const unsigned pair = upper ? (bits << 16) | kMinusZero : bits | (kMinusZero << 16);
    using Pair = typename detail::PairOf<T>::Type;
    reduce_add(reinterpret_cast<Pair*>(upper ? address - 1 : address), reinterpret_cast<const Pair&>(pair));
  } else {
    detail::add_single(address, x);  // v1's loop.
  }
}

template <class T, class Index>
__global__ void scatter_add_kernel(T* dst, const T* __restrict__ value, const Index* __restrict__ index,
                                   std::int64_t count, std::int64_t places) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Index place = index[i];
  if (place >= 0 && place < places) add_as_pair<T>(dst, place, places, value[i]);
}
//! [kernel]

inline const char* refuse(ElementType type) {
  return type == ElementType::float32 ? "a float has an atomic of its own: the same as v1" : nullptr;
}

template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  return with_types<Types...>(p, [&]<class T, class Index>() {
    if constexpr (sizeof(T) == 2) {
      return launch_scatter(scatter_add_kernel<T, Index>, static_cast<T*>(at.dst), p, at, stream);
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace warpbook::chapter4::v4
