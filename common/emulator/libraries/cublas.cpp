/// \file
/// cuBLAS over the host's BLAS. Each function checks its arguments as cuBLAS does and hands the rest to the runtime:
/// what the operation touches, and a call of BLAS that is made when it is its turn in the handle's stream.
#include "common/emulator/include/cublas_v2.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "common/emulator/include/warpbook_library.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;
using warpbook::emulator::run_library_call;

/// BLAS's functions by type.
template <class T> struct Blas;
#define WARPBOOK_BLAS(T, s)                                                                                            \
  template <> struct Blas<T> {                                                                                         \
    static constexpr auto asum = cblas_##s##asum;                                                                      \
    static constexpr auto nrm2 = cblas_##s##nrm2;                                                                      \
    static constexpr auto dot = cblas_##s##dot;                                                                        \
    static constexpr auto axpy = cblas_##s##axpy;                                                                      \
    static constexpr auto scal = cblas_##s##scal;                                                                      \
    static constexpr auto copy = cblas_##s##copy;                                                                      \
    static constexpr auto swap = cblas_##s##swap;                                                                      \
    static constexpr auto rot = cblas_##s##rot;                                                                        \
    static constexpr auto rotg = cblas_##s##rotg;                                                                      \
    static constexpr auto rotm = cblas_##s##rotm;                                                                      \
    static constexpr auto rotmg = cblas_##s##rotmg;                                                                    \
    static constexpr auto gemv = cblas_##s##gemv;                                                                      \
    static constexpr auto gbmv = cblas_##s##gbmv;                                                                      \
    static constexpr auto ger = cblas_##s##ger;                                                                        \
    static constexpr auto symv = cblas_##s##symv;                                                                      \
    static constexpr auto sbmv = cblas_##s##sbmv;                                                                      \
    static constexpr auto spmv = cblas_##s##spmv;                                                                      \
    static constexpr auto syr = cblas_##s##syr;                                                                        \
    static constexpr auto syr2 = cblas_##s##syr2;                                                                      \
    static constexpr auto spr = cblas_##s##spr;                                                                        \
    static constexpr auto spr2 = cblas_##s##spr2;                                                                      \
    static constexpr auto trmv = cblas_##s##trmv;                                                                      \
    static constexpr auto trsv = cblas_##s##trsv;                                                                      \
    static constexpr auto tbmv = cblas_##s##tbmv;                                                                      \
    static constexpr auto tbsv = cblas_##s##tbsv;                                                                      \
    static constexpr auto tpmv = cblas_##s##tpmv;                                                                      \
    static constexpr auto tpsv = cblas_##s##tpsv;                                                                      \
    static constexpr auto gemm = cblas_##s##gemm;                                                                      \
    static constexpr auto symm = cblas_##s##symm;                                                                      \
    static constexpr auto syrk = cblas_##s##syrk;                                                                      \
    static constexpr auto syr2k = cblas_##s##syr2k;                                                                    \
    static constexpr auto trmm = cblas_##s##trmm;                                                                      \
    static constexpr auto trsm = cblas_##s##trsm;                                                                      \
  };
WARPBOOK_BLAS(float, s)
WARPBOOK_BLAS(double, d)
#undef WARPBOOK_BLAS

constexpr auto kColumns = CblasColMajor;

CBLAS_TRANSPOSE of(cublasOperation_t value) { return value == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; }
CBLAS_UPLO of(cublasFillMode_t value) { return value == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper; }
CBLAS_DIAG of(cublasDiagType_t value) { return value == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit; }
CBLAS_SIDE of(cublasSideMode_t value) { return value == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight; }

bool is_known(cublasOperation_t value) { return value >= CUBLAS_OP_N && value <= CUBLAS_OP_C; }
bool is_known(cublasFillMode_t value) { return value == CUBLAS_FILL_MODE_LOWER || value == CUBLAS_FILL_MODE_UPPER; }
bool is_known(cublasDiagType_t value) { return value == CUBLAS_DIAG_NON_UNIT || value == CUBLAS_DIAG_UNIT; }
bool is_known(cublasSideMode_t value) { return value == CUBLAS_SIDE_LEFT || value == CUBLAS_SIDE_RIGHT; }

std::size_t bytes_of(int count, std::size_t element) { return static_cast<std::size_t>(std::max(count, 0)) * element; }

/// A column-major matrix as an operand.
template <class T> LibraryOperand matrix(const char* name, const T* a, int rows, int columns, int lda, bool written) {
  return {
      name,   a, bytes_of(rows, sizeof(T)), static_cast<std::size_t>(std::max(columns, 0)), bytes_of(lda, sizeof(T)),
      written};
}
/// A vector; its first element in memory is `x`, whatever the sign of the step.
template <class T> LibraryOperand vector(const char* name, const T* x, int n, int step, bool written) {
  return {name, x, sizeof(T), static_cast<std::size_t>(std::max(n, 0)), bytes_of(std::abs(step), sizeof(T)), written};
}
/// Half of a matrix without gaps.
template <class T> LibraryOperand packed(const char* name, const T* a, int n, bool written) {
  const auto size = static_cast<std::size_t>(std::max(n, 0));
  return {name, a, size * (size + 1) / 2 * sizeof(T), 1, size * (size + 1) / 2 * sizeof(T), written};
}

/// A call under way: where its scalars are, and whom to tell.
struct Call {
  cublasHandle_t handle;
  const char* function;
  const void* pc;

  bool on_host() const { return handle->pointer_mode == CUBLAS_POINTER_MODE_HOST; }

  /// A scalar that the operation reads: the host's is read now, the device's when it is its turn.
  template <class T> std::function<T()> scalar(const T* pointer) const {
    if (!on_host()) return [pointer] { return *pointer; };
    return [value = *pointer] { return value; };
  }

  template <class T>
  cublasStatus_t run(double flops, std::vector<LibraryOperand> operands, std::function<void()> work,
                     bool host_waits = false) const {
    return run_with(
        flops, sizeof(T), [operands = std::move(operands)] { return operands; }, std::move(work), host_waits);
  }

  cublasStatus_t run_with(double flops, unsigned element_bytes, std::function<std::vector<LibraryOperand>()> operands,
                          std::function<void()> work, bool host_waits = false) const {
    LibraryCall call;
    call.function = function;
    call.pc = pc;
    call.stream = handle->stream;
    call.flops = flops;
    call.element_bytes = element_bytes;
    call.host_waits = host_waits;
    call.operands = std::move(operands);
    call.run = std::move(work);
    return run_library_call(std::move(call)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  }
};

/// A scalar is an operand, too, in the memory that the handle's pointer mode says.
template <class T>
void add_scalar(const Call& call, std::vector<LibraryOperand>& operands, const char* name, const T* pointer,
                bool written = false) {
  operands.push_back({name, pointer, sizeof(T), 1, sizeof(T), written, call.on_host()});
}

/// Tells of the call that the status refuses; returns the status.
cublasStatus_t refuse(cublasStatus_t status, const char* function, const void* pc) {
  const char* const why = status == CUBLAS_STATUS_NOT_INITIALIZED ? "the handle was not created"
                          : status == CUBLAS_STATUS_INVALID_VALUE
                              ? "an extent, a leading dimension, a step or a pointer cannot be"
                              : "the types do not go together, or are not emulated";
  warpbook::emulator::library_refused(function, pc, cublasGetStatusName(status), status, why);
  return status;
}

cublasStatus_t refuse_types(const Call& call) { return refuse(CUBLAS_STATUS_NOT_SUPPORTED, call.function, call.pc); }

/// What makes a call invalid; the first thing that holds decides.
cublasStatus_t check(cublasHandle_t handle, bool valid, const char* function, const void* pc) {
  if (handle == nullptr) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, function, pc);
  return valid ? CUBLAS_STATUS_SUCCESS : refuse(CUBLAS_STATUS_INVALID_VALUE, function, pc);
}

#define WARPBOOK_CALL(valid)                                                                                           \
  if (const cublasStatus_t status = check(handle, valid, WARPBOOK_HERE); status != CUBLAS_STATUS_SUCCESS)              \
    return status;                                                                                                     \
  const Call call { handle, WARPBOOK_HERE }

// ---- Level 1

/// A sum, an index or a norm of a vector: into the host's memory, which waits, or into the device's.
template <class T, class Result, class Compute>
cublasStatus_t reduce(const Call& call, double flops, std::vector<LibraryOperand> operands, Result* result,
                      Compute compute) {
  add_scalar(call, operands, "result", result, true);
  return call.run<T>(flops, std::move(operands), [=] { *result = compute(); }, call.on_host());
}

/// How many elements are touched where a step below 1 means none.
int touched(int n, int step) { return step < 1 ? 0 : std::max(n, 0); }

/// The first index, from 1, of an absolute value than which none is `Better`; 0 where there is none. As in the
/// reference BLAS, a NaN is found only if it comes first: the host's BLAS may find another.
template <class Better, class T> int index_of(int n, const T* x, int step) {
  if (touched(n, step) == 0) return 0;
  int found = 0;
  for (int i = 1; i < n; ++i) {
    if (Better{}(std::abs(x[std::ptrdiff_t{i} * step]), std::abs(x[std::ptrdiff_t{found} * step]))) found = i;
  }
  return found + 1;
}

// ---- Products

/// The least leading dimension of an operand of a product that is `rows` x `columns` after `operation`.
bool is_leading(cublasOperation_t operation, int rows, int columns, int ld) {
  return ld >= std::max(1, operation == CUBLAS_OP_N ? rows : columns);
}

float widen(__half value) { return static_cast<float>(value); }
float widen(__nv_bfloat16 value) { return static_cast<float>(value); }
template <class T> T narrow(float value);
template <> __half narrow<__half>(float value) { return __float2half(value); }
template <> __nv_bfloat16 narrow<__nv_bfloat16>(float value) { return __float2bfloat16(value); }
template <> float narrow<float>(float value) { return value; }

struct Shape {
  cublasOperation_t transa;
  cublasOperation_t transb;
  int m;
  int n;
  int k;
  int lda;
  int ldb;
  int ldc;

  bool valid() const {
    return is_known(transa) && is_known(transb) && m >= 0 && n >= 0 && k >= 0 && is_leading(transa, m, k, lda) &&
           is_leading(transb, k, n, ldb) && ldc >= std::max(1, m);
  }
  int a_rows() const { return transa == CUBLAS_OP_N ? m : k; }
  int a_columns() const { return transa == CUBLAS_OP_N ? k : m; }
  int b_rows() const { return transb == CUBLAS_OP_N ? k : n; }
  int b_columns() const { return transb == CUBLAS_OP_N ? n : k; }
  double flops() const { return 2.0 * m * n * k; }
  bool is_empty() const { return m == 0 || n == 0; }
};

template <class T> std::vector<float> widened(const T* a, int rows, int columns, int lda) {
  std::vector<float> wide(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      wide[static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i)] =
          widen(a[std::ptrdiff_t{j} * lda + i]);
    }
  }
  return wide;
}

/// One product. Narrow elements are multiplied and added as floats; the sum is rounded once.
template <class In, class Out, class Scale>
void multiply(const Shape& s, Scale alpha, const In* a, const In* b, Scale beta, Out* c) {
  if (s.is_empty()) return;
  if constexpr (std::is_same_v<In, Out> && (std::is_same_v<In, float> || std::is_same_v<In, double>)) {
    Blas<In>::gemm(kColumns, of(s.transa), of(s.transb), s.m, s.n, s.k, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
  } else {
    const std::vector<float> wide_a = widened(a, s.a_rows(), s.a_columns(), s.lda);
    const std::vector<float> wide_b = widened(b, s.b_rows(), s.b_columns(), s.ldb);
    std::vector<float> sums(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n));
    cblas_sgemm(kColumns, of(s.transa), of(s.transb), s.m, s.n, s.k, 1.0F, wide_a.data(), std::max(1, s.a_rows()),
                wide_b.data(), std::max(1, s.b_rows()), 0.0F, sums.data(), s.m);
    for (int j = 0; j < s.n; ++j) {
      for (int i = 0; i < s.m; ++i) {
        Out& element = c[std::ptrdiff_t{j} * s.ldc + i];
        const float sum =
            sums[static_cast<std::size_t>(j) * static_cast<std::size_t>(s.m) + static_cast<std::size_t>(i)];
        const float before = beta == 0 ? 0.0F : beta * static_cast<float>(element);
        element = narrow<Out>(alpha * sum + before);
      }
    }
  }
}

/// The products of a batch: where the operands of each are is told when it is their turn.
template <class In, class Out, class Scale, class Operands>
cublasStatus_t multiply_all(const Call& call, const Shape& s, int batch, std::function<Scale()> alpha,
                            std::function<Scale()> beta, std::vector<LibraryOperand> first, Operands operands_of) {
  const auto operands = [=] {
    std::vector<LibraryOperand> all = first;
    for (int i = 0; i < batch && !s.is_empty(); ++i) {
      const auto [a, b, c] = operands_of(i);
      all.push_back(matrix("A", a, s.a_rows(), s.a_columns(), s.lda, false));
      all.push_back(matrix("B", b, s.b_rows(), s.b_columns(), s.ldb, false));
      all.push_back(matrix("C", c, s.m, s.n, s.ldc, true));
    }
    return all;
  };
  return call.run_with(s.flops() * batch, sizeof(In), operands, [=] {
    for (int i = 0; i < batch; ++i) {
      const auto [a, b, c] = operands_of(i);
      multiply<In, Out, Scale>(s, alpha(), a, b, beta(), c);
    }
  });
}

template <class In, class Out> struct Product {
  const In* a;
  const In* b;
  Out* c;
};

/// Products of matrices that lie `stride` elements apart.
template <class In, class Out, class Scale>
cublasStatus_t multiply_strided(const Call& call, const Shape& s, std::function<Scale()> alpha, const In* a,
                                long long stride_a, const In* b, long long stride_b, std::function<Scale()> beta,
                                Out* c, long long stride_c, int batch, std::vector<LibraryOperand> scalars) {
  return multiply_all<In, Out, Scale>(call, s, batch, alpha, beta, std::move(scalars), [=](int i) {
    return Product<In, Out>{a + stride_a * i, b + stride_b * i, c + stride_c * i};
  });
}

/// Checks arrays of pointers, which have to be looked at before what they lead to.
cublasStatus_t look_at(const Call& call, std::vector<LibraryOperand> pointers) {
  return call.run_with(0, sizeof(float), [pointers = std::move(pointers)] { return pointers; }, [] {});
}

/// Products of matrices that pointers in device memory lead to.
template <class In, class Out, class Scale>
cublasStatus_t multiply_pointed(const Call& call, const Shape& s, std::function<Scale()> alpha, const In* const* a,
                                const In* const* b, std::function<Scale()> beta, Out* const* c, int batch,
                                std::vector<LibraryOperand> scalars) {
  const cublasStatus_t status =
      look_at(call, {vector("Aarray", a, batch, 1, false), vector("Barray", b, batch, 1, false),
                     vector("Carray", c, batch, 1, false)});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return multiply_all<In, Out, Scale>(call, s, batch, alpha, beta, std::move(scalars),
                                      [=](int i) { return Product<In, Out>{a[i], b[i], c[i]}; });
}

template <class T> std::vector<LibraryOperand> scalar_operands(const Call& call, const T* alpha, const T* beta) {
  std::vector<LibraryOperand> operands;
  add_scalar(call, operands, "alpha", alpha);
  add_scalar(call, operands, "beta", beta);
  return operands;
}

/// A scalar of a product of type T as the type that it is computed in.
template <class Scale, class T> std::function<Scale()> scale(const Call& call, const T* pointer) {
  return [read = call.scalar(pointer)] { return static_cast<Scale>(read()); };
}

template <class T> using ScaleOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// ---- Factorizations of batches

/// Rows of columns [0, columns) change places, as the pivots say, from the first or from the last.
template <class T> void swap_rows(T* a, int columns, int lda, int n, const int* pivots, bool forward) {
  for (int k = 0; k < n && pivots != nullptr; ++k) {
    const int row = forward ? k : n - 1 - k;
    const int other = std::clamp(pivots[row] - 1, 0, n - 1);
    if (other != row) Blas<T>::swap(columns, a + row, lda, a + other, lda);
  }
}

/// A = P * L * U in the place of A. Returns the first column, from 1, whose pivot is 0; 0 where there is none.
template <class T> int factor(T* a, int n, int lda, int* pivots) {
  int singular = 0;
  for (int k = 0; k < n; ++k) {
    T* const column = a + std::ptrdiff_t{k} * lda;
    const int best = pivots == nullptr ? k : k + index_of<std::greater<>>(n - k, column + k, 1) - 1;
    if (pivots != nullptr) pivots[k] = best + 1;
    if (column[best] == 0) {
      if (singular == 0) singular = k + 1;
      continue;
    }
    if (best != k) Blas<T>::swap(n, a + k, lda, a + best, lda);
    for (int i = k + 1; i < n; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j) {
      T* const to = a + std::ptrdiff_t{j} * lda;
      for (int i = k + 1; i < n; ++i) to[i] -= column[i] * to[k];
    }
  }
  return singular;
}

/// op(A) * X = B in the place of B, of a factored A.
template <class T>
void solve(cublasOperation_t trans, const T* a, int n, int lda, const int* pivots, T* b, int columns, int ldb) {
  const bool plain = trans == CUBLAS_OP_N;
  if (plain) swap_rows(b, columns, ldb, n, pivots, true);
  for (const bool lower : {plain, !plain})
    Blas<T>::trsm(kColumns, CblasLeft, lower ? CblasLower : CblasUpper, of(trans), lower ? CblasUnit : CblasNonUnit, n,
                  columns, T{1}, a, lda, b, ldb);
  if (!plain) swap_rows(b, columns, ldb, n, pivots, false);
}

/// The inverse of a factored A. Returns the first column, from 1, in which U has a 0; then nothing is written.
template <class T> int invert(const T* a, int n, int lda, const int* pivots, T* c, int ldc) {
  for (int k = 0; k < n; ++k)
    if (a[std::ptrdiff_t{k} * lda + k] == 0) return k + 1;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) c[std::ptrdiff_t{j} * ldc + i] = i == j ? T{1} : T{0};
  solve(CUBLAS_OP_N, a, n, lda, pivots, c, n, ldc);
  return 0;
}

/// Matrices that pointers in device memory lead to: n x n in `a`, n x columns in `b`, where the operation has it. Each
/// has n pivots and a result, where the program gives memory for them.
template <class T, class Work>
cublasStatus_t factor_all(const Call& call, double flops, int n, int columns, int batch, const T* const* a, int lda,
                          bool a_written, const T* const* b, int ldb, const int* pivots, bool pivots_written,
                          const int* info, Work work) {
  std::vector<LibraryOperand> arrays{vector("Aarray", a, batch, 1, false)};
  if (b != nullptr) arrays.push_back(vector("Barray", b, batch, 1, false));
  const cublasStatus_t status = look_at(call, arrays);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto operands = [=] {
    std::vector<LibraryOperand> all;
    for (int i = 0; i < batch; ++i) {
      all.push_back(matrix("A", a[i], n, n, lda, a_written));
      if (b != nullptr) all.push_back(matrix("B", b[i], n, columns, ldb, true));
    }
    if (pivots != nullptr) all.push_back(vector("PivotArray", pivots, n * batch, 1, pivots_written));
    if (info != nullptr) all.push_back(vector("infoArray", info, batch, 1, true));
    return all;
  };
  return call.run_with(flops * batch, sizeof(T), operands, [=] {
    for (int i = 0; i < batch; ++i) work(i, pivots == nullptr ? 0 : std::ptrdiff_t{i} * n);
  });
}

// ---- Products whose types are arguments

bool sums_in(cublasComputeType_t compute, cudaDataType type_a, cudaDataType type_c) {
  switch (compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return type_a == CUDA_R_64F && type_c == CUDA_R_64F;
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    return (type_a == CUDA_R_32F && type_c == CUDA_R_32F) ||
           ((type_a == CUDA_R_16F || type_a == CUDA_R_16BF) && (type_c == type_a || type_c == CUDA_R_32F));
  case CUBLAS_COMPUTE_32F_FAST_16F:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return type_a == CUDA_R_32F && type_c == CUDA_R_32F;
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return type_a == CUDA_R_16F && type_c == CUDA_R_16F;
  case CUBLAS_COMPUTE_32I:
    break;
  }
  return false;
}

/// Calls `body` with values of the types of A and B, of C and of the scalars. CUBLAS_COMPUTE_16F's scalars are halves.
template <class Body>
cublasStatus_t by_types(const Call& call, cudaDataType type_a, cudaDataType type_b, cudaDataType type_c,
                        cublasComputeType_t compute, Body body) {
  if (type_a != type_b || !sums_in(compute, type_a, type_c)) return refuse_types(call);
  if (type_a == CUDA_R_64F) return body(double{}, double{}, double{});
  if (type_a == CUDA_R_32F) return body(float{}, float{}, float{});
  if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC)
    return body(__half{}, __half{}, __half{});
  if (type_a == CUDA_R_16F)
    return type_c == CUDA_R_32F ? body(__half{}, float{}, float{}) : body(__half{}, __half{}, float{});
  return type_c == CUDA_R_32F ? body(__nv_bfloat16{}, float{}, float{})
                              : body(__nv_bfloat16{}, __nv_bfloat16{}, float{});
}

cublasStatus_t multiply_typed(const Call& call, const Shape& shape, const void* alpha, const void* a,
                              cudaDataType type_a, long long stride_a, const void* b, cudaDataType type_b,
                              long long stride_b, const void* beta, void* c, cudaDataType type_c, long long stride_c,
                              int batch, cublasComputeType_t compute) {
  return by_types(call, type_a, type_b, type_c, compute, [&]<class In, class Out, class Given>(In, Out, Given) {
    using Scale = ScaleOf<Given>;
    const auto* from_a = static_cast<const Given*>(alpha);
    const auto* from_b = static_cast<const Given*>(beta);
    return multiply_strided<In, Out, Scale>(call, shape, scale<Scale>(call, from_a), static_cast<const In*>(a),
                                            stride_a, static_cast<const In*>(b), stride_b, scale<Scale>(call, from_b),
                                            static_cast<Out*>(c), stride_c, batch,
                                            scalar_operands(call, from_a, from_b));
  });
}

// ---- Products of matrices and vectors

struct VectorShape {
  cublasOperation_t trans;
  int m;
  int n;
  int lda;
  int incx;
  int incy;

  bool valid() const { return is_known(trans) && m >= 0 && n >= 0 && lda >= std::max(1, m) && incx != 0 && incy != 0; }
  int x_length() const { return trans == CUBLAS_OP_N ? n : m; }
  int y_length() const { return trans == CUBLAS_OP_N ? m : n; }
};

/// The products of a batch, as multiply_all: B is x, and C is y.
template <class T, class Operands>
cublasStatus_t multiply_vectors(const Call& call, const VectorShape& s, int batch, const T* alpha, const T* beta,
                                Operands operands_of) {
  const int count = s.m == 0 || s.n == 0 ? 0 : batch;
  const auto operands = [=, first = scalar_operands(call, alpha, beta)] {
    std::vector<LibraryOperand> all = first;
    for (int i = 0; i < count; ++i) {
      const auto [a, x, y] = operands_of(i);
      all.push_back(matrix("A", a, s.m, s.n, s.lda, false));
      all.push_back(vector("x", x, s.x_length(), s.incx, false));
      all.push_back(vector("y", y, s.y_length(), s.incy, true));
    }
    return all;
  };
  return call.run_with(
      2.0 * s.m * s.n * count, sizeof(T), operands, [=, from_a = call.scalar(alpha), from_b = call.scalar(beta)] {
        for (int i = 0; i < count; ++i) {
          const auto [a, x, y] = operands_of(i);
          Blas<T>::gemv(kColumns, of(s.trans), s.m, s.n, from_a(), a, s.lda, x, s.incx, from_b(), y, s.incy);
        }
      });
}

// ---- Vectors whose types are arguments

/// Calls `body` with values of the vectors' type and of the type that is computed in.
template <class Body>
cublasStatus_t by_vector_type(const Call& call, cudaDataType type, cudaDataType execution, Body body) {
  if (type == CUDA_R_64F && execution == CUDA_R_64F) return body(double{}, double{});
  if (execution != CUDA_R_32F) return refuse_types(call);
  if (type == CUDA_R_32F) return body(float{}, float{});
  if (type == CUDA_R_16F) return body(__half{}, float{});
  if (type == CUDA_R_16BF) return body(__nv_bfloat16{}, float{});
  return refuse_types(call);
}

/// Where the first element of a vector is: at its end if the step is negative.
template <class T> T* first_of(T* x, int n, int step) { return step < 0 ? x - std::ptrdiff_t{n - 1} * step : x; }

template <class Wide, class T> Wide norm(int n, const T* x, int step) {
  if constexpr (std::is_same_v<T, Wide>) {
    return Blas<T>::nrm2(n, x, step);
  } else {
    Wide sum = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) sum += static_cast<Wide>(x[i * step]) * static_cast<Wide>(x[i * step]);
    return std::sqrt(sum);
  }
}

cublasStatus_t dot_typed(const Call& call, int n, const void* x, cudaDataType type_x, int incx, const void* y,
                         cudaDataType type_y, int incy, void* result, cudaDataType type_result,
                         cudaDataType execution) {
  if (type_y != type_x || type_result != type_x) return refuse_types(call);
  return by_vector_type(call, type_x, execution, [&]<class T, class Wide>(T, Wide) {
    const auto* from_x = static_cast<const T*>(x);
    const auto* from_y = static_cast<const T*>(y);
    return reduce<T>(call, 2.0 * n, {vector("x", from_x, n, incx, false), vector("y", from_y, n, incy, false)},
                     static_cast<T*>(result), [=] {
                       const T* first_x = first_of(from_x, n, incx);
                       const T* first_y = first_of(from_y, n, incy);
                       Wide sum = 0;
                       for (std::ptrdiff_t i = 0; i < n; ++i)
                         sum += static_cast<Wide>(first_x[i * incx]) * static_cast<Wide>(first_y[i * incy]);
                       return static_cast<T>(sum);
                     });
  });
}

/// A scalar of type T or Wide, which is among the operands if it is the device's.
template <class T, class Wide>
std::function<Wide()> typed_scalar(const Call& call, std::vector<LibraryOperand>& operands, const void* alpha,
                                   bool is_wide) {
  const auto read = [&](const auto* pointer) {
    add_scalar(call, operands, "alpha", pointer);
    return scale<Wide>(call, pointer);
  };
  return is_wide ? read(static_cast<const Wide*>(alpha)) : read(static_cast<const T*>(alpha));
}

// ---- Copies

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

/// A vector is a matrix of one row.
cublasStatus_t copy_matrix(const char* function, const void* pc, int rows, int columns, int element, const void* a,
                           int lda, void* b, int ldb, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (rows < 0 || columns < 0 || element <= 0 || lda < rows || ldb < rows || lda <= 0 || ldb <= 0) {
    return refuse(CUBLAS_STATUS_INVALID_VALUE, function, pc);
  }
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const auto bytes = static_cast<std::size_t>(element);
  const std::size_t to = bytes_of(ldb, bytes);
  const std::size_t from = bytes_of(lda, bytes);
  const std::size_t width = bytes_of(rows, bytes);
  const auto height = static_cast<std::size_t>(columns);
  return status_of(stream == nullptr ? cudaMemcpy2D(b, to, a, from, width, height, kind)
                                     : cudaMemcpy2DAsync(b, to, a, from, width, height, kind, *stream));
}

}  // namespace

// ---- Handles

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = std::make_unique<cublasContext>().release();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == nullptr) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, WARPBOOK_HERE);
  const std::unique_ptr<cublasContext> owned(handle);
  return cudaDeviceSynchronize() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  constexpr int kVersion[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = kVersion[type];
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case CUBLAS_STATUS_MAPPING_ERROR:
    return "CUBLAS_STATUS_MAPPING_ERROR";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case CUBLAS_STATUS_INTERNAL_ERROR:
    return "CUBLAS_STATUS_INTERNAL_ERROR";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case CUBLAS_STATUS_LICENSE_ERROR:
    return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

#define WARPBOOK_SETTING(Name, type, member)                                                                           \
  cublasStatus_t cublasSet##Name(cublasHandle_t handle, type value) {                                                  \
    if (handle == nullptr) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, WARPBOOK_HERE);                                \
    handle->member = value;                                                                                            \
    return CUBLAS_STATUS_SUCCESS;                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublasGet##Name(cublasHandle_t handle, type* value) {                                                 \
    if (handle == nullptr) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, WARPBOOK_HERE);                                \
    if (value == nullptr) return refuse(CUBLAS_STATUS_INVALID_VALUE, WARPBOOK_HERE);                                   \
    *value = handle->member;                                                                                           \
    return CUBLAS_STATUS_SUCCESS;                                                                                      \
  }
WARPBOOK_SETTING(Stream, cudaStream_t, stream)
WARPBOOK_SETTING(PointerMode, cublasPointerMode_t, pointer_mode)
WARPBOOK_SETTING(MathMode, cublasMath_t, math)
WARPBOOK_SETTING(AtomicsMode, cublasAtomicsMode_t, atomics)
#undef WARPBOOK_SETTING

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, std::size_t) {
  return check(handle, true, WARPBOOK_HERE);
}

cublasStatus_t cublasSetVector(int n, int element, const void* x, int incx, void* device, int incy) {
  return copy_matrix(WARPBOOK_HERE, 1, n, element, x, incx, device, incy, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetVector(int n, int element, const void* device, int incx, void* y, int incy) {
  return copy_matrix(WARPBOOK_HERE, 1, n, element, device, incx, y, incy, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int element, const void* a, int lda, void* b, int ldb) {
  return copy_matrix(WARPBOOK_HERE, rows, columns, element, a, lda, b, ldb, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int element, const void* a, int lda, void* b, int ldb) {
  return copy_matrix(WARPBOOK_HERE, rows, columns, element, a, lda, b, ldb, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetVectorAsync(int n, int element, const void* x, int incx, void* device, int incy,
                                    cudaStream_t stream) {
  return copy_matrix(WARPBOOK_HERE, 1, n, element, x, incx, device, incy, cudaMemcpyHostToDevice, &stream);
}
cublasStatus_t cublasGetVectorAsync(int n, int element, const void* device, int incx, void* y, int incy,
                                    cudaStream_t stream) {
  return copy_matrix(WARPBOOK_HERE, 1, n, element, device, incx, y, incy, cudaMemcpyDeviceToHost, &stream);
}
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int element, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  return copy_matrix(WARPBOOK_HERE, rows, columns, element, a, lda, b, ldb, cudaMemcpyHostToDevice, &stream);
}
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int element, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  return copy_matrix(WARPBOOK_HERE, rows, columns, element, a, lda, b, ldb, cudaMemcpyDeviceToHost, &stream);
}

// ---- Levels 1 to 3 of each type

#define WARPBOOK_CUBLAS(S, I, T)                                                                                       \
  cublasStatus_t cublas##I##amax(cublasHandle_t handle, int n, const T* x, int incx, int* result) {                    \
    WARPBOOK_CALL(result != nullptr);                                                                                  \
    const int length = touched(n, incx);                                                                               \
    return reduce<T>(call, length, {vector("x", x, length, incx, false)}, result,                                      \
                     [=] { return index_of<std::greater<T>>(length, x, incx); });                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##I##amin(cublasHandle_t handle, int n, const T* x, int incx, int* result) {                    \
    WARPBOOK_CALL(result != nullptr);                                                                                  \
    const int length = touched(n, incx);                                                                               \
    return reduce<T>(call, length, {vector("x", x, length, incx, false)}, result,                                      \
                     [=] { return index_of<std::less<T>>(length, x, incx); });                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##S##asum(cublasHandle_t handle, int n, const T* x, int incx, T* result) {                      \
    WARPBOOK_CALL(result != nullptr);                                                                                  \
    return reduce<T>(call, n, {vector("x", x, n, incx, false)}, result, [=] { return Blas<T>::asum(n, x, incx); });    \
  }                                                                                                                    \
  cublasStatus_t cublas##S##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result) {                      \
    WARPBOOK_CALL(result != nullptr);                                                                                  \
    return reduce<T>(call, 2.0 * n, {vector("x", x, n, incx, false)}, result,                                          \
                     [=] { return Blas<T>::nrm2(n, x, incx); });                                                       \
  }                                                                                                                    \
  cublasStatus_t cublas##S##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result) { \
    WARPBOOK_CALL(result != nullptr);                                                                                  \
    return reduce<T>(call, 2.0 * n, {vector("x", x, n, incx, false), vector("y", y, n, incy, false)}, result,          \
                     [=] { return Blas<T>::dot(n, x, incx, y, incy); });                                               \
  }                                                                                                                    \
  cublasStatus_t cublas##S##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    WARPBOOK_CALL(alpha != nullptr);                                                                                   \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, false), vector("y", y, n, incy, true)};               \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(2.0 * n, operands, [=, a = call.scalar(alpha)] { Blas<T>::axpy(n, a(), x, incx, y, incy); });   \
  }                                                                                                                    \
  cublasStatus_t cublas##S##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {                       \
    WARPBOOK_CALL(alpha != nullptr);                                                                                   \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, true)};                                               \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(n, operands, [=, a = call.scalar(alpha)] { Blas<T>::scal(n, a(), x, incx); });                  \
  }                                                                                                                    \
  cublasStatus_t cublas##S##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy) {                 \
    WARPBOOK_CALL(true);                                                                                               \
    return call.run<T>(0, {vector("x", x, n, incx, false), vector("y", y, n, incy, true)},                             \
                       [=] { Blas<T>::copy(n, x, incx, y, incy); });                                                   \
  }                                                                                                                    \
  cublasStatus_t cublas##S##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy) {                       \
    WARPBOOK_CALL(true);                                                                                               \
    return call.run<T>(0, {vector("x", x, n, incx, true), vector("y", y, n, incy, true)},                              \
                       [=] { Blas<T>::swap(n, x, incx, y, incy); });                                                   \
  }                                                                                                                    \
  cublasStatus_t cublas##S##rot(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy, const T* c,              \
                                const T* s) {                                                                          \
    WARPBOOK_CALL(c != nullptr && s != nullptr);                                                                       \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, true), vector("y", y, n, incy, true)};                \
    add_scalar(call, operands, "c", c);                                                                                \
    add_scalar(call, operands, "s", s);                                                                                \
    return call.run<T>(6.0 * n, operands, [=, cosine = call.scalar(c), sine = call.scalar(s)] {                        \
      Blas<T>::rot(n, x, incx, y, incy, cosine(), sine());                                                             \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##rotg(cublasHandle_t handle, T* a, T* b, T* c, T* s) {                                      \
    WARPBOOK_CALL(a != nullptr && b != nullptr && c != nullptr && s != nullptr);                                       \
    std::vector<LibraryOperand> operands;                                                                              \
    for (T * each : {a, b, c, s}) add_scalar(call, operands, "a, b, c or s", each, true);                              \
    return call.run<T>(10, operands, [=] { Blas<T>::rotg(a, b, c, s); }, call.on_host());                              \
  }                                                                                                                    \
  cublasStatus_t cublas##S##rotm(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy, const T* parameters) {  \
    WARPBOOK_CALL(parameters != nullptr);                                                                              \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, true), vector("y", y, n, incy, true)};                \
    if (!call.on_host()) operands.push_back(vector("param", parameters, 5, 1, false));                                 \
    std::vector<T> kept;                                                                                               \
    if (call.on_host()) kept.assign(parameters, parameters + 5);                                                       \
    return call.run<T>(6.0 * n, operands,                                                                              \
                       [=] { Blas<T>::rotm(n, x, incx, y, incy, kept.empty() ? parameters : kept.data()); });          \
  }                                                                                                                    \
  cublasStatus_t cublas##S##rotmg(cublasHandle_t handle, T* d1, T* d2, T* x1, const T* y1, T* parameters) {            \
    WARPBOOK_CALL(d1 != nullptr && d2 != nullptr && x1 != nullptr && y1 != nullptr && parameters != nullptr);          \
    std::vector<LibraryOperand> operands;                                                                              \
    for (T * each : {d1, d2, x1}) add_scalar(call, operands, "d1, d2 or x1", each, true);                              \
    add_scalar(call, operands, "y1", y1);                                                                              \
    if (!call.on_host()) operands.push_back(vector("param", parameters, 5, 1, true));                                  \
    return call.run<T>(20, operands, [=] { Blas<T>::rotmg(d1, d2, x1, *y1, parameters); }, call.on_host());            \
  }                                                                                                                    \
                                                                                                                       \
  cublasStatus_t cublas##S##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha,         \
                                 const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {           \
    WARPBOOK_CALL(is_known(trans) && m >= 0 && n >= 0 && alpha != nullptr && beta != nullptr &&                        \
                  lda >= std::max(1, m) && incx != 0 && incy != 0);                                                    \
    const bool plain = trans == CUBLAS_OP_N;                                                                           \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, m, n, lda, false));                                                              \
    operands.push_back(vector("x", x, plain ? n : m, incx, false));                                                    \
    operands.push_back(vector("y", y, plain ? m : n, incy, true));                                                     \
    return call.run<T>(2.0 * m * n, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {                     \
      Blas<T>::gemv(kColumns, of(trans), m, n, s(), a, lda, x, incx, t(), y, incy);                                    \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##gemvBatched(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha,  \
                                        const T* const a[], int lda, const T* const x[], int incx, const T* beta,      \
                                        T* const y[], int incy, int batch) {                                           \
    const VectorShape shape{trans, m, n, lda, incx, incy};                                                             \
    WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);                                 \
    const cublasStatus_t looked =                                                                                      \
        look_at(call, {vector("Aarray", a, batch, 1, false), vector("xarray", x, batch, 1, false),                     \
                       vector("yarray", y, batch, 1, false)});                                                         \
    if (looked != CUBLAS_STATUS_SUCCESS) return looked;                                                                \
    return multiply_vectors(call, shape, batch, alpha, beta, [=](int i) { return Product<T, T>{a[i], x[i], y[i]}; });  \
  }                                                                                                                    \
  cublasStatus_t cublas##S##gemvStridedBatched(cublasHandle_t handle, cublasOperation_t trans, int m, int n,           \
                                               const T* alpha, const T* a, int lda, long long stride_a, const T* x,    \
                                               int incx, long long stride_x, const T* beta, T* y, int incy,            \
                                               long long stride_y, int batch) {                                        \
    const VectorShape shape{trans, m, n, lda, incx, incy};                                                             \
    WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);                                 \
    return multiply_vectors(call, shape, batch, alpha, beta, [=](int i) {                                              \
      return Product<T, T>{a + stride_a * i, x + stride_x * i, y + stride_y * i};                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##gbmv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, int kl, int ku,         \
                                 const T* alpha, const T* a, int lda, const T* x, int incx, const T* beta, T* y,       \
                                 int incy) {                                                                           \
    WARPBOOK_CALL(is_known(trans) && m >= 0 && n >= 0 && kl >= 0 && ku >= 0 && alpha != nullptr && beta != nullptr &&  \
                  lda >= kl + ku + 1 && incx != 0 && incy != 0);                                                       \
    const bool plain = trans == CUBLAS_OP_N;                                                                           \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, kl + ku + 1, n, lda, false));                                                    \
    operands.push_back(vector("x", x, plain ? n : m, incx, false));                                                    \
    operands.push_back(vector("y", y, plain ? m : n, incy, true));                                                     \
    return call.run<T>(2.0 * n * (kl + ku + 1), operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {         \
      Blas<T>::gbmv(kColumns, of(trans), m, n, kl, ku, s(), a, lda, x, incx, t(), y, incy);                            \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##ger(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, \
                                int incy, T* a, int lda) {                                                             \
    WARPBOOK_CALL(m >= 0 && n >= 0 && alpha != nullptr && lda >= std::max(1, m) && incx != 0 && incy != 0);            \
    std::vector<LibraryOperand> operands{vector("x", x, m, incx, false), vector("y", y, n, incy, false),               \
                                         matrix("A", a, m, n, lda, true)};                                             \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(2.0 * m * n, operands,                                                                          \
                       [=, s = call.scalar(alpha)] { Blas<T>::ger(kColumns, m, n, s(), x, incx, y, incy, a, lda); });  \
  }                                                                                                                    \
  cublasStatus_t cublas##S##symv(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* a,      \
                                 int lda, const T* x, int incx, const T* beta, T* y, int incy) {                       \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && beta != nullptr && lda >= std::max(1, n) &&          \
                  incx != 0 && incy != 0);                                                                             \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, n, n, lda, false));                                                              \
    operands.push_back(vector("x", x, n, incx, false));                                                                \
    operands.push_back(vector("y", y, n, incy, true));                                                                 \
    return call.run<T>(2.0 * n * n, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {                     \
      Blas<T>::symv(kColumns, of(uplo), n, s(), a, lda, x, incx, t(), y, incy);                                        \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##sbmv(cublasHandle_t handle, cublasFillMode_t uplo, int n, int k, const T* alpha,           \
                                 const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {           \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && k >= 0 && alpha != nullptr && beta != nullptr && lda >= k + 1 &&         \
                  incx != 0 && incy != 0);                                                                             \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, k + 1, n, lda, false));                                                          \
    operands.push_back(vector("x", x, n, incx, false));                                                                \
    operands.push_back(vector("y", y, n, incy, true));                                                                 \
    return call.run<T>(4.0 * n * (k + 1), operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {               \
      Blas<T>::sbmv(kColumns, of(uplo), n, k, s(), a, lda, x, incx, t(), y, incy);                                     \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##spmv(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* ap,     \
                                 const T* x, int incx, const T* beta, T* y, int incy) {                                \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && beta != nullptr && incx != 0 && incy != 0);          \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(packed("AP", ap, n, false));                                                                    \
    operands.push_back(vector("x", x, n, incx, false));                                                                \
    operands.push_back(vector("y", y, n, incy, true));                                                                 \
    return call.run<T>(2.0 * n * n, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {                     \
      Blas<T>::spmv(kColumns, of(uplo), n, s(), ap, x, incx, t(), y, incy);                                            \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##syr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* x,       \
                                int incx, T* a, int lda) {                                                             \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && lda >= std::max(1, n) && incx != 0);                 \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, false), matrix("A", a, n, n, lda, true)};             \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(1.0 * n * n, operands,                                                                          \
                       [=, s = call.scalar(alpha)] { Blas<T>::syr(kColumns, of(uplo), n, s(), x, incx, a, lda); });    \
  }                                                                                                                    \
  cublasStatus_t cublas##S##syr2(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* x,      \
                                 int incx, const T* y, int incy, T* a, int lda) {                                      \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && lda >= std::max(1, n) && incx != 0 && incy != 0);    \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, false), vector("y", y, n, incy, false),               \
                                         matrix("A", a, n, n, lda, true)};                                             \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(2.0 * n * n, operands, [=, s = call.scalar(alpha)] {                                            \
      Blas<T>::syr2(kColumns, of(uplo), n, s(), x, incx, y, incy, a, lda);                                             \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##spr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* x,       \
                                int incx, T* ap) {                                                                     \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && incx != 0);                                          \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, false), packed("AP", ap, n, true)};                   \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(1.0 * n * n, operands,                                                                          \
                       [=, s = call.scalar(alpha)] { Blas<T>::spr(kColumns, of(uplo), n, s(), x, incx, ap); });        \
  }                                                                                                                    \
  cublasStatus_t cublas##S##spr2(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T* alpha, const T* x,      \
                                 int incx, const T* y, int incy, T* ap) {                                              \
    WARPBOOK_CALL(is_known(uplo) && n >= 0 && alpha != nullptr && incx != 0 && incy != 0);                             \
    std::vector<LibraryOperand> operands{vector("x", x, n, incx, false), vector("y", y, n, incy, false),               \
                                         packed("AP", ap, n, true)};                                                   \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(2.0 * n * n, operands, [=, s = call.scalar(alpha)] {                                            \
      Blas<T>::spr2(kColumns, of(uplo), n, s(), x, incx, y, incy, ap);                                                 \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n,    \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,        \
                                 int ldc) {                                                                            \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    WARPBOOK_CALL(is_known(side) && is_known(uplo) && m >= 0 && n >= 0 && alpha != nullptr && beta != nullptr &&       \
                  lda >= std::max(1, order) && ldb >= std::max(1, m) && ldc >= std::max(1, m));                        \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, order, order, lda, false));                                                      \
    operands.push_back(matrix("B", b, m, n, ldb, false));                                                              \
    operands.push_back(matrix("C", c, m, n, ldc, true));                                                               \
    return call.run<T>(2.0 * m * n * order, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {             \
      Blas<T>::symm(kColumns, of(side), of(uplo), m, n, s(), a, lda, b, ldb, t(), c, ldc);                             \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##syrk(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k,  \
                                 const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc) {                  \
    WARPBOOK_CALL(is_known(uplo) && is_known(trans) && n >= 0 && k >= 0 && alpha != nullptr && beta != nullptr &&      \
                  is_leading(trans, n, k, lda) && ldc >= std::max(1, n));                                              \
    const bool plain = trans == CUBLAS_OP_N;                                                                           \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, plain ? n : k, plain ? k : n, lda, false));                                      \
    operands.push_back(matrix("C", c, n, n, ldc, true));                                                               \
    return call.run<T>(1.0 * n * n * k, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {                 \
      Blas<T>::syrk(kColumns, of(uplo), of(trans), n, k, s(), a, lda, t(), c, ldc);                                    \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##syr2k(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k, \
                                  const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,       \
                                  int ldc) {                                                                           \
    WARPBOOK_CALL(is_known(uplo) && is_known(trans) && n >= 0 && k >= 0 && alpha != nullptr && beta != nullptr &&      \
                  is_leading(trans, n, k, lda) && is_leading(trans, n, k, ldb) && ldc >= std::max(1, n));              \
    const bool plain = trans == CUBLAS_OP_N;                                                                           \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    operands.push_back(matrix("A", a, plain ? n : k, plain ? k : n, lda, false));                                      \
    operands.push_back(matrix("B", b, plain ? n : k, plain ? k : n, ldb, false));                                      \
    operands.push_back(matrix("C", c, n, n, ldc, true));                                                               \
    return call.run<T>(2.0 * n * n * k, operands, [=, s = call.scalar(alpha), t = call.scalar(beta)] {                 \
      Blas<T>::syr2k(kColumns, of(uplo), of(trans), n, k, s(), a, lda, b, ldb, t(), c, ldc);                           \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                  \
                                 cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                 const T* a, int lda, const T* b, int ldb, T* c, int ldc) {                            \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    WARPBOOK_CALL(is_known(side) && is_known(uplo) && is_known(trans) && is_known(diag) && m >= 0 && n >= 0 &&         \
                  alpha != nullptr && lda >= std::max(1, order) && ldb >= std::max(1, m) && ldc >= std::max(1, m));    \
    std::vector<LibraryOperand> operands{matrix("A", a, order, order, lda, false), matrix("B", b, m, n, ldb, false),   \
                                         matrix("C", c, m, n, ldc, true)};                                             \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(1.0 * m * n * order, operands, [=, s = call.scalar(alpha)] {                                    \
      for (int j = 0; j < n && c != b; ++j) {                                                                          \
        std::copy_n(b + std::ptrdiff_t{j} * ldb, m, c + std::ptrdiff_t{j} * ldc); /* BLAS's is in place */             \
      }                                                                                                                \
      Blas<T>::trmm(kColumns, of(side), of(uplo), of(trans), of(diag), m, n, s(), a, lda, c, ldc);                     \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                  \
                                 cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                 const T* a, int lda, T* b, int ldb) {                                                 \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    WARPBOOK_CALL(is_known(side) && is_known(uplo) && is_known(trans) && is_known(diag) && m >= 0 && n >= 0 &&         \
                  alpha != nullptr && lda >= std::max(1, order) && ldb >= std::max(1, m));                             \
    std::vector<LibraryOperand> operands{matrix("A", a, order, order, lda, false), matrix("B", b, m, n, ldb, true)};   \
    add_scalar(call, operands, "alpha", alpha);                                                                        \
    return call.run<T>(1.0 * m * n * order, operands, [=, s = call.scalar(alpha)] {                                    \
      Blas<T>::trsm(kColumns, of(side), of(uplo), of(trans), of(diag), m, n, s(), a, lda, b, ldb);                     \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, \
                                 int ldc) {                                                                            \
    WARPBOOK_CALL(is_known(transa) && is_known(transb) && m >= 0 && n >= 0 && alpha != nullptr && beta != nullptr &&   \
                  is_leading(transa, m, n, lda) && is_leading(transb, m, n, ldb) && ldc >= std::max(1, m) &&           \
                  (a != c || (lda == ldc && transa == CUBLAS_OP_N)) &&                                                 \
                  (b != c || (ldb == ldc && transb == CUBLAS_OP_N)));                                                  \
    const bool plain_a = transa == CUBLAS_OP_N;                                                                        \
    const bool plain_b = transb == CUBLAS_OP_N;                                                                        \
    const auto s = call.scalar(alpha);                                                                                 \
    const auto t = call.scalar(beta);                                                                                  \
    std::vector<LibraryOperand> operands = scalar_operands(call, alpha, beta);                                         \
    /* What is multiplied by 0 is not read, and need not be there. */                                                  \
    if (!call.on_host() || *alpha != 0) {                                                                              \
      operands.push_back(matrix("A", a, plain_a ? m : n, plain_a ? n : m, lda, false));                                \
    }                                                                                                                  \
    if (!call.on_host() || *beta != 0) {                                                                               \
      operands.push_back(matrix("B", b, plain_b ? m : n, plain_b ? n : m, ldb, false));                                \
    }                                                                                                                  \
    operands.push_back(matrix("C", c, m, n, ldc, true));                                                               \
    return call.run<T>(3.0 * m * n, operands, [=] {                                                                    \
      const T from_a = s();                                                                                            \
      const T from_b = t();                                                                                            \
      for (std::ptrdiff_t j = 0; j < n; ++j) {                                                                         \
        for (std::ptrdiff_t i = 0; i < m; ++i) {                                                                       \
          const T first = from_a == 0 ? 0 : from_a * (plain_a ? a[j * lda + i] : a[i * lda + j]);                      \
          const T second = from_b == 0 ? 0 : from_b * (plain_b ? b[j * ldb + i] : b[i * ldb + j]);                     \
          c[j * ldc + i] = first + second;                                                                             \
        }                                                                                                              \
      }                                                                                                                \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##dgmm(cublasHandle_t handle, cublasSideMode_t mode, int m, int n, const T* a, int lda,      \
                                 const T* x, int incx, T* c, int ldc) {                                                \
    WARPBOOK_CALL(is_known(mode) && m >= 0 && n >= 0 && lda >= std::max(1, m) && ldc >= std::max(1, m));               \
    const int length = mode == CUBLAS_SIDE_LEFT ? m : n;                                                               \
    return call.run<T>(                                                                                                \
        1.0 * m * n,                                                                                                   \
        {matrix("A", a, m, n, lda, false), vector("x", x, length, incx, false), matrix("C", c, m, n, ldc, true)},      \
        [=] {                                                                                                          \
          const T* first = incx < 0 ? x - std::ptrdiff_t{length - 1} * incx : x;                                       \
          for (std::ptrdiff_t j = 0; j < n; ++j) {                                                                     \
            for (std::ptrdiff_t i = 0; i < m; ++i) {                                                                   \
              c[j * ldc + i] = a[j * lda + i] * first[(mode == CUBLAS_SIDE_LEFT ? i : j) * incx];                      \
            }                                                                                                          \
          }                                                                                                            \
        });                                                                                                            \
  }

/// Products with a triangle, and solutions by one: `way` is mv or sv.
#define WARPBOOK_TRIANGLE(S, T, way)                                                                                   \
  cublasStatus_t cublas##S##tr##way(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,             \
                                    cublasDiagType_t diag, int n, const T* a, int lda, T* x, int incx) {               \
    WARPBOOK_CALL(is_known(uplo) && is_known(trans) && is_known(diag) && n >= 0 && lda >= std::max(1, n) &&            \
                  incx != 0);                                                                                          \
    return call.run<T>(1.0 * n * n, {matrix("A", a, n, n, lda, false), vector("x", x, n, incx, true)},                 \
                       [=] { Blas<T>::tr##way(kColumns, of(uplo), of(trans), of(diag), n, a, lda, x, incx); });        \
  }                                                                                                                    \
  cublasStatus_t cublas##S##tb##way(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,             \
                                    cublasDiagType_t diag, int n, int k, const T* a, int lda, T* x, int incx) {        \
    WARPBOOK_CALL(is_known(uplo) && is_known(trans) && is_known(diag) && n >= 0 && k >= 0 && lda >= k + 1 &&           \
                  incx != 0);                                                                                          \
    return call.run<T>(2.0 * n * (k + 1), {matrix("A", a, k + 1, n, lda, false), vector("x", x, n, incx, true)},       \
                       [=] { Blas<T>::tb##way(kColumns, of(uplo), of(trans), of(diag), n, k, a, lda, x, incx); });     \
  }                                                                                                                    \
  cublasStatus_t cublas##S##tp##way(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,             \
                                    cublasDiagType_t diag, int n, const T* ap, T* x, int incx) {                       \
    WARPBOOK_CALL(is_known(uplo) && is_known(trans) && is_known(diag) && n >= 0 && incx != 0);                         \
    return call.run<T>(1.0 * n * n, {packed("AP", ap, n, false), vector("x", x, n, incx, true)},                       \
                       [=] { Blas<T>::tp##way(kColumns, of(uplo), of(trans), of(diag), n, ap, x, incx); });            \
  }

#define WARPBOOK_CUBLAS_PRODUCTS(S, T)                                                                                 \
  cublasStatus_t cublas##S##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,               \
                                 const T* beta, T* c, int ldc) {                                                       \
    const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};                                                         \
    WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr);                                               \
    return multiply_strided<T, T, ScaleOf<T>>(call, shape, scale<ScaleOf<T>>(call, alpha), a, 0, b, 0,                 \
                                              scale<ScaleOf<T>>(call, beta), c, 0, 1,                                  \
                                              scalar_operands(call, alpha, beta));                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##S##gemmBatched(                                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int batch) {     \
    const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};                                                         \
    WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);                                 \
    return multiply_pointed<T, T, ScaleOf<T>>(call, shape, scale<ScaleOf<T>>(call, alpha), a, b,                       \
                                              scale<ScaleOf<T>>(call, beta), c, batch,                                 \
                                              scalar_operands(call, alpha, beta));                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##S##gemmStridedBatched(                                                                        \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,  \
      long long stride_c, int batch) {                                                                                 \
    const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};                                                         \
    WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);                                 \
    return multiply_strided<T, T, ScaleOf<T>>(call, shape, scale<ScaleOf<T>>(call, alpha), a, stride_a, b, stride_b,   \
                                              scale<ScaleOf<T>>(call, beta), c, stride_c, batch,                       \
                                              scalar_operands(call, alpha, beta));                                     \
  }

WARPBOOK_CUBLAS(S, Is, float)
WARPBOOK_CUBLAS(D, Id, double)
WARPBOOK_TRIANGLE(S, float, mv)
WARPBOOK_TRIANGLE(S, float, sv)
WARPBOOK_TRIANGLE(D, double, mv)
WARPBOOK_TRIANGLE(D, double, sv)
WARPBOOK_CUBLAS_PRODUCTS(S, float)
WARPBOOK_CUBLAS_PRODUCTS(D, double)
WARPBOOK_CUBLAS_PRODUCTS(H, __half)
#undef WARPBOOK_CUBLAS
#undef WARPBOOK_TRIANGLE
#undef WARPBOOK_CUBLAS_PRODUCTS

#define WARPBOOK_CUBLAS_FACTORS(S, T)                                                                                  \
  cublasStatus_t cublas##S##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,  \
                                         int batch) {                                                                  \
    WARPBOOK_CALL(n >= 0 && batch >= 0 && lda >= std::max(1, n) && info != nullptr);                                   \
    return factor_all<T>(                                                                                              \
        call, 2.0 / 3 * n * n * n, n, 0, batch, a, lda, true, nullptr, 0, pivots, true, info,                          \
        [=](int i, std::ptrdiff_t at) { info[i] = factor(a[i], n, lda, pivots == nullptr ? nullptr : pivots + at); }); \
  }                                                                                                                    \
  cublasStatus_t cublas##S##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda, const int* pivots, \
                                         T* const c[], int ldc, int* info, int batch) {                                \
    WARPBOOK_CALL(n >= 0 && batch >= 0 && lda >= std::max(1, n) && ldc >= std::max(1, n) && info != nullptr);          \
    return factor_all<T>(call, 4.0 / 3 * n * n * n, n, n, batch, a, lda, false, c, ldc, pivots, false, info,           \
                         [=](int i, std::ptrdiff_t at) {                                                               \
                           info[i] = invert(a[i], n, lda, pivots == nullptr ? nullptr : pivots + at, c[i], ldc);       \
                         });                                                                                           \
  }                                                                                                                    \
  cublasStatus_t cublas##S##getrsBatched(cublasHandle_t handle, cublasOperation_t trans, int n, int columns,           \
                                         const T* const a[], int lda, const int* pivots, T* const b[], int ldb,        \
                                         int* info, int batch) {                                                       \
    WARPBOOK_CALL(is_known(trans) && n >= 0 && columns >= 0 && batch >= 0 && lda >= std::max(1, n) &&                  \
                  ldb >= std::max(1, n) && info != nullptr);                                                           \
    *info = 0;                                                                                                         \
    return factor_all<T>(call, 2.0 * n * n * columns, n, columns, batch, a, lda, false, b, ldb, pivots, false,         \
                         nullptr, [=](int i, std::ptrdiff_t at) {                                                      \
                           solve(trans, a[i], n, lda, pivots == nullptr ? nullptr : pivots + at, b[i], columns, ldb);  \
                         });                                                                                           \
  }                                                                                                                    \
  cublasStatus_t cublas##S##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda, T* const c[],     \
                                          int ldc, int* info, int batch) {                                             \
    WARPBOOK_CALL(n >= 0 && n <= 32 && batch >= 0 && lda >= std::max(1, n) && ldc >= std::max(1, n) &&                 \
                  info != nullptr);                                                                                    \
    return factor_all<T>(call, 2.0 * n * n * n, n, n, batch, a, lda, false, c, ldc, nullptr, false, info,              \
                         [=](int i, std::ptrdiff_t) {                                                                  \
                           std::vector<T> factors(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));          \
                           for (int j = 0; j < n; ++j)                                                                 \
                             std::copy_n(a[i] + std::ptrdiff_t{j} * lda, n, factors.data() + std::ptrdiff_t{j} * n);   \
                           std::vector<int> pivots(static_cast<std::size_t>(n));                                       \
                           info[i] = factor(factors.data(), n, std::max(1, n), pivots.data());                         \
                           if (info[i] == 0) invert(factors.data(), n, std::max(1, n), pivots.data(), c[i], ldc);      \
                         });                                                                                           \
  }
WARPBOOK_CUBLAS_FACTORS(S, float)
WARPBOOK_CUBLAS_FACTORS(D, double)
#undef WARPBOOK_CUBLAS_FACTORS

// ---- Products whose types are arguments

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void* alpha, const void* a, cudaDataType type_a,
                                          int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc,
                                          long long stride_c, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};
  WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);
  return multiply_typed(call, shape, alpha, a, type_a, stride_a, b, type_b, stride_b, beta, c, type_c, stride_c, batch,
                        compute);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};
  WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr);
  return multiply_typed(call, shape, alpha, a, type_a, 0, b, type_b, 0, beta, c, type_c, 0, 1, compute);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                             int k, const float* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                             cudaDataType type_b, int ldb, const float* beta, void* c, cudaDataType type_c, int ldc) {
  const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};
  WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr);
  return multiply_typed(call, shape, alpha, a, type_a, 0, b, type_b, 0, beta, c, type_c, 0, 1, CUBLAS_COMPUTE_32F);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* const a[], cudaDataType type_a, int lda,
                                   const void* const b[], cudaDataType type_b, int ldb, const void* beta,
                                   void* const c[], cudaDataType type_c, int ldc, int batch,
                                   cublasComputeType_t compute, cublasGemmAlgo_t) {
  const Shape shape{transa, transb, m, n, k, lda, ldb, ldc};
  WARPBOOK_CALL(shape.valid() && alpha != nullptr && beta != nullptr && batch >= 0);
  return by_types(call, type_a, type_b, type_c, compute, [&]<class In, class Out, class Given>(In, Out, Given) {
    using Scale = ScaleOf<Given>;
    const auto* from_a = static_cast<const Given*>(alpha);
    const auto* from_b = static_cast<const Given*>(beta);
    return multiply_pointed<In, Out, Scale>(
        call, shape, scale<Scale>(call, from_a), reinterpret_cast<const In* const*>(a),
        reinterpret_cast<const In* const*>(b), scale<Scale>(call, from_b), reinterpret_cast<Out* const*>(c), batch,
        scalar_operands(call, from_a, from_b));
  });
}

// ---- Vectors whose types are arguments

cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx, void* result,
                            cudaDataType type_result, cudaDataType execution) {
  WARPBOOK_CALL(result != nullptr);
  if (type_result != type_x) return refuse_types(call);
  return by_vector_type(call, type_x, execution, [&]<class T, class Wide>(T, Wide) {
    const auto* from = static_cast<const T*>(x);
    const int length = touched(n, incx);
    return reduce<T>(call, 2.0 * length, {vector("x", from, length, incx, false)}, static_cast<T*>(result),
                     [=] { return static_cast<T>(norm<Wide>(length, from, incx)); });
  });
}

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx, const void* y,
                           cudaDataType type_y, int incy, void* result, cudaDataType type_result,
                           cudaDataType execution) {
  WARPBOOK_CALL(result != nullptr);
  return dot_typed(call, n, x, type_x, incx, y, type_y, incy, result, type_result, execution);
}

cublasStatus_t cublasDotcEx(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx, const void* y,
                            cudaDataType type_y, int incy, void* result, cudaDataType type_result,
                            cudaDataType execution) {
  WARPBOOK_CALL(result != nullptr);
  return dot_typed(call, n, x, type_x, incx, y, type_y, incy, result, type_result, execution);
}

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha, const void* x,
                            cudaDataType type_x, int incx, void* y, cudaDataType type_y, int incy,
                            cudaDataType execution) {
  WARPBOOK_CALL(alpha != nullptr);
  if (type_y != type_x || (type_alpha != type_x && type_alpha != execution)) return refuse_types(call);
  return by_vector_type(call, type_x, execution, [&]<class T, class Wide>(T, Wide) {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    std::vector<LibraryOperand> operands{vector("x", from, n, incx, false), vector("y", to, n, incy, true)};
    const auto factor = typed_scalar<T, Wide>(call, operands, alpha, type_alpha == execution);
    return call.run<T>(2.0 * n, operands, [=] {
      const Wide by = factor();
      const T* first_x = first_of(from, n, incx);
      T* first_y = first_of(to, n, incy);
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        T& element = first_y[i * incy];
        element = static_cast<T>(by * static_cast<Wide>(first_x[i * incx]) + static_cast<Wide>(element));
      }
    });
  });
}

cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha, void* x,
                            cudaDataType type_x, int incx, cudaDataType execution) {
  WARPBOOK_CALL(alpha != nullptr);
  if (type_alpha != type_x && type_alpha != execution) return refuse_types(call);
  return by_vector_type(call, type_x, execution, [&]<class T, class Wide>(T, Wide) {
    auto* to = static_cast<T*>(x);
    const int length = touched(n, incx);
    std::vector<LibraryOperand> operands{vector("x", to, length, incx, true)};
    const auto factor = typed_scalar<T, Wide>(call, operands, alpha, type_alpha == execution);
    return call.run<T>(length, operands, [=] {
      const Wide by = factor();
      for (std::ptrdiff_t i = 0; i < length; ++i) to[i * incx] = static_cast<T>(by * static_cast<Wide>(to[i * incx]));
    });
  });
}

// ---- Second names

#define WARPBOOK_SECOND_NAME(name) decltype(name) name##_v2 __attribute__((alias(#name)));
extern "C" {
WARPBOOK_CUBLAS_ALL_SECOND_NAMES(WARPBOOK_SECOND_NAME)
}
#undef WARPBOOK_SECOND_NAME
