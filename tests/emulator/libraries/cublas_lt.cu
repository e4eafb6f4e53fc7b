/// \file
/// cublasLtMatmul beside loops over doubles: types, operations, orders, batches and epilogues. Prints what is wrong;
/// the status is 1 then.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char* what, const char* of = "") {
  if (right) return;
  std::printf("wrong: %s %s\n", what, of);
  ++wrong;
}

template <class T> struct Type;
template <> struct Type<float> {
  static constexpr auto type = CUDA_R_32F;
  static constexpr double tolerance = 1e-5;
};
template <> struct Type<double> {
  static constexpr auto type = CUDA_R_64F;
  static constexpr double tolerance = 1e-13;
};
template <> struct Type<__half> {
  static constexpr auto type = CUDA_R_16F;
  static constexpr double tolerance = 2e-3;
};
template <> struct Type<__nv_bfloat16> {
  static constexpr auto type = CUDA_R_16BF;
  static constexpr double tolerance = 2e-2;
};

double of(double value) { return value; }
double of(float value) { return value; }
double of(__half value) { return __half2float(value); }
double of(__nv_bfloat16 value) { return __bfloat162float(value); }

/// Managed memory with numbers between -1 and 1.
template <class T> struct Array {
  explicit Array(int n, unsigned state) : size(n) {
    cudaMallocManaged(&data, static_cast<std::size_t>(n) * sizeof(T));
    for (int i = 0; i < n; ++i) {
      state = state * 1664525U + 1013904223U;
      data[i] = static_cast<T>(static_cast<float>(state >> 16U) / 32768.0F - 1.0F);
    }
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data); }
  std::vector<double> values() const {
    std::vector<double> all;
    for (int i = 0; i < size; ++i) all.push_back(of(data[i]));
    return all;
  }

  T* data = nullptr;
  int size;
};

struct Case {
  cublasOperation_t ta = CUBLAS_OP_N;
  cublasOperation_t tb = CUBLAS_OP_N;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;  ///< of A and D
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  double beta = 0;
  bool scalars_on_device = false;
};

cublasLtHandle_t handle;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

template <class T> cublasLtMatrixLayout_t layout(int rows, int columns, cublasLtOrder_t order, int batch) {
  cublasLtMatrixLayout_t made = nullptr;
  const int ld = (order == CUBLASLT_ORDER_COL ? rows : columns) + 2;
  const std::int64_t stride = static_cast<std::int64_t>(ld) * (order == CUBLASLT_ORDER_COL ? columns : rows);
  expect(cublasLtMatrixLayoutCreate(&made, Type<T>::type, rows, columns, ld) == 0, "layout");
  expect(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order) == 0, "order");
  expect(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch) == 0,
         "batch");
  expect(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride) ==
             0,
         "stride");
  return made;
}

/// The element (row, column) of a matrix that `layout` made.
int place(int row, int column, int rows, int columns, cublasLtOrder_t order, int batch) {
  const int ld = (order == CUBLASLT_ORDER_COL ? rows : columns) + 2;
  return batch * ld * (order == CUBLASLT_ORDER_COL ? columns : rows) +
         (order == CUBLASLT_ORDER_COL ? column * ld + row : row * ld + column);
}

template <class In, class Out, class Scale>
void check(const Case& of_case, cublasComputeType_t compute, const char* what) {
  constexpr int m = 7, n = 5, k = 9, batches = 2;
  const bool na = of_case.ta == CUBLAS_OP_N, nb = of_case.tb == CUBLAS_OP_N;
  const int ar = na ? m : k, ac = na ? k : m, br = nb ? k : n, bc = nb ? n : k;
  const Array<In> a(400, 1), b(400, 2);
  Array<Out> d(400, 3), bias(m + n, 4), auxiliary(m * n * batches, 5);
  const std::vector<double> va = a.values(), vb = b.values(), vc = d.values(), vbias = bias.values(),
                            vaux = auxiliary.values();
  Array<Scale> scalars(2, 6);
  scalars.data[0] = Scale(0.5F);
  scalars.data[1] = Scale(static_cast<float>(of_case.beta));
  Scale host_scalars[2] = {scalars.data[0], scalars.data[1]};
  const Scale* at = of_case.scalars_on_device ? scalars.data : host_scalars;

  cublasLtMatmulDesc_t product = nullptr;
  expect(cublasLtMatmulDescCreate(&product, compute, Type<Scale>::type) == 0, "description");
  const auto set = [&](cublasLtMatmulDescAttributes_t name, auto value) {
    expect(cublasLtMatmulDescSetAttribute(product, name, &value, sizeof value) == 0, "attribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, of_case.ta);
  set(CUBLASLT_MATMUL_DESC_TRANSB, of_case.tb);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(of_case.epilogue));
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary.data);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{m});
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, std::int64_t{m * n});
  if (of_case.scalars_on_device) set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  const auto la = layout<In>(ar, ac, of_case.order, batches), lb = layout<In>(br, bc, CUBLASLT_ORDER_COL, batches);
  const auto ld = layout<Out>(m, n, of_case.order, batches);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  expect(cublasLtMatmulAlgoGetHeuristic(handle, product, la, lb, ld, ld, preference, 1, &found, &count) == 0 &&
             count == 1,
         "heuristic", what);
  expect(cublasLtMatmul(handle, product, &at[0], a.data, la, b.data, lb, &at[1], d.data, ld, d.data, ld, &found.algo,
                        nullptr, 0, nullptr) == 0,
         "call", what);
  expect(cudaDeviceSynchronize() == cudaSuccess, "wait", what);

  const int e = of_case.epilogue;
  bool right = true;
  const auto same = [&](double is, double wanted) {
    right = right && std::abs(is - wanted) <= Type<Out>::tolerance * (1 + std::abs(wanted));
  };
  for (int i = 0; i < batches; ++i) {
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        double sum = 0;
        for (int inner = 0; inner < k; ++inner) {
          sum += va[place(na ? row : inner, na ? inner : row, ar, ac, of_case.order, i)] *
                 vb[place(nb ? inner : column, nb ? column : inner, br, bc, CUBLASLT_ORDER_COL, i)];
        }
        const int here = place(row, column, m, n, of_case.order, i);
        const int there = (i * n + column) * m + row;
        double x = 0.5 * sum + of_case.beta * vc[here];
        if (e & CUBLASLT_EPILOGUE_BIAS) x += vbias[row];
        if (e & CUBLASLT_EPILOGUE_RELU) x = std::max(x, 0.0);
        if (e & CUBLASLT_EPILOGUE_GELU) {
          if (e & 128) same(of(auxiliary.data[there]), x);
          x = gelu(x);
        }
        if (e & 64) x *= (gelu(vaux[there] + 1e-6) - gelu(vaux[there] - 1e-6)) / 2e-6;
        same(of(d.data[here]), x);
      }
    }
  }
  if (e == CUBLASLT_EPILOGUE_BGRADB) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;  // of the last matrix: all of them share the bias
      for (int inner = 0; inner < k; ++inner) {
        sum += vb[place(nb ? inner : column, nb ? column : inner, br, bc, CUBLASLT_ORDER_COL, batches - 1)];
      }
      same(of(bias.data[column]), sum);
    }
  }
  for (int row = 0; row < m && (e & (16 | 256)) != 0; ++row) {
    double sum = 0;
    for (int inner = 0; inner < k && (e & 256) != 0; ++inner) {
      sum += va[place(na ? row : inner, na ? inner : row, ar, ac, of_case.order, batches - 1)];
    }
    for (int column = 0; column < n && (e & 16) != 0; ++column) {
      sum += of(d.data[place(row, column, m, n, of_case.order, batches - 1)]);
    }
    same(of(bias.data[row]), sum);
  }
  expect(right, "values", what);
  for (const auto each : {la, lb, ld}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatmulDescDestroy(product);
}

void check_refusals() {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayout_t bytes = nullptr;
  cublasLtMatrixLayout_t small = nullptr;
  cublasLtMatrixLayout_t floats = nullptr;
  cublasLtMatrixLayoutCreate(&bytes, CUDA_R_8I, 4, 4, 4);
  cublasLtMatrixLayoutCreate(&small, CUDA_R_32F, 4, 3, 4);
  cublasLtMatrixLayoutCreate(&floats, CUDA_R_32F, 4, 4, 4);
  float one = 1;
  const auto call = [&](cublasLtMatrixLayout_t a) {
    return cublasLtMatmul(handle, product, &one, &one, a, &one, floats, &one, &one, floats, &one, floats, nullptr,
                          nullptr, 0, nullptr);
  };
  expect(call(bytes) == CUBLAS_STATUS_INVALID_VALUE, "bytes are refused");
  expect(call(small) == CUBLAS_STATUS_INVALID_VALUE, "shapes that do not fit are refused");
  const auto epilogue = static_cast<cublasLtEpilogue_t>(8 | 128);
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  expect(call(floats) == CUBLAS_STATUS_NOT_SUPPORTED, "an unknown epilogue is refused");
  for (const auto each : {bytes, small, floats}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulDescDestroy(product);
}

}  // namespace

int main() {
  expect(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasLtCreate");
  const Case plain;
  check<float, float, float>(plain, CUBLAS_COMPUTE_32F, "float");
  check<double, double, double>(plain, CUBLAS_COMPUTE_64F, "double");
  check<__half, __half, float>(plain, CUBLAS_COMPUTE_32F, "half");
  check<__half, __half, __half>(plain, CUBLAS_COMPUTE_16F, "half, scaled by halves");
  check<__nv_bfloat16, __nv_bfloat16, float>(plain, CUBLAS_COMPUTE_32F, "bfloat16");
  check<__nv_bfloat16, float, float>(plain, CUBLAS_COMPUTE_32F, "bfloat16 into float");
  for (const auto order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
    for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        Case one;
        one.ta = ta;
        one.tb = tb;
        one.order = order;
        one.beta = 0.25;
        one.scalars_on_device = ta == tb;
        check<float, float, float>(one, CUBLAS_COMPUTE_32F_FAST_TF32, "operations and orders");
      }
    }
  }
  for (const int epilogue : {2, 4, 2 | 4, 32, 32 | 4, 32 | 128, 32 | 4 | 128, 64 | 128, 64 | 128 | 16, 256, 512}) {
    for (const auto operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      Case one;
      one.ta = operation;
      one.tb = operation;
      one.epilogue = epilogue;
      check<float, float, float>(one, CUBLAS_COMPUTE_32F, ("epilogue " + std::to_string(epilogue)).c_str());
    }
  }
  check_refusals();
  expect(cublasLtDestroy(handle) == CUBLAS_STATUS_SUCCESS, "cublasLtDestroy");
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
