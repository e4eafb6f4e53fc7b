/// \file
/// cublasXt's products, by copies to the device and cuBLAS.
#include "common/emulator/include/cublasXt.h"

#include <memory>

struct cublasXtContext {
  cublasHandle_t cublas = nullptr;
  int block_size = 2048;
  cublasXtPinnedMemMode_t pinning = CUBLASXT_PINNING_DISABLED;
};

namespace {

/// A matrix's copy on the device, without gaps between its columns.
template <class T> class DeviceMatrix {
public:
  DeviceMatrix(std::size_t rows, std::size_t columns) : width_(rows * sizeof(T)), columns_(columns) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, width_ * columns_) == cudaSuccess) data_ = static_cast<T*>(memory);
  }
  ~DeviceMatrix() { cudaFree(data_); }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;

  T* data() { return data_; }
  bool read(const T* from, std::size_t ld) {
    return cudaMemcpy2D(data_, width_, from, ld * sizeof(T), width_, columns_, cudaMemcpyDefault) == cudaSuccess;
  }
  bool write(T* to, std::size_t ld) {
    return cudaMemcpy2D(to, ld * sizeof(T), data_, width_, width_, columns_, cudaMemcpyDefault) == cudaSuccess;
  }

private:
  std::size_t width_;
  std::size_t columns_;
  T* data_ = nullptr;
};

template <class T, class Gemm>
cublasStatus_t multiply(Gemm gemm, cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                        std::size_t m, std::size_t n, std::size_t k, const T* alpha, const T* a, std::size_t lda,
                        const T* b, std::size_t ldb, const T* beta, T* c, std::size_t ldc) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::size_t rows_a = transa == CUBLAS_OP_N ? m : k;
  const std::size_t rows_b = transb == CUBLAS_OP_N ? k : n;
  if (alpha == nullptr || beta == nullptr || lda < rows_a || ldb < rows_b || ldc < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  DeviceMatrix<T> on_a(rows_a, transa == CUBLAS_OP_N ? k : m);
  DeviceMatrix<T> on_b(rows_b, transb == CUBLAS_OP_N ? n : k);
  DeviceMatrix<T> on_c(m, n);
  if ((k != 0 && (on_a.data() == nullptr || on_b.data() == nullptr)) || on_c.data() == nullptr)
    return CUBLAS_STATUS_ALLOC_FAILED;
  if (k != 0 && !(on_a.read(a, lda) && on_b.read(b, ldb))) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (*beta != T{} && !on_c.read(c, ldc)) return CUBLAS_STATUS_EXECUTION_FAILED;
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  const cublasStatus_t status = gemm(handle->cublas, transa, transb, size(m), size(n), size(k), alpha, on_a.data(),
                                     size(rows_a), on_b.data(), size(rows_b), beta, on_c.data(), size(m));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return on_c.write(c, ldc) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto made = std::make_unique<cublasXtContext>();
  const cublasStatus_t status = cublasCreate(&made->cublas);
  if (status == CUBLAS_STATUS_SUCCESS) *handle = made.release();
  return status;
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::unique_ptr<cublasXtContext> owned(handle);
  return cublasDestroy(handle->cublas);
}

cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[]) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return count == 1 && devices != nullptr && devices[0] == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int size) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (size <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->block_size = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* size) {
  if (handle == nullptr || size == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *size = handle->block_size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->pinning = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode) {
  if (handle == nullptr || mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *mode = handle->pinning;
  return CUBLAS_STATUS_SUCCESS;
}

#define WARPBOOK_CUBLAS_XT(S, T)                                                                                       \
  cublasStatus_t cublasXt##S##gemm(cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,        \
                                   size_t m, size_t n, size_t k, const T* alpha, const T* a, size_t lda, const T* b,   \
                                   size_t ldb, const T* beta, T* c, size_t ldc) {                                      \
    return multiply(cublas##S##gemm, handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);            \
  }
WARPBOOK_CUBLAS_XT(S, float)
WARPBOOK_CUBLAS_XT(D, double)
