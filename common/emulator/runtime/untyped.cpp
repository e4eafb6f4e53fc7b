/// \file
/// The allocating functions for callers that say `void**`, as C and other compilers do.
#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/runtime/api_call.hpp"

using namespace warpbook::emulator;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const ApiCall api("cudaMalloc");
  return allocate_device(pointer, bytes);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const ApiCall api("cudaMallocAsync");
  return allocate_device_async(pointer, bytes, stream);
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  const ApiCall api("cudaMallocManaged");
  return allocate_managed(pointer, bytes);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  const ApiCall api("cudaMallocHost");
  return allocate_pinned(pointer, bytes);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  const ApiCall api("cudaHostAlloc");
  return allocate_pinned(pointer, bytes);
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  const ApiCall api("cudaMallocPitch");
  return allocate_pitched(pointer, pitch, width, height);
}
