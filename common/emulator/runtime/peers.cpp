/// \file
/// What programs ask of several devices, and of older ones. There is one device here, which is nobody's peer.
#include <cstdio>
#include <cstring>

#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

using namespace warpbook::emulator;

namespace {

cudaError_t no_peer() {
  const cudaError_t state = device_state();
  return remember(state != cudaSuccess ? state : cudaErrorInvalidDevice);
}

}  // namespace

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int flags) {
  const ApiCall api("cudaDeviceEnablePeerAccess");
  return flags != 0 ? remember(cudaErrorInvalidValue) : no_peer();
}

cudaError_t cudaDeviceDisablePeerAccess(int) {
  const ApiCall api("cudaDeviceDisablePeerAccess");
  return no_peer();
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  const ApiCall api("cudaDeviceGetP2PAttribute");
  return value == nullptr ? remember(cudaErrorInvalidValue) : no_peer();
}

cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source, int source_device,
                           std::size_t bytes) {
  const ApiCall api("cudaMemcpyPeer");
  if (destination_device != 0 || source_device != 0) return no_peer();
  return cudaMemcpy(destination, source, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source, int source_device,
                                std::size_t bytes, cudaStream_t stream) {
  const ApiCall api("cudaMemcpyPeerAsync");
  if (destination_device != 0 || source_device != 0) return no_peer();
  return cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
  const ApiCall api("cudaChooseDevice");
  return properties == nullptr ? remember(cudaErrorInvalidValue) : cudaGetDevice(device);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  const ApiCall api("cudaDeviceGetPCIBusId");
  constexpr int kBytes = 13;  // "0000:01:00.0" and its end
  if (text == nullptr || bytes < kBytes) return remember(cudaErrorInvalidValue);
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "%04x:%02x:%02x.0",
                  static_cast<unsigned>(properties.pciDomainID), static_cast<unsigned>(properties.pciBusID),
                  static_cast<unsigned>(properties.pciDeviceID));
  }
  return error;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  const ApiCall api("cudaDeviceGetByPCIBusId");
  char own[13];
  const cudaError_t error = cudaDeviceGetPCIBusId(own, sizeof own, 0);
  if (error != cudaSuccess || device == nullptr || text == nullptr || std::strcmp(text, own) != 0) {
    return remember(error != cudaSuccess ? error : cudaErrorInvalidValue);
  }
  *device = 0;
  return remember(cudaSuccess);
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  const ApiCall api("cudaGetDeviceFlags");
  if (flags == nullptr) return remember(cudaErrorInvalidValue);
  *flags = cudaDeviceMapHost;
  return remember(device_state());
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  const ApiCall api("cudaInitDevice");
  return device == 0 ? remember(device_state()) : no_peer();
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  const ApiCall api("cudaDeviceGetSharedMemConfig");
  if (config == nullptr) return remember(cudaErrorInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return remember(device_state());
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  const ApiCall api("cudaDeviceSetSharedMemConfig");
  return remember(device_state());
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  const ApiCall api("cudaDeviceGetCacheConfig");
  if (config == nullptr) return remember(cudaErrorInvalidValue);
  *config = cudaFuncCachePreferNone;
  return remember(device_state());
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  const ApiCall api("cudaDeviceSetCacheConfig");
  return remember(device_state());
}
