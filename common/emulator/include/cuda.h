/// \file
/// CUDA's driver interface, as far as programs use it beside the runtime's: devices, contexts, memory, streams, events.
/// It works on the runtime's one device, so what either allocates is the other's too. Values are CUDA's own. Modules
/// hold code for a GPU, which the emulator cannot run: functions that load them say so and return an error. What is not
/// here does not compile.
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__

#include <stddef.h>

#include "warpbook_export.h"

#define CUDA_VERSION 13000
#define CUDAAPI
#define CUDA_CB

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef void (*CUhostFn)(void* user_data);
typedef struct CUarray_st* CUarray;
#ifndef CU_UUID_HAS_BEEN_DEFINED
#define CU_UUID_HAS_BEEN_DEFINED
typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;
#endif

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_MAP_FAILED = 205,
  CUDA_ERROR_UNMAP_FAILED = 206,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_FILE_NOT_FOUND = 301,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH = 21,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH = 22,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT = 23,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH = 24,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT = 25,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH = 26,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29,
  CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT = 30,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH = 55,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH = 56,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT = 57,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH = 58,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT = 59,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH = 60,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED = 79,
  CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED = 80,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
  CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
  CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
  CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
  CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
  CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108,
  CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120
} CUdevice_attribute;

typedef enum CUcomputemode_enum {
  CU_COMPUTEMODE_DEFAULT = 0,
  CU_COMPUTEMODE_PROHIBITED = 2,
  CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
} CUcomputemode;

typedef enum CUctx_flags_enum {
  CU_CTX_SCHED_AUTO = 0,
  CU_CTX_SCHED_SPIN = 1,
  CU_CTX_SCHED_YIELD = 2,
  CU_CTX_SCHED_BLOCKING_SYNC = 4,
  CU_CTX_MAP_HOST = 8
} CUctx_flags;

typedef enum CUstream_flags_enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 } CUstream_flags;
typedef enum CUevent_flags_enum {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2
} CUevent_flags;
typedef enum CUmemAttach_flags_enum { CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2 } CUmemAttach_flags;

// Virtual memory: addresses and what lies there come one by one.
typedef unsigned long long CUmemGenericAllocationHandle;
typedef enum CUmemAllocationHandleType_enum {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  CU_MEM_HANDLE_TYPE_WIN32 = 2,
  CU_MEM_HANDLE_TYPE_WIN32_KMT = 4,
  CU_MEM_HANDLE_TYPE_FABRIC = 8
} CUmemAllocationHandleType;
typedef enum CUmemAccess_flags_enum {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;
typedef enum CUmemLocationType_enum {
  CU_MEM_LOCATION_TYPE_INVALID = 0,
  CU_MEM_LOCATION_TYPE_NONE = 0,
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2,
  CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4
} CUmemLocationType;
typedef enum CUmemAllocationType_enum {
  CU_MEM_ALLOCATION_TYPE_INVALID = 0,
  CU_MEM_ALLOCATION_TYPE_PINNED = 1,
  CU_MEM_ALLOCATION_TYPE_MANAGED = 2
} CUmemAllocationType;
typedef enum CUmemAllocationGranularity_flags_enum {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} CUmemAllocationGranularity_flags;
typedef enum CUmemAllocationCompType_enum {
  CU_MEM_ALLOCATION_COMP_NONE = 0,
  CU_MEM_ALLOCATION_COMP_GENERIC = 1
} CUmemAllocationCompType;
typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;
typedef struct CUmemAllocationProp_st {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
} CUmemAllocationProp;
typedef struct CUmemAccessDesc_st {
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;

#define CU_MEMHOSTALLOC_PORTABLE 1
#define CU_MEMHOSTALLOC_DEVICEMAP 2
#define CU_MEMHOSTALLOC_WRITECOMBINED 4
#define CU_MEMHOSTREGISTER_PORTABLE 1
#define CU_MEMHOSTREGISTER_DEVICEMAP 2

typedef enum CUjit_option_enum {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
  CU_JIT_TARGET_FROM_CUCONTEXT = 8,
  CU_JIT_LOG_VERBOSE = 12
} CUjit_option;

/// What programs of old ask a device for.
typedef struct CUdevprop_st {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
} CUdevprop;

typedef enum CUlimit_enum {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,
  CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
  CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6
} CUlimit;

typedef enum CUmemorytype_enum {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;

/// A copy of rows; arrays are not there.
typedef struct CUDA_MEMCPY2D_st {
  size_t srcXInBytes;
  size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes;
  size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes;
  size_t Height;
} CUDA_MEMCPY2D;

#ifdef __cplusplus
extern "C" {
#endif

// ---- Errors, versions, devices
WARPBOOK_EXPORT CUresult cuInit(unsigned flags);
WARPBOOK_EXPORT CUresult cuGetErrorName(CUresult error, const char** name);
WARPBOOK_EXPORT CUresult cuGetErrorString(CUresult error, const char** text);
WARPBOOK_EXPORT CUresult cuDriverGetVersion(int* version);
WARPBOOK_EXPORT CUresult cuDeviceGetCount(int* count);
WARPBOOK_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal);
WARPBOOK_EXPORT CUresult cuDeviceGetName(char* name, int bytes, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
WARPBOOK_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device);
WARPBOOK_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);

// ---- Contexts: each has the one device and all its memory; a thread has a stack of them
WARPBOOK_EXPORT CUresult cuCtxDestroy(CUcontext context);
WARPBOOK_EXPORT CUresult cuCtxPushCurrent(CUcontext context);
WARPBOOK_EXPORT CUresult cuCtxPopCurrent(CUcontext* context);
WARPBOOK_EXPORT CUresult cuCtxSetCurrent(CUcontext context);
WARPBOOK_EXPORT CUresult cuCtxGetCurrent(CUcontext* context);
WARPBOOK_EXPORT CUresult cuCtxGetDevice(CUdevice* device);
WARPBOOK_EXPORT CUresult cuCtxSynchronize();
WARPBOOK_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
WARPBOOK_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device);
WARPBOOK_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device);
WARPBOOK_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);
WARPBOOK_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version);
WARPBOOK_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value);
WARPBOOK_EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit limit);
WARPBOOK_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);

// ---- Memory
WARPBOOK_EXPORT CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes);
WARPBOOK_EXPORT CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemAllocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                         unsigned element_bytes);
WARPBOOK_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags);
WARPBOOK_EXPORT CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr pointer);
WARPBOOK_EXPORT CUresult cuMemFree(CUdeviceptr pointer);
WARPBOOK_EXPORT CUresult cuMemAllocHost(void** pointer, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags);
WARPBOOK_EXPORT CUresult cuMemFreeHost(void* pointer);
WARPBOOK_EXPORT CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags);
WARPBOOK_EXPORT CUresult cuMemHostUnregister(void* pointer);
WARPBOOK_EXPORT CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags);
WARPBOOK_EXPORT CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemcpyHtoD(CUdeviceptr destination, const void* source, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemcpyDtoH(void* destination, CUdeviceptr source, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemcpyDtoD(CUdeviceptr destination, CUdeviceptr source, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemcpyDtoHAsync(void* destination, CUdeviceptr source, size_t bytes, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t count);
WARPBOOK_EXPORT CUresult cuMemsetD16(CUdeviceptr pointer, unsigned short value, size_t count);
WARPBOOK_EXPORT CUresult cuMemsetD32(CUdeviceptr pointer, unsigned value, size_t count);
WARPBOOK_EXPORT CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t count, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemsetD16Async(CUdeviceptr pointer, unsigned short value, size_t count, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemsetD32Async(CUdeviceptr pointer, unsigned value, size_t count, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemsetD2D8(CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width,
                                      size_t height);
WARPBOOK_EXPORT CUresult cuMemsetD2D16(CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width,
                                       size_t height);
WARPBOOK_EXPORT CUresult cuMemsetD2D32(CUdeviceptr pointer, size_t pitch, unsigned value, size_t width, size_t height);
WARPBOOK_EXPORT CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy);
WARPBOOK_EXPORT CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy);
WARPBOOK_EXPORT CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
WARPBOOK_EXPORT CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                                       CUmemAllocationGranularity_flags option);
WARPBOOK_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr hint,
                                             unsigned long long flags);
WARPBOOK_EXPORT CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                     const CUmemAllocationProp* properties, unsigned long long flags);
WARPBOOK_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
WARPBOOK_EXPORT CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                                  unsigned long long flags);
WARPBOOK_EXPORT CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes);
WARPBOOK_EXPORT CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count);
WARPBOOK_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer);
WARPBOOK_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                                CUmemGenericAllocationHandle handle);
WARPBOOK_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer);

// ---- Streams and events
WARPBOOK_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags);
WARPBOOK_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
WARPBOOK_EXPORT CUresult cuStreamDestroy(CUstream stream);
WARPBOOK_EXPORT CUresult cuStreamSynchronize(CUstream stream);
WARPBOOK_EXPORT CUresult cuStreamQuery(CUstream stream);
WARPBOOK_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
WARPBOOK_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data);
WARPBOOK_EXPORT CUresult cuEventCreate(CUevent* event, unsigned flags);
WARPBOOK_EXPORT CUresult cuEventDestroy(CUevent event);
WARPBOOK_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream);
WARPBOOK_EXPORT CUresult cuEventSynchronize(CUevent event);
WARPBOOK_EXPORT CUresult cuEventQuery(CUevent event);
WARPBOOK_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

// ---- Modules: nothing can be loaded, so there are no functions to launch
WARPBOOK_EXPORT CUresult cuModuleLoad(CUmodule* module, const char* file);
WARPBOOK_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image);
WARPBOOK_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                            void** values);
WARPBOOK_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fat_binary);
WARPBOOK_EXPORT CUresult cuModuleUnload(CUmodule module);
WARPBOOK_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
WARPBOOK_EXPORT CUresult cuModuleGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUmodule module, const char* name);
WARPBOOK_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                        CUstream stream, void** parameters, void** extra);

#ifdef __cplusplus
}

/// What CUDA 13 adds to a context's making; only nothing is taken.
typedef struct CUctxCreateParams_st {
  struct CUexecAffinityParam_st* execAffinityParams;
  int numExecAffinityParams;
  struct CUctxCigParam_st* cigParams;
} CUctxCreateParams;
WARPBOOK_EXPORT CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device);
WARPBOOK_EXPORT CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                                     CUdevice device);
#endif

#endif
