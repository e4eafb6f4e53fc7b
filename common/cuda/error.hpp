/// \file
/// CUDA's error codes as exceptions, for host code that cannot go on after one.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace warpbook {

/// A CUDA call that failed. The text names what was tried and what CUDA said: "allocating 64 MiB: out of memory
/// (cudaErrorMemoryAllocation)".
class CudaError : public std::runtime_error {
public:
  /// \param code what CUDA returned. \param what what was being done: "allocating 64 MiB".
  CudaError(cudaError_t code, std::string_view what)
      : std::runtime_error(std::string(what) + ": " + describe(code)), code_(code) {}

  /// What CUDA returned.
  cudaError_t code() const noexcept { return code_; }

  /// CUDA's text and name of an error: "an illegal memory access was encountered (cudaErrorIllegalAddress)".
  static std::string describe(cudaError_t code) {
    return std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
  }

private:
  cudaError_t code_;
};

/// Passes success. \throws CudaError otherwise, saying `what` was being done.
inline void check(cudaError_t code, std::string_view what) {
  if (code != cudaSuccess) throw CudaError(code, what);
}

}  // namespace warpbook
