/// \file
/// cublasLt's products over the host's BLAS: operands are widened to floats (or stay doubles), multiplied, and go
/// through the epilogue on their way back.
#include "common/emulator/include/cublasLt.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "common/emulator/include/warpbook_library.h"

struct cublasLtContext {};

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;

using Layout = cublasLtMatrixLayoutOpaque_t;
using Description = cublasLtMatmulDescOpaque_t;

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return 8;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  default:
    return 0;
  }
}

/// Calls `body` with a value of the type.
template <class Body> void with_type(cudaDataType type, Body body) {
  if (type == CUDA_R_64F) body(double{});
  if (type == CUDA_R_32F) body(float{});
  if (type == CUDA_R_16F) body(__half{});
  if (type == CUDA_R_16BF) body(__nv_bfloat16{});
}

double widen(double value) { return value; }
double widen(float value) { return value; }
double widen(__half value) { return __half2float(value); }
double widen(__nv_bfloat16 value) { return __bfloat162float(value); }
void narrow(double& to, double value) { to = value; }
void narrow(float& to, double value) { to = static_cast<float>(value); }
void narrow(__half& to, double value) { to = __float2half(static_cast<float>(value)); }
void narrow(__nv_bfloat16& to, double value) { to = __float2bfloat16(static_cast<float>(value)); }

/// A matrix in memory: where its element (row, column) is.
struct Matrix {
  void* begin;
  cudaDataType type;
  cublasLtOrder_t order;
  std::size_t rows;
  std::size_t columns;
  std::size_t ld;

  Matrix(const void* memory, const Layout& layout, int i)
      : begin(static_cast<char*>(const_cast<void*>(memory)) + layout.stride * i * ptrdiff(bytes_of(layout.type))),
        type(layout.type), order(layout.order), rows(layout.rows), columns(layout.columns),
        ld(static_cast<std::size_t>(layout.ld)) {}
  Matrix(void* memory, cudaDataType element, std::size_t r, std::size_t c, std::size_t leading)
      : begin(memory), type(element), order(CUBLASLT_ORDER_COL), rows(r), columns(c), ld(leading) {}

  static std::ptrdiff_t ptrdiff(std::size_t value) { return static_cast<std::ptrdiff_t>(value); }
  std::size_t place(std::size_t row, std::size_t column) const {
    return order == CUBLASLT_ORDER_COL ? column * ld + row : row * ld + column;
  }
  LibraryOperand operand(const char* name, bool written) const {
    const bool by_columns = order == CUBLASLT_ORDER_COL;
    const std::size_t bytes = bytes_of(type);
    return {name, begin, (by_columns ? rows : columns) * bytes, by_columns ? columns : rows, ld * bytes, written};
  }

  /// Its elements as columns without gaps.
  template <class Wide> std::vector<Wide> read() const {
    std::vector<Wide> values(rows * columns);
    with_type(type, [&]<class T>(T) {
      const auto* from = static_cast<const T*>(begin);
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) values[j * rows + i] = static_cast<Wide>(widen(from[place(i, j)]));
      }
    });
    return values;
  }
  template <class Wide> void write(const std::vector<Wide>& values) const {
    with_type(type, [&]<class T>(T) {
      auto* to = static_cast<T*>(begin);
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) narrow(to[place(i, j)], static_cast<double>(values[j * rows + i]));
      }
    });
  }
};

void multiply(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, float alpha, const float* a, int lda,
              const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, ta == CUBLAS_OP_N ? CblasNoTrans : CblasTrans,
              tb == CUBLAS_OP_N ? CblasNoTrans : CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void multiply(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, double alpha, const double* a, int lda,
              const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, ta == CUBLAS_OP_N ? CblasNoTrans : CblasTrans,
              tb == CUBLAS_OP_N ? CblasNoTrans : CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

constexpr double kRootOfTwoByPi = 0.7978845608028654;
double gelu(double x) { return 0.5 * x * (1 + std::tanh(kRootOfTwoByPi * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) {
  const double t = std::tanh(kRootOfTwoByPi * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootOfTwoByPi * (1 + 3 * 0.044715 * x * x);
}

/// A product that was checked.
struct Product {
  Description of;
  Layout a;
  Layout b;
  Layout c;
  Layout d;

  bool has(int part) const { return (of.epilogue & part) != 0; }
  std::size_t inner() const { return of.transa == CUBLAS_OP_N ? a.columns : a.rows; }
  std::size_t bias_length() const { return has(CUBLASLT_EPILOGUE_BGRADB) ? d.columns : d.rows; }
  bool writes_bias() const { return has(16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB); }
  bool uses_bias() const { return writes_bias() || has(CUBLASLT_EPILOGUE_BIAS); }
  Matrix bias(int i) const {
    const cudaDataType type = of.bias_type < 0 ? d.type : static_cast<cudaDataType>(of.bias_type);
    return {static_cast<char*>(of.bias) + of.bias_stride * i * Matrix::ptrdiff(bytes_of(type)), type, bias_length(), 1,
            bias_length()};
  }
  Matrix auxiliary(int i) const {
    const auto ld = static_cast<std::size_t>(of.auxiliary_ld);
    return {static_cast<char*>(of.auxiliary) + of.auxiliary_stride * i * Matrix::ptrdiff(bytes_of(d.type)), d.type,
            d.rows, d.columns, ld};
  }

  template <class Wide>
  void run(int i, Wide alpha, Wide beta, const void* at, const void* bt, const void* ct, void* dt) const {
    const std::vector<Wide> va = Matrix(at, a, i).read<Wide>();
    const std::vector<Wide> vb = Matrix(bt, b, i).read<Wide>();
    std::vector<Wide> values = beta == 0 ? std::vector<Wide>(d.rows * d.columns) : Matrix(ct, c, i).read<Wide>();
    if (values.empty()) return;
    multiply(of.transa, of.transb, static_cast<int>(d.rows), static_cast<int>(d.columns), static_cast<int>(inner()),
             alpha, va.data(), static_cast<int>(std::max<std::size_t>(1, a.rows)), vb.data(),
             static_cast<int>(std::max<std::size_t>(1, b.rows)), beta, values.data(), static_cast<int>(d.rows));
    finish(i, values, va, vb);
    Matrix(dt, d, i).write(values);
  }

private:
  template <class Wide>
  void finish(int i, std::vector<Wide>& values, const std::vector<Wide>& va, const std::vector<Wide>& vb) const {
    const auto each = [&](auto change) {
      for (std::size_t at = 0; at < values.size(); ++at) values[at] = static_cast<Wide>(change(values[at], at));
    };
    if (has(CUBLASLT_EPILOGUE_BIAS)) {
      const std::vector<Wide> added = bias(i).template read<Wide>();
      each([&](Wide x, std::size_t at) { return x + added[at % d.rows]; });
    }
    if (has(CUBLASLT_EPILOGUE_RELU)) each([](Wide x, std::size_t) { return x < 0 ? Wide{0} : x; });
    if (has(CUBLASLT_EPILOGUE_GELU)) {
      if (has(128)) auxiliary(i).write(values);
      each([](Wide x, std::size_t) { return gelu(static_cast<double>(x)); });
    }
    if (has(64)) {
      const std::vector<Wide> before = auxiliary(i).template read<Wide>();
      each(
          [&](Wide x, std::size_t at) { return static_cast<double>(x) * gelu_slope(static_cast<double>(before[at])); });
    }
    if (!writes_bias()) return;
    std::vector<Wide> sums(bias_length());
    if (has(16)) {
      for (std::size_t at = 0; at < values.size(); ++at) sums[at % d.rows] += values[at];
    } else if (has(CUBLASLT_EPILOGUE_BGRADA)) {
      for (std::size_t at = 0; at < va.size(); ++at)
        sums[of.transa == CUBLAS_OP_N ? at % a.rows : at / a.rows] += va[at];
    } else {
      for (std::size_t at = 0; at < vb.size(); ++at)
        sums[of.transb == CUBLAS_OP_N ? at / b.rows : at % b.rows] += vb[at];
    }
    bias(i).write(sums);
  }
};

bool is_layout(const Layout& layout) {
  const std::uint64_t least = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  return bytes_of(layout.type) != 0 && (layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW) &&
         layout.ld >= static_cast<std::int64_t>(least) && layout.batch >= 1;
}

/// Which types go together, as in cublasGemmEx.
bool are_types(const Description& of, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  if (a.type != b.type || c.type != d.type) return false;
  switch (of.compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return a.type == CUDA_R_64F && d.type == CUDA_R_64F && of.scale == CUDA_R_64F;
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    return a.type != CUDA_R_64F && (d.type == a.type || d.type == CUDA_R_32F) && of.scale == CUDA_R_32F;
  case CUBLAS_COMPUTE_32F_FAST_16F:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return a.type == CUDA_R_32F && d.type == CUDA_R_32F && of.scale == CUDA_R_32F;
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return a.type == CUDA_R_16F && d.type == CUDA_R_16F && of.scale == CUDA_R_16F;
  case CUBLAS_COMPUTE_32I:
    break;
  }
  return false;
}

bool is_epilogue(cublasLtEpilogue_t value) {
  constexpr int kKnown[] = {CUBLASLT_EPILOGUE_DEFAULT,     CUBLASLT_EPILOGUE_RELU,          CUBLASLT_EPILOGUE_BIAS,
                            CUBLASLT_EPILOGUE_RELU_BIAS,   CUBLASLT_EPILOGUE_GELU,          CUBLASLT_EPILOGUE_GELU_BIAS,
                            CUBLASLT_EPILOGUE_GELU_AUX,    CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
                            CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,        CUBLASLT_EPILOGUE_BGRADB};
  return std::find(std::begin(kKnown), std::end(kKnown), static_cast<int>(value)) != std::end(kKnown);
}

cublasStatus_t check(cublasLtHandle_t handle, cublasLtMatmulDesc_t of, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (of == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  for (const Layout* layout : {a, b, c, d}) {
    if (!is_layout(*layout) || layout->batch != d->batch) return CUBLAS_STATUS_INVALID_VALUE;
    if (std::max(layout->rows, layout->columns) > 0x7fffffffU) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Product product{*of, *a, *b, *c, *d};
  const bool plain_b = of->transb == CUBLAS_OP_N;
  const bool fits =
      (of->transa == CUBLAS_OP_N ? a->rows : a->columns) == d->rows && (plain_b ? b->columns : b->rows) == d->columns &&
      (plain_b ? b->rows : b->columns) == product.inner() && c->rows == d->rows && c->columns == d->columns;
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  if (!are_types(*of, *a, *b, *c, *d) || !is_epilogue(of->epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (product.has(128) && (d->order != CUBLASLT_ORDER_COL || of->auxiliary_ld < static_cast<std::int64_t>(d->rows))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (of->bias_type >= 0 && bytes_of(static_cast<cudaDataType>(of->bias_type)) == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

/// Where an attribute is kept, and how many bytes it has.
struct Attribute {
  void* place;
  std::size_t bytes;
};
template <class T> Attribute at(T& member) { return {&member, sizeof member}; }

std::optional<Attribute> attribute_of(Layout& layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_TYPE:
    return at(layout.type);
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return at(layout.order);
  case CUBLASLT_MATRIX_LAYOUT_ROWS:
    return at(layout.rows);
  case CUBLASLT_MATRIX_LAYOUT_COLS:
    return at(layout.columns);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return at(layout.ld);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return at(layout.batch);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return at(layout.stride);
  }
  return std::nullopt;
}

std::optional<Attribute> attribute_of(Description& product, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    return at(product.compute);
  case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    return at(product.scale);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return at(product.pointer_mode);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return at(product.transa);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return at(product.transb);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return at(product.epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return at(product.bias);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return at(product.bias_stride);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return at(product.auxiliary);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return at(product.auxiliary_ld);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
    return at(product.auxiliary_stride);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return at(product.bias_type);
  }
  return std::nullopt;
}

template <class Of, class Name> cublasStatus_t set(Of* of, Name name, const void* value, std::size_t bytes) {
  if (of == nullptr || value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const std::optional<Attribute> attribute = attribute_of(*of, name);
  if (!attribute) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (bytes < attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(attribute->place, value, attribute->bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Of, class Name>
cublasStatus_t get(Of* of, Name name, void* value, std::size_t bytes, std::size_t* written) {
  if (of == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const std::optional<Attribute> attribute = attribute_of(*of, name);
  if (!attribute) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (written != nullptr) *written = attribute->bytes;
  if (bytes == 0) return written == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
  if (value == nullptr || bytes < attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, attribute->place, attribute->bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T> cublasStatus_t create(T** made, T value) {
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *made = new T(value);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T> cublasStatus_t destroy(T* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

double read_scalar(cudaDataType type, const void* place) {
  double value = 0;
  with_type(type, [&]<class T>(T) { value = widen(*static_cast<const T*>(place)); });
  return value;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return create(handle, cublasLtContext{}); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld) {
  return create(layout, Layout{type, CUBLASLT_ORDER_COL, rows, columns, ld, 1, 0});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  return set(layout, attribute, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                std::size_t bytes, std::size_t* written) {
  return get(layout, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType scale) {
  Description made{};
  made.compute = compute;
  made.scale = scale;
  made.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  made.bias_type = -1;
  return create(product, made);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) { return destroy(product); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return set(product, attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              void* value, std::size_t bytes, std::size_t* written) {
  return get(product, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, cublasLtMatmulPreferenceOpaque_t{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void* value,
                                                    std::size_t) {
  return preference == nullptr || value == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t layout_a, cublasLtMatrixLayout_t layout_b,
                                              cublasLtMatrixLayout_t layout_c, cublasLtMatrixLayout_t layout_d,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (wanted < 1 || results == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  const cublasStatus_t status = check(handle, product, layout_a, layout_b, layout_c, layout_d);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *found = 1;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t stream) {
  cublasStatus_t status = check(handle, product, layout_a, layout_b, layout_c, layout_d);
  const auto refuse = [pc = __builtin_return_address(0)](cublasStatus_t refused) {
    warpbook::emulator::library_refused("cublasLtMatmul", pc, cublasGetStatusName(refused), refused,
                                        "its operands do not go together, or are not emulated");
    return refused;
  };
  if (status != CUBLAS_STATUS_SUCCESS) return refuse(status);
  const Product of{*product, *layout_a, *layout_b, *layout_c, *layout_d};
  if (alpha == nullptr || beta == nullptr || (of.uses_bias() && of.of.bias == nullptr) ||
      (of.has(128) && of.of.auxiliary == nullptr)) {
    return refuse(CUBLAS_STATUS_INVALID_VALUE);
  }
  const bool on_host = of.of.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  const double host_alpha = on_host ? read_scalar(of.of.scale, alpha) : 0;
  const double host_beta = on_host ? read_scalar(of.of.scale, beta) : 0;
  const int batch = of.d.batch;

  LibraryCall call;
  call.function = __func__;
  call.pc = __builtin_return_address(0);
  call.stream = stream;
  call.flops = 2.0 * static_cast<double>(of.d.rows) * static_cast<double>(of.d.columns) *
               static_cast<double>(of.inner()) * batch;
  call.element_bytes = static_cast<unsigned>(bytes_of(of.a.type));
  call.operands = [=] {
    std::vector<LibraryOperand> all;
    const std::size_t scalar = bytes_of(of.of.scale);
    if (!on_host) {
      all.push_back({"alpha", alpha, scalar, 1, scalar, false});
      all.push_back({"beta", beta, scalar, 1, scalar, false});
    }
    for (int i = 0; i < batch; ++i) {
      all.push_back(Matrix(a, of.a, i).operand("A", false));
      all.push_back(Matrix(b, of.b, i).operand("B", false));
      if (!on_host || host_beta != 0) all.push_back(Matrix(c, of.c, i).operand("C", false));
      all.push_back(Matrix(d, of.d, i).operand("D", true));
      if (of.uses_bias()) all.push_back(of.bias(i).operand("the bias", of.writes_bias()));
      if (of.has(128)) all.push_back(of.auxiliary(i).operand("the auxiliary matrix", of.has(CUBLASLT_EPILOGUE_GELU)));
    }
    return all;
  };
  call.run = [=] {
    const double from_a = on_host ? host_alpha : read_scalar(of.of.scale, alpha);
    const double from_b = on_host ? host_beta : read_scalar(of.of.scale, beta);
    for (int i = 0; i < batch; ++i) {
      if (of.a.type == CUDA_R_64F) {
        of.run<double>(i, from_a, from_b, a, b, c, d);
      } else {
        of.run<float>(i, static_cast<float>(from_a), static_cast<float>(from_b), a, b, c, d);
      }
    }
  };
  return warpbook::emulator::run_library_call(std::move(call)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}
