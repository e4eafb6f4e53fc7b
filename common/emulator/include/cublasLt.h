/// \file
/// cublasLt's products of matrices: layouts of columns and of rows, batches, and the epilogues that add a bias or apply
/// ReLU or GELU (by its tangent). Types, sums and rounding are those of cublasGemmEx in cublas_v2.h. What is not here
/// (bytes, 8-bit floats, tiled layouts, masks of ReLU) does not compile or returns CUBLAS_STATUS_NOT_SUPPORTED.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cublas_v2.h"

typedef struct cublasLtContext* cublasLtHandle_t;

typedef enum cublasLtOrder_t { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;
typedef enum cublasLtPointerMode_t {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1
} cublasLtPointerMode_t;

typedef enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
} cublasLtMatrixLayoutAttribute_t;

typedef enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
} cublasLtMatmulDescAttributes_t;

/// What is done to the product: `x` is an element with its bias, where it has one.
typedef enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 2 | 4,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 32 | 4,
  CUBLASLT_EPILOGUE_GELU_AUX = 32 | 128,           ///< and x into the auxiliary matrix
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 32 | 4 | 128,  ///< and x into the auxiliary matrix
  CUBLASLT_EPILOGUE_DGELU = 64 | 128,              ///< the product times GELU's slope at the auxiliary matrix
  CUBLASLT_EPILOGUE_DGELU_BGRAD = 64 | 128 | 16,   ///< and the sums of D's rows into the bias
  CUBLASLT_EPILOGUE_BGRADA = 256,                  ///< and the sums of A's rows, after its operation, into the bias
  CUBLASLT_EPILOGUE_BGRADB = 512,                  ///< and the sums of B's columns, after its operation, into the bias
} cublasLtEpilogue_t;

/// Hints, which change nothing here.
typedef enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
  CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9,
  CUBLASLT_MATMUL_PREF_IMPL_MASK = 12,
} cublasLtMatmulPreferenceAttributes_t;

// The descriptors' members are not for programs, which set them by their attributes.
typedef struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  cublasLtOrder_t order;
  uint64_t rows;
  uint64_t columns;
  int64_t ld;
  int32_t batch;
  int64_t stride;
} cublasLtMatrixLayoutOpaque_t;
typedef struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType scale;
  cublasLtPointerMode_t pointer_mode;
  cublasOperation_t transa;
  cublasOperation_t transb;
  cublasLtEpilogue_t epilogue;
  void* bias;
  int64_t bias_stride;
  int32_t bias_type;  ///< -1: D's
  void* auxiliary;
  int64_t auxiliary_ld;
  int64_t auxiliary_stride;
} cublasLtMatmulDescOpaque_t;
typedef struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t unused;
} cublasLtMatmulPreferenceOpaque_t;
typedef struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;
typedef cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;

#ifdef __cplusplus
extern "C" {
#endif

WARPBOOK_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
WARPBOOK_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
WARPBOOK_EXPORT size_t cublasLtGetVersion(void);
WARPBOOK_EXPORT const char* cublasLtGetStatusName(cublasStatus_t status);
WARPBOOK_EXPORT const char* cublasLtGetStatusString(cublasStatus_t status);

WARPBOOK_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                          uint64_t rows, uint64_t columns, int64_t ld);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                                const void* value, size_t bytes);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                                cublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                                size_t bytes, size_t* written);

WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                                        cudaDataType scale);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                                              cublasLtMatmulDescAttributes_t attribute,
                                                              const void* value, size_t bytes);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product,
                                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                                              size_t bytes, size_t* written);

WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                                    const void* value, size_t bytes);

/// Finds the one algorithm there is, which needs no workspace; CUBLAS_STATUS_NOT_SUPPORTED where there is none.
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t layout_a,
    cublasLtMatrixLayout_t layout_b, cublasLtMatrixLayout_t layout_c, cublasLtMatrixLayout_t layout_d,
    cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t results[], int* found);

/// D = epilogue(alpha * A * B + beta * C). C may be D.
WARPBOOK_EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                              size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
}  // extern "C"
#endif
