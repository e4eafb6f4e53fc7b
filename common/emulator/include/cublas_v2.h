/// \file
/// cuBLAS by a BLAS of the host: levels 1 to 3 for float and double, products of half and bfloat16 matrices, some of
/// level 1 for half and bfloat16 vectors, batches. The functions mean what cuBLAS's manual says; sums are
/// taken in the host's order, so last bits may differ from a GPU's. Products of halves are summed in float. What is not
/// here (complex numbers, int8, factorizations) does not compile or returns CUBLAS_STATUS_NOT_SUPPORTED.
#pragma once

#define CUBLAS_V2_H_
#define CUBLAS_API_H_
#define CUBLASAPI

#include <stdint.h>

#include "cuComplex.h"
#include "cuda_runtime_api.h"
#include "library_types.h"
#include "warpbook_export.h"
#ifdef __cplusplus  // C has no halves.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#endif

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION 130000

typedef enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
} cublasStatus_t;

typedef enum cublasOperation_t {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2
} cublasOperation_t;
typedef enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
/// Hints, which change nothing here: products of floats are products of floats.
typedef enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;
/// Which of cuBLAS's kernels is to be taken; here there is one.
typedef enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1 = 1,
  CUBLAS_GEMM_ALGO2 = 2,
  CUBLAS_GEMM_ALGO3 = 3,
  CUBLAS_GEMM_ALGO4 = 4,
  CUBLAS_GEMM_ALGO5 = 5,
  CUBLAS_GEMM_ALGO6 = 6,
  CUBLAS_GEMM_ALGO7 = 7,
  CUBLAS_GEMM_ALGO23 = 23,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
  CUBLAS_GEMM_ALGO15_TENSOR_OP = 115,
} cublasGemmAlgo_t;
typedef enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
} cublasComputeType_t;

typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

// ---- Handles, and copies between the host and the device
WARPBOOK_EXPORT cublasStatus_t cublasCreate(cublasHandle_t* handle);
WARPBOOK_EXPORT cublasStatus_t cublasDestroy(cublasHandle_t handle);
WARPBOOK_EXPORT size_t cublasGetCudartVersion(void);
WARPBOOK_EXPORT cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
WARPBOOK_EXPORT cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value);
WARPBOOK_EXPORT const char* cublasGetStatusName(cublasStatus_t status);
WARPBOOK_EXPORT const char* cublasGetStatusString(cublasStatus_t status);
WARPBOOK_EXPORT cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
WARPBOOK_EXPORT cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
WARPBOOK_EXPORT cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
WARPBOOK_EXPORT cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
WARPBOOK_EXPORT cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
WARPBOOK_EXPORT cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
WARPBOOK_EXPORT cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
WARPBOOK_EXPORT cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
WARPBOOK_EXPORT cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
WARPBOOK_EXPORT cublasStatus_t cublasSetVector(int n, int element_bytes, const void* x, int incx, void* device,
                                               int incy);
WARPBOOK_EXPORT cublasStatus_t cublasGetVector(int n, int element_bytes, const void* device, int incx, void* y,
                                               int incy);
WARPBOOK_EXPORT cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void* a, int lda,
                                               void* b, int ldb);
WARPBOOK_EXPORT cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void* a, int lda,
                                               void* b, int ldb);
WARPBOOK_EXPORT cublasStatus_t cublasSetVectorAsync(int n, int element_bytes, const void* x, int incx, void* device,
                                                    int incy, cudaStream_t stream);
WARPBOOK_EXPORT cublasStatus_t cublasGetVectorAsync(int n, int element_bytes, const void* device, int incx, void* y,
                                                    int incy, cudaStream_t stream);
WARPBOOK_EXPORT cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int element_bytes, const void* a, int lda,
                                                    void* b, int ldb, cudaStream_t stream);
WARPBOOK_EXPORT cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int element_bytes, const void* a, int lda,
                                                    void* b, int ldb, cudaStream_t stream);

// ---- The functions of each type: S is its letter, I how the names of indices begin, T the type
#define WARPBOOK_CUBLAS(S, I, T)                                                                                       \
  /* level 1: vectors */                                                                                               \
  WARPBOOK_EXPORT cublasStatus_t cublas##I##amax(cublasHandle_t handle, int n, const T* x, int incx, int* result);     \
  WARPBOOK_EXPORT cublasStatus_t cublas##I##amin(cublasHandle_t handle, int n, const T* x, int incx, int* result);     \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##asum(cublasHandle_t handle, int n, const T* x, int incx, T* result);       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result);       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y,        \
                                                int incy, T* result);                                                  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx,   \
                                                 T* y, int incy);                                                      \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx);        \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy);  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy);        \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##rot(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy,          \
                                                const T* c, const T* s);                                               \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##rotg(cublasHandle_t handle, T* a, T* b, T* c, T* s);                       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##rotm(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy,         \
                                                 const T* parameters);                                                 \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##rotmg(cublasHandle_t handle, T* d1, T* d2, T* x1, const T* y1,             \
                                                  T* parameters);                                                      \
  /* level 2: a matrix and vectors */                                                                                  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n,         \
                                                 const T* alpha, const T* a, int lda, const T* x, int incx,            \
                                                 const T* beta, T* y, int incy);                                       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gbmv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, int kl, \
                                                 int ku, const T* alpha, const T* a, int lda, const T* x, int incx,    \
                                                 const T* beta, T* y, int incy);                                       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##ger(cublasHandle_t handle, int m, int n, const T* alpha, const T* x,       \
                                                int incx, const T* y, int incy, T* a, int lda);                        \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##symv(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,  \
                                                 const T* a, int lda, const T* x, int incx, const T* beta, T* y,       \
                                                 int incy);                                                            \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##sbmv(cublasHandle_t handle, cublasFillMode_t uplo, int n, int k,           \
                                                 const T* alpha, const T* a, int lda, const T* x, int incx,            \
                                                 const T* beta, T* y, int incy);                                       \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##spmv(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,  \
                                                 const T* ap, const T* x, int incx, const T* beta, T* y, int incy);    \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##syr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,   \
                                                const T* x, int incx, T* a, int lda);                                  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##syr2(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,  \
                                                 const T* x, int incx, const T* y, int incy, T* a, int lda);           \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##spr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,   \
                                                const T* x, int incx, T* ap);                                          \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##spr2(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha,  \
                                                 const T* x, int incx, const T* y, int incy, T* ap);                   \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemvBatched(                                                               \
      cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* const a[], int lda,       \
      const T* const x[], int incx, const T* beta, T* const y[], int incy, int batch);                                 \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemvStridedBatched(                                                        \
      cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* a, int lda,               \
      long long stride_a, const T* x, int incx, long long stride_x, const T* beta, T* y, int incy, long long stride_y, \
      int batch);                                                                                                      \
  /* level 3: matrices */                                                                                              \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,  \
                                                 int m, int n, const T* alpha, const T* a, int lda, const T* b,        \
                                                 int ldb, const T* beta, T* c, int ldc);                               \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##syrk(cublasHandle_t handle, cublasFillMode_t uplo,                         \
                                                 cublasOperation_t trans, int n, int k, const T* alpha, const T* a,    \
                                                 int lda, const T* beta, T* c, int ldc);                               \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##syr2k(cublasHandle_t handle, cublasFillMode_t uplo,                        \
                                                  cublasOperation_t trans, int n, int k, const T* alpha, const T* a,   \
                                                  int lda, const T* b, int ldb, const T* beta, T* c, int ldc);         \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##trmm(                                                                      \
      cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,                    \
      cublasDiagType_t diag, int m, int n, const T* alpha, const T* a, int lda, const T* b, int ldb, T* c, int ldc);   \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,  \
                                                 cublasOperation_t trans, cublasDiagType_t diag, int m, int n,         \
                                                 const T* alpha, const T* a, int lda, T* b, int ldb);                  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##geam(cublasHandle_t handle, cublasOperation_t transa,                      \
                                                 cublasOperation_t transb, int m, int n, const T* alpha, const T* a,   \
                                                 int lda, const T* beta, const T* b, int ldb, T* c, int ldc);          \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##dgmm(cublasHandle_t handle, cublasSideMode_t mode, int m, int n,           \
                                                 const T* a, int lda, const T* x, int incx, T* c, int ldc);

/// Level 2 with a triangle: products (mv), and solutions (sv).
#define WARPBOOK_CUBLAS_TRIANGLE(S, T, way)                                                                            \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##tr##way(cublasHandle_t handle, cublasFillMode_t uplo,                      \
                                                    cublasOperation_t trans, cublasDiagType_t diag, int n, const T* a, \
                                                    int lda, T* x, int incx);                                          \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##tb##way(cublasHandle_t handle, cublasFillMode_t uplo,                      \
                                                    cublasOperation_t trans, cublasDiagType_t diag, int n, int k,      \
                                                    const T* a, int lda, T* x, int incx);                              \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##tp##way(cublasHandle_t handle, cublasFillMode_t uplo,                      \
                                                    cublasOperation_t trans, cublasDiagType_t diag, int n,             \
                                                    const T* ap, T* x, int incx);

/// Products, which half has, too.
#define WARPBOOK_CUBLAS_PRODUCTS(S, T)                                                                                 \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemm(                                                                      \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc);                                         \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemmBatched(                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int batch);      \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##gemmStridedBatched(                                                        \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,  \
      long long stride_c, int batch);

/// A = P * L * U of each matrix of a batch, whose inverse, solutions, and at once the inverse of at most 32 x 32.
#define WARPBOOK_CUBLAS_FACTORS(S, T)                                                                                  \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda,          \
                                                         int* pivots, int* info, int batch);                           \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda,    \
                                                         const int* pivots, T* const c[], int ldc, int* info,          \
                                                         int batch);                                                   \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##getrsBatched(cublasHandle_t handle, cublasOperation_t trans, int n,        \
                                                         int columns, const T* const a[], int lda, const int* pivots,  \
                                                         T* const b[], int ldb, int* info, int batch);                 \
  WARPBOOK_EXPORT cublasStatus_t cublas##S##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda,   \
                                                          T* const c[], int ldc, int* info, int batch);

WARPBOOK_CUBLAS(S, Is, float)
WARPBOOK_CUBLAS(D, Id, double)
WARPBOOK_CUBLAS_TRIANGLE(S, float, mv)
WARPBOOK_CUBLAS_TRIANGLE(S, float, sv)
WARPBOOK_CUBLAS_TRIANGLE(D, double, mv)
WARPBOOK_CUBLAS_TRIANGLE(D, double, sv)
WARPBOOK_CUBLAS_PRODUCTS(S, float)
WARPBOOK_CUBLAS_PRODUCTS(D, double)
WARPBOOK_CUBLAS_FACTORS(S, float)
WARPBOOK_CUBLAS_FACTORS(D, double)
#ifdef __cplusplus
WARPBOOK_CUBLAS_PRODUCTS(H, __half)
#endif
#undef WARPBOOK_CUBLAS
#undef WARPBOOK_CUBLAS_TRIANGLE
#undef WARPBOOK_CUBLAS_PRODUCTS
#undef WARPBOOK_CUBLAS_FACTORS

// ---- Products of matrices whose types are arguments: double, float, half, bfloat16; halves also into float
WARPBOOK_EXPORT cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                            int m, int n, int k, const void* alpha, const void* a, cudaDataType type_a,
                                            int lda, const void* b, cudaDataType type_b, int ldb, const void* beta,
                                            void* c, cudaDataType type_c, int ldc, cublasComputeType_t compute,
                                            cublasGemmAlgo_t algorithm);
WARPBOOK_EXPORT cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                                   const void* const a[], cudaDataType type_a, int lda,
                                                   const void* const b[], cudaDataType type_b, int ldb,
                                                   const void* beta, void* const c[], cudaDataType type_c, int ldc,
                                                   int batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
WARPBOOK_EXPORT cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType type_a, int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
    long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc, long long stride_c, int batch,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
/// The same with sums in float.
WARPBOOK_EXPORT cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                             int m, int n, int k, const float* alpha, const void* a,
                                             cudaDataType type_a, int lda, const void* b, cudaDataType type_b, int ldb,
                                             const float* beta, void* c, cudaDataType type_c, int ldc);

// ---- Vectors whose types are arguments. All vectors of a call and its result have one type; halves are computed in
// float. A scalar has the vectors' type or the one that is computed in.
WARPBOOK_EXPORT cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx,
                                            void* result, cudaDataType type_result, cudaDataType execution);
WARPBOOK_EXPORT cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx,
                                           const void* y, cudaDataType type_y, int incy, void* result,
                                           cudaDataType type_result, cudaDataType execution);
WARPBOOK_EXPORT cublasStatus_t cublasDotcEx(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx,
                                            const void* y, cudaDataType type_y, int incy, void* result,
                                            cudaDataType type_result, cudaDataType execution);
WARPBOOK_EXPORT cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha,
                                            const void* x, cudaDataType type_x, int incx, void* y, cudaDataType type_y,
                                            int incy, cudaDataType execution);
WARPBOOK_EXPORT cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha,
                                            void* x, cudaDataType type_x, int incx, cudaDataType execution);

// ---- Second names, which the functions have in NVIDIA's library: `each` is a macro that gets the first names
#define WARPBOOK_CUBLAS_SECOND_NAMES(each, S, I)                                                                       \
  each(cublas##I##amax) each(cublas##I##amin) each(cublas##S##asum) each(cublas##S##nrm2) each(cublas##S##dot)         \
      each(cublas##S##axpy) each(cublas##S##scal) each(cublas##S##copy) each(cublas##S##swap) each(cublas##S##rot)     \
          each(cublas##S##rotg) each(cublas##S##rotm) each(cublas##S##rotmg) each(cublas##S##gemv)                     \
              each(cublas##S##gbmv) each(cublas##S##ger) each(cublas##S##symv) each(cublas##S##sbmv)                   \
                  each(cublas##S##spmv) each(cublas##S##syr) each(cublas##S##syr2) each(cublas##S##spr)                \
                      each(cublas##S##spr2) each(cublas##S##trmv) each(cublas##S##trsv) each(cublas##S##tbmv)          \
                          each(cublas##S##tbsv) each(cublas##S##tpmv) each(cublas##S##tpsv) each(cublas##S##gemm)      \
                              each(cublas##S##symm) each(cublas##S##syrk) each(cublas##S##syr2k) each(cublas##S##trmm) \
                                  each(cublas##S##trsm)
#define WARPBOOK_CUBLAS_ALL_SECOND_NAMES(each)                                                                         \
  each(cublasCreate) each(cublasDestroy) each(cublasGetVersion) each(cublasSetWorkspace) each(cublasSetStream)         \
      each(cublasGetStream) each(cublasSetPointerMode) each(cublasGetPointerMode)                                      \
          WARPBOOK_CUBLAS_SECOND_NAMES(each, S, Is) WARPBOOK_CUBLAS_SECOND_NAMES(each, D, Id)
#define WARPBOOK_CUBLAS_SECOND_NAME(name) WARPBOOK_EXPORT __typeof__(name) name##_v2;
WARPBOOK_CUBLAS_ALL_SECOND_NAMES(WARPBOOK_CUBLAS_SECOND_NAME)
#undef WARPBOOK_CUBLAS_SECOND_NAME

#ifdef __cplusplus
}  // extern "C"

/// The kind of sums by the type of their elements, as older programs say it.
inline cublasComputeType_t warpbook_compute_type(cudaDataType type) {
  return type == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
         : type == CUDA_R_16F ? CUBLAS_COMPUTE_16F
         : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                              : CUBLAS_COMPUTE_32F;
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* a, cudaDataType type_a, int lda,
                                   const void* b, cudaDataType type_b, int ldb, const void* beta, void* c,
                                   cudaDataType type_c, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                      warpbook_compute_type(compute), algorithm);
}
#endif
