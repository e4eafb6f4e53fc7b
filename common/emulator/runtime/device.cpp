/// \file
/// The emulated device and its properties.

#include <cstdio>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/arena.hpp"
#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

constexpr int kCudaVersion = CUDART_VERSION;

cudaDeviceProp properties_of(const DeviceTable& device) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "%s", device.name);
  p.totalGlobalMem = device_memory_bytes();
  p.sharedMemPerBlock = device.shared_bytes_per_block;
  p.regsPerBlock = device.registers_per_multiprocessor;
  p.warpSize = static_cast<int>(kWarpSize);
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = device.compute_major;
  p.minor = device.compute_minor;
  p.multiProcessorCount = device.multiprocessors;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.asyncEngineCount = device.copy_engines;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = device.memory_bus_bits;
  p.l2CacheSize = static_cast<int>(device.l2_bytes);
  p.maxThreadsPerMultiProcessor = device.threads_per_multiprocessor;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = device.shared_bytes_per_multiprocessor;
  p.regsPerMultiprocessor = device.registers_per_multiprocessor;
  p.cooperativeLaunch = 1;
  p.managedMemory = p.concurrentManagedAccess = 1;
  p.sharedMemPerBlockOptin = device.shared_bytes_per_block_optin;
  p.maxBlocksPerMultiProcessor = device.blocks_per_multiprocessor;
  p.reservedSharedMemPerBlock = device.shared_bytes_reserved;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  // As on all cards since compute capability 6.0 (CUDA C++ Programming Guide, technical specifications).
  p.maxTexture1D = p.maxTexture2D[0] = 131072;
  p.maxTexture2D[1] = 65536;
  p.maxTexture1DLayered[0] = p.maxTexture2DLayered[0] = p.maxTexture2DLayered[1] = p.maxSurface1D = 32768;
  p.maxTexture1DLayered[1] = p.maxTexture2DLayered[2] = 2048;
  p.maxTexture2DLinear[0] = 131072;
  p.maxTexture2DLinear[1] = 65000;
  p.maxTexture2DLinear[2] = 2097120;
  p.maxTexture3D[0] = p.maxTexture3D[1] = p.maxTexture3D[2] = 16384;
  p.maxSurface2D[0] = 131072;
  p.maxSurface2D[1] = 65536;
  p.maxSurface3D[0] = p.maxSurface3D[1] = p.maxSurface3D[2] = 16384;
  p.maxTexture1DMipmap = p.maxTexture2DMipmap[0] = p.maxTexture2DMipmap[1] = 32768;
  p.maxTexture2DGather[0] = p.maxTexture2DGather[1] = 32768;
  p.maxTexture3DAlt[0] = p.maxTexture3DAlt[1] = 8192;
  p.maxTexture3DAlt[2] = p.maxTextureCubemap = p.maxTextureCubemapLayered[0] = 32768;
  p.maxTextureCubemapLayered[1] = p.maxSurfaceCubemapLayered[1] = 2046;
  p.maxSurface1DLayered[0] = p.maxSurface2DLayered[0] = p.maxSurface2DLayered[1] = 32768;
  p.maxSurface1DLayered[1] = p.maxSurface2DLayered[2] = 2048;
  p.maxSurfaceCubemap = p.maxSurfaceCubemapLayered[0] = 32768;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = p.unifiedFunctionPointers = 1;
  p.memoryPoolsSupported = 1;
  std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "warpbook");
  p.streamPrioritiesSupported = p.computePreemptionSupported = 1;
  return p;
}

cudaError_t attribute_of(const DeviceTable& device, cudaDeviceAttr attribute, int& value) {
  const cudaDeviceProp p = properties_of(device);
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
    value = p.maxThreadsPerBlock;
    break;
  case cudaDevAttrMaxBlockDimX:
    value = p.maxThreadsDim[0];
    break;
  case cudaDevAttrMaxBlockDimY:
    value = p.maxThreadsDim[1];
    break;
  case cudaDevAttrMaxBlockDimZ:
    value = p.maxThreadsDim[2];
    break;
  case cudaDevAttrMaxGridDimX:
    value = p.maxGridSize[0];
    break;
  case cudaDevAttrMaxGridDimY:
    value = p.maxGridSize[1];
    break;
  case cudaDevAttrMaxGridDimZ:
    value = p.maxGridSize[2];
    break;
  case cudaDevAttrMaxSharedMemoryPerBlock:
    value = static_cast<int>(p.sharedMemPerBlock);
    break;
  case cudaDevAttrTotalConstantMemory:
    value = static_cast<int>(p.totalConstMem);
    break;
  case cudaDevAttrWarpSize:
    value = p.warpSize;
    break;
  case cudaDevAttrMaxRegistersPerBlock:
    value = p.regsPerBlock;
    break;
  case cudaDevAttrClockRate:
    value = device.clock_khz;
    break;
  case cudaDevAttrMultiProcessorCount:
    value = p.multiProcessorCount;
    break;
  case cudaDevAttrKernelExecTimeout:
    value = 0;
    break;
  case cudaDevAttrIntegrated:
    value = p.integrated;
    break;
  case cudaDevAttrCanMapHostMemory:
    value = p.canMapHostMemory;
    break;
  case cudaDevAttrComputeMode:
    value = 0;
    break;
  case cudaDevAttrConcurrentKernels:
    value = p.concurrentKernels;
    break;
  case cudaDevAttrEccEnabled:
    value = p.ECCEnabled;
    break;
  case cudaDevAttrMemoryClockRate:
    value = device.memory_clock_khz;
    break;
  case cudaDevAttrGlobalMemoryBusWidth:
    value = p.memoryBusWidth;
    break;
  case cudaDevAttrL2CacheSize:
    value = p.l2CacheSize;
    break;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    value = p.maxThreadsPerMultiProcessor;
    break;
  case cudaDevAttrAsyncEngineCount:
    value = p.asyncEngineCount;
    break;
  case cudaDevAttrUnifiedAddressing:
    value = p.unifiedAddressing;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    value = p.major;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    value = p.minor;
    break;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    value = static_cast<int>(p.sharedMemPerMultiprocessor);
    break;
  case cudaDevAttrMaxRegistersPerMultiprocessor:
    value = p.regsPerMultiprocessor;
    break;
  case cudaDevAttrManagedMemory:
    value = p.managedMemory;
    break;
  case cudaDevAttrCooperativeLaunch:
    value = p.cooperativeLaunch;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    value = static_cast<int>(p.sharedMemPerBlockOptin);
    break;
  case cudaDevAttrMaxBlocksPerMultiprocessor:
    value = p.maxBlocksPerMultiProcessor;
    break;
  case cudaDevAttrReservedSharedMemoryPerBlock:
    value = static_cast<int>(p.reservedSharedMemPerBlock);
    break;
  case cudaDevAttrMemoryPoolsSupported:
    value = p.memoryPoolsSupported;
    break;
  case cudaDevAttrClusterLaunch:
    value = p.clusterLaunch;
    break;
  case cudaDevAttrMaxPitch:
    value = static_cast<int>(p.memPitch);
    break;
  case cudaDevAttrTextureAlignment:
    value = static_cast<int>(p.textureAlignment);
    break;
  case cudaDevAttrSurfaceAlignment:
    value = static_cast<int>(p.surfaceAlignment);
    break;
  case cudaDevAttrPciBusId:
    value = p.pciBusID;
    break;
  case cudaDevAttrPciDeviceId:
    value = p.pciDeviceID;
    break;
  case cudaDevAttrPciDomainId:
    value = p.pciDomainID;
    break;
  case cudaDevAttrTccDriver:
    value = p.tccDriver;
    break;
  case cudaDevAttrGlobalL1CacheSupported:
    value = p.globalL1CacheSupported;
    break;
  case cudaDevAttrLocalL1CacheSupported:
    value = p.localL1CacheSupported;
    break;
  case cudaDevAttrIsMultiGpuBoard:
    value = p.isMultiGpuBoard;
    break;
  case cudaDevAttrHostNativeAtomicSupported:
    value = p.hostNativeAtomicSupported;
    break;
  case cudaDevAttrComputePreemptionSupported:
    value = p.computePreemptionSupported;
    break;
  case cudaDevAttrGpuOverlap:
    value = p.asyncEngineCount > 0 ? 1 : 0;
    break;
  case cudaDevAttrPageableMemoryAccess:
    value = p.pageableMemoryAccess;
    break;
  case cudaDevAttrConcurrentManagedAccess:
    value = p.concurrentManagedAccess;
    break;
  case cudaDevAttrMaxTexture1DWidth:
    value = p.maxTexture1D;
    break;
  case cudaDevAttrMaxTexture2DWidth:
    value = p.maxTexture2D[0];
    break;
  case cudaDevAttrMaxTexture2DHeight:
    value = p.maxTexture2D[1];
    break;
  case cudaDevAttrMaxTexture3DWidth:
    value = p.maxTexture3D[0];
    break;
  case cudaDevAttrMaxTexture3DHeight:
    value = p.maxTexture3D[1];
    break;
  case cudaDevAttrMaxTexture3DDepth:
    value = p.maxTexture3D[2];
    break;
  case cudaDevAttrMaxTexture2DLayeredWidth:
    value = p.maxTexture2DLayered[0];
    break;
  case cudaDevAttrMaxTexture2DLayeredHeight:
    value = p.maxTexture2DLayered[1];
    break;
  case cudaDevAttrMaxTexture2DLayeredLayers:
    value = p.maxTexture2DLayered[2];
    break;
  case cudaDevAttrMaxTexture1DLayeredWidth:
    value = p.maxTexture1DLayered[0];
    break;
  case cudaDevAttrMaxTexture1DLayeredLayers:
    value = p.maxTexture1DLayered[1];
    break;
  case cudaDevAttrTexturePitchAlignment:
    value = static_cast<int>(p.texturePitchAlignment);
    break;
  case cudaDevAttrMaxSurface1DWidth:
    value = p.maxSurface1D;
    break;
  case cudaDevAttrMaxSurface2DWidth:
    value = p.maxSurface2D[0];
    break;
  case cudaDevAttrMaxSurface2DHeight:
    value = p.maxSurface2D[1];
    break;
  case cudaDevAttrMaxTexture2DLinearWidth:
    value = p.maxTexture2DLinear[0];
    break;
  case cudaDevAttrMaxTexture2DLinearHeight:
    value = p.maxTexture2DLinear[1];
    break;
  case cudaDevAttrMaxTexture2DLinearPitch:
    value = p.maxTexture2DLinear[2];
    break;
  case cudaDevAttrMaxTexture2DGatherWidth:
    value = p.maxTexture2DGather[0];
    break;
  case cudaDevAttrMaxTexture2DGatherHeight:
    value = p.maxTexture2DGather[1];
    break;
  case cudaDevAttrMaxTexture3DWidthAlt:
    value = p.maxTexture3DAlt[0];
    break;
  case cudaDevAttrMaxTexture3DHeightAlt:
    value = p.maxTexture3DAlt[1];
    break;
  case cudaDevAttrMaxTexture3DDepthAlt:
    value = p.maxTexture3DAlt[2];
    break;
  case cudaDevAttrMaxTextureCubemapWidth:
    value = p.maxTextureCubemap;
    break;
  case cudaDevAttrMaxTextureCubemapLayeredWidth:
    value = p.maxTextureCubemapLayered[0];
    break;
  case cudaDevAttrMaxTextureCubemapLayeredLayers:
    value = p.maxTextureCubemapLayered[1];
    break;
  case cudaDevAttrMaxSurface3DWidth:
    value = p.maxSurface3D[0];
    break;
  case cudaDevAttrMaxSurface3DHeight:
    value = p.maxSurface3D[1];
    break;
  case cudaDevAttrMaxSurface3DDepth:
    value = p.maxSurface3D[2];
    break;
  case cudaDevAttrMaxSurface1DLayeredWidth:
    value = p.maxSurface1DLayered[0];
    break;
  case cudaDevAttrMaxSurface1DLayeredLayers:
    value = p.maxSurface1DLayered[1];
    break;
  case cudaDevAttrMaxSurface2DLayeredWidth:
    value = p.maxSurface2DLayered[0];
    break;
  case cudaDevAttrMaxSurface2DLayeredHeight:
    value = p.maxSurface2DLayered[1];
    break;
  case cudaDevAttrMaxSurface2DLayeredLayers:
    value = p.maxSurface2DLayered[2];
    break;
  case cudaDevAttrMaxSurfaceCubemapWidth:
    value = p.maxSurfaceCubemap;
    break;
  case cudaDevAttrMaxSurfaceCubemapLayeredWidth:
    value = p.maxSurfaceCubemapLayered[0];
    break;
  case cudaDevAttrMaxSurfaceCubemapLayeredLayers:
    value = p.maxSurfaceCubemapLayered[1];
    break;
  case cudaDevAttrMaxTexture2DMipmappedWidth:
    value = p.maxTexture2DMipmap[0];
    break;
  case cudaDevAttrMaxTexture2DMipmappedHeight:
    value = p.maxTexture2DMipmap[1];
    break;
  case cudaDevAttrMaxTexture1DMipmappedWidth:
    value = p.maxTexture1DMipmap;
    break;
  case cudaDevAttrMaxTexture1DLinearWidth:
    value = 1 << 28;
    break;
  case cudaDevAttrCanFlushRemoteWrites:
  case cudaDevAttrSparseCudaArraySupported:
  case cudaDevAttrTimelineSemaphoreInteropSupported:
  case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
  case cudaDevAttrGPUDirectRDMAWritesOrdering:
  case cudaDevAttrMemoryPoolSupportedHandleTypes:
  case cudaDevAttrDeferredMappingCudaArraySupported:
  case cudaDevAttrMpsEnabled:
    value = 0;
    break;
  case cudaDevAttrMultiGpuBoardGroupID:
    value = p.multiGpuBoardGroupID;
    break;
  case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    value = p.pageableMemoryAccessUsesHostPageTables;
    break;
  case cudaDevAttrDirectManagedMemAccessFromHost:
    value = p.directManagedMemAccessFromHost;
    break;
  case cudaDevAttrHostRegisterSupported:
    value = p.hostRegisterSupported;
    break;
  case cudaDevAttrCanUseHostPointerForRegisteredMem:
    value = p.canUseHostPointerForRegisteredMem;
    break;
  case cudaDevAttrMaxPersistingL2CacheSize:
    value = p.persistingL2CacheMaxSize;
    break;
  case cudaDevAttrMaxAccessPolicyWindowSize:
    value = p.accessPolicyMaxWindowSize;
    break;
  case cudaDevAttrHostRegisterReadOnlySupported:
    value = p.hostRegisterReadOnlySupported;
    break;
  case cudaDevAttrGPUDirectRDMASupported:
    value = p.gpuDirectRDMASupported;
    break;
  case cudaDevAttrIpcEventSupport:
    value = p.ipcEventSupported;
    break;
  case cudaDevAttrStreamPrioritiesSupported:
    value = 1;
    break;
  default:
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

/// The error of a call that names a device, cudaSuccess where it is fine.
cudaError_t check_device(int device) {
  const cudaError_t state = device_state();
  return state != cudaSuccess ? state : device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

/// By cudaLimit. One of them is for cudaDeviceSynchronize in kernels, which cards since Hopper do not have.
bool has_limit(cudaLimit limit) {
  return limit >= cudaLimitStackSize && limit <= cudaLimitPersistingL2CacheSize &&
         limit != cudaLimitDevRuntimeSyncDepth;
}
std::size_t limits[] = {1024, std::size_t{1} << 20, std::size_t{8} << 20, 0, 2048, 64, 0};

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  const cudaError_t state = device_state();
  *count = state == cudaErrorNoDevice ? 0 : 1;
  return remember(state);
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *device = 0;
  return remember(device_state());
}

cudaError_t cudaSetDevice(int device) {
  const ApiCall api("cudaSetDevice");
  return remember(check_device(device));
}

cudaError_t cudaSetDeviceFlags(unsigned int) { return remember(device_state()); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const ApiCall api("cudaGetDeviceProperties");
  if (const cudaError_t error = check_device(device); error != cudaSuccess || properties == nullptr) {
    return remember(error != cudaSuccess ? error : cudaErrorInvalidValue);
  }
  *properties = properties_of(device_table());
  return remember(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const ApiCall api("cudaDeviceGetAttribute");
  if (const cudaError_t error = check_device(device); error != cudaSuccess || value == nullptr) {
    return remember(error != cudaSuccess ? error : cudaErrorInvalidValue);
  }
  return remember(attribute_of(device_table(), attribute, *value));
}

cudaError_t cudaDeviceSynchronize() {
  const ApiCall api("cudaDeviceSynchronize");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (capture_forbids_unsafe_calls()) {
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  host_waits_for_all();
  return remember(cudaSuccess);
}

cudaError_t cudaDeviceReset() {
  const RuntimeLock lock;
  host_waits_for_all();
  arena_clear();
  reset_streams();
  clear_errors();
  return device_state();
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  if (!has_limit(limit)) {
    return remember(cudaErrorUnsupportedLimit);
  }
  limits[limit] = value;  // Stacks are larger here, and what is printed is the host's.
  if (limit == cudaLimitMallocHeapSize) heap_limit = value;
  return remember(device_state());
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (value == nullptr || !has_limit(limit)) {
    return remember(value == nullptr ? cudaErrorInvalidValue : cudaErrorUnsupportedLimit);
  }
  *value = limits[limit];
  return remember(device_state());
}

cudaError_t cudaCtxResetPersistingL2Cache() { return remember(device_state()); }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return remember(device_state());
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr || device != 0 || peer != 0) {
    return remember(can == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  }
  *can = 0;
  return remember(device_state());
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *version = kCudaVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
