/// \file
/// cuSPARSE: the generic functions over matrices in CSR, CSC and COO, with indices of 32 or 64 bits, in float, double,
/// their complex numbers, half and bfloat16. What is not here does not compile: blocked and sliced formats,
/// batches but of products, incomplete factorizations, the functions by type that came before the generic ones.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cuComplex.h"
#include "cuda_runtime_api.h"
#include "library_types.h"
#include "warpbook_export.h"

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VER_PATCH 3
#define CUSPARSE_VER_BUILD 0
#define CUSPARSE_VERSION 12603
#define CUSPARSEAPI

typedef enum {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;
typedef enum { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 } cusparsePointerMode_t;
typedef enum { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 } cusparseAction_t;
typedef enum { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 } cusparseFillMode_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 } cusparseDiagType_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;
typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum { CUSPARSE_FORMAT_CSR = 1, CUSPARSE_FORMAT_CSC = 2, CUSPARSE_FORMAT_COO = 3 } cusparseFormat_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum { CUSPARSE_SPMAT_FILL_MODE, CUSPARSE_SPMAT_DIAG_TYPE } cusparseSpMatAttribute_t;
// Which algorithm is asked for changes nothing.
typedef enum { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1 } cusparseCsr2CscAlg_t;
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;
typedef enum {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG2 = 4
} cusparseSpMVAlg_t;
typedef enum {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_COO_ALG2 = 2,
  CUSPARSE_SPMM_COO_ALG3 = 3,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_COO_ALG4 = 5,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12
} cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPSV_ALG_DEFAULT = 0 } cusparseSpSVAlg_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;
typedef enum {
  CUSPARSE_SPGEMM_DEFAULT = 0,
  CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1,
  CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
  CUSPARSE_SPGEMM_ALG1 = 3,
  CUSPARSE_SPGEMM_ALG2 = 4,
  CUSPARSE_SPGEMM_ALG3 = 5
} cusparseSpGEMMAlg_t;
typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT = 0 } cusparseSDDMMAlg_t;

typedef struct cusparseContext* cusparseHandle_t;
typedef struct cusparseSpVecDescr* cusparseSpVecDescr_t;
typedef struct cusparseDnVecDescr* cusparseDnVecDescr_t;
typedef struct cusparseSpMatDescr* cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr* cusparseDnMatDescr_t;
typedef const struct cusparseSpVecDescr* cusparseConstSpVecDescr_t;
typedef const struct cusparseDnVecDescr* cusparseConstDnVecDescr_t;
typedef const struct cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const struct cusparseDnMatDescr* cusparseConstDnMatDescr_t;
typedef struct cusparseSpSVDescr* cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr* cusparseSpSMDescr_t;
typedef struct cusparseSpGEMMDescr* cusparseSpGEMMDescr_t;

#ifdef __cplusplus
extern "C" {
#endif
// NOLINTBEGIN(readability-identifier-naming): cuSPARSE's names.
WARPBOOK_EXPORT cusparseStatus_t cusparseCreate(cusparseHandle_t* handle);
WARPBOOK_EXPORT cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
WARPBOOK_EXPORT cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version);
WARPBOOK_EXPORT cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value);
WARPBOOK_EXPORT const char* cusparseGetErrorName(cusparseStatus_t status);
WARPBOOK_EXPORT const char* cusparseGetErrorString(cusparseStatus_t status);
WARPBOOK_EXPORT cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
WARPBOOK_EXPORT cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream);
WARPBOOK_EXPORT cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
WARPBOOK_EXPORT cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode);

// Vectors and matrices. A descriptor holds pointers into device memory, and no memory of its own.
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vec, int64_t size, int64_t nnz,
                                                     void* indices, void* values, cusparseIndexType_t index_type,
                                                     cusparseIndexBase_t base, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* vec, int64_t size, int64_t nnz,
                                                          const void* indices, const void* values,
                                                          cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                                          cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vec);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t vec, void** values);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vec, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vec, int64_t size, void* values,
                                                     cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* vec, int64_t size,
                                                          const void* values, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vec);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vec, int64_t* size, void** values,
                                                  cudaDataType* type);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vec, void** values);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vec, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                   int64_t nnz, void* row_offsets, void* column_indices, void* values,
                                                   cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                                   cusparseIndexBase_t base, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                        int64_t nnz, const void* row_offsets,
                                                        const void* column_indices, const void* values,
                                                        cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                                        cusparseIndexBase_t base, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                   int64_t nnz, void* column_offsets, void* row_indices, void* values,
                                                   cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                                   cusparseIndexBase_t base, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                        int64_t nnz, const void* column_offsets,
                                                        const void* row_indices, const void* values,
                                                        cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                                        cusparseIndexBase_t base, cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                   int64_t nnz, void* row_indices, void* column_indices, void* values,
                                                   cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                                   cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t* mat, int64_t rows, int64_t columns,
                                                        int64_t nnz, const void* row_indices,
                                                        const void* column_indices, const void* values,
                                                        cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                                        cudaDataType type);
WARPBOOK_EXPORT cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t mat);
WARPBOOK_EXPORT cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t mat, int64_t* rows, int64_t* columns, int64_t* nnz,
                                                void** row_offsets, void** column_indices, void** values,
                                                cusparseIndexType_t* offset_type, cusparseIndexType_t* index_type,
                                                cusparseIndexBase_t* base, cudaDataType* type);
WARPBOOK_EXPORT cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t mat, void* row_offsets,
                                                        void* column_indices, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t mat, void* column_offsets,
                                                        void* row_indices, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t mat, void* row_indices,
                                                        void* column_indices, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t mat, cusparseFormat_t* format);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t mat, cusparseIndexBase_t* base);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t mat, int64_t* rows, int64_t* columns,
                                                      int64_t* nnz);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t mat, void** values);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t mat, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t mat,
                                                           cusparseSpMatAttribute_t attribute, void* data,
                                                           size_t bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t mat, cusparseSpMatAttribute_t attribute,
                                                           void* data, size_t bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* mat, int64_t rows, int64_t columns,
                                                     int64_t ld, void* values, cudaDataType type,
                                                     cusparseOrder_t order);
WARPBOOK_EXPORT cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* mat, int64_t rows, int64_t columns,
                                                          int64_t ld, const void* values, cudaDataType type,
                                                          cusparseOrder_t order);
WARPBOOK_EXPORT cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t mat);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t mat, int64_t* rows, int64_t* columns,
                                                  int64_t* ld, void** values, cudaDataType* type,
                                                  cusparseOrder_t* order);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t mat, void** values);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t mat, void* values);
WARPBOOK_EXPORT cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t mat, int batch, int64_t offsets_stride,
                                                            int64_t values_stride);
WARPBOOK_EXPORT cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t mat, int batch, int64_t stride);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t mat, int* batch);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t mat, int batch, int64_t stride);
WARPBOOK_EXPORT cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t mat, int* batch,
                                                              int64_t* stride);

// Sparse vectors: y = alpha * x + beta * y; x = y at x's indices; y at x's indices = x.
WARPBOOK_EXPORT cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                                               const void* beta, cusparseDnVecDescr_t y);
WARPBOOK_EXPORT cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y,
                                                cusparseSpVecDescr_t x);
WARPBOOK_EXPORT cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x,
                                                 cusparseDnVecDescr_t y);
// The dot product of op(x) and y.
WARPBOOK_EXPORT cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_x,
                                                         cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                                                         const void* result, cudaDataType compute, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op_x,
                                              cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y, void* result,
                                              cudaDataType compute, void* buffer);
// Between sparse and dense. The analysis counts B's elements and writes its offsets.
WARPBOOK_EXPORT cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                                  cusparseDnMatDescr_t b,
                                                                  cusparseSparseToDenseAlg_t algorithm, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                       cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t algorithm,
                                                       void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                                  cusparseSpMatDescr_t b,
                                                                  cusparseDenseToSparseAlg_t algorithm, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                                cusparseSpMatDescr_t b,
                                                                cusparseDenseToSparseAlg_t algorithm, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                               cusparseSpMatDescr_t b,
                                                               cusparseDenseToSparseAlg_t algorithm, void* buffer);
// y = alpha * op(A) * x + beta * y
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         const void* alpha, cusparseConstSpMatDescr_t a,
                                                         cusparseConstDnVecDescr_t x, const void* beta,
                                                         cusparseDnVecDescr_t y, cudaDataType compute,
                                                         cusparseSpMVAlg_t algorithm, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         const void* alpha, cusparseConstSpMatDescr_t a,
                                                         cusparseConstDnVecDescr_t x, const void* beta,
                                                         cusparseDnVecDescr_t y, cudaDataType compute,
                                                         cusparseSpMVAlg_t algorithm, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op_a, const void* alpha,
                                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                              const void* beta, cusparseDnVecDescr_t y, cudaDataType compute,
                                              cusparseSpMVAlg_t algorithm, void* buffer);
// C = alpha * op(A) * op(B) + beta * C, of which A is sparse.
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         cusparseOperation_t op_b, const void* alpha,
                                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                                         cusparseSpMMAlg_t algorithm, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         cusparseOperation_t op_b, const void* alpha,
                                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                                         cusparseSpMMAlg_t algorithm, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a,
                                              cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                              cusparseConstDnMatDescr_t b, const void* beta, cusparseDnMatDescr_t c,
                                              cudaDataType compute, cusparseSpMMAlg_t algorithm, void* buffer);
// Where A is a triangle: op(A) * y = alpha * x, and op(A) * C = alpha * op(B).
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         const void* alpha, cusparseConstSpMatDescr_t a,
                                                         cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                         cudaDataType compute, cusparseSpSVAlg_t algorithm,
                                                         cusparseSpSVDescr_t descr, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                       const void* alpha, cusparseConstSpMatDescr_t a,
                                                       cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                       cudaDataType compute, cusparseSpSVAlg_t algorithm,
                                                       cusparseSpSVDescr_t descr, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                    const void* alpha, cusparseConstSpMatDescr_t a,
                                                    cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                    cudaDataType compute, cusparseSpSVAlg_t algorithm,
                                                    cusparseSpSVDescr_t descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                         cusparseOperation_t op_b, const void* alpha,
                                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                         cusparseDnMatDescr_t c, cudaDataType compute,
                                                         cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t descr,
                                                         size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                       cusparseOperation_t op_b, const void* alpha,
                                                       cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                       cusparseDnMatDescr_t c, cudaDataType compute,
                                                       cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t descr,
                                                       void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                    cusparseOperation_t op_b, const void* alpha,
                                                    cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                    cusparseDnMatDescr_t c, cudaDataType compute,
                                                    cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t descr);
// C = alpha * A * B + beta * C, all in CSR. The product is made in `compute`; `copy` writes it where C's pointers lead.
WARPBOOK_EXPORT cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpGEMM_workEstimation(
    cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
    cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
    cudaDataType compute, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t descr, size_t* bytes, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                        cusparseOperation_t op_b, const void* alpha,
                                                        cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                                        cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t descr,
                                                        size_t* bytes, void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                     cusparseOperation_t op_b, const void* alpha,
                                                     cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                                     const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                                     cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t descr);
// C = alpha * (op(A) * op(B)) + beta * C, where C has an element; A and B are dense.
WARPBOOK_EXPORT cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                          cusparseOperation_t op_b, const void* alpha,
                                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                          const void* beta, cusparseSpMatDescr_t c,
                                                          cudaDataType compute, cusparseSDDMMAlg_t algorithm,
                                                          size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                          cusparseOperation_t op_b, const void* alpha,
                                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                          const void* beta, cusparseSpMatDescr_t c,
                                                          cudaDataType compute, cusparseSDDMMAlg_t algorithm,
                                                          void* buffer);
WARPBOOK_EXPORT cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha, cusparseConstDnMatDescr_t a,
                                               cusparseConstDnMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                               cudaDataType compute, cusparseSDDMMAlg_t algorithm, void* buffer);
// Between formats. The rows of COO are in order.
WARPBOOK_EXPORT cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* coo_rows, int nnz, int rows,
                                                  int* csr_offsets, cusparseIndexBase_t base);
WARPBOOK_EXPORT cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* csr_offsets, int nnz, int rows,
                                                  int* coo_rows, cusparseIndexBase_t base);
WARPBOOK_EXPORT cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int rows, int columns, int nnz,
                                                               const void* csr_values, const int* csr_offsets,
                                                               const int* csr_columns, void* csc_values,
                                                               int* csc_offsets, int* csc_rows, cudaDataType type,
                                                               cusparseAction_t action, cusparseIndexBase_t base,
                                                               cusparseCsr2CscAlg_t algorithm, size_t* bytes);
WARPBOOK_EXPORT cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int rows, int columns, int nnz,
                                                    const void* csr_values, const int* csr_offsets,
                                                    const int* csr_columns, void* csc_values, int* csc_offsets,
                                                    int* csc_rows, cudaDataType type, cusparseAction_t action,
                                                    cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm,
                                                    void* buffer);
// NOLINTEND(readability-identifier-naming)
#ifdef __cplusplus
}  // extern "C"
#endif
