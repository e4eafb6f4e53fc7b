/// \file
/// cuSOLVER's dense part by a LAPACK of the host: factorizations (Cholesky, LU, QR) and what solves with them,
/// eigenvalues of symmetric and Hermitian matrices, singular values; for float, double and their complex numbers. The
/// Jacobi methods are LAPACK's QR methods here, which make no sweeps. Signs of vectors may differ from a GPU's. What is
/// not here does not compile: refinement (IRS), ranges of eigenvalues, approximate singular values, general
/// eigenvalues.
#pragma once

#include <stdint.h>

#include "cuComplex.h"
#include "cublas_v2.h"
#include "cuda_runtime_api.h"
#include "cusolver_common.h"

typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef struct cusolverDnParams* cusolverDnParams_t;
typedef struct syevjInfo* syevjInfo_t;
typedef struct gesvdjInfo* gesvdjInfo_t;
typedef enum { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1, CUSOLVERDN_SYEVBATCHED = 2 } cusolverDnFunction_t;

#ifdef __cplusplus
extern "C" {
#endif

WARPBOOK_EXPORT cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                                         cusolverAlgMode_t algorithm);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int sweeps);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sorts);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevjGetResidual(cusolverDnHandle_t handle, syevjInfo_t info,
                                                             double* residual);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevjGetSweeps(cusolverDnHandle_t handle, syevjInfo_t info, int* sweeps);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int sweeps);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sorts);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvdjGetResidual(cusolverDnHandle_t handle, gesvdjInfo_t info,
                                                              double* residual);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvdjGetSweeps(cusolverDnHandle_t handle, gesvdjInfo_t info, int* sweeps);

/// A function of a type T, whose absolute values are of type R.
#define WARPBOOK_SOLVER(x, name) WARPBOOK_EXPORT cusolverStatus_t cusolverDn##x##name
/// The functions of a type: cusolverDnSpotrf, ... What is symmetric of real numbers is Hermitian of complex ones
/// (syevd and heevd), and orthogonal matrices are unitary (orgqr and ungqr).
#define WARPBOOK_SOLVERS(T, R, x, sy, gqr, mqr)                                                                        \
  WARPBOOK_SOLVER(x, potrf_bufferSize)                                                                                 \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda, int* lwork);                                \
  WARPBOOK_SOLVER(x, potrf)                                                                                            \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda, T* work, int lwork, int* info);             \
  WARPBOOK_SOLVER(x, potrs)                                                                                            \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb, int* info);  \
  WARPBOOK_SOLVER(x, potrfBatched)                                                                                     \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a[], int lda, int* info, int batch);                    \
  WARPBOOK_SOLVER(x, potrsBatched)                                                                                     \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs, T* a[], int lda, T* b[], int ldb, int* info,     \
   int batch);                                                                                                         \
  WARPBOOK_SOLVER(x, potri_bufferSize)                                                                                 \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda, int* lwork);                                \
  WARPBOOK_SOLVER(x, potri)                                                                                            \
  (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda, T* work, int lwork, int* info);             \
  WARPBOOK_SOLVER(x, getrf_bufferSize)(cusolverDnHandle_t handle, int m, int n, T* a, int lda, int* lwork);            \
  WARPBOOK_SOLVER(x, getrf)                                                                                            \
  (cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* work, int* pivots, int* info);                           \
  WARPBOOK_SOLVER(x, getrs)                                                                                            \
  (cusolverDnHandle_t handle, cublasOperation_t trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b,  \
   int ldb, int* info);                                                                                                \
  WARPBOOK_SOLVER(x, geqrf_bufferSize)(cusolverDnHandle_t handle, int m, int n, T* a, int lda, int* lwork);            \
  WARPBOOK_SOLVER(x, geqrf)                                                                                            \
  (cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T* work, int lwork, int* info);                     \
  WARPBOOK_SOLVER(x, gqr##_bufferSize)                                                                                 \
  (cusolverDnHandle_t handle, int m, int n, int k, const T* a, int lda, const T* tau, int* lwork);                     \
  WARPBOOK_SOLVER(x, gqr)                                                                                              \
  (cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau, T* work, int lwork, int* info);        \
  WARPBOOK_SOLVER(x, mqr##_bufferSize)                                                                                 \
  (cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m, int n, int k, const T* a,         \
   int lda, const T* tau, const T* c, int ldc, int* lwork);                                                            \
  WARPBOOK_SOLVER(x, mqr)                                                                                              \
  (cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m, int n, int k, const T* a,         \
   int lda, const T* tau, T* c, int ldc, T* work, int lwork, int* info);                                               \
  WARPBOOK_SOLVER(x, sy##evd_bufferSize)                                                                               \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T* a, int lda, const R* w,   \
   int* lwork);                                                                                                        \
  WARPBOOK_SOLVER(x, sy##evd)                                                                                          \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, R* w, T* work,      \
   int lwork, int* info);                                                                                              \
  WARPBOOK_SOLVER(x, sy##gvd_bufferSize)                                                                               \
  (cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,            \
   const T* a, int lda, const T* b, int ldb, const R* w, int* lwork);                                                  \
  WARPBOOK_SOLVER(x, sy##gvd)                                                                                          \
  (cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a,      \
   int lda, T* b, int ldb, R* w, T* work, int lwork, int* info);                                                       \
  WARPBOOK_SOLVER(x, sy##evj_bufferSize)                                                                               \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T* a, int lda, const R* w,   \
   int* lwork, syevjInfo_t params);                                                                                    \
  WARPBOOK_SOLVER(x, sy##evj)                                                                                          \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, R* w, T* work,      \
   int lwork, int* info, syevjInfo_t params);                                                                          \
  WARPBOOK_SOLVER(x, sy##gvj_bufferSize)                                                                               \
  (cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,            \
   const T* a, int lda, const T* b, int ldb, const R* w, int* lwork, syevjInfo_t params);                              \
  WARPBOOK_SOLVER(x, sy##gvj)                                                                                          \
  (cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a,      \
   int lda, T* b, int ldb, R* w, T* work, int lwork, int* info, syevjInfo_t params);                                   \
  WARPBOOK_SOLVER(x, sy##evjBatched_bufferSize)                                                                        \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T* a, int lda, const R* w,   \
   int* lwork, syevjInfo_t params, int batch);                                                                         \
  WARPBOOK_SOLVER(x, sy##evjBatched)                                                                                   \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, R* w, T* work,      \
   int lwork, int* info, syevjInfo_t params, int batch);                                                               \
  WARPBOOK_SOLVER(x, gesvd_bufferSize)(cusolverDnHandle_t handle, int m, int n, int* lwork);                           \
  WARPBOOK_SOLVER(x, gesvd)                                                                                            \
  (cusolverDnHandle_t handle, signed char jobu, signed char jobvt, int m, int n, T* a, int lda, R* s, T* u, int ldu,   \
   T* vt, int ldvt, T* work, int lwork, R* rwork, int* info);                                                          \
  WARPBOOK_SOLVER(x, gesvdj_bufferSize)                                                                                \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m, int n, const T* a, int lda, const R* s,         \
   const T* u, int ldu, const T* v, int ldv, int* lwork, gesvdjInfo_t params);                                         \
  WARPBOOK_SOLVER(x, gesvdj)                                                                                           \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m, int n, T* a, int lda, R* s, T* u, int ldu,      \
   T* v, int ldv, T* work, int lwork, int* info, gesvdjInfo_t params);                                                 \
  WARPBOOK_SOLVER(x, gesvdjBatched_bufferSize)                                                                         \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, const T* a, int lda, const R* s, const T* u,       \
   int ldu, const T* v, int ldv, int* lwork, gesvdjInfo_t params, int batch);                                          \
  WARPBOOK_SOLVER(x, gesvdjBatched)                                                                                    \
  (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, \
   T* work, int lwork, int* info, gesvdjInfo_t params, int batch);
WARPBOOK_SOLVERS(float, float, S, sy, orgqr, ormqr)
WARPBOOK_SOLVERS(double, double, D, sy, orgqr, ormqr)
WARPBOOK_SOLVERS(cuComplex, float, C, he, ungqr, unmqr)
WARPBOOK_SOLVERS(cuDoubleComplex, double, Z, he, ungqr, unmqr)
#undef WARPBOOK_SOLVERS
#undef WARPBOOK_SOLVER

// ---- With types as arguments and extents of 64 bits
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                             cublasFillMode_t uplo, int64_t n, cudaDataType type_a,
                                                             const void* a, int64_t lda, cudaDataType compute,
                                                             size_t* device_bytes, size_t* host_bytes);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                  cublasFillMode_t uplo, int64_t n, cudaDataType type_a, void* a,
                                                  int64_t lda, cudaDataType compute, void* device_work,
                                                  size_t device_bytes, void* host_work, size_t host_bytes, int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                  cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType type_a,
                                                  const void* a, int64_t lda, cudaDataType type_b, void* b, int64_t ldb,
                                                  int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                             int64_t m, int64_t n, cudaDataType type_a, const void* a,
                                                             int64_t lda, cudaDataType compute, size_t* device_bytes,
                                                             size_t* host_bytes);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                                  int64_t n, cudaDataType type_a, void* a, int64_t lda, int64_t* pivots,
                                                  cudaDataType compute, void* device_work, size_t device_bytes,
                                                  void* host_work, size_t host_bytes, int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                  cublasOperation_t trans, int64_t n, int64_t nrhs, cudaDataType type_a,
                                                  const void* a, int64_t lda, const int64_t* pivots,
                                                  cudaDataType type_b, void* b, int64_t ldb, int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                             int64_t m, int64_t n, cudaDataType type_a, const void* a,
                                                             int64_t lda, cudaDataType type_tau, const void* tau,
                                                             cudaDataType compute, size_t* device_bytes,
                                                             size_t* host_bytes);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                                  int64_t n, cudaDataType type_a, void* a, int64_t lda,
                                                  cudaDataType type_tau, void* tau, cudaDataType compute,
                                                  void* device_work, size_t device_bytes, void* host_work,
                                                  size_t host_bytes, int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                             cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                                             cudaDataType type_a, const void* a, int64_t lda,
                                                             cudaDataType type_w, const void* w, cudaDataType compute,
                                                             size_t* device_bytes, size_t* host_bytes);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                  cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                                  cudaDataType type_a, void* a, int64_t lda, cudaDataType type_w,
                                                  void* w, cudaDataType compute, void* device_work, size_t device_bytes,
                                                  void* host_work, size_t host_bytes, int* info);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                             signed char jobu, signed char jobvt, int64_t m, int64_t n,
                                                             cudaDataType type_a, const void* a, int64_t lda,
                                                             cudaDataType type_s, const void* s, cudaDataType type_u,
                                                             const void* u, int64_t ldu, cudaDataType type_vt,
                                                             const void* vt, int64_t ldvt, cudaDataType compute,
                                                             size_t* device_bytes, size_t* host_bytes);
WARPBOOK_EXPORT cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                  signed char jobu, signed char jobvt, int64_t m, int64_t n,
                                                  cudaDataType type_a, void* a, int64_t lda, cudaDataType type_s,
                                                  void* s, cudaDataType type_u, void* u, int64_t ldu,
                                                  cudaDataType type_vt, void* vt, int64_t ldvt, cudaDataType compute,
                                                  void* device_work, size_t device_bytes, void* host_work,
                                                  size_t host_bytes, int* info);

#ifdef __cplusplus
}
#endif
