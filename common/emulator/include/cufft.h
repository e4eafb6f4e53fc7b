/// \file
/// cuFFT: transforms in one to three dimensions, in float and double, with batches and strides. They are computed in
/// double. What is not here does not compile: callbacks, several GPUs, half, integers of 64 bits for sizes.
#pragma once

#include <stddef.h>

#include "cuComplex.h"
#include "cuda_runtime_api.h"
#include "library_types.h"
#include "warpbook_export.h"

#define CUFFT_VER_MAJOR 12
#define CUFFT_VER_MINOR 0
#define CUFFT_VER_PATCH 0
#define CUFFT_VERSION 12000
#define CUFFTAPI
#define CUFFT_FORWARD (-1)
#define CUFFT_INVERSE 1

typedef enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_UNALIGNED_DATA = 9,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_NOT_SUPPORTED = 16,
  CUFFT_MISSING_DEPENDENCY = 17,
  CUFFT_NVRTC_FAILURE = 18,
  CUFFT_NVJITLINK_FAILURE = 19,
  CUFFT_NVSHMEM_FAILURE = 20,
} cufftResult_t;
typedef cufftResult_t cufftResult;

typedef enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69,
} cufftType_t;
typedef cufftType_t cufftType;

typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;

#ifdef __cplusplus
extern "C" {
#endif
// NOLINTBEGIN(readability-identifier-naming): cuFFT's names.
WARPBOOK_EXPORT cufftResult cufftCreate(cufftHandle* plan);
WARPBOOK_EXPORT cufftResult cufftDestroy(cufftHandle plan);
WARPBOOK_EXPORT cufftResult cufftPlan1d(cufftHandle* plan, int n, cufftType type, int batch);
WARPBOOK_EXPORT cufftResult cufftPlan2d(cufftHandle* plan, int rows, int columns, cufftType type);
WARPBOOK_EXPORT cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type);
WARPBOOK_EXPORT cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist,
                                          int* onembed, int ostride, int odist, cufftType type, int batch);
WARPBOOK_EXPORT cufftResult cufftMakePlan1d(cufftHandle plan, int n, cufftType type, int batch, size_t* work);
WARPBOOK_EXPORT cufftResult cufftMakePlan2d(cufftHandle plan, int rows, int columns, cufftType type, size_t* work);
WARPBOOK_EXPORT cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* work);
WARPBOOK_EXPORT cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int* n, int* inembed, int istride, int idist,
                                              int* onembed, int ostride, int odist, cufftType type, int batch,
                                              size_t* work);
WARPBOOK_EXPORT cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction);
WARPBOOK_EXPORT cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out);
WARPBOOK_EXPORT cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out);
WARPBOOK_EXPORT cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out,
                                         int direction);
WARPBOOK_EXPORT cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out);
WARPBOOK_EXPORT cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out);
WARPBOOK_EXPORT cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
WARPBOOK_EXPORT cufftResult cufftGetSize(cufftHandle plan, size_t* work);
WARPBOOK_EXPORT cufftResult cufftSetAutoAllocation(cufftHandle plan, int allocate);
WARPBOOK_EXPORT cufftResult cufftSetWorkArea(cufftHandle plan, void* area);
WARPBOOK_EXPORT cufftResult cufftGetVersion(int* version);
// NOLINTEND(readability-identifier-naming)
#ifdef __cplusplus
}  // extern "C"
#endif
