/// \file
/// Functions for callers without templates, as C and other compilers are: allocations by `void**`, kernels by address.
#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

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

namespace {

/// A hint about managed memory, or about the host's: there is nothing to move.
cudaError_t place_hint(const void* pointer, cudaStream_t stream) {
  const RuntimeLock lock;
  const Allocation* allocation = find_allocation(pointer);
  if (allocation == nullptr || allocation->kind != MemoryKind::device)
    return cudaStreamAttachMemAsync(stream, const_cast<void*>(pointer));
  ApiCall::explain("api_error", "Memory of cudaMalloc stays where it is: this is for that of cudaMallocManaged.");
  return remember(cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
  const ApiCall api("cudaMemPrefetchAsync");
  return place_hint(pointer, stream);
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
  const ApiCall api("cudaMemAdvise");
  return place_hint(pointer, nullptr);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const ApiCall api("cudaFuncGetAttributes");
  return kernel_attributes(attributes, kernel);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const ApiCall api("cudaFuncSetAttribute");
  return set_kernel_attribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache /*a hint*/) {
  const ApiCall api("cudaFuncSetCacheConfig");
  cudaFuncAttributes attributes;
  return kernel_attributes(&attributes, kernel);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          std::size_t dynamic_shared) {
  const ApiCall api("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return active_blocks(blocks, kernel, block_size, dynamic_shared);
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const ApiCall api("cudaEventCreate");
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  const ApiCall api("cudaEventRecordWithFlags");
  return flags > cudaEventRecordExternal ? cudaErrorInvalidValue : cudaEventRecord(event, stream);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  const ApiCall api("cudaGraphInstantiate");
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
