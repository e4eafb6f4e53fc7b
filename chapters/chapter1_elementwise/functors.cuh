/// \file
/// Functions for `elementwise`, and what applies them to packs. They are examples as much as tools: a function is any
/// small struct with a `__device__ operator()`, and what it computes is its own affair.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <concepts>

#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/pack.cuh"

namespace warpbook {

/// x * y, rounded once.
struct Multiply {
  template <class T> __device__ T operator()(T x, T y) const { return x * y; }
  /// Of a half or bfloat16 and a float, in float.
  __device__ float operator()(__half x, float y) const { return __half2float(x) * y; }
  __device__ float operator()(__nv_bfloat16 x, float y) const { return __bfloat162float(x) * y; }
  /// Two elements an instruction, where the types allow.
  __device__ __half2 pairs(__half2 x, __half2 y) const { return __hmul2(x, y); }
  __device__ __nv_bfloat162 pairs(__nv_bfloat162 x, __nv_bfloat162 y) const { return __hmul2(x, y); }
};

/// x * y + w, rounded once.
struct MultiplyAdd {
  __device__ float operator()(float x, float y, float w) const { return fmaf(x, y, w); }
  __device__ __half operator()(__half x, __half y, __half w) const { return __hfma(x, y, w); }
  __device__ __nv_bfloat16 operator()(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 w) const {
    return __hfma(x, y, w);
  }
  __device__ __half2 pairs(__half2 x, __half2 y, __half2 w) const { return __hfma2(x, y, w); }
  __device__ __nv_bfloat162 pairs(__nv_bfloat162 x, __nv_bfloat162 y, __nv_bfloat162 w) const {
    return __hfma2(x, y, w);
  }
};

/// x * factor in float, then rounded to Z.
template <class Z> struct Scale {
  float factor = 1;

  template <class X> __device__ Z operator()(X x) const { return static_cast<Z>(static_cast<float>(x) * factor); }
};

/// Makes `Scale` of a factor in device memory, as another kernel may have computed it: no copy to the host, no wait.
template <class Z> struct ScaleFrom {
  const float* factor = nullptr;

  __device__ Scale<Z> operator()() const { return {*factor}; }
};

namespace chapter1 {

/// Elements of a pack of arrays of these types: as many as 16 bytes hold of the widest.
template <class... T> inline constexpr int kPackWidth = 16 / int(std::max({sizeof(T)...}));

/// True where f takes two neighbours at a time, as f.pairs(half2, ...) beside f(half, ...).
template <class F, class Z, class... X>
concept TakesPairs = requires(const F& f, typename PairOf<X>::Type... x) {
  { f.pairs(x...) } -> std::same_as<typename PairOf<Z>::Type>;
};

template <class Z, class F, int kWidth, class... X>
__device__ __forceinline__ Pack<Z, kWidth> apply(const F& f, const Pack<X, kWidth>&... x) {
  if constexpr (kWidth % 2 == 0 && TakesPairs<F, Z, X...>) {
    Pack<typename PairOf<Z>::Type, kWidth / 2> z;
#pragma unroll
    for (int k = 0; k < kWidth / 2; ++k) {
      z[k] = f.pairs(reinterpret_cast<const Pack<typename PairOf<X>::Type, kWidth / 2>&>(x)[k]...);
    }
    return reinterpret_cast<const Pack<Z, kWidth>&>(z);
  } else {
    Pack<Z, kWidth> z;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) z[k] = f(x[k]...);
    return z;
  }
}

}  // namespace chapter1
}  // namespace warpbook
