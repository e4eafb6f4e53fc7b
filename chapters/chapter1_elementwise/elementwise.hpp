/// \file
/// Chapter 1's problem: z[i] = f(x[i], ...) for every element of arrays of one length.
///
/// The steps v1 to v5 do it for f(x, y) = x * y and one type, as run(z, x, y, count, stream); v6 for any function.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter1 {

/// Elements of T that one 16-byte access moves.
template <class T> inline constexpr int kPerPack = 16 / static_cast<int>(sizeof(T));

/// 16 bytes of T.
template <class T> using FullPack = Pack<T, kPerPack<T>>;

/// Two elements of T in one 32-bit register.
template <class T> struct PairOf;
template <> struct PairOf<__half> {
  using Type = __half2;
};
template <> struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};

}  // namespace warpbook::chapter1
