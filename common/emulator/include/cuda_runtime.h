/// \file
/// CUDA for machines without a GPU: what CUDA's header of this name declares, as far as the emulator has it. What is
/// not here does not compile.
#pragma once

#define __CUDA_RUNTIME_H__

#ifndef __cplusplus  // To C, the functions that need no templates.

#include "cuda_runtime_api.h"
#include "vector_functions.h"

#else

#include <algorithm>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"
#include "driver_types.h"
#include "host_defines.h"
#include "vector_functions.h"
#include "vector_types.h"
#include "warpbook_launch.h"

#ifdef __clang__  // A project may compile files without kernels by another compiler: these have nothing for the device.
#include "address_spaces.h"
#include "atomic_functions.h"
#include "device_launch_parameters.h"
#include "dpx_functions.h"
#include "integer_functions.h"
#include "math_functions.h"
#include "memory_functions.h"
#include "ordered_atomics.h"
#include "texture_functions.h"
#include "warp_functions.h"
#endif

// ---- Launches

#if __cplusplus >= 201402L
/// Launches a kernel. The arguments convert to its parameters' types, as in a call.
template <class... Parameters, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Given&&... given) {
  static_assert(sizeof...(Parameters) == sizeof...(Given), "a kernel takes as many arguments as it has parameters");
  const warpbook::emulator::Arguments<Parameters...> arguments{
      {static_cast<Parameters>(std::forward<Given>(given))}...};
  return warpbook::emulator::launch_kernel(*config, warpbook::emulator::erased_call(kernel, arguments));
}

/// Launches a kernel whose arguments are given by their addresses.
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared;
  config.stream = stream;
  [[maybe_unused]] std::size_t index = 0;  // In a braced list, arguments are evaluated from left to right.
  const warpbook::emulator::Arguments<Parameters...> pack{{*static_cast<Parameters*>(arguments[index++])}...};
  return warpbook::emulator::launch_kernel(config, warpbook::emulator::erased_call(kernel, pack));
}
#endif

/// All blocks are on the card at a time.
template <class Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, dynamic_shared,
                                     stream);
}

/// A kernel, by its name or by a pointer to it, of whatever type.
template <class Kernel> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel* kernel) {
  return warpbook::emulator::kernel_attributes(attributes, reinterpret_cast<const void*>(kernel));
}

template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  return warpbook::emulator::set_kernel_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class Kernel> cudaError_t cudaFuncSetCacheConfig(Kernel* kernel, cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}

template <class Kernel> cudaError_t cudaFuncSetSharedMemConfig(Kernel* kernel, cudaSharedMemConfig /*a hint*/) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel);
}

/// Blocks of a kernel that a multiprocessor can hold, with a guess for its registers.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* kernel, int block_size,
                                                          std::size_t dynamic_shared) {
  return warpbook::emulator::active_blocks(blocks, reinterpret_cast<const void*>(kernel), block_size, dynamic_shared);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel* kernel, const cudaLaunchConfig_t* config) {
  return warpbook::emulator::active_clusters(clusters, reinterpret_cast<const void*>(kernel), config);
}

/// The most blocks that a cluster of this kernel may have.
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, Kernel* kernel, const cudaLaunchConfig_t* config) {
  return warpbook::emulator::largest_cluster(blocks, reinterpret_cast<const void*>(kernel), config);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel* kernel, int block_size,
                                                                   std::size_t dynamic_shared, unsigned /*flags*/) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, dynamic_shared);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, Kernel* kernel,
                                               std::size_t dynamic_shared = 0, int limit = 0) {
  return warpbook::emulator::best_block_size(min_grid_size, block_size, reinterpret_cast<const void*>(kernel),
                                             dynamic_shared, limit);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid_size, int* block_size, Kernel* kernel,
                                                        std::size_t dynamic_shared = 0, int limit = 0,
                                                        unsigned /*flags*/ = 0) {
  return cudaOccupancyMaxPotentialBlockSize(min_grid_size, block_size, kernel, dynamic_shared, limit);
}

/// `bytes` tells how much shared memory a block of so many threads needs.
template <class Bytes, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid_size, int* block_size, Kernel* kernel,
                                                           Bytes bytes, int limit = 0) {
  int multiprocessors = 0;
  cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  *min_grid_size = *block_size = 0;
  int best = 0;
  for (int size = limit == 0 || limit > 1024 ? 1024 : limit; size > 0 && error == cudaSuccess;
       size = (size - 1) / 32 * 32) {
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size, bytes(size));
    if (blocks * size <= best) continue;
    best = blocks * size;
    *block_size = size;
    *min_grid_size = blocks * multiprocessors;
  }
  return error;
}
template <class Bytes, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* min_grid_size, int* block_size, Kernel* kernel,
                                                                    Bytes bytes, int limit = 0, unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(min_grid_size, block_size, kernel, bytes, limit);
}

template <class Kernel>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, Kernel* kernel, int blocks, int block_size) {
  return warpbook::emulator::available_shared(bytes, reinterpret_cast<const void*>(kernel), blocks, block_size);
}

// ---- Memory
// Inlined in unoptimised code, too: a report names the line of a function that calls these.

template <class T> [[gnu::always_inline]] inline cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return warpbook::emulator::allocate_device(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return warpbook::emulator::allocate_device_async(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocFromPoolAsync(T** pointer, std::size_t bytes, cudaMemPool_t pool,
                                                                  cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(pointer), bytes, pool, stream);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaMemPool_t pool,
                                                          cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(pointer), bytes, pool, stream);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes,
                                                            unsigned /*flags*/ = cudaMemAttachGlobal) {
  return warpbook::emulator::allocate_managed(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned /*flags*/ = 0) {
  return warpbook::emulator::allocate_pinned(reinterpret_cast<void**>(pointer), bytes);
}
/// A floating-point number becomes an integer, and that a byte, of which no compiler warns.
template <class T, typename std::enable_if<std::is_floating_point<T>::value, int>::type = 0>
[[gnu::always_inline]] inline cudaError_t cudaMemset(void* pointer, T value, std::size_t bytes) {
  warpbook::emulator::note_fill(value);
  return cudaMemset(pointer, static_cast<int>(value), bytes);
}
template <class T, typename std::enable_if<std::is_floating_point<T>::value, int>::type = 0>
[[gnu::always_inline]] inline cudaError_t cudaMemsetAsync(void* pointer, T value, std::size_t bytes,
                                                          cudaStream_t stream = nullptr) {
  warpbook::emulator::note_fill(value);
  return cudaMemsetAsync(pointer, static_cast<int>(value), bytes, stream);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned /*flags*/) {
  return warpbook::emulator::allocate_pinned(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width,
                                                          std::size_t height) {
  return warpbook::emulator::allocate_pitched(reinterpret_cast<void**>(pointer), pitch, width, height);
}

/// The address of a `__device__` or `__constant__` variable.
template <class T> [[gnu::always_inline]] inline cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = (void*)&symbol;  // It may be const or volatile.
  return warpbook::emulator::register_symbol(*address, sizeof(T));
}
template <class T> [[gnu::always_inline]] inline cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* source, std::size_t bytes,
                                                             std::size_t offset = 0,
                                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  void* address = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&address, symbol);
  return error != cudaSuccess
             ? error
             : warpbook::emulator::copy_symbol("cudaMemcpyToSymbol", static_cast<char*>(address) + offset, source,
                                               bytes, kind, nullptr, true);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMemcpyFromSymbol(void* destination, const T& symbol, std::size_t bytes,
                                                               std::size_t offset = 0,
                                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  void* address = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&address, symbol);
  return error != cudaSuccess
             ? error
             : warpbook::emulator::copy_symbol("cudaMemcpyFromSymbol", destination,
                                               static_cast<const char*>(address) + offset, bytes, kind, nullptr, true);
}

template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* source,
                                                                  std::size_t bytes, std::size_t offset,
                                                                  cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  void* address = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&address, symbol);
  return error != cudaSuccess
             ? error
             : warpbook::emulator::copy_symbol("cudaMemcpyToSymbolAsync", static_cast<char*>(address) + offset, source,
                                               bytes, kind, stream, false);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t
cudaMemcpyFromSymbolAsync(void* destination, const T& symbol, std::size_t bytes, std::size_t offset,
                          cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  void* address = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&address, symbol);
  return error != cudaSuccess
             ? error
             : warpbook::emulator::copy_symbol("cudaMemcpyFromSymbolAsync", destination,
                                               static_cast<const char*>(address) + offset, bytes, kind, stream, false);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

/// Hints of where managed memory will be used: it is where it is.
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t, int /*device*/,
                                        cudaStream_t stream = nullptr) {
  return cudaStreamAttachMemAsync(stream, const_cast<void*>(pointer));
}
inline cudaError_t cudaMemAdvise(const void* pointer, std::size_t, cudaMemoryAdvise, int /*device*/) {
  return cudaStreamAttachMemAsync(nullptr, const_cast<void*>(pointer));
}

// ---- The format of texels

#ifdef __clang__
/// Of a type that CUDA has vectors of.
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  using Parts = warpbook::emulator::TexelParts<T>;
  using Part = typename Parts::Part;
  constexpr int kBits = 8 * sizeof(Part);
  constexpr cudaChannelFormatKind kKind = std::is_floating_point_v<Part> ? cudaChannelFormatKindFloat
                                          : std::is_signed_v<Part>       ? cudaChannelFormatKindSigned
                                                                         : cudaChannelFormatKindUnsigned;
  return {kBits, Parts::kCount > 1 ? kBits : 0, Parts::kCount > 2 ? kBits : 0, Parts::kCount > 3 ? kBits : 0, kKind};
}
#endif
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() { return {16, 0, 0, 0, cudaChannelFormatKindFloat}; }

// ---- Events and graphs

inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}

inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t* error_node,
                                       cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return error;
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            std::size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t*, char*,
                                        std::size_t) {
  return cudaGraphInstantiateWithFlags(executable, graph, 0);
}

#endif
