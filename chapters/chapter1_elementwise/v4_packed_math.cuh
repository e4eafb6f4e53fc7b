/// \file
/// v4 packed math: two halves an instruction.
///
/// v3 multiplies eight halves one by one. The hardware has HMUL2, which multiplies two halves that lie in one 32-bit
/// register, as they do in a pack. `__hmul2` says so; bfloat16 has its twin.
///
/// Expect four multiplications a pack instead of eight, the same memory counters, and time only if the arithmetic was
/// what v3 waited for. None of it came: nvcc has paired v3's halves by itself, and both have the same instructions.
#pragma once

#include "chapters/chapter1_elementwise/v3_packs.cuh"

namespace warpbook::chapter1::v4 {

//! [kernel]
/// One pack's product, two elements at a time.
struct MultiplyPairs {
  template <class T> __device__ FullPack<T> operator()(FullPack<T> x, FullPack<T> y) const {
    //! [exercise pairs]
    using Pairs = Pack<typename PairOf<T>::Type, kPerPack<T> / 2>;
    const Pairs& x_pairs = reinterpret_cast<const Pairs&>(x);
    const Pairs& y_pairs = reinterpret_cast<const Pairs&>(y);
    Pairs z;
#pragma unroll
    for (int k = 0; k < kPerPack<T> / 2; ++k) z[k] = __hmul2(x_pairs[k], y_pairs[k]);
    return reinterpret_cast<const FullPack<T>&>(z);
    //! [exercise pairs]
  }
};
//! [kernel]

/// How the steps from here on multiply a pack of T.
template <class T> struct BestMultiply {
  using Type = MultiplyPairs;
};
template <> struct BestMultiply<float> {
  using Type = v3::Multiply;
};

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  return v3::run_with<T, MultiplyPairs>(z, x, y, count, stream);
}

}  // namespace warpbook::chapter1::v4
