/// \file
/// The functions of CUDA's runtime that the emulator has. They mean what CUDA's manual says, with one device, whose
/// work is done when a call returns; time, as events tell it, is modelled time. What is not here does not compile.
#pragma once

#define __CUDA_RUNTIME_API_H__

#include <stddef.h>

#include "driver_types.h"
#include "warpbook_export.h"

#include "host_defines.h"

#define CUDART_VERSION 13000

#ifdef __cplusplus
extern "C" {
#endif

// ---- Errors
WARPBOOK_EXPORT cudaError_t cudaGetLastError(void);
WARPBOOK_EXPORT cudaError_t cudaPeekAtLastError(void);
WARPBOOK_EXPORT const char* cudaGetErrorName(cudaError_t error);
WARPBOOK_EXPORT const char* cudaGetErrorString(cudaError_t error);

// ---- Device
WARPBOOK_EXPORT cudaError_t cudaGetDeviceCount(int* count);
WARPBOOK_EXPORT cudaError_t cudaGetDevice(int* device);
WARPBOOK_EXPORT cudaError_t cudaSetDevice(int device);
WARPBOOK_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags);
WARPBOOK_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
WARPBOOK_EXPORT cudaError_t cudaDeviceSynchronize(void);
/// Frees all memory and forgets a sticky error.
WARPBOOK_EXPORT cudaError_t cudaDeviceReset(void);
WARPBOOK_EXPORT cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
/// There is nothing to free: the emulated L2 keeps no lines from one launch to the next.
WARPBOOK_EXPORT cudaError_t cudaCtxResetPersistingL2Cache(void);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
/// There is one device, which has no peer.
WARPBOOK_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
WARPBOOK_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
WARPBOOK_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer);
/// The device that is most like these properties: the one that there is.
WARPBOOK_EXPORT cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
WARPBOOK_EXPORT cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
WARPBOOK_EXPORT cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text);
WARPBOOK_EXPORT cudaError_t cudaGetDeviceFlags(unsigned* flags);
WARPBOOK_EXPORT cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaDriverGetVersion(int* version);
WARPBOOK_EXPORT cudaError_t cudaRuntimeGetVersion(int* version);

// ---- Launches by address
WARPBOOK_EXPORT cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                             size_t dynamic_shared WARPBOOK_DEFAULT(0),
                                             cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments);
/// All blocks are on the card at a time, and may wait for each other: `cooperative_groups::this_grid().sync()`.
WARPBOOK_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                                        size_t dynamic_shared WARPBOOK_DEFAULT(0),
                                                        cudaStream_t stream WARPBOOK_DEFAULT(nullptr));

// ---- Kernels by address
WARPBOOK_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
WARPBOOK_EXPORT cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
WARPBOOK_EXPORT cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache config);
WARPBOOK_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                                          int block_size, size_t dynamic_shared);

// ---- Memory
WARPBOOK_EXPORT cudaError_t cudaMalloc(void** pointer, size_t bytes);
WARPBOOK_EXPORT cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t cudaMallocManaged(void** pointer, size_t bytes,
                                              unsigned flags WARPBOOK_DEFAULT(cudaMemAttachGlobal));
WARPBOOK_EXPORT cudaError_t cudaMallocHost(void** pointer, size_t bytes);
WARPBOOK_EXPORT cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
WARPBOOK_EXPORT cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
WARPBOOK_EXPORT cudaError_t cudaFree(void* pointer);
WARPBOOK_EXPORT cudaError_t cudaFreeHost(void* pointer);
WARPBOOK_EXPORT cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
/// Lets kernels use memory of the host; its addresses stay.
WARPBOOK_EXPORT cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaHostUnregister(void* pointer);
WARPBOOK_EXPORT cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
WARPBOOK_EXPORT cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                                            cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                                         size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                                              size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                              cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source,
                                           int source_device, size_t bytes);
WARPBOOK_EXPORT cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                                int source_device, size_t bytes,
                                                cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters);
WARPBOOK_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters,
                                              cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent);
WARPBOOK_EXPORT cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent);
WARPBOOK_EXPORT cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent,
                                              cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
WARPBOOK_EXPORT cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                                            cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
WARPBOOK_EXPORT cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                              cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
/// Hints of where managed memory will be used: it is where it is.
WARPBOOK_EXPORT cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                                 unsigned flags, cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                          cudaMemLocation location);

// ---- Memory pools: what is freed goes back to the device at once
WARPBOOK_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
WARPBOOK_EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
WARPBOOK_EXPORT cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
WARPBOOK_EXPORT cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
WARPBOOK_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
WARPBOOK_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
WARPBOOK_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
WARPBOOK_EXPORT cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count);
WARPBOOK_EXPORT cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                                 cudaMemLocation* location);
WARPBOOK_EXPORT cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                    cudaStream_t stream);

// ---- Between processes: not supported
WARPBOOK_EXPORT cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
WARPBOOK_EXPORT cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaIpcCloseMemHandle(void* pointer);
WARPBOOK_EXPORT cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
WARPBOOK_EXPORT cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);

// ---- Textures and surfaces
WARPBOOK_EXPORT cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                                            size_t height WARPBOOK_DEFAULT(0), unsigned flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                                              cudaExtent extent, unsigned flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaFreeArray(cudaArray_t array);
/// A texture in several sizes, each half as large as the one before; one size is an array as others are.
WARPBOOK_EXPORT cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* format,
                                                     cudaExtent extent, unsigned levels,
                                                     unsigned flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array,
                                                       unsigned number);
WARPBOOK_EXPORT cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
WARPBOOK_EXPORT cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                             cudaArray_t array);
WARPBOOK_EXPORT cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array);
WARPBOOK_EXPORT cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                              cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                                cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                size_t width, size_t height, cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                     size_t width, size_t height, cudaMemcpyKind kind,
                                                     cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                                  size_t width, size_t height, cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                                       cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                                    const cudaTextureDesc* description,
                                                    const cudaResourceViewDesc* view);
WARPBOOK_EXPORT cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
WARPBOOK_EXPORT cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture);
WARPBOOK_EXPORT cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture);
WARPBOOK_EXPORT cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource);
WARPBOOK_EXPORT cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
WARPBOOK_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);

// ---- Streams
WARPBOOK_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream);
WARPBOOK_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
WARPBOOK_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
WARPBOOK_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                unsigned int flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
WARPBOOK_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
WARPBOOK_EXPORT cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
WARPBOOK_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
/// Hints, which change nothing here.
WARPBOOK_EXPORT cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                                   const cudaLaunchAttributeValue* value);
WARPBOOK_EXPORT cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                                   cudaLaunchAttributeValue* value);
WARPBOOK_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                                                  unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer,
                                                     size_t bytes WARPBOOK_DEFAULT(0),
                                                     unsigned flags WARPBOOK_DEFAULT(4));
WARPBOOK_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data);

// ---- Events
WARPBOOK_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event);
WARPBOOK_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
WARPBOOK_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event);
WARPBOOK_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream WARPBOOK_DEFAULT(nullptr),
                                                     unsigned flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event);
WARPBOOK_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event);
/// Modelled time between two events, in milliseconds.
WARPBOOK_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// ---- Graphs, by capture or by hand
WARPBOOK_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
WARPBOOK_EXPORT cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies, size_t count,
                                                   const cudaKernelNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies, size_t count,
                                                   const cudaMemcpy3DParms* params);
WARPBOOK_EXPORT cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                     const cudaGraphNode_t* dependencies, size_t count,
                                                     void* destination, const void* source, size_t bytes,
                                                     cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies, size_t count,
                                                   const cudaMemsetParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaHostNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies, size_t count);
WARPBOOK_EXPORT cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                       const cudaGraphNode_t* dependencies, size_t count,
                                                       cudaGraph_t child);
WARPBOOK_EXPORT cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                     const cudaGraphNode_t* dependencies, size_t count,
                                                     cudaMemAllocNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies, size_t count, void* pointer);
WARPBOOK_EXPORT cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer);
WARPBOOK_EXPORT cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                                           void* value);
WARPBOOK_EXPORT cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                                           void* value);
WARPBOOK_EXPORT cudaError_t cudaDeviceGraphMemTrim(int device);
WARPBOOK_EXPORT cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                     size_t count);
WARPBOOK_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
WARPBOOK_EXPORT cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                             const cudaKernelNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params);
WARPBOOK_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source,
                                                           size_t bytes, cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                             const cudaMemcpy3DParms* params);
WARPBOOK_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                               void* destination, const void* source, size_t bytes,
                                                               cudaMemcpyKind kind);
WARPBOOK_EXPORT cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                             const cudaMemsetParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                           const cudaHostNodeParams* params);
WARPBOOK_EXPORT cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                                cudaGraphExecUpdateResultInfo* info);
WARPBOOK_EXPORT cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                              cudaGraphEdgeData* data, size_t* count);
WARPBOOK_EXPORT cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                         cudaGraphEdgeData* data, size_t* count);
WARPBOOK_EXPORT cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                           cudaGraphEdgeData* data, size_t* count);
WARPBOOK_EXPORT cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
WARPBOOK_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
WARPBOOK_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                     unsigned long long* id WARPBOOK_DEFAULT(nullptr),
                                                     cudaGraph_t* graph WARPBOOK_DEFAULT(nullptr),
                                                     const cudaGraphNode_t** nodes WARPBOOK_DEFAULT(nullptr),
                                                     const cudaGraphEdgeData** data WARPBOOK_DEFAULT(nullptr),
                                                     size_t* count WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
WARPBOOK_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph);
WARPBOOK_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
WARPBOOK_EXPORT cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
WARPBOOK_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                 unsigned long long flags WARPBOOK_DEFAULT(0));
WARPBOOK_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                          unsigned long long flags);
WARPBOOK_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
WARPBOOK_EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);

#ifdef __cplusplus
}  // extern "C"

// What the typed functions of cuda_runtime.h are made of.
namespace warpbook::emulator {

WARPBOOK_EXPORT cudaError_t allocate_device(void** pointer, size_t bytes);
WARPBOOK_EXPORT cudaError_t allocate_device_async(void** pointer, size_t bytes, cudaStream_t stream);
WARPBOOK_EXPORT cudaError_t allocate_managed(void** pointer, size_t bytes);
WARPBOOK_EXPORT cudaError_t allocate_pinned(void** pointer, size_t bytes);
/// Warns of a memset that is given a number of which no byte is left as it was.
WARPBOOK_EXPORT void note_fill(double value);
WARPBOOK_EXPORT cudaError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height);
/// Makes a `__device__` or `__constant__` variable known as device memory.
WARPBOOK_EXPORT cudaError_t register_symbol(const void* symbol, size_t bytes);
/// Copies to a variable or from one, in the CUDA function of that name. It waits where no stream can be given.
WARPBOOK_EXPORT cudaError_t copy_symbol(const char* function, void* destination, const void* source, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream, bool waits);

WARPBOOK_EXPORT cudaError_t kernel_attributes(cudaFuncAttributes* attributes, const void* kernel);
WARPBOOK_EXPORT cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
WARPBOOK_EXPORT cudaError_t active_blocks(int* blocks, const void* kernel, int block_size, size_t dynamic_shared);
WARPBOOK_EXPORT cudaError_t active_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config);
WARPBOOK_EXPORT cudaError_t largest_cluster(int* blocks, const void* kernel, const cudaLaunchConfig_t* config);
WARPBOOK_EXPORT cudaError_t available_shared(size_t* bytes, const void* kernel, int blocks, int block_size);
WARPBOOK_EXPORT cudaError_t best_block_size(int* min_grid_size, int* block_size, const void* kernel,
                                            size_t dynamic_shared, int limit);

}  // namespace warpbook::emulator
#endif
