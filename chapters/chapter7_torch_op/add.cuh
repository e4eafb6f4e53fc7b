/// \file
/// The function that chapter 7 makes an operator of: `elementwise` does the rest.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace warpbook::chapter7 {

/// x + y, rounded once.
struct Add {
  template <class T> __device__ T operator()(T x, T y) const { return x + y; }
  /// Two elements an instruction, where the types allow.
  __device__ __half2 pairs(__half2 x, __half2 y) const { return __hadd2(x, y); }
  __device__ __nv_bfloat162 pairs(__nv_bfloat162 x, __nv_bfloat162 y) const { return __hadd2(x, y); }
};

}  // namespace warpbook::chapter7
