/// \file
/// Reductions: atomic additions to global memory that return nothing, as the memory system has them.
///
/// `atomicAdd(half2*)` and its like return the value before, and the toolkit writes them for any address space: what
/// comes out waits for an answer and carries a loop for shared memory along. `red.global` does neither. Vectors of
/// reductions came with compute capability 9.0 and toolkit 12.1; each of their elements is atomic, the vector is not.
/// Where there are none, the elements go one by one. What is kept may be added to again: the L2 is asked to let other
/// lines go first.
/// Source: PTX ISA, "red" (vectors: 8.1).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifdef WARPBOOK_EMULATED
#include <warpbook_reductions.h>
#endif

#include <cstdint>
#include <type_traits>

#include "common/cuda/pack.cuh"

namespace warpbook {

namespace detail {
/// The L2's word for lines that are to stay while others can go.
__device__ __forceinline__ std::uint64_t keep_policy() {
  std::uint64_t policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
}  // namespace detail

/// Adds to one float of global memory.
__device__ __forceinline__ void reduce_add(float* global, float value) { atomicAdd(global, value); }

/// Adds to two halves of global memory, aligned to 4 bytes.
__device__ __forceinline__ void reduce_add(__half2* global, __half2 value) {
#ifdef WARPBOOK_EMULATED
  emulator::reduce_pairs(global, &value, 1, &emulator::narrow_pair_sum<__half2>);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 600
  asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(global)), "r"(reinterpret_cast<const unsigned&>(value))
               : "memory");
#else
  atomicAdd(global, value);
#endif
}

/// Adds to two bfloat16 of global memory, aligned to 4 bytes.
__device__ __forceinline__ void reduce_add(__nv_bfloat162* global, __nv_bfloat162 value) {
#ifdef WARPBOOK_EMULATED
  emulator::reduce_pairs(global, &value, 1, &emulator::narrow_pair_sum<__nv_bfloat162>);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(global)), "r"(reinterpret_cast<const unsigned&>(value))
               : "memory");
#else
  atomicAdd(global, value);
#endif
}

/// Adds to four halves or bfloat16 of global memory, aligned to 8 bytes.
template <class Pair> __device__ __forceinline__ void reduce_add(Pack<Pair, 2>* global, Pack<Pair, 2> value) {
#ifdef WARPBOOK_EMULATED
  emulator::reduce_pairs(global, &value, 2, &emulator::narrow_pair_sum<Pair>);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  const auto& word = reinterpret_cast<const uint2&>(value);
  if constexpr (std::is_same_v<Pair, __half2>) {
    asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};"
                 :
                 : "l"(__cvta_generic_to_global(global)), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};"
                 :
                 : "l"(__cvta_generic_to_global(global)), "r"(word.x), "r"(word.y)
                 : "memory");
  }
#else
  for (int i = 0; i < 2; ++i) reduce_add(&(*global)[i], value[i]);
#endif
}

/// Adds to four floats of global memory, aligned to 16 bytes, and with `keep` keeps them.
template <bool keep = false> __device__ __forceinline__ void reduce_add(float4* global, float4 value) {
#ifdef WARPBOOK_EMULATED
  atomicAdd(global, value);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  if constexpr (keep) {
    asm volatile("red.relaxed.gpu.global.add.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;"
                 :
                 : "l"(__cvta_generic_to_global(global)), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w),
                   "l"(detail::keep_policy())
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(global)), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
                 : "memory");
  }
#else
  atomicAdd(&global->x, value.x);
  atomicAdd(&global->y, value.y);
  atomicAdd(&global->z, value.z);
  atomicAdd(&global->w, value.w);
#endif
}

/// Adds to eight halves or bfloat16 of global memory, aligned to 16 bytes, and keeps them.
template <class Pair> __device__ __forceinline__ void reduce_add(Pack<Pair, 4>* global, Pack<Pair, 4> value) {
#ifdef WARPBOOK_EMULATED
  emulator::reduce_pairs(global, &value, 4, &emulator::narrow_pair_sum<Pair>);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  const auto& word = reinterpret_cast<const uint4&>(value);
  if constexpr (std::is_same_v<Pair, __half2>) {
    asm volatile("red.relaxed.gpu.global.add.noftz.L2::cache_hint.v4.f16x2 [%0], {%1, %2, %3, %4}, %5;"
                 :
                 : "l"(__cvta_generic_to_global(global)), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w),
                   "l"(detail::keep_policy())
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.noftz.L2::cache_hint.v4.bf16x2 [%0], {%1, %2, %3, %4}, %5;"
                 :
                 : "l"(__cvta_generic_to_global(global)), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w),
                   "l"(detail::keep_policy())
                 : "memory");
  }
#else
  for (int i = 0; i < 4; ++i) reduce_add(&(*global)[i], value[i]);
#endif
}

}  // namespace warpbook
