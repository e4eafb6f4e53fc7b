/// \file
/// Launches that begin while the kernel before still runs, and wait for its end inside: the launch itself costs no
/// time.
///
/// Needs compute capability 9.0; elsewhere, and emulated, such a launch is an ordinary one. Source: CUDA C++
/// Programming Guide, "Programmatic Dependent Launch".
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "common/cuda/launch.cuh"

namespace warpbook {

/// In a kernel: allows a `launch_early` behind it to begin. Once all blocks have called or ended, it does.
__device__ __forceinline__ void let_next_launch_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// In a kernel that was launched early: waits until the launches before have ended and what they wrote can be read.
__device__ __forceinline__ void wait_for_launches_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// As `launch`, but the kernel may begin before what is on the stream has ended. It has to call
/// `wait_for_launches_before` before it reads or writes what other launches do.
template <class... Parameters>
[[nodiscard]] cudaError_t launch_early(void (*kernel)(Parameters...), const LaunchConfig& config,
                                       std::type_identity_t<Parameters>... arguments) {
  int device = 0;
  int major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 9) {
    return launch(kernel, config, arguments...);
  }
  if (config.shared_bytes > 16 * 1024) {  // As `launch` asks.
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(config.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cuda{};
  cuda.gridDim = config.grid.dim();
  cuda.blockDim = config.block.dim();
  cuda.dynamicSmemBytes = config.shared_bytes;
  cuda.stream = config.stream;
  cuda.attrs = &early;
  cuda.numAttrs = 1;
  return cudaLaunchKernelEx(&cuda, kernel, arguments...);
}

/// `launch_early` where `early` holds, else `launch`.
template <class... Parameters>
[[nodiscard]] cudaError_t launch_early_if(bool early, void (*kernel)(Parameters...), const LaunchConfig& config,
                                          std::type_identity_t<Parameters>... arguments) {
  return early ? launch_early(kernel, config, arguments...) : launch(kernel, config, arguments...);
}

}  // namespace warpbook
