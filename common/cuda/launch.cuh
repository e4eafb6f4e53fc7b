/// \file
/// Typed kernel launches. `<<<>>>` is no C++, so every launch of the book goes through `launch`, on both devices.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace warpbook {

/// Blocks of a grid, or threads of a block. Takes any integer type; an extent that is negative or does not fit CUDA's
/// 32 bits becomes 0, which CUDA refuses with cudaErrorInvalidConfiguration instead of launching a truncated grid.
class Extent {
public:
  /// Of one to three numbers, of any integer types.
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr Extent(X x, Y y = 1, Z z = 1)  // NOLINT(google-explicit-constructor): `.grid = n` is the point.
      : x_(narrow(x)), y_(narrow(y)), z_(narrow(z)) {}
  /// Of CUDA's own.
  constexpr Extent(dim3 d) : x_(d.x), y_(d.y), z_(d.z) {}  // NOLINT(google-explicit-constructor)

  /// The extent as CUDA takes it.
  dim3 dim() const { return dim3(x_, y_, z_); }

private:
  template <std::integral T> static constexpr unsigned narrow(T value) {
    if constexpr (std::is_signed_v<T>) {
      if (value < 0) return 0;
    }
    const auto wide = static_cast<std::uint64_t>(value);
    return wide <= std::numeric_limits<unsigned>::max() ? static_cast<unsigned>(wide) : 0U;
  }

  unsigned x_;
  unsigned y_;
  unsigned z_;
};

/// Where and how wide a kernel runs.
struct LaunchConfig {
  Extent grid = 1;                ///< Blocks.
  Extent block = 1;               ///< Threads a block.
  std::size_t shared_bytes = 0;   ///< Dynamic shared memory a block, in bytes; see `dynamic_shared`.
  cudaStream_t stream = nullptr;  ///< Where the launch is queued.
};

/// Launches `kernel`; arguments convert as in a plain call.
/// \return what CUDA says of the launch; it does not wait for the kernel.
template <class... Parameters>
[[nodiscard]] cudaError_t launch(void (*kernel)(Parameters...), const LaunchConfig& config,
                                 std::type_identity_t<Parameters>... arguments) {
  // Above 48 KiB a block's shared memory has to be asked for, and the kernel's static arrays count to it: up to 32 KiB
  // of them are allowed for here, without asking how large they are.
  if (config.shared_bytes > 16 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(config.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t cuda{};
  cuda.gridDim = config.grid.dim();
  cuda.blockDim = config.block.dim();
  cuda.dynamicSmemBytes = config.shared_bytes;
  cuda.stream = config.stream;
  return cudaLaunchKernelEx(&cuda, kernel, arguments...);
}

/// The block's dynamic shared memory as an array of T (T's alignment at most 16 bytes).
template <class T> __device__ __forceinline__ T* dynamic_shared() {
#ifdef WARPBOOK_EMULATED
  return reinterpret_cast<T*>(emulator::dynamic_shared());
#else
  extern __shared__ __align__(16) unsigned char warpbook_dynamic_shared[];
  return reinterpret_cast<T*>(warpbook_dynamic_shared);
#endif
}

/// n / d rounded up, for n >= 0 and d > 0.
template <std::integral T> __host__ __device__ constexpr T ceil_div(T n, T d) { return (n + d - 1) / d; }

}  // namespace warpbook
