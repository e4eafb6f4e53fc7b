/// \file
/// OpenGL's buffers in kernels. A buffer that is mapped is copied to the device by OpenGL's own functions, which are
/// the program's, and back when it is unmapped. Images cannot be registered.
#pragma once

#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#endif

#include "cuda_runtime_api.h"

typedef struct cudaGraphicsResource* cudaGraphicsResource_t;

enum cudaGraphicsRegisterFlags {
  cudaGraphicsRegisterFlagsNone = 0,
  cudaGraphicsRegisterFlagsReadOnly = 1,
  cudaGraphicsRegisterFlagsWriteDiscard = 2,
  cudaGraphicsRegisterFlagsSurfaceLoadStore = 4,
  cudaGraphicsRegisterFlagsTextureGather = 8,
};
enum cudaGraphicsMapFlags {
  cudaGraphicsMapFlagsNone = 0,
  cudaGraphicsMapFlagsReadOnly = 1,
  cudaGraphicsMapFlagsWriteDiscard = 2,
};
enum cudaGLMapFlags {
  cudaGLMapFlagsNone = 0,
  cudaGLMapFlagsReadOnly = 1,
  cudaGLMapFlagsWriteDiscard = 2,
};
enum cudaGLDeviceList {
  cudaGLDeviceListAll = 1,
  cudaGLDeviceListCurrentFrame = 2,
  cudaGLDeviceListNextFrame = 3,
};

#ifdef __cplusplus
extern "C" {
#endif

/// There is one device, and it is OpenGL's, too.
WARPBOOK_EXPORT cudaError_t cudaGLGetDevices(unsigned* count, int* devices, unsigned room, enum cudaGLDeviceList list);
WARPBOOK_EXPORT cudaError_t cudaGLSetGLDevice(int device);

WARPBOOK_EXPORT cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, unsigned buffer,
                                                         unsigned flags);
/// Returns cudaErrorNotSupported.
WARPBOOK_EXPORT cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, unsigned image,
                                                        unsigned target, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
WARPBOOK_EXPORT cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags);
WARPBOOK_EXPORT cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                                     cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                                       cudaStream_t stream WARPBOOK_DEFAULT(nullptr));
WARPBOOK_EXPORT cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, size_t* bytes,
                                                                 cudaGraphicsResource_t resource);
/// Only images are arrays: returns cudaErrorNotMappedAsArray.
WARPBOOK_EXPORT cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array, cudaGraphicsResource_t resource,
                                                                  unsigned index, unsigned level);

// ---- The same by the buffer's name, as older programs do it
WARPBOOK_EXPORT cudaError_t cudaGLRegisterBufferObject(unsigned buffer);
WARPBOOK_EXPORT cudaError_t cudaGLMapBufferObject(void** pointer, unsigned buffer);
WARPBOOK_EXPORT cudaError_t cudaGLUnmapBufferObject(unsigned buffer);
WARPBOOK_EXPORT cudaError_t cudaGLUnregisterBufferObject(unsigned buffer);

#ifdef __cplusplus
}
#endif
