/// \file
/// What the operators need besides the C interfaces of tests/chapters/peers/: an addition, the words of an error, and
/// where memory lies. All of it becomes one library, for the GPU or for the emulator, that knows nothing of PyTorch: so
/// PyTorch's headers never meet the emulator's, and the binding needs no nvcc.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "add.cuh"
#include "elementwise.cuh"

namespace {

template <class T> int add(void* z, const void* x, const void* y, std::int64_t count, void* stream) {
  return static_cast<int>(warpbook::elementwise(warpbook::chapter7::Add{}, static_cast<T*>(z), static_cast<const T*>(x),
                                                static_cast<const T*>(y), count, static_cast<cudaStream_t>(stream)));
}

}  // namespace

/// z = x + y. \param type 0: float, 1: half, 2: bfloat16. \param stream a cudaStream_t.
/// \return a cudaError_t; an unknown type is cudaErrorInvalidValue.
extern "C" int warpbook_add(void* z, const void* x, const void* y, int type, std::int64_t count, void* stream) {
  switch (type) {
  case 0:
    return add<float>(z, x, y, count, stream);
  case 1:
    return add<__half>(z, x, y, count, stream);
  case 2:
    return add<__nv_bfloat16>(z, x, y, count, stream);
  default:
    return static_cast<int>(cudaErrorInvalidValue);
  }
}

/// What CUDA says of an error.
extern "C" const char* warpbook_error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

/// Lets kernels touch host memory, until it is released: how CPU tensors meet the emulator. Both return a cudaError_t.
extern "C" int warpbook_register_host(void* memory, std::size_t bytes) {
  return static_cast<int>(cudaHostRegister(memory, bytes, cudaHostRegisterDefault));
}
extern "C" int warpbook_release_host(void* memory) { return static_cast<int>(cudaHostUnregister(memory)); }

/// Waits for all work, and returns the first error that it met, which is forgotten with that.
extern "C" int warpbook_synchronize() {
  const cudaError_t error = cudaDeviceSynchronize();
  static_cast<void>(cudaGetLastError());
  return static_cast<int>(error);
}
