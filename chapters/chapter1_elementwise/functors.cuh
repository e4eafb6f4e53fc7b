/// \file
/// Functions for `elementwise`. They are examples as much as tools: a function is any small struct with a
/// `__device__ operator()`, and what it computes is its own affair.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

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

}  // namespace warpbook
