/// \file
/// The driver's interface over the runtime's. Its errors have the runtime's numbers.
#include "common/emulator/include/cuda.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "common/emulator/execution/arena.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/driver_call.hpp"
#include "common/emulator/runtime/state.hpp"

struct CUctx_st {};

namespace warpbook::emulator {
namespace {

struct ResultName {
  CUresult value;
  const char* name;
};
constexpr ResultName kResultNames[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED"},
    {CUDA_ERROR_UNMAP_FAILED, "CUDA_ERROR_UNMAP_FAILED"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {CUDA_ERROR_UNSUPPORTED_LIMIT, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
    {CUDA_ERROR_INVALID_SOURCE, "CUDA_ERROR_INVALID_SOURCE"},
    {CUDA_ERROR_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND"},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }
CUdeviceptr number(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// A pointer that a runtime's function writes, for one that the driver's does.
template <class Allocate> cudaError_t allocate_to(CUdeviceptr* pointer, Allocate allocate) {
  if (pointer == nullptr) return remember(cudaErrorInvalidValue);
  void* made = nullptr;
  const cudaError_t error = allocate(&made);
  if (error == cudaSuccess) *pointer = number(made);
  return error;
}

std::mutex contexts_mutex;
std::set<CUcontext> contexts;  // those that live
CUctx_st primary;

/// The thread's contexts. Where it has none, the runtime's functions make the primary one current.
std::vector<CUcontext>& current() {
  thread_local std::vector<CUcontext> stack;
  if (ApiCall::wanted_context() && stack.empty()) stack.push_back(&primary);
  return stack;
}

bool is_context(CUcontext context) {
  const std::lock_guard lock(contexts_mutex);
  return context == &primary || contexts.contains(context);
}

cudaError_t create_context(CUcontext* context, CUdevice device) {
  if (context == nullptr) return remember(cudaErrorInvalidValue);
  if (device != 0) return remember(cudaErrorInvalidDevice);
  if (const cudaError_t state = device_state(); state != cudaSuccess) return remember(state);
  *context = new CUctx_st;  // NOLINT(cppcoreguidelines-owning-memory): cuCtxDestroy's to delete
  const std::lock_guard lock(contexts_mutex);
  contexts.insert(*context);
  current().push_back(*context);
  return cudaSuccess;
}

/// A copy between the host and the device, or within either, by a function that does it.
template <class Copy> cudaError_t copy_rows(const CUDA_MEMCPY2D* asked, Copy copy) {
  if (asked == nullptr) return remember(cudaErrorInvalidValue);
  const auto place = [](CUmemorytype type, const void* host, CUdeviceptr device) -> std::byte* {
    if (type == CU_MEMORYTYPE_HOST) return static_cast<std::byte*>(const_cast<void*>(host));
    return type == CU_MEMORYTYPE_ARRAY ? nullptr : static_cast<std::byte*>(address(device));
  };
  const auto pitch = [&](std::size_t given) { return given == 0 ? asked->WidthInBytes : given; };
  const std::size_t from_pitch = pitch(asked->srcPitch);
  const std::size_t to_pitch = pitch(asked->dstPitch);
  const std::byte* const from = place(asked->srcMemoryType, asked->srcHost, asked->srcDevice);
  std::byte* const to = place(asked->dstMemoryType, asked->dstHost, asked->dstDevice);
  if (from == nullptr || to == nullptr) return remember(cudaErrorNotSupported);
  return copy(to + asked->dstY * to_pitch + asked->dstXInBytes, to_pitch,
              from + asked->srcY * from_pitch + asked->srcXInBytes, from_pitch, asked->WidthInBytes, asked->Height);
}

CUresult refuse_module(const char* function) {
  std::fprintf(stderr,
               "%s: the emulator runs kernels that are compiled with the program; it loads no PTX, cubin or "
               "fatbin\n",
               function);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

// ---- Errors, versions, devices

CUresult cuInit(unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] { return remember(flags != 0 ? cudaErrorInvalidValue : device_state()); });
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  for (const ResultName& known : kResultNames) {
    if (known.value == error) *name = known.name;
  }
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const char* name = nullptr;
  const CUresult known = cuGetErrorName(error, &name);
  *text = known == CUDA_SUCCESS ? cudaGetErrorString(static_cast<cudaError_t>(error)) : nullptr;
  return known;
}

CUresult cuDriverGetVersion(int* version) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDriverGetVersion(version); });
}

CUresult cuDeviceGetCount(int* count) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaGetDeviceCount(count); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return driver_call(WARPBOOK_CALLER, [&] {
    if (device == nullptr) return remember(cudaErrorInvalidValue);
    const cudaError_t error = cudaSetDevice(ordinal);
    if (error == cudaSuccess) *device = ordinal;
    return error;
  });
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    cudaDeviceProp properties{};
    if (name == nullptr || bytes <= 0) return remember(cudaErrorInvalidValue);
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess) std::snprintf(name, static_cast<std::size_t>(bytes), "%s", properties.name);
    return error;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    switch (attribute) {  // those that the runtime does not know
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
      if (value == nullptr) return remember(cudaErrorInvalidValue);
      if (device != 0) return remember(cudaErrorInvalidDevice);
      // Compressed memory holds the same.
      *value = attribute != CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
      return remember(device_state());
    default:
      return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
    }
  });
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    cudaDeviceProp properties{};
    if (bytes == nullptr) return remember(cudaErrorInvalidValue);
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess) *bytes = properties.totalGlobalMem;
    return error;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const cudaError_t error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
    return error != cudaSuccess ? error : cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device);
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}

// ---- Contexts

CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] { return create_context(context, device); });
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* parameters, unsigned, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const bool asks =
        parameters != nullptr && (parameters->numExecAffinityParams != 0 || parameters->cigParams != nullptr);
    return asks ? remember(cudaErrorNotSupported) : create_context(context, device);
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  const std::lock_guard lock(contexts_mutex);
  if (contexts.erase(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  std::erase(current(), context);
  delete context;  // NOLINT(cppcoreguidelines-owning-memory)
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  current().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  if (current().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = current().back();
  current().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr && !is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!current().empty()) current().pop_back();
  if (context != nullptr) current().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = current().empty() ? nullptr : current().back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (current().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceSynchronize(); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    if (context == nullptr) return remember(cudaErrorInvalidValue);
    const cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess) *context = &primary;
    return error;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaSetDevice(device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const cudaError_t error = cudaSetDevice(device);
    return error == cudaSuccess ? cudaDeviceReset() : error;
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaSetDevice(device); });
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context != nullptr && !is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  constexpr unsigned kVersion = 3020;  // as since CUDA 3.2
  *version = kVersion;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int* const values[] = {
      &properties->maxThreadsPerBlock, &properties->maxThreadsDim[0],  &properties->maxThreadsDim[1],
      &properties->maxThreadsDim[2],   &properties->maxGridSize[0],    &properties->maxGridSize[1],
      &properties->maxGridSize[2],     &properties->sharedMemPerBlock, &properties->totalConstantMemory,
      &properties->SIMDWidth,          &properties->memPitch,          &properties->regsPerBlock,
      &properties->clockRate,          &properties->textureAlign};
  int attribute = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;  // They have the attributes' order.
  for (int* const value : values)
    if (const CUresult error = cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute++), device);
        error != CUDA_SUCCESS)
      return error;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaDeviceGetPCIBusId(text, bytes, device); });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return driver_call(WARPBOOK_CALLER, [&] {
    cudaDeviceProp properties{};
    if (uuid == nullptr) return remember(cudaErrorInvalidValue);
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess) std::memcpy(uuid, &properties.uuid, sizeof *uuid);
    return error;
  });
}

// ---- Memory

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaMemGetInfo(free_bytes, total_bytes); });
}

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER, [&] {
    if (bytes == 0) return remember(cudaErrorInvalidValue);
    return allocate_to(pointer, [&](void** made) { return allocate_device(made, bytes); });
  });
}

CUresult cuMemAllocPitch(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                         unsigned element_bytes) {
  return driver_call(WARPBOOK_CALLER, [&] {
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return remember(cudaErrorInvalidValue);
    return allocate_to(pointer, [&](void** made) { return allocate_pitched(made, pitch, width, height); });
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return allocate_to(pointer, [&](void** made) { return allocate_managed(made, bytes); }); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr pointer) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const Allocation* known = find_allocation(reinterpret_cast<const void*>(pointer));
    AddressRange range;
    if (known != nullptr) range = {known->begin, known->begin + known->bytes};
    if (known == nullptr && variables_range().contains(address(pointer))) range = variable_at(address(pointer));
    if (range.begin == nullptr) return remember(cudaErrorInvalidValue);
    if (begin != nullptr) *begin = number(range.begin);
    if (bytes != nullptr) *bytes = static_cast<std::size_t>(range.end - range.begin);
    return remember(cudaSuccess);
  });
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaFree(address(pointer)); });
}

CUresult cuMemAllocHost(void** pointer, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER, [&] { return allocate_pinned(pointer, bytes); });
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return driver_call(WARPBOOK_CALLER, [&] { return allocate_pinned(pointer, bytes); });
}

CUresult cuMemFreeHost(void* pointer) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaFreeHost(pointer); });
}

CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaHostRegister(pointer, bytes, flags); });
}

CUresult cuMemHostUnregister(void* pointer) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaHostUnregister(pointer); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return allocate_to(device, [&](void** made) { return cudaHostGetDevicePointer(made, host, flags); });
  });
}

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return cudaMemcpy(address(destination), address(source), bytes, cudaMemcpyDefault); });
}

CUresult cuMemcpyHtoD(CUdeviceptr destination, const void* source, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return cudaMemcpy(address(destination), source, bytes, cudaMemcpyHostToDevice); });
}

CUresult cuMemcpyDtoH(void* destination, CUdeviceptr source, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return cudaMemcpy(destination, address(source), bytes, cudaMemcpyDeviceToHost); });
}

CUresult cuMemcpyDtoD(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return cudaMemcpy(address(destination), address(source), bytes, cudaMemcpyDeviceToDevice);
  });
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return cudaMemcpyAsync(address(destination), address(source), bytes, cudaMemcpyDefault, stream);
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, std::size_t bytes, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return cudaMemcpyAsync(address(destination), source, bytes, cudaMemcpyHostToDevice, stream);
  });
}

CUresult cuMemcpyDtoHAsync(void* destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return cudaMemcpyAsync(destination, address(source), bytes, cudaMemcpyDeviceToHost, stream);
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return cudaMemcpyAsync(address(destination), address(source), bytes, cudaMemcpyDeviceToDevice, stream);
  });
}

CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, std::size_t count) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaMemset(address(pointer), value, count); });
}

CUresult cuMemsetD16(CUdeviceptr pointer, unsigned short value, std::size_t count) {
  return driver_call(WARPBOOK_CALLER, [&] { return fill(address(pointer), 0, value, 2, count, 1, nullptr, false); });
}

CUresult cuMemsetD32(CUdeviceptr pointer, unsigned value, std::size_t count) {
  return driver_call(WARPBOOK_CALLER, [&] { return fill(address(pointer), 0, value, 4, count, 1, nullptr, false); });
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, std::size_t count, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaMemsetAsync(address(pointer), value, count, stream); });
}

CUresult cuMemsetD16Async(CUdeviceptr pointer, unsigned short value, std::size_t count, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return fill(address(pointer), 0, value, 2, count, 1, stream, true); });
}

CUresult cuMemsetD32Async(CUdeviceptr pointer, unsigned value, std::size_t count, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return fill(address(pointer), 0, value, 4, count, 1, stream, true); });
}

CUresult cuMemsetD2D8(CUdeviceptr pointer, std::size_t pitch, unsigned char value, std::size_t width,
                      std::size_t height) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return fill(address(pointer), pitch, value, 1, width, height, nullptr, false); });
}

CUresult cuMemsetD2D16(CUdeviceptr pointer, std::size_t pitch, unsigned short value, std::size_t width,
                       std::size_t height) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return fill(address(pointer), pitch, value, 2, width, height, nullptr, false); });
}

CUresult cuMemsetD2D32(CUdeviceptr pointer, std::size_t pitch, unsigned value, std::size_t width, std::size_t height) {
  return driver_call(WARPBOOK_CALLER,
                     [&] { return fill(address(pointer), pitch, value, 4, width, height, nullptr, false); });
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return copy_rows(copy, [](void* to, std::size_t to_pitch, const void* from, std::size_t pitch, std::size_t width,
                              std::size_t height) {
      return cudaMemcpy2D(to, to_pitch, from, pitch, width, height, cudaMemcpyDefault);
    });
  });
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) { return cuMemcpy2D(copy); }

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return copy_rows(copy, [&](void* to, std::size_t to_pitch, const void* from, std::size_t pitch, std::size_t width,
                               std::size_t height) {
      return cudaMemcpy2DAsync(to, to_pitch, from, pitch, width, height, cudaMemcpyDefault, stream);
    });
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] {
    return allocate_to(pointer, [&](void** made) { return cudaMallocAsync(made, bytes, stream); });
  });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaFreeAsync(address(pointer), stream); });
}

// ---- Streams and events

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamDestroy(stream); });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamSynchronize(stream); });
}

CUresult cuStreamQuery(CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamQuery(stream); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaStreamWaitEvent(stream, event, flags); });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaLaunchHostFunc(stream, function, user_data); });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventCreateWithFlags(event, flags); });
}

CUresult cuEventDestroy(CUevent event) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventDestroy(event); });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventRecord(event, stream); });
}

CUresult cuEventSynchronize(CUevent event) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventSynchronize(event); });
}

CUresult cuEventQuery(CUevent event) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventQuery(event); });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return driver_call(WARPBOOK_CALLER, [&] { return cudaEventElapsedTime(milliseconds, start, end); });
}

// ---- Modules

CUresult cuModuleLoad(CUmodule*, const char*) { return refuse_module("cuModuleLoad"); }
CUresult cuModuleLoadData(CUmodule*, const void*) { return refuse_module("cuModuleLoadData"); }
CUresult cuModuleLoadDataEx(CUmodule*, const void*, unsigned, CUjit_option*, void**) {
  return refuse_module("cuModuleLoadDataEx");
}
CUresult cuModuleLoadFatBinary(CUmodule*, const void*) { return refuse_module("cuModuleLoadFatBinary"); }
CUresult cuModuleUnload(CUmodule) { return CUDA_ERROR_INVALID_HANDLE; }
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) { return CUDA_ERROR_INVALID_HANDLE; }
CUresult cuModuleGetGlobal(CUdeviceptr*, std::size_t*, CUmodule, const char*) { return CUDA_ERROR_INVALID_HANDLE; }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
  return CUDA_ERROR_INVALID_HANDLE;
}
