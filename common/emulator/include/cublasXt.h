/// \file
/// cublasXt's products of matrices, which may lie in the host's memory: they are copied to the device, multiplied by
/// cuBLAS, and copied back. What is not here (other operations, complex numbers, parts on the host) does not compile.
#pragma once

#include <stddef.h>

#include "cublas_v2.h"

typedef struct cublasXtContext* cublasXtHandle_t;
typedef enum { CUBLASXT_PINNING_DISABLED = 0, CUBLASXT_PINNING_ENABLED = 1 } cublasXtPinnedMemMode_t;

#ifdef __cplusplus
extern "C" {
#endif

WARPBOOK_EXPORT cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle);
WARPBOOK_EXPORT cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle);
/// There is one device, number 0.
WARPBOOK_EXPORT cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[]);
/// The size of the pieces and how they are copied: hints, which change nothing here.
WARPBOOK_EXPORT cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int size);
WARPBOOK_EXPORT cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* size);
WARPBOOK_EXPORT cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode);
WARPBOOK_EXPORT cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode);

#define WARPBOOK_CUBLAS_XT(S, T)                                                                                       \
  WARPBOOK_EXPORT cublasStatus_t cublasXt##S##gemm(                                                                    \
      cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size_t m, size_t n, size_t k,       \
      const T* alpha, const T* a, size_t lda, const T* b, size_t ldb, const T* beta, T* c, size_t ldc);
WARPBOOK_CUBLAS_XT(S, float)
WARPBOOK_CUBLAS_XT(D, double)
#undef WARPBOOK_CUBLAS_XT

#ifdef __cplusplus
}  // extern "C"
#endif
