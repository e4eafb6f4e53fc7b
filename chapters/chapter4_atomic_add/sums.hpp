/// \file
/// The two problems of chapter 4: sums into chosen places, and the inner product, a sum into one.
///
/// A step has `cudaError_t run_scatter(const ScatterProblem&, const ScatterArrays&, cudaStream_t)`, or `run_inner`
/// likewise, or both. All add to what the output holds. `refuse` says why one does not take a problem, or nullptr.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/cuda/alignment.hpp"

namespace warpbook::chapter4 {

enum class ElementType { half, bfloat16, float32 };

constexpr int element_bytes(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

/// dst[index[i]] += value[i] for i from 0 to count - 1. A value whose index is not 0 to places - 1 is left out.
struct ScatterProblem {
  ElementType type = ElementType::float32;
  int index_bytes = 8;      ///< 4 or 8, signed.
  std::int64_t count = 0;   ///< Values.
  std::int64_t places = 0;  ///< Elements of dst.
};

/// Where they are: device memory, aligned to their elements.
struct ScatterArrays {
  void* dst = nullptr;
  const void* value = nullptr;
  const void* index = nullptr;
  void* scratch = nullptr;  ///< As many bytes as the step's `scatter_scratch_bytes` says, aligned to 16.
};

/// dst[0] += a[0] * b[0] + a[1] * b[1] + ...
struct InnerProblem {
  ElementType type = ElementType::half;
  std::int64_t count = 0;
  int alignment = 16;  ///< Both arrays begin at multiples of so many bytes: 2, 4, 8 or 16.
};

/// Where they are: device memory, aligned to their elements.
struct InnerArrays {
  void* dst = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  void* scratch = nullptr;  ///< kInnerScratchBytes, aligned to 16.
};

/// Most blocks of an inner product that leaves one sum per block in scratch.
inline constexpr int kMostInnerBlocks = 4096;
/// Scratch of an inner product, in bytes: a sum per block.
inline constexpr std::size_t kInnerScratchBytes = kMostInnerBlocks * sizeof(float);

/// Calls `f.template operator()<T>()` for the element's type.
template <class F> cudaError_t with_element(ElementType type, F&& f) {
  switch (type) {
  case ElementType::half:
    return f.template operator()<__half>();
  case ElementType::bfloat16:
    return f.template operator()<__nv_bfloat16>();
  default:
    return f.template operator()<float>();
  }
}

/// Calls `f.template operator()<T, Index>()` for the types of a problem. A caller who knows these names them as
/// `Types`, and gets no code for others.
template <class... Types, class F> cudaError_t with_types(const ScatterProblem& p, F&& f) {
  if constexpr (sizeof...(Types) > 0) {
    return f.template operator()<Types...>();
  } else {
    return with_element(p.type, [&]<class T>() {
      return p.index_bytes == 4 ? f.template operator()<T, std::int32_t>() : f.template operator()<T, std::int64_t>();
    });
  }
}

/// A value as float; exact.
__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

/// The T nearest to a float.
template <class T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ __half from_float<__half>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// Multiprocessors of the current device; 1 where CUDA does not tell.
inline int multiprocessors() {
  int device = 0;
  int count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || count < 1) {
    return 1;
  }
  return count;
}

/// Bytes of shared memory that a block may have on the current device; 48 KiB where CUDA does not tell.
inline std::int64_t shared_bytes_limit() {
  int device = 0;
  int bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) {
    return 48 * 1024;
  }
  return bytes;
}

}  // namespace warpbook::chapter4
