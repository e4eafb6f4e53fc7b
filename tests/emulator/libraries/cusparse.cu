// cuSPARSE beside loops over dense matrices.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cusparse_v2.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>

static int bad = 0;
static cusparseHandle_t handle;

static void check(bool right, const char* what, int n = 0) {
  if (!right && bad++ < 20) std::printf("wrong: %s, %d\n", what, n);
}
#define DONE(call) check((call) == CUSPARSE_STATUS_SUCCESS, #call)

/// Device memory that the host reads, too.
template <class T> static T* room(const std::vector<T>& values) {
  T* place;
  cudaMallocManaged(&place, (values.size() + !values.size()) * sizeof(T));
  std::memcpy(static_cast<void*>(place), values.data(), values.size() * sizeof(T));
  return place;
}

template <class T> static constexpr cudaDataType kType = CUDA_R_32F;
template <> constexpr cudaDataType kType<double> = CUDA_R_64F;
template <> constexpr cudaDataType kType<std::complex<float>> = CUDA_C_32F;
template <> constexpr cudaDataType kType<std::complex<double>> = CUDA_C_64F;
template <class I>
static constexpr cusparseIndexType_t kIndex = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;

template <class T> static T number(int i) {
  if constexpr (std::is_floating_point_v<T>)
    return T(i * 7 % 13 - 6) / 4;
  else
    return T(i * 7 % 13 - 6, i % 5 - 2) / typename T::value_type(4);
}
template <class T> static bool is_near(T a, T b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); }

/// A dense matrix by rows, and what the program does with op(matrix).
template <class T> struct Dense {
  int rows, columns;
  std::vector<T> values;
  T at(int row, int column, cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE) const {
    if (op == CUSPARSE_OPERATION_NON_TRANSPOSE) return values[row * columns + column];
    const T value = values[column * columns + row];
    if constexpr (!std::is_floating_point_v<T>)
      if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) return std::conj(value);
    return value;
  }
};

/// About a third of its elements are not 0; row 2 is empty.
template <class T> static Dense<T> sparse(int rows, int columns) {
  Dense<T> dense{rows, columns, std::vector<T>(rows * columns)};
  for (int i = 0; i < rows * columns; ++i)
    if (i * 11 % 3 == 0 && i / columns != 2) dense.values[i] = number<T>(i) + T(2);
  return dense;
}
template <class T> static Dense<T> full(int rows, int columns) {
  Dense<T> dense{rows, columns, {}};
  for (int i = 0; i < rows * columns; ++i) dense.values.push_back(number<T>(i));
  return dense;
}

template <class T, class I> struct Sparse {
  std::vector<I> first, second;
  std::vector<T> values;
  I *d_first, *d_second;
  T* d_values;
  cusparseSpMatDescr_t descr;

  Sparse(const Dense<T>& dense, cusparseFormat_t format, cusparseIndexBase_t base) {
    const bool csc = format == CUSPARSE_FORMAT_CSC;
    const int lines = csc ? dense.columns : dense.rows;
    for (int line = 0; line < lines; ++line) {
      if (format != CUSPARSE_FORMAT_COO) first.push_back(values.size() + base);
      for (int other = 0; other < (csc ? dense.rows : dense.columns); ++other) {
        const T value = csc ? dense.at(other, line) : dense.at(line, other);
        if (value == T(0)) continue;
        if (format == CUSPARSE_FORMAT_COO) first.push_back(line + base);
        second.push_back(other + base), values.push_back(value);
      }
    }
    if (format != CUSPARSE_FORMAT_COO) first.push_back(values.size() + base);
    d_first = room(first), d_second = room(second), d_values = room(values);
    const auto create = csc ? cusparseCreateCsc : cusparseCreateCsr;
    if (format == CUSPARSE_FORMAT_COO)
      DONE(cusparseCreateCoo(&descr, dense.rows, dense.columns, values.size(), d_first, d_second, d_values, kIndex<I>,
                             base, kType<T>));
    else
      DONE(create(&descr, dense.rows, dense.columns, values.size(), d_first, d_second, d_values, kIndex<I>, kIndex<I>,
                  base, kType<T>));
  }
  ~Sparse() {
    DONE(cusparseDestroySpMat(descr));
    cudaFree(d_first), cudaFree(d_second), cudaFree(d_values);
  }
};

template <class T> struct Vector {
  T* values;
  cusparseDnVecDescr_t descr;
  explicit Vector(const std::vector<T>& from) : values(room(from)) {
    DONE(cusparseCreateDnVec(&descr, from.size(), values, kType<T>));
  }
  ~Vector() { cusparseDestroyDnVec(descr), cudaFree(values); }
};

template <class T> struct Matrix {
  int ld;
  cusparseOrder_t order;
  T* values;
  cusparseDnMatDescr_t descr;
  Matrix(const Dense<T>& from, cusparseOrder_t order) : order(order) {
    const bool by_columns = order == CUSPARSE_ORDER_COL;
    ld = (by_columns ? from.rows : from.columns) + 1;
    values = room(std::vector<T>(ld * (by_columns ? from.columns : from.rows)));
    for (int row = 0; row < from.rows; ++row)
      for (int column = 0; column < from.columns; ++column) at(row, column) = from.at(row, column);
    DONE(cusparseCreateDnMat(&descr, from.rows, from.columns, ld, values, kType<T>, order));
  }
  T& at(int row, int column) { return values[order == CUSPARSE_ORDER_COL ? row + column * ld : row * ld + column]; }
  ~Matrix() { cusparseDestroyDnMat(descr), cudaFree(values); }
};

template <class T, class I>
static void products(cusparseFormat_t format, cusparseIndexBase_t base, cusparseOperation_t op, cusparseOrder_t order) {
  const auto a = sparse<T>(6, 9);
  const int m = op == CUSPARSE_OPERATION_NON_TRANSPOSE ? 6 : 9, k = 15 - m, n = 4;
  Sparse<T, I> mat(a, format, base);
  const T alpha = number<T>(3) + T(1), beta = number<T>(5) - T(1);
  const auto b = full<T>(k, n), c = full<T>(m, n);
  Vector<T> x(std::vector<T>(b.values.begin(), b.values.begin() + k)),
      y(std::vector<T>(c.values.begin(), c.values.begin() + m));
  size_t bytes;
  void* buffer;
  DONE(cusparseSpMV_bufferSize(handle, op, &alpha, mat.descr, x.descr, &beta, y.descr, kType<T>,
                               CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  cudaMalloc(&buffer, bytes);
  DONE(cusparseSpMV(handle, op, &alpha, mat.descr, x.descr, &beta, y.descr, kType<T>, CUSPARSE_SPMV_ALG_DEFAULT,
                    buffer));
  for (const cusparseOperation_t op_b : {CUSPARSE_OPERATION_NON_TRANSPOSE, op}) {
    Dense<T> turned{n, k, std::vector<T>(n * k)};
    for (int i = 0; i < n * k; ++i) turned.values[i] = number<T>(i + 2);
    const Dense<T>& from = op_b == CUSPARSE_OPERATION_NON_TRANSPOSE ? b : turned;
    Matrix<T> b_mat(from, order), c_mat(c, order);
    DONE(cusparseSpMM(handle, op, op_b, &alpha, mat.descr, b_mat.descr, &beta, c_mat.descr, kType<T>,
                      CUSPARSE_SPMM_ALG_DEFAULT, buffer));
    cudaDeviceSynchronize();
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        T sum = 0;
        for (int i = 0; i < k; ++i) sum += a.at(row, i, op) * from.at(i, column, op_b);
        check(is_near(c_mat.at(row, column), alpha * sum + beta * c.at(row, column)), "SpMM", row);
      }
  }
  for (int row = 0; row < m; ++row) {
    T sum = 0;
    for (int i = 0; i < k; ++i) sum += a.at(row, i, op) * b.values[i];
    check(is_near(y.values[row], alpha * sum + beta * c.values[row]), "SpMV", row);
  }
  cudaFree(buffer);
}

template <class T, class I>
static void conversions(cusparseFormat_t format, cusparseIndexBase_t base, cusparseOrder_t order) {
  const auto a = sparse<T>(6, 9);
  Sparse<T, I> mat(a, format, base);
  Matrix<T> dense(full<T>(6, 9), order);
  DONE(cusparseSparseToDense(handle, mat.descr, dense.descr, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  for (int i = 0; i < 54; ++i) check(dense.at(i / 9, i % 9) == a.values[i], "SparseToDense", i);
  // And back, into a matrix that does not know how many elements it will have.
  I* first = room(std::vector<I>(mat.first.size()));
  cusparseSpMatDescr_t back;
  const auto create = format == CUSPARSE_FORMAT_CSC ? cusparseCreateCsc : cusparseCreateCsr;
  if (format == CUSPARSE_FORMAT_COO)
    DONE(cusparseCreateCoo(&back, 6, 9, 0, nullptr, nullptr, nullptr, kIndex<I>, base, kType<T>));
  else
    DONE(create(&back, 6, 9, 0, first, nullptr, nullptr, kIndex<I>, kIndex<I>, base, kType<T>));
  DONE(cusparseDenseToSparse_analysis(handle, dense.descr, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
  int64_t rows, columns, nnz;
  DONE(cusparseSpMatGetSize(back, &rows, &columns, &nnz));
  check(rows == 6 && columns == 9 && nnz == int64_t(mat.values.size()), "nnz", nnz);
  I* second = room(std::vector<I>(nnz));
  T* values = room(std::vector<T>(nnz));
  DONE((format == CUSPARSE_FORMAT_COO   ? cusparseCooSetPointers
        : format == CUSPARSE_FORMAT_CSC ? cusparseCscSetPointers
                                        : cusparseCsrSetPointers)(back, first, second, values));
  DONE(cusparseDenseToSparse_convert(handle, dense.descr, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  check(std::memcmp(first, mat.first.data(), mat.first.size() * sizeof(I)) == 0, "DenseToSparse, first");
  check(std::memcmp(second, mat.second.data(), nnz * sizeof(I)) == 0, "DenseToSparse, second");
  for (int i = 0; i < nnz; ++i) check(values[i] == mat.values[i], "DenseToSparse, values", i);
  cusparseDestroySpMat(back);
  cudaFree(first), cudaFree(second), cudaFree(values);
}

template <class T>
static void triangles(cusparseFormat_t format, cusparseOperation_t op, cusparseFillMode_t fill,
                      cusparseDiagType_t diagonal) {
  const int n = 7;
  auto a = sparse<T>(n, n);
  for (int i = 0; i < n; ++i) a.values[i * n + i] = number<T>(i) + T(5);
  Sparse<T, int> mat(a, format, CUSPARSE_INDEX_BASE_ZERO);
  DONE(cusparseSpMatSetAttribute(mat.descr, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  DONE(cusparseSpMatSetAttribute(mat.descr, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
  // The triangle alone, as op sees it.
  Dense<T> part{n, n, std::vector<T>(n * n)};
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      if (row == column)
        part.values[row * n + column] = diagonal == CUSPARSE_DIAG_TYPE_UNIT ? T(1) : a.at(row, row);
      else if ((column < row) == (fill == CUSPARSE_FILL_MODE_LOWER))
        part.values[row * n + column] = a.at(row, column);
    }
  const auto x = full<T>(n, 3);
  auto b = x;
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < 3; ++column) {
      b.values[row * 3 + column] = 0;
      for (int i = 0; i < n; ++i) b.values[row * 3 + column] += part.at(row, i, op) * x.at(i, column);
    }
  const T alpha = 2;
  std::vector<T> line;
  for (int row = 0; row < n; ++row) line.push_back(b.at(row, 0));
  Vector<T> from(line), to(std::vector<T>(n, T(0)));
  Matrix<T> rights(b, CUSPARSE_ORDER_ROW), solved(full<T>(n, 3), CUSPARSE_ORDER_COL);
  cusparseSpSVDescr_t vector;
  cusparseSpSMDescr_t matrix;
  size_t bytes;
  DONE(cusparseSpSV_createDescr(&vector));
  DONE(cusparseSpSM_createDescr(&matrix));
  DONE(cusparseSpSV_bufferSize(handle, op, &alpha, mat.descr, from.descr, to.descr, kType<T>, CUSPARSE_SPSV_ALG_DEFAULT,
                               vector, &bytes));
  DONE(cusparseSpSV_analysis(handle, op, &alpha, mat.descr, from.descr, to.descr, kType<T>, CUSPARSE_SPSV_ALG_DEFAULT,
                             vector, nullptr));
  DONE(cusparseSpSV_solve(handle, op, &alpha, mat.descr, from.descr, to.descr, kType<T>, CUSPARSE_SPSV_ALG_DEFAULT,
                          vector));
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  DONE(cusparseSpSM_analysis(handle, op, none, &alpha, mat.descr, rights.descr, solved.descr, kType<T>,
                             CUSPARSE_SPSM_ALG_DEFAULT, matrix, nullptr));
  DONE(cusparseSpSM_solve(handle, op, none, &alpha, mat.descr, rights.descr, solved.descr, kType<T>,
                          CUSPARSE_SPSM_ALG_DEFAULT, matrix));
  cudaDeviceSynchronize();
  for (int row = 0; row < n; ++row) {
    check(std::abs(to.values[row] - alpha * x.at(row, 0)) < 1e-2, "SpSV", row);
    for (int column = 0; column < 3; ++column)
      check(std::abs(solved.at(row, column) - alpha * x.at(row, column)) < 1e-2, "SpSM", row);
  }
  cusparseSpSV_destroyDescr(vector), cusparseSpSM_destroyDescr(matrix);
}

template <class T, class I> static void sparse_products(cusparseIndexBase_t base) {
  const auto a = sparse<T>(6, 9), b = sparse<T>(9, 5);
  const T alpha = number<T>(4) + T(1), zero = 0;
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  Sparse<T, I> left(a, CUSPARSE_FORMAT_CSR, base), right(b, CUSPARSE_FORMAT_CSR, base);
  I* offsets = room(std::vector<I>(7));
  cusparseSpMatDescr_t c;
  DONE(cusparseCreateCsr(&c, 6, 5, 0, nullptr, nullptr, nullptr, kIndex<I>, kIndex<I>, base, kType<T>));
  cusparseSpGEMMDescr_t descr;
  size_t bytes = 0;
  void* buffer;
  DONE(cusparseSpGEMM_createDescr(&descr));
  DONE(cusparseSpGEMM_workEstimation(handle, none, none, &alpha, left.descr, right.descr, &zero, c, kType<T>,
                                     CUSPARSE_SPGEMM_DEFAULT, descr, &bytes, nullptr));
  cudaMalloc(&buffer, bytes);
  DONE(cusparseSpGEMM_workEstimation(handle, none, none, &alpha, left.descr, right.descr, &zero, c, kType<T>,
                                     CUSPARSE_SPGEMM_DEFAULT, descr, &bytes, buffer));
  DONE(cusparseSpGEMM_compute(handle, none, none, &alpha, left.descr, right.descr, &zero, c, kType<T>,
                              CUSPARSE_SPGEMM_DEFAULT, descr, &bytes, nullptr));
  DONE(cusparseSpGEMM_compute(handle, none, none, &alpha, left.descr, right.descr, &zero, c, kType<T>,
                              CUSPARSE_SPGEMM_DEFAULT, descr, &bytes, buffer));
  int64_t rows, columns, nnz;
  DONE(cusparseSpMatGetSize(c, &rows, &columns, &nnz));
  I* indices = room(std::vector<I>(nnz));
  T* values = room(std::vector<T>(nnz));
  DONE(cusparseCsrSetPointers(c, offsets, indices, values));
  DONE(cusparseSpGEMM_copy(handle, none, none, &alpha, left.descr, right.descr, &zero, c, kType<T>,
                           CUSPARSE_SPGEMM_DEFAULT, descr));
  cudaDeviceSynchronize();
  check(offsets[0] == base && offsets[6] == nnz + base, "SpGEMM, offsets");
  Dense<T> got{6, 5, std::vector<T>(30)};
  for (int row = 0; row < 6; ++row)
    for (I i = offsets[row] - base; i < offsets[row + 1] - base; ++i)
      got.values[row * 5 + indices[i] - base] = values[i];
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 5; ++column) {
      T sum = 0;
      for (int i = 0; i < 9; ++i) sum += a.at(row, i) * b.at(i, column);
      check(is_near(got.at(row, column), alpha * sum), "SpGEMM", row);
    }
  cusparseSpGEMM_destroyDescr(descr), cusparseDestroySpMat(c);
  cudaFree(offsets), cudaFree(indices), cudaFree(values), cudaFree(buffer);

  // A sampled product: only where the sparse matrix has elements.
  const T beta = number<T>(8);
  const auto l = full<T>(6, 3), r = full<T>(3, 9);
  Matrix<T> l_mat(l, CUSPARSE_ORDER_ROW), r_mat(r, CUSPARSE_ORDER_COL);
  DONE(cusparseSDDMM(handle, none, none, &alpha, l_mat.descr, r_mat.descr, &beta, left.descr, kType<T>,
                     CUSPARSE_SDDMM_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  for (int row = 0; row < 6; ++row)
    for (I i = left.first[row] - base; i < left.first[row + 1] - base; ++i) {
      T sum = 0;
      for (int k = 0; k < 3; ++k) sum += l.at(row, k) * r.at(k, left.second[i] - base);
      check(is_near(left.d_values[i], alpha * sum + beta * left.values[i]), "SDDMM", row);
    }
}

template <class T> static void vectors() {
  const std::vector<T> x{T(1), number<T>(2), T(3)}, y = full<T>(1, 8).values;
  int* indices = room(std::vector<int>{1, 4, 8});
  T* values = room(x);
  Vector<T> dense(y);
  cusparseSpVecDescr_t vec;
  DONE(cusparseCreateSpVec(&vec, 8, 3, indices, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE, kType<T>));
  T dot, alpha = 3, beta = number<T>(1);
  DONE(cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, vec, dense.descr, &dot, kType<T>, nullptr));
  check(is_near(dot, x[0] * y[0] + x[1] * y[3] + x[2] * y[7]), "SpVV");
  DONE(cusparseAxpby(handle, &alpha, vec, &beta, dense.descr));
  cudaDeviceSynchronize();
  for (int i = 0; i < 8; ++i)
    check(is_near(dense.values[i], beta * y[i] + alpha * (i == 0   ? x[0]
                                                          : i == 3 ? x[1]
                                                          : i == 7 ? x[2]
                                                                   : T(0))),
          "Axpby", i);
  DONE(cusparseGather(handle, dense.descr, vec));
  cudaDeviceSynchronize();
  check(values[0] == dense.values[0] && values[1] == dense.values[3] && values[2] == dense.values[7], "Gather");
  for (int i = 0; i < 3; ++i) values[i] = T(i + 1);
  DONE(cusparseScatter(handle, vec, dense.descr));
  cudaDeviceSynchronize();
  check(dense.values[0] == T(1) && dense.values[3] == T(2) && dense.values[7] == T(3), "Scatter");
  cusparseDestroySpVec(vec);
  cudaFree(indices), cudaFree(values);
}

static void formats() {
  const auto a = sparse<float>(6, 9);
  for (const auto base : {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE}) {
    Sparse<float, int> csr(a, CUSPARSE_FORMAT_CSR, base), csc(a, CUSPARSE_FORMAT_CSC, base),
        coo(a, CUSPARSE_FORMAT_COO, base);
    const int nnz = csr.values.size();
    int *offsets = room(std::vector<int>(10)), *rows = room(std::vector<int>(nnz));
    float* values = room(std::vector<float>(nnz));
    DONE(cusparseCsr2cscEx2(handle, 6, 9, nnz, csr.d_values, csr.d_first, csr.d_second, values, offsets, rows,
                            CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, base, CUSPARSE_CSR2CSC_ALG_DEFAULT, nullptr));
    cudaDeviceSynchronize();
    check(std::memcmp(offsets, csc.first.data(), 40) == 0 && std::memcmp(rows, csc.second.data(), nnz * 4) == 0 &&
              std::memcmp(values, csc.values.data(), nnz * 4) == 0,
          "Csr2csc");
    DONE(cusparseXcoo2csr(handle, coo.d_first, nnz, 6, offsets, base));
    DONE(cusparseXcsr2coo(handle, csr.d_first, nnz, 6, rows, base));
    cudaDeviceSynchronize();
    check(std::memcmp(offsets, csr.first.data(), 28) == 0, "Xcoo2csr");
    check(std::memcmp(rows, coo.first.data(), nnz * 4) == 0, "Xcsr2coo");
    cudaFree(offsets), cudaFree(rows), cudaFree(values);
  }
}

/// Of narrow elements, scalars in device memory, and a graph.
template <class H> static void narrow(cudaDataType type) {
  Dense<float> a = sparse<float>(6, 9);
  Sparse<float, int> mat(a, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
  std::vector<H> few, many;
  for (float value : mat.values) few.push_back(H(value));
  for (int i = 0; i < 9; ++i) many.push_back(H(i * 0.5f));
  H *values = room(few), *x = room(many);
  Vector<float> y(std::vector<float>(6, 1));
  float* scalars = room(std::vector<float>{2, 1});
  cusparseSpMatDescr_t narrow;
  cusparseDnVecDescr_t vec;
  DONE(cusparseCreateCsr(&narrow, 6, 9, few.size(), mat.d_first, mat.d_second, values, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
  DONE(cusparseCreateDnVec(&vec, 9, x, type));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  DONE(cusparseSetStream(handle, stream));
  DONE(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
  cudaGraph_t graph;
  cudaGraphExec_t twice;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  DONE(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalars, narrow, vec, scalars + 1, y.descr, CUDA_R_32F,
                    CUSPARSE_SPMV_CSR_ALG2, nullptr));
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&twice, graph, 0);
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(twice, stream);
  cudaStreamSynchronize(stream);
  for (int row = 0; row < 6; ++row) {
    float sum = 0;
    for (int i = 0; i < 9; ++i) sum += a.at(row, i) * i * 0.5f;
    check(is_near(y.values[row], 4 * sum + 1), "narrow", row);
  }
  DONE(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
  DONE(cusparseSetStream(handle, nullptr));
  cudaGraphExecDestroy(twice), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
  cusparseDestroySpMat(narrow), cusparseDestroyDnVec(vec);
  cudaFree(values), cudaFree(x), cudaFree(scalars);
}

static void refusals() {
  Sparse<float, int> mat(sparse<float>(6, 9), CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
  Vector<float> x(std::vector<float>(9, 1)), y(std::vector<float>(6, 0));
  Vector<double> wide(std::vector<double>(9, 1));
  const float one = 1;
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto by = CUSPARSE_SPMV_ALG_DEFAULT;
  check(cusparseSpMV(handle, none, &one, mat.descr, y.descr, &one, x.descr, CUDA_R_32F, by, nullptr) ==
            CUSPARSE_STATUS_INVALID_VALUE,
        "sizes");
  check(cusparseSpMV(handle, none, &one, mat.descr, wide.descr, &one, y.descr, CUDA_R_32F, by, nullptr) ==
            CUSPARSE_STATUS_NOT_SUPPORTED,
        "types");
  check(cusparseSetStream(nullptr, nullptr) == CUSPARSE_STATUS_NOT_INITIALIZED, "handle");
  cusparseSpSVDescr_t descr;
  cusparseSpSV_createDescr(&descr);
  check(cusparseSpSV_solve(handle, none, &one, mat.descr, x.descr, x.descr, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT,
                           descr) == CUSPARSE_STATUS_INVALID_VALUE,
        "not analysed");
  cusparseSpSV_destroyDescr(descr);
  mat.d_second[0] = 9;
  cusparseSpMV(handle, none, &one, mat.descr, x.descr, &one, y.descr, CUDA_R_32F, by,
               nullptr);  // refused when it is its turn
  cudaDeviceSynchronize();
  check(y.values[0] == 0, "an index outside");
  check(std::strcmp(cusparseGetErrorName(CUSPARSE_STATUS_ZERO_PIVOT), "CUSPARSE_STATUS_ZERO_PIVOT") == 0, "names");
}

/// Three matrices of one batch beside each one alone: products with dense ones, and what is sampled of a product.
static void batches(cusparseFormat_t format) {
  constexpr int m = 4, k = 5, n = 3, nnz = 7, batch = 3, gap = 2;
  const bool csr = format == CUSPARSE_FORMAT_CSR;
  const int rows[] = {0, 0, 1, 2, 2, 2, 3}, offsets[] = {0, 2, 3, 6, 7};
  std::vector<int> first, second;
  std::vector<double> values, dense_b, left;
  for (int i = 0; i < batch; ++i) {
    if (csr && i == 0) first.assign(offsets, offsets + m + 1);  // of all
    if (!csr) first.insert(first.end(), rows, rows + nnz), first.insert(first.end(), gap, 0);
    for (int j = 0; j < nnz; ++j) second.push_back((j * 3 + i) % k), values.push_back(1 + i + j / 4.0);
    second.insert(second.end(), gap, 0), values.insert(values.end(), gap, 99);
    for (int j = 0; j < k * n; ++j) dense_b.push_back(number<double>(i + j));
    for (int j = 0; j < m * k; ++j) left.push_back(number<double>(i + 2 * j));
  }
  int *d_first = room(first), *d_second = room(second);
  double *d_values = room(values), *d_b = room(dense_b), *d_left = room(left),
         *d_c = room(std::vector<double>(m * n * batch, 5));
  double* d_square = room(std::vector<double>(k * k, 0.5));
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t b, c, l, square;
  const auto index = CUSPARSE_INDEX_32I;
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (csr)
    DONE(cusparseCreateCsr(&a, m, k, nnz, d_first, d_second, d_values, index, index, CUSPARSE_INDEX_BASE_ZERO,
                           CUDA_R_64F));
  else
    DONE(cusparseCreateCoo(&a, m, k, nnz, d_first, d_second, d_values, index, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  DONE(csr ? cusparseCsrSetStridedBatch(a, batch, 0, nnz + gap) : cusparseCooSetStridedBatch(a, batch, nnz + gap));
  DONE(cusparseCreateDnMat(&b, k, n, k, d_b, CUDA_R_64F, CUSPARSE_ORDER_COL));
  DONE(cusparseDnMatSetStridedBatch(b, batch, k * n));
  DONE(cusparseCreateDnMat(&c, m, n, m, d_c, CUDA_R_64F, CUSPARSE_ORDER_COL));
  DONE(cusparseDnMatSetStridedBatch(c, batch, m * n));
  const double alpha = 2, beta = 3;
  DONE(cusparseSpMM(handle, none, none, &alpha, a, b, &beta, c, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  for (int i = 0; i < batch; ++i)
    for (int column = 0; column < n; ++column)
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int j = 0; j < nnz; ++j)
          if (rows[j] == row)
            sum += values[i * (nnz + gap) + j] * dense_b[i * k * n + column * k + second[i * (nnz + gap) + j]];
        check(is_near(d_c[i * m * n + column * m + row], 2 * sum + 15), "a batch of products", i);
      }
  int count = 0;
  DONE(cusparseSpMatGetStridedBatch(a, &count));
  check(count == batch, "the number of a batch");
  if (csr) {
    DONE(cusparseDnMatSetStridedBatch(b, 2, k * n));
    check(cusparseSpMM(handle, none, none, &alpha, a, b, &beta, c, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr) ==
              CUSPARSE_STATUS_NOT_SUPPORTED,
          "batches of two numbers");
    DONE(cusparseCreateDnMat(&l, m, k, m, d_left, CUDA_R_64F, CUSPARSE_ORDER_COL));
    DONE(cusparseDnMatSetStridedBatch(l, batch, m * k));
    DONE(cusparseCreateDnMat(&square, k, k, k, d_square, CUDA_R_64F, CUSPARSE_ORDER_COL));  // belongs to all
    DONE(cusparseSDDMM(handle, none, none, &alpha, l, square, &beta, a, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT,
                       nullptr));
    cudaDeviceSynchronize();
    for (int i = 0; i < batch; ++i)
      for (int j = 0; j < nnz; ++j) {
        double sum = 0;
        for (int inner = 0; inner < k; ++inner) sum += left[i * m * k + inner * m + rows[j]] * 0.5;
        check(is_near(d_values[i * (nnz + gap) + j], 2 * sum + 3 * values[i * (nnz + gap) + j]), "a batch of samples",
              i);
      }
    check(d_values[nnz] == 99, "between matrices of a batch");
    cusparseDestroyDnMat(l), cusparseDestroyDnMat(square);
  }
  cusparseDestroySpMat(a), cusparseDestroyDnMat(b), cusparseDestroyDnMat(c);
  for (void* each :
       {(void*)d_first, (void*)d_second, (void*)d_values, (void*)d_b, (void*)d_left, (void*)d_c, (void*)d_square})
    cudaFree(each);
}

int main(int count, char**) {
  DONE(cusparseCreate(&handle));
  if (count > 1) {  // x has an element less than its descriptor says
    Sparse<float, int> mat(sparse<float>(6, 9), CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    float *x, *y, one = 1;
    cudaMalloc(&x, 32), cudaMalloc(&y, 24);
    cudaMemset(x, 0, 32), cudaMemset(y, 0, 24);
    cusparseDnVecDescr_t x_vec, y_vec;
    cusparseCreateDnVec(&x_vec, 9, x, CUDA_R_32F), cusparseCreateDnVec(&y_vec, 6, y, CUDA_R_32F);
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, mat.descr, x_vec, &one, y_vec, CUDA_R_32F,
                 CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
    cudaDeviceSynchronize();
    return 0;
  }
  for (const auto format : {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO})
    for (const auto op :
         {CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE}) {
      products<float, int>(format, CUSPARSE_INDEX_BASE_ZERO, op, CUSPARSE_ORDER_COL);
      products<std::complex<double>, int64_t>(format, CUSPARSE_INDEX_BASE_ONE, op, CUSPARSE_ORDER_ROW);
      if (format == CUSPARSE_FORMAT_CSC) continue;
      for (const auto fill : {CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER}) {
        triangles<double>(format, op, fill, CUSPARSE_DIAG_TYPE_NON_UNIT);
        triangles<std::complex<float>>(format, op, fill, CUSPARSE_DIAG_TYPE_UNIT);
      }
    }
  for (const auto format : {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO}) {
    conversions<double, int>(format, CUSPARSE_INDEX_BASE_ONE, CUSPARSE_ORDER_COL);
    conversions<std::complex<float>, int64_t>(format, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_ORDER_ROW);
  }
  sparse_products<float, int>(CUSPARSE_INDEX_BASE_ZERO);
  sparse_products<std::complex<double>, int64_t>(CUSPARSE_INDEX_BASE_ONE);
  vectors<float>();
  vectors<std::complex<double>>();
  formats();
  narrow<__half>(CUDA_R_16F);
  narrow<__nv_bfloat16>(CUDA_R_16BF);
  batches(CUSPARSE_FORMAT_CSR);
  batches(CUSPARSE_FORMAT_COO);
  refusals();
  DONE(cusparseDestroy(handle));
  std::printf("%d wrong\n", bad);
}
