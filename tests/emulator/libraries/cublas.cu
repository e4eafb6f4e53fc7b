/// \file
/// Every function of cuBLAS that the emulator has, beside loops over doubles. Prints what is wrong; the status is 1
/// then.
#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char* what, const char* type) {
  if (right) return;
  std::printf("wrong: %s (%s)\n", what, type);
  ++wrong;
}

template <class T, bool v2 = false> struct Api;
#define API(S, I, T, v2, v)                                                                                            \
  template <> struct Api<T, v2> {                                                                                      \
    static constexpr const char* name = #T #v;                                                                         \
    static constexpr double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-12;                                                 \
    static constexpr auto amax = cublas##I##amax##v;                                                                   \
    static constexpr auto amin = cublas##I##amin##v;                                                                   \
    static constexpr auto asum = cublas##S##asum##v;                                                                   \
    static constexpr auto nrm2 = cublas##S##nrm2##v;                                                                   \
    static constexpr auto dot = cublas##S##dot##v;                                                                     \
    static constexpr auto axpy = cublas##S##axpy##v;                                                                   \
    static constexpr auto scal = cublas##S##scal##v;                                                                   \
    static constexpr auto copy = cublas##S##copy##v;                                                                   \
    static constexpr auto swap = cublas##S##swap##v;                                                                   \
    static constexpr auto rot = cublas##S##rot##v;                                                                     \
    static constexpr auto rotg = cublas##S##rotg##v;                                                                   \
    static constexpr auto rotm = cublas##S##rotm##v;                                                                   \
    static constexpr auto rotmg = cublas##S##rotmg##v;                                                                 \
    static constexpr auto gemv = cublas##S##gemv##v;                                                                   \
    static constexpr auto gemv_batched = cublas##S##gemvBatched;                                                       \
    static constexpr auto gemv_strided = cublas##S##gemvStridedBatched;                                                \
    static constexpr auto gbmv = cublas##S##gbmv##v;                                                                   \
    static constexpr auto ger = cublas##S##ger##v;                                                                     \
    static constexpr auto symv = cublas##S##symv##v;                                                                   \
    static constexpr auto sbmv = cublas##S##sbmv##v;                                                                   \
    static constexpr auto spmv = cublas##S##spmv##v;                                                                   \
    static constexpr auto syr = cublas##S##syr##v;                                                                     \
    static constexpr auto syr2 = cublas##S##syr2##v;                                                                   \
    static constexpr auto spr = cublas##S##spr##v;                                                                     \
    static constexpr auto spr2 = cublas##S##spr2##v;                                                                   \
    static constexpr auto trmv = cublas##S##trmv##v;                                                                   \
    static constexpr auto trsv = cublas##S##trsv##v;                                                                   \
    static constexpr auto tbmv = cublas##S##tbmv##v;                                                                   \
    static constexpr auto tbsv = cublas##S##tbsv##v;                                                                   \
    static constexpr auto tpmv = cublas##S##tpmv##v;                                                                   \
    static constexpr auto tpsv = cublas##S##tpsv##v;                                                                   \
    static constexpr auto gemm = cublas##S##gemm##v;                                                                   \
    static constexpr auto gemm_batched = cublas##S##gemmBatched;                                                       \
    static constexpr auto gemm_strided = cublas##S##gemmStridedBatched;                                                \
    static constexpr auto symm = cublas##S##symm##v;                                                                   \
    static constexpr auto syrk = cublas##S##syrk##v;                                                                   \
    static constexpr auto syr2k = cublas##S##syr2k##v;                                                                 \
    static constexpr auto trmm = cublas##S##trmm##v;                                                                   \
    static constexpr auto trsm = cublas##S##trsm##v;                                                                   \
    static constexpr auto geam = cublas##S##geam;                                                                      \
    static constexpr auto dgmm = cublas##S##dgmm;                                                                      \
  };
API(S, Is, float, false, )
API(D, Id, double, false, )
API(S, Is, float, true, _v2)
API(D, Id, double, true, _v2)

/// An array on both sides.
template <class T> struct Array {
  explicit Array(int count) : host(static_cast<std::size_t>(count)) {
    cudaMalloc(&device, host.size() * sizeof(T));
    static unsigned state = 7;
    for (T& value : host) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<T>(static_cast<float>(static_cast<int>(state >> 20) % 17 - 8) / 8.0f);
    }
    send();
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(device); }
  void send() { cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice); }
  std::vector<T> fetch() const {
    std::vector<T> there(host.size());
    cudaMemcpy(there.data(), device, there.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return there;
  }
  std::vector<T> host;
  T* device = nullptr;
};

template <class T> bool near(const std::vector<T>& got, const std::vector<double>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::fabs(static_cast<double>(got[i]) - wanted[i]) <= Api<T>::tolerance * (4 + std::fabs(wanted[i]))))
      return false;
  }
  return got.size() == wanted.size();
}

template <class T> std::vector<double> wide(const std::vector<T>& values) { return {values.begin(), values.end()}; }

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
constexpr cublasDiagType_t kDiags[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};

using At = std::function<double(int, int)>;  // an element of a matrix by its row and column

template <class T> At plain(const std::vector<T>& a, int lda) {
  return [&a, lda](int i, int j) { return static_cast<double>(a[static_cast<std::size_t>(j * lda + i)]); };
}
At turned(cublasOperation_t operation, At at) {
  return operation == CUBLAS_OP_N ? at : At([at](int i, int j) { return at(j, i); });
}
At symmetric(cublasFillMode_t fill, At at) {
  return [=](int i, int j) { return (fill == CUBLAS_FILL_MODE_LOWER) == (i >= j) ? at(i, j) : at(j, i); };
}
At triangle(cublasFillMode_t fill, cublasDiagType_t diag, At at) {
  return [=](int i, int j) {
    if (i == j) return diag == CUBLAS_DIAG_UNIT ? 1.0 : at(i, j);
    return (fill == CUBLAS_FILL_MODE_LOWER) == (i > j) ? at(i, j) : 0.0;
  };
}
/// Where an element of a triangle without gaps lies.
int packed_index(cublasFillMode_t fill, int n, int i, int j) {
  return fill == CUBLAS_FILL_MODE_LOWER ? i + (2 * n - j - 1) * j / 2 : i + j * (j + 1) / 2;
}

/// A matrix with a strong diagonal, so that its triangles can be solved by.
template <class T> void strengthen(Array<T>& a, int n, int lda) {
  for (int i = 0; i < n; ++i) a.host[static_cast<std::size_t>(i * lda + i)] = static_cast<T>(6 + i % 3);
  a.send();
}

template <class T, bool v2 = false> void level1(cublasHandle_t handle) {
  using A = Api<T, v2>;
  const int n = 37, steps[] = {1, 3};
  for (const int incx : steps) {
    const int incy = 4 - incx;
    Array<T> x(n * 3), y(n * 3);
    const auto at = [](const Array<T>& a, int step, int i) -> double {
      return a.host[static_cast<std::size_t>(i * step)];
    };
    double sum = 0, squares = 0, dot = 0;
    int largest = 0, smallest = 0;
    for (int i = 0; i < n; ++i) {
      sum += std::fabs(at(x, incx, i));
      squares += at(x, incx, i) * at(x, incx, i);
      dot += at(x, incx, i) * at(y, incy, i);
      if (std::fabs(at(x, incx, i)) > std::fabs(at(x, incx, largest))) largest = i;
      if (std::fabs(at(x, incx, i)) < std::fabs(at(x, incx, smallest))) smallest = i;
    }
    T result = -1;
    int index = -1;
    A::asum(handle, n, x.device, incx, &result);
    expect(std::fabs(result - sum) < 1e-3, "asum", A::name);
    A::nrm2(handle, n, x.device, incx, &result);
    expect(std::fabs(result - std::sqrt(squares)) < 1e-3, "nrm2", A::name);
    A::dot(handle, n, x.device, incx, y.device, incy, &result);
    expect(std::fabs(result - dot) < 1e-3, "dot", A::name);
    A::amax(handle, n, x.device, incx, &index);
    expect(index == largest + 1, "amax", A::name);
    A::amin(handle, n, x.device, incx, &index);
    expect(index == smallest + 1, "amin", A::name);

    const T alpha = static_cast<T>(1.5);
    std::vector<double> wanted = wide(y.host), other = wide(x.host);
    for (int i = 0; i < n; ++i) wanted[static_cast<std::size_t>(i * incy)] += 1.5 * at(x, incx, i);
    A::axpy(handle, n, &alpha, x.device, incx, y.device, incy);
    expect(near(y.fetch(), wanted), "axpy", A::name);
    for (int i = 0; i < n; ++i) wanted[static_cast<std::size_t>(i * incy)] *= 1.5;
    A::scal(handle, n, &alpha, y.device, incy);
    expect(near(y.fetch(), wanted), "scal", A::name);
    A::swap(handle, n, x.device, incx, y.device, incy);
    for (int i = 0; i < n; ++i)
      std::swap(wanted[static_cast<std::size_t>(i * incy)], other[static_cast<std::size_t>(i * incx)]);
    expect(near(y.fetch(), wanted) && near(x.fetch(), other), "swap", A::name);
    const T c = static_cast<T>(0.6), s = static_cast<T>(0.8);
    A::rot(handle, n, x.device, incx, y.device, incy, &c, &s);
    for (int i = 0; i < n; ++i) {
      double &a = other[static_cast<std::size_t>(i * incx)], &b = wanted[static_cast<std::size_t>(i * incy)];
      const double before = a;
      a = c * a + s * b;
      b = c * b - s * before;
    }
    expect(near(y.fetch(), wanted) && near(x.fetch(), other), "rot", A::name);
    const T parameters[5] = {-1, 2, T(0.5), -1, 3};  // a full matrix, by columns
    A::rotm(handle, n, x.device, incx, y.device, incy, parameters);
    for (int i = 0; i < n; ++i) {
      double &a = other[static_cast<std::size_t>(i * incx)], &b = wanted[static_cast<std::size_t>(i * incy)];
      const double before = a;
      a = 2 * a - b;
      b = 0.5 * before + 3 * b;
    }
    expect(near(y.fetch(), wanted) && near(x.fetch(), other), "rotm", A::name);
    A::copy(handle, n, x.device, incx, y.device, incy);
    for (int i = 0; i < n; ++i) wanted[static_cast<std::size_t>(i * incy)] = other[static_cast<std::size_t>(i * incx)];
    expect(near(y.fetch(), wanted), "copy", A::name);
  }
  T a = 3, b = 4, c = 0, s = 0;
  A::rotg(handle, &a, &b, &c, &s);
  expect(std::fabs(std::fabs(a) - 5) < 1e-5 && std::fabs(c * 4 - s * 3) < 1e-5, "rotg", A::name);
  T d1 = 2, d2 = 3, x1 = 1, y1 = 2, h[5] = {9, 9, 9, 9, 9};
  A::rotmg(handle, &d1, &d2, &x1, &y1, h);
  const double h21 = h[0] == -1 || h[0] == 0 ? h[2] : -1, h22 = h[0] == -1 || h[0] == 1 ? h[4] : 1;
  expect(std::fabs(h21 * 1 + h22 * 2) < 1e-5, "rotmg", A::name);  // what it is for: the second component goes
}

/// Where the largest and the smallest absolute value are: of equals the first, from 1; a NaN only if it comes first.
template <class T, bool v2 = false> void indices(cublasHandle_t handle) {
  using A = Api<T, v2>;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  struct Case {
    const char* what;
    std::vector<T> values;
    int n, step, largest, smallest;
  };
  std::vector<T> many(5000, T(2));
  many[1234] = -3, many[4321] = 3, many[2345] = -1, many[3456] = 1;
  const Case cases[] = {
      {"amax, amin: one", {T(-5)}, 1, 1, 1, 1},
      {"amax, amin: equals", {2, 2, 2, 2, 2, 2, 2, 2, 2}, 9, 1, 1, 1},
      {"amax, amin: negatives", {3, -7, 7, 1, -1, -7, 1}, 7, 1, 2, 4},
      {"amax, amin: zeros", {1, T(-0.0), 0, infinity, -infinity}, 5, 1, 4, 2},
      {"amax, amin: a step", {4, 9, 5, 0, -6, 9, 5, 0, 6, 9}, 5, 2, 3, 1},
      {"amax, amin: the last", {4, 5, 3, 9, 1}, 4, 1, 4, 3},
      {"amax, amin: many", many, 5000, 1, 1235, 2346},
      {"amax, amin: a later NaN", {4, nan, 5, 3}, 4, 1, 3, 4},
      {"amax, amin: a first NaN", {nan, 4, 5, 3}, 4, 1, 1, 1},
      {"amax, amin: no elements", {4, 5}, 0, 1, 0, 0},
      {"amax, amin: negative length", {4, 5}, -1, 1, 0, 0},
      {"amax, amin: no step", {4, 5}, 2, 0, 0, 0},
      {"amax, amin: negative step", {4, 5}, 2, -1, 0, 0},
  };
  for (const Case& each : cases) {
    Array<T> x(static_cast<int>(each.values.size()));
    x.host = each.values;
    x.send();
    int largest = -1, smallest = -1;
    expect(A::amax(handle, each.n, x.device, each.step, &largest) == CUBLAS_STATUS_SUCCESS, each.what, A::name);
    expect(A::amin(handle, each.n, x.device, each.step, &smallest) == CUBLAS_STATUS_SUCCESS, each.what, A::name);
    expect(largest == each.largest && smallest == each.smallest, each.what, A::name);

    int there[2] = {-1, -1}, *results = nullptr;
    cudaMalloc(&results, sizeof there);
    cudaMemcpy(results, there, sizeof there, cudaMemcpyHostToDevice);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    A::amax(handle, each.n, x.device, each.step, results);
    A::amin(handle, each.n, x.device, each.step, results + 1);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    cudaMemcpy(there, results, sizeof there, cudaMemcpyDeviceToHost);
    expect(there[0] == each.largest && there[1] == each.smallest, each.what, "results in device memory");
    cudaFree(results);
  }
  int result = -1;
  expect(A::amax(handle, 0, nullptr, 1, &result) == CUBLAS_STATUS_SUCCESS && result == 0, "amax of nothing", A::name);
  expect(A::amax(nullptr, 1, nullptr, 1, &result) == CUBLAS_STATUS_NOT_INITIALIZED, "amax without handle", A::name);
  expect(A::amin(handle, 1, nullptr, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE, "amin without result", A::name);
}

template <class T, bool v2 = false> void level2(cublasHandle_t handle) {
  using A = Api<T, v2>;
  const int m = 19, n = 13, lda = 23;
  const T alpha = static_cast<T>(1.25), beta = static_cast<T>(-0.5);
  const auto product = [&](int rows, int columns, const At& a, const Array<T>& x, int incx, const Array<T>& y,
                           int incy) {
    std::vector<double> wanted = wide(y.host);
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j) sum += a(i, j) * x.host[static_cast<std::size_t>(j * incx)];
      double& element = wanted[static_cast<std::size_t>(i * incy)];
      element = alpha * sum + beta * element;
    }
    return wanted;
  };
  for (const cublasOperation_t trans : kOperations) {
    const int rows = trans == CUBLAS_OP_N ? m : n, columns = trans == CUBLAS_OP_N ? n : m;
    {
      Array<T> a(lda * n), x(columns * 2), y(rows * 3);
      const auto wanted = product(rows, columns, turned(trans, plain(a.host, lda)), x, 2, y, 3);
      A::gemv(handle, trans, m, n, &alpha, a.device, lda, x.device, 2, &beta, y.device, 3);
      expect(near(y.fetch(), wanted), "gemv", A::name);
    }
    {  // Both products have the same matrix. The second x begins an element later, and the second y in the middle.
      Array<T> a(lda * n), x(columns * 2 + 1), y(rows * 6);
      const At at = turned(trans, plain(a.host, lda));
      std::vector<double> wanted = wide(y.host);
      for (int which = 0; which < 2; ++which) {
        for (int i = 0; i < rows; ++i) {
          double sum = 0;
          for (int j = 0; j < columns; ++j) sum += at(i, j) * x.host[static_cast<std::size_t>(2 * j + which)];
          double& element = wanted[static_cast<std::size_t>(3 * (i + which * rows))];
          element = alpha * sum + beta * element;
        }
      }
      A::gemv_strided(handle, trans, m, n, &alpha, a.device, lda, 0, x.device, 2, 1, &beta, y.device, 3, 3 * rows, 2);
      expect(near(y.fetch(), wanted), "gemvStridedBatched", A::name);
      y.send();
      T* pointers[6] = {a.device, a.device, x.device, x.device + 1, y.device, y.device + 3 * rows};
      T** there = nullptr;
      cudaMalloc(&there, sizeof pointers);
      cudaMemcpy(there, pointers, sizeof pointers, cudaMemcpyHostToDevice);
      A::gemv_batched(handle, trans, m, n, &alpha, there, lda, there + 2, 2, &beta, there + 4, 3, 2);
      expect(near(y.fetch(), wanted), "gemvBatched", A::name);
      cudaFree(there);
    }
    {
      const int kl = 3, ku = 2;
      Array<T> a(lda * n), x(columns), y(rows);
      const At band = [&](int i, int j) {
        return i - j > kl || j - i > ku ? 0.0
                                        : static_cast<double>(a.host[static_cast<std::size_t>(j * lda + ku + i - j)]);
      };
      const auto wanted = product(rows, columns, turned(trans, band), x, 1, y, 1);
      A::gbmv(handle, trans, m, n, kl, ku, &alpha, a.device, lda, x.device, 1, &beta, y.device, 1);
      expect(near(y.fetch(), wanted), "gbmv", A::name);
    }
  }
  {
    Array<T> a(lda * n), x(m), y(n * 2);
    std::vector<double> wanted = wide(a.host);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        wanted[static_cast<std::size_t>(j * lda + i)] +=
            double(alpha) * x.host[static_cast<std::size_t>(i)] * y.host[static_cast<std::size_t>(2 * j)];
      }
    }
    A::ger(handle, m, n, &alpha, x.device, 1, y.device, 2, a.device, lda);
    expect(near(a.fetch(), wanted), "ger", A::name);
  }
  for (const cublasFillMode_t fill : kFills) {
    Array<T> a(lda * n), ap(n * (n + 1) / 2), x(n * 2), y(n);
    const At by_packed = [&](int i, int j) {
      return static_cast<double>(ap.host[static_cast<std::size_t>(packed_index(fill, n, i, j))]);
    };
    const int k = 4;
    const At by_band = [&](int i, int j) {
      if (std::abs(i - j) > k) return 0.0;
      return static_cast<double>(
          a.host[static_cast<std::size_t>(j * lda + (fill == CUBLAS_FILL_MODE_LOWER ? 0 : k) + i - j)]);
    };
    const auto check = [&](const At& at, const char* what, auto call) {
      y.send();
      const auto wanted = product(n, n, symmetric(fill, at), x, 2, y, 1);
      call();
      expect(near(y.fetch(), wanted), what, A::name);
    };
    check(plain(a.host, lda), "symv",
          [&] { A::symv(handle, fill, n, &alpha, a.device, lda, x.device, 2, &beta, y.device, 1); });
    check(by_band, "sbmv",
          [&] { A::sbmv(handle, fill, n, k, &alpha, a.device, lda, x.device, 2, &beta, y.device, 1); });
    check(by_packed, "spmv", [&] { A::spmv(handle, fill, n, &alpha, ap.device, x.device, 2, &beta, y.device, 1); });

    std::vector<double> full = wide(a.host), tight = wide(ap.host), full2 = full, tight2 = tight;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        if (i != j && (fill == CUBLAS_FILL_MODE_LOWER) != (i > j)) continue;
        const double xi = x.host[static_cast<std::size_t>(2 * i)], xj = x.host[static_cast<std::size_t>(2 * j)];
        const double yi = y.host[static_cast<std::size_t>(i)], yj = y.host[static_cast<std::size_t>(j)];
        const auto in_full = static_cast<std::size_t>(j * lda + i);
        const auto in_tight = static_cast<std::size_t>(packed_index(fill, n, i, j));
        full[in_full] += alpha * xi * xj;
        tight[in_tight] += alpha * xi * xj;
        full2[in_full] = full[in_full] + alpha * (xi * yj + yi * xj);
        tight2[in_tight] = tight[in_tight] + alpha * (xi * yj + yi * xj);
      }
    }
    y.send();
    A::syr(handle, fill, n, &alpha, x.device, 2, a.device, lda);
    A::spr(handle, fill, n, &alpha, x.device, 2, ap.device);
    expect(near(a.fetch(), full), "syr", A::name);
    expect(near(ap.fetch(), tight), "spr", A::name);
    A::syr2(handle, fill, n, &alpha, x.device, 2, y.device, 1, a.device, lda);
    A::spr2(handle, fill, n, &alpha, x.device, 2, y.device, 1, ap.device);
    expect(near(a.fetch(), full2), "syr2", A::name);
    expect(near(ap.fetch(), tight2), "spr2", A::name);

    for (const cublasOperation_t trans : kOperations) {
      for (const cublasDiagType_t diag : kDiags) {
        Array<T> t(lda * n), tp(n * (n + 1) / 2), v(n * 2);
        strengthen(t, n, lda);
        for (int i = 0; i < n; ++i) tp.host[static_cast<std::size_t>(packed_index(fill, n, i, i))] = 7;
        for (int j = 0; j < n; ++j)
          t.host[static_cast<std::size_t>(j * lda + (fill == CUBLAS_FILL_MODE_LOWER ? 0 : k))] += 6;
        t.send();
        tp.send();
        const At from_packed = [&](int i, int j) {
          return static_cast<double>(tp.host[static_cast<std::size_t>(packed_index(fill, n, i, j))]);
        };
        const At from_band = [&](int i, int j) {
          if (std::abs(i - j) > k) return 0.0;
          return static_cast<double>(
              t.host[static_cast<std::size_t>(j * lda + (fill == CUBLAS_FILL_MODE_LOWER ? 0 : k) + i - j)]);
        };
        // A product, and the solution that leads back.
        const auto there_and_back = [&](const At& at, const char* what, auto multiply, auto solve) {
          const At matrix = turned(trans, triangle(fill, diag, at));
          v.send();
          std::vector<double> wanted = wide(v.host);
          for (int i = 0; i < n; ++i) {
            double sum = 0;
            for (int j = 0; j < n; ++j)
              sum += matrix(i, j) == 0 ? 0 : matrix(i, j) * v.host[static_cast<std::size_t>(2 * j)];
            wanted[static_cast<std::size_t>(2 * i)] = sum;
          }
          multiply();
          expect(near(v.fetch(), wanted), what, A::name);
          solve();
          const std::vector<T> back = v.fetch();
          for (int i = 0; i < n; ++i) {
            expect(std::fabs(back[static_cast<std::size_t>(2 * i)] - v.host[static_cast<std::size_t>(2 * i)]) < 0.05,
                   what, A::name);
          }
        };
        there_and_back(
            plain(t.host, lda), "trmv, trsv",
            [&] { A::trmv(handle, fill, trans, diag, n, t.device, lda, v.device, 2); },
            [&] { A::trsv(handle, fill, trans, diag, n, t.device, lda, v.device, 2); });
        there_and_back(
            from_band, "tbmv, tbsv", [&] { A::tbmv(handle, fill, trans, diag, n, k, t.device, lda, v.device, 2); },
            [&] { A::tbsv(handle, fill, trans, diag, n, k, t.device, lda, v.device, 2); });
        there_and_back(
            from_packed, "tpmv, tpsv", [&] { A::tpmv(handle, fill, trans, diag, n, tp.device, v.device, 2); },
            [&] { A::tpsv(handle, fill, trans, diag, n, tp.device, v.device, 2); });
      }
    }
  }
}

std::vector<double> product(std::vector<double> c, int m, int n, int k, double alpha, const At& a, const At& b,
                            double beta, int ldc, const std::function<bool(int, int)>& kept = {}) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      if (kept && !kept(i, j)) continue;
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      double& element = c[static_cast<std::size_t>(j * ldc + i)];
      element = alpha * sum + (beta == 0 ? 0 : beta * element);
    }
  }
  return c;
}

template <class T, bool v2 = false> void level3(cublasHandle_t handle) {
  using A = Api<T, v2>;
  const int m = 11, n = 7, k = 9, ld = 14;
  const T alpha = static_cast<T>(1.25), beta = static_cast<T>(-0.5), one = 1;
  for (const cublasOperation_t ta : kOperations) {
    for (const cublasOperation_t tb : kOperations) {
      Array<T> a(ld * ld * 2), b(ld * ld * 2), c(ld * n * 2);
      const auto wanted =
          product(wide(c.host), m, n, k, alpha, turned(ta, plain(a.host, ld)), turned(tb, plain(b.host, ld)), beta, ld);
      A::gemm(handle, ta, tb, m, n, k, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld);
      expect(near(c.fetch(), wanted), "gemm", A::name);

      // The second product of each batch begins in the middle.
      std::vector<double> both =
          product(wide(c.host), m, n, k, alpha, turned(ta, plain(a.host, ld)), turned(tb, plain(b.host, ld)), beta, ld);
      const auto half = [](const std::vector<T>& v) {
        return std::vector<T>(v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
      };
      const std::vector<T> a2 = half(a.host), b2 = half(b.host), c2 = half(c.host);
      const auto second =
          product(wide(c2), m, n, k, alpha, turned(ta, plain(a2, ld)), turned(tb, plain(b2, ld)), beta, ld);
      std::copy(second.begin(), second.end(), both.begin() + ld * n);
      c.send();
      A::gemm_strided(handle, ta, tb, m, n, k, &alpha, a.device, ld, ld * ld, b.device, ld, ld * ld, &beta, c.device,
                      ld, ld * n, 2);
      expect(near(c.fetch(), both), "gemmStridedBatched", A::name);
      c.send();
      T* pointers[6] = {a.device, a.device + ld * ld, b.device, b.device + ld * ld, c.device, c.device + ld * n};
      T** there = nullptr;
      cudaMalloc(&there, sizeof pointers);
      cudaMemcpy(there, pointers, sizeof pointers, cudaMemcpyHostToDevice);
      A::gemm_batched(handle, ta, tb, m, n, k, &alpha, there, ld, there + 2, ld, &beta, there + 4, ld, 2);
      expect(near(c.fetch(), both), "gemmBatched", A::name);
      cudaFree(there);
    }
    Array<T> a(ld * ld), b(ld * ld), c(ld * n);
    for (const cublasOperation_t tb : kOperations) {
      c.send();
      std::vector<double> wanted = wide(c.host);
      const At at = turned(ta, plain(a.host, ld)), bt = turned(tb, plain(b.host, ld));
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < m; ++i) wanted[static_cast<std::size_t>(j * ld + i)] = alpha * at(i, j) + beta * bt(i, j);
      }
      A::geam(handle, ta, tb, m, n, &alpha, a.device, ld, &beta, b.device, ld, c.device, ld);
      expect(near(c.fetch(), wanted), "geam", A::name);
    }
  }
  for (const cublasFillMode_t fill : kFills) {
    const auto kept = [fill](int i, int j) { return fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; };
    for (const cublasOperation_t trans : kOperations) {
      Array<T> a(ld * ld), b(ld * ld), c(ld * n);
      const At at = turned(trans, plain(a.host, ld)), bt = turned(trans, plain(b.host, ld));
      const auto wanted =
          product(wide(c.host), n, n, k, alpha, at, [&](int i, int j) { return at(j, i); }, beta, ld, kept);
      A::syrk(handle, fill, trans, n, k, &alpha, a.device, ld, &beta, c.device, ld);
      expect(near(c.fetch(), wanted), "syrk", A::name);
      c.send();
      auto twice = product(wide(c.host), n, n, k, alpha, at, [&](int i, int j) { return bt(j, i); }, beta, ld, kept);
      twice = product(twice, n, n, k, alpha, bt, [&](int i, int j) { return at(j, i); }, 1, ld, kept);
      A::syr2k(handle, fill, trans, n, k, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld);
      expect(near(c.fetch(), twice), "syr2k", A::name);
    }
    for (const cublasSideMode_t side : kSides) {
      Array<T> a(ld * ld), b(ld * n), c(ld * n);
      const bool left = side == CUBLAS_SIDE_LEFT;
      const At sym = symmetric(fill, plain(a.host, ld)), bt = plain(b.host, ld);
      const auto wanted = product(wide(c.host), m, n, left ? m : n, alpha, left ? sym : bt, left ? bt : sym, beta, ld);
      A::symm(handle, side, fill, m, n, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld);
      expect(near(c.fetch(), wanted), "symm", A::name);
      strengthen(a, ld, ld);
      for (const cublasOperation_t trans : kOperations) {
        for (const cublasDiagType_t diag : kDiags) {
          const At t = turned(trans, triangle(fill, diag, plain(a.host, ld)));
          c.send();
          const auto moved = product(wide(c.host), m, n, left ? m : n, alpha, left ? t : bt, left ? bt : t, 0, ld);
          A::trmm(handle, side, fill, trans, diag, m, n, &alpha, a.device, ld, b.device, ld, c.device, ld);
          expect(near(c.fetch(), moved), "trmm", A::name);
          const T back = one / alpha;
          A::trsm(handle, side, fill, trans, diag, m, n, &back, a.device, ld, c.device, ld);
          const std::vector<T> solved = c.fetch();
          for (int j = 0; j < n; ++j) {
            for (int i = 0; i < m; ++i) {
              expect(std::fabs(solved[static_cast<std::size_t>(j * ld + i)] -
                               b.host[static_cast<std::size_t>(j * ld + i)]) < 0.05,
                     "trsm", A::name);
            }
          }
        }
      }
    }
  }
  for (const cublasSideMode_t side : kSides) {
    Array<T> a(ld * n), x(ld * 2), c(ld * n);
    std::vector<double> wanted = wide(c.host);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        wanted[static_cast<std::size_t>(j * ld + i)] =
            double(a.host[static_cast<std::size_t>(j * ld + i)]) *
            x.host[static_cast<std::size_t>(2 * (side == CUBLAS_SIDE_LEFT ? i : j))];
      }
    }
    A::dgmm(handle, side, m, n, a.device, ld, x.device, 2, c.device, ld);
    expect(near(c.fetch(), wanted), "dgmm", A::name);
  }
}

template <class In, class Out, class Scale>
void narrow_products(cublasHandle_t handle, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
                     double tolerance, const char* what) {
  const int m = 10, n = 6, k = 8, ld = 12;
  Array<In> a(ld * k), b(ld * k);
  Array<Out> c(ld * n);
  const Scale alpha = Scale(0.5f), beta = Scale(2.0f);
  const auto check = [&](const char* which) {
    const std::vector<Out> got = c.fetch();
    bool right = true;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += double(float(a.host[static_cast<std::size_t>(l * ld + i)])) *
                 double(float(b.host[static_cast<std::size_t>(l * ld + j)]));
        }
        const auto at = static_cast<std::size_t>(j * ld + i);
        const double wanted = 0.5 * sum + 2.0 * double(float(c.host[at]));
        right = right && std::fabs(double(float(got[at])) - wanted) <= tolerance * (1 + std::fabs(wanted));
      }
    }
    expect(right, which, what);
    c.send();
  };
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, a.device, in, ld, b.device, in, ld, &beta, c.device,
               out, ld, compute, CUBLAS_GEMM_DEFAULT);
  check("GemmEx");
  if constexpr (std::is_same_v<Scale, float>) {
    cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, a.device, in, ld, b.device, in, ld, &beta,
                  c.device, out, ld);
    check("SgemmEx");
  }
  cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, a.device, in, ld, 0, b.device, in, ld,
                             0, &beta, c.device, out, ld, 0, 1, compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  check("GemmStridedBatchedEx");
  void* pointers[3] = {a.device, b.device, c.device};
  void** there = nullptr;
  cudaMalloc(&there, sizeof pointers);
  cudaMemcpy(there, pointers, sizeof pointers, cudaMemcpyHostToDevice);
  cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, there, in, ld, there + 1, in, ld, &beta,
                      there + 2, out, ld, 1, compute, CUBLAS_GEMM_DEFAULT);
  check("GemmBatchedEx");
  cudaFree(there);
}

/// Vectors of a type that is an argument, forwards and backwards, with scalars on both sides.
template <class T, class Wide>
void typed_vectors(cublasHandle_t handle, cudaDataType type, cudaDataType execution, double tolerance,
                   const char* what) {
  const int n = 21;
  const auto close = [&](T got, double wanted) {
    return std::fabs(double(Wide(got)) - wanted) <= tolerance * (1 + std::fabs(wanted));
  };
  for (const int incx : {1, 3, -2}) {
    for (const bool on_host : {true, false}) {
      const int incy = incx == 1 ? -1 : 2;
      Array<T> x(n * 3), y(n * 3), results(2), narrow_scalar(1);
      Array<Wide> wide_scalar(1);
      narrow_scalar.host[0] = T(1.5f), wide_scalar.host[0] = Wide(-0.75f);
      narrow_scalar.send(), wide_scalar.send();
      const auto at = [](int step, int i) {
        return static_cast<std::size_t>(step < 0 ? (i - n + 1) * step : i * step);
      };
      const auto value = [](const std::vector<T>& v, std::size_t i) { return double(Wide(v[i])); };
      double dot = 0, squares = 0;
      for (int i = 0; i < n; ++i) {
        dot += value(x.host, at(incx, i)) * value(y.host, at(incy, i));
        squares += value(x.host, at(incx, i)) * value(x.host, at(incx, i));
      }
      cublasSetPointerMode(handle, on_host ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE);
      T* const to = on_host ? results.host.data() : results.device;
      const T* const narrow = on_host ? narrow_scalar.host.data() : narrow_scalar.device;
      const Wide* const broad = on_host ? wide_scalar.host.data() : wide_scalar.device;
      const auto result = [&](int i) {
        return on_host ? results.host[std::size_t(i)] : results.fetch()[std::size_t(i)];
      };
      cublasDotEx(handle, n, x.device, type, incx, y.device, type, incy, to, type, execution);
      expect(close(result(0), dot), "DotEx", what);
      cublasDotcEx(handle, n, x.device, type, incx, y.device, type, incy, to + 1, type, execution);
      expect(close(result(1), dot), "DotcEx", what);
      cublasNrm2Ex(handle, n, x.device, type, incx, to, type, execution);
      expect(close(result(0), incx < 1 ? 0 : std::sqrt(squares)), "Nrm2Ex", what);

      const auto compare = [&](const Array<T>& v, const std::vector<double>& wanted, const char* which) {
        const std::vector<T> got = v.fetch();
        bool right = true;
        for (std::size_t i = 0; i < got.size(); ++i) right = right && close(got[i], wanted[i]);
        expect(right, which, what);
      };
      std::vector<double> wanted;
      for (const T element : y.host) wanted.push_back(double(Wide(element)));
      for (int i = 0; i < n; ++i) wanted[at(incy, i)] += 1.5 * value(x.host, at(incx, i));
      cublasAxpyEx(handle, n, narrow, type, x.device, type, incx, y.device, type, incy, execution);
      compare(y, wanted, "AxpyEx");
      for (int i = 0; i < n; ++i) wanted[at(incy, i)] += -0.75 * value(x.host, at(incx, i));
      cublasAxpyEx(handle, n, broad, execution, x.device, type, incx, y.device, type, incy, execution);
      compare(y, wanted, "AxpyEx with alpha as it is computed in");
      std::vector<double> scaled;
      for (const T element : x.host) scaled.push_back(double(Wide(element)));
      for (int i = 0; i < n && incx > 0; ++i) scaled[at(incx, i)] *= -0.75;
      cublasScalEx(handle, n, broad, execution, x.device, type, incx, execution);
      compare(x, scaled, "ScalEx");
    }
  }
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
}

/// The names with _v2 of what has no type, and the version's parts.
void second_names() {
  cublasHandle_t handle;
  cublasCreate_v2(&handle);
  int version = 0, major = -1, minor = -1, patch = -1;
  cublasGetVersion_v2(handle, &version);
  cublasGetProperty(MAJOR_VERSION, &major), cublasGetProperty(MINOR_VERSION, &minor);
  cublasGetProperty(PATCH_LEVEL, &patch);
  expect(version == CUBLAS_VERSION && major * 10000 + minor * 100 + patch == version, "GetProperty", "int");
  expect(cublasGetProperty(MAJOR_VERSION, nullptr) == CUBLAS_STATUS_INVALID_VALUE, "GetProperty", "status");
  cudaStream_t stream, found = nullptr;
  cudaStreamCreate(&stream);
  cublasSetStream_v2(handle, stream);
  cublasGetStream_v2(handle, &found);
  expect(found == stream, "SetStream_v2", "stream");
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
  cublasGetPointerMode_v2(handle, &mode);
  expect(mode == CUBLAS_POINTER_MODE_DEVICE, "SetPointerMode_v2", "mode");
  expect(cublasSetWorkspace_v2(handle, nullptr, 0) == CUBLAS_STATUS_SUCCESS, "SetWorkspace_v2", "status");
  expect(cublasDestroy_v2(handle) == CUBLAS_STATUS_SUCCESS, "Destroy_v2", "status");
  cudaStreamDestroy(stream);
}

/// Scalars and results in device memory, streams, and graphs.
void modes(cublasHandle_t handle) {
  Array<float> x(64), y(64), scalars(2);
  scalars.host = {2.0f, 0.0f};
  scalars.send();
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  cublasSaxpy(handle, 64, scalars.device, x.device, 1, y.device, 1);
  cublasSdot(handle, 64, x.device, 1, x.device, 1, scalars.device + 1);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  double dot = 0;
  std::vector<double> wanted;
  for (int i = 0; i < 64; ++i) {
    wanted.push_back(y.host[static_cast<std::size_t>(i)] + 2.0 * x.host[static_cast<std::size_t>(i)]);
    dot += double(x.host[static_cast<std::size_t>(i)]) * x.host[static_cast<std::size_t>(i)];
  }
  expect(near(y.fetch(), wanted), "alpha in device memory", "float");
  expect(std::fabs(scalars.fetch()[1] - dot) < 1e-3, "result in device memory", "float");

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  y.send();
  float alpha = 1;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cublasSaxpy(handle, 64, &alpha, x.device, 1, y.device, 1);
  cudaStreamEndCapture(stream, &graph);
  alpha = 100;  // The capture has its own.
  expect(near(y.fetch(), wide(y.host)), "nothing happens while it is captured", "float");
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);
  cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);
  expect(near(y.fetch(), wanted), "two launches of a graph", "float");
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cublasSetStream(handle, nullptr);
  cudaStreamDestroy(stream);

  float corner[6] = {1, 2, 3, 4, 5, 6};
  Array<float> device(20);
  std::vector<double> placed = wide(device.host);
  cublasSetMatrix(2, 2, sizeof(float), corner, 3, device.device + 1, 5);
  placed[1] = 1, placed[2] = 2, placed[6] = 4, placed[7] = 5;
  expect(near(device.fetch(), placed), "SetMatrix", "float");
  float row[3] = {};
  cublasGetVector(3, sizeof(float), device.device + 1, 5, row, 1);
  expect(row[0] == 1 && row[1] == 4 && row[2] == device.host[11], "GetVector", "float");
}

void refusals(cublasHandle_t handle) {
  Array<float> a(16);
  const float one = 1;
  expect(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, 3, a.device, 4, &one, a.device, 4) ==
             CUBLAS_STATUS_INVALID_VALUE,
         "lda below m", "status");
  expect(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 4, 4, &one, a.device, 4, a.device, 4, &one, a.device, 4) ==
             CUBLAS_STATUS_INVALID_VALUE,
         "negative m", "status");
  expect(cublasSscal(nullptr, 4, &one, a.device, 1) == CUBLAS_STATUS_NOT_INITIALIZED, "no handle", "status");
  expect(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, CUDA_R_8I, 4, a.device, CUDA_R_8I, 4,
                      &one, a.device, CUDA_R_32I, 4, CUBLAS_COMPUTE_32I,
                      CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED,
         "bytes", "status");
  expect(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, CUDA_R_64F, 4, a.device, CUDA_R_64F,
                       4, &one, a.device, CUDA_R_64F, 4) == CUBLAS_STATUS_NOT_SUPPORTED,
         "SgemmEx of doubles", "status");
  expect(cublasAxpyEx(handle, 4, &one, CUDA_R_32F, a.device, CUDA_R_16F, 1, a.device, CUDA_R_32F, 1, CUDA_R_32F) ==
             CUBLAS_STATUS_NOT_SUPPORTED,
         "AxpyEx of two types", "status");
  expect(cublasScalEx(handle, 4, &one, CUDA_R_32F, a.device, CUDA_R_64F, 1, CUDA_R_32F) == CUBLAS_STATUS_NOT_SUPPORTED,
         "ScalEx of doubles in float", "status");
  expect(cublasSgemvStridedBatched(handle, CUBLAS_OP_N, 4, 4, &one, a.device, 3, 0, a.device, 1, 0, &one, a.device, 1,
                                   0, 1) == CUBLAS_STATUS_INVALID_VALUE,
         "gemvStridedBatched with lda below m", "status");
}

/// Products of matrices in the host's memory.
template <class T, class Gemm> void on_the_host(Gemm gemm, const char* type) {
  cublasXtHandle_t handle;
  int devices[] = {0, 1};
  expect(cublasXtCreate(&handle) == CUBLAS_STATUS_SUCCESS, "XtCreate", type);
  expect(cublasXtDeviceSelect(handle, 1, devices) == CUBLAS_STATUS_SUCCESS, "XtDeviceSelect", type);
  expect(cublasXtDeviceSelect(handle, 2, devices) == CUBLAS_STATUS_INVALID_VALUE, "XtDeviceSelect", type);
  const T a[] = {1, 2, 9, 3, 4, 9}, b[] = {1, 2, 3, 4, 5, 6}, wanted[] = {27, 37, 9, 35, 49, 9, 43, 61, 9};
  const T two = 2, one = 1;
  T c[] = {1, 1, 9, 1, 1, 9, 1, 1, 9};
  const auto status = gemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 3, 2, &two, a, 3, b, 3, &one, c, 3);
  expect(status == CUBLAS_STATUS_SUCCESS && std::equal(c, c + 9, wanted), "Xtgemm", type);
  expect(gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 2, &two, a, 1, b, 3, &one, c, 3) == CUBLAS_STATUS_INVALID_VALUE,
         "Xtgemm", "status");
  cublasXtDestroy(handle);
}

/// Factors, solutions and inverses of two matrices; of the second one, a column of U is 0.
template <class T, class Factor, class Invert, class Solve, class Shorter>
void factors(cublasHandle_t handle, Factor getrf, Invert getri, Solve getrs, Shorter matinv, const char* type) {
  constexpr int n = 5, ld = 6, columns = 2;
  Array<T> a(2 * ld * n), whole(2 * ld * n), b(2 * ld * columns), c(2 * ld * n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      a.host[static_cast<std::size_t>(j * ld + i)] = static_cast<T>((i * i * 7 + j * 11 + i * j * j) % 13 - 5);
      a.host[static_cast<std::size_t>(ld * n + j * ld + i)] =
          static_cast<T>(j == 2 ? 0 : (i * 5 + j * 3) % 7 + (i == j));
    }
  const std::vector<double> first = wide(a.host);
  const auto at = [&](int i, int j) { return first[static_cast<std::size_t>(j * ld + i)]; };
  whole.host = a.host;
  a.send(), whole.send();
  T* pointers[8] = {a.device, a.device + ld * n, b.device,     b.device + ld * columns,
                    c.device, c.device + ld * n, whole.device, whole.device + ld * n};
  T** there = nullptr;
  int *pivots = nullptr, *info = nullptr, told[2] = {-1, -1}, host_info = -1;
  cudaMalloc(&there, sizeof pointers), cudaMalloc(&pivots, 2 * n * sizeof(int)), cudaMalloc(&info, sizeof told);
  cudaMemcpy(there, pointers, sizeof pointers, cudaMemcpyHostToDevice);
  const auto results = [&] { cudaMemcpy(told, info, sizeof told, cudaMemcpyDeviceToHost); };
  const auto is_inverse = [&](const std::vector<double>& x) {
    double most = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = i == j ? -1 : 0;
        for (int k = 0; k < n; ++k) sum += at(i, k) * x[static_cast<std::size_t>(j * ld + k)];
        most = std::max(most, std::abs(sum));
      }
    return most < 1e-4;
  };
  expect(getrf(handle, n, there, ld, pivots, info, 2) == CUBLAS_STATUS_SUCCESS, "getrf", type);
  results();
  expect(told[0] == 0 && told[1] == 3, "getrf, info", type);
  c.send();
  expect(getri(handle, n, there, ld, pivots, there + 4, ld, info, 2) == CUBLAS_STATUS_SUCCESS, "getri", type);
  results();
  expect(told[0] == 0 && told[1] == 3 && is_inverse(wide(c.fetch())), "getri, inverse", type);
  for (const cublasOperation_t trans : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < n; ++i) b.host[static_cast<std::size_t>(j * ld + i)] = static_cast<T>(i - 2 * j + 1);
    const std::vector<double> right = wide(b.host);
    b.send();
    expect(getrs(handle, trans, n, columns, there, ld, pivots, there + 2, ld, &host_info, 1) == CUBLAS_STATUS_SUCCESS &&
               host_info == 0,
           "getrs", type);
    const std::vector<double> x = wide(b.fetch());
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < n; ++i) {
        double sum = -right[static_cast<std::size_t>(j * ld + i)];
        for (int k = 0; k < n; ++k)
          sum += (trans == CUBLAS_OP_N ? at(i, k) : at(k, i)) * x[static_cast<std::size_t>(j * ld + k)];
        expect(std::abs(sum) < 1e-3, "getrs, solution", type);
      }
    b.host = b.fetch();
  }
  c.send();
  expect(matinv(handle, n, there + 6, ld, there + 4, ld, info, 2) == CUBLAS_STATUS_SUCCESS, "matinv", type);
  results();
  expect(told[0] == 0 && told[1] == 3 && is_inverse(wide(c.fetch())), "matinv, inverse", type);
  // Without pivots: of a matrix that needs none.
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      a.host[static_cast<std::size_t>(j * ld + i)] = static_cast<T>(i == j ? 4 : i > j ? 1 : 2);
  a.send();
  getrf(handle, n, there, ld, nullptr, info, 1);
  const std::vector<double> lu = wide(a.fetch());
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k <= std::min(i, j); ++k)
        sum += (k == i ? 1 : lu[static_cast<std::size_t>(k * ld + i)]) * lu[static_cast<std::size_t>(j * ld + k)];
      expect(std::abs(sum - (i == j ? 4 : i > j ? 1 : 2)) < 1e-5, "getrf without pivots", type);
    }
  cudaFree(there), cudaFree(pivots), cudaFree(info);
}

}  // namespace

int main(int argc, char**) {
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 2;
  if (argc > 1) {  // What a kernel could not read either.
    std::vector<float> host(16);
    float *device, one = 1;
    cudaMalloc(&device, 15 * sizeof(float));
    cudaMemset(device, 0, 15 * sizeof(float));
    if (argc > 3)
      cublasSasum(handle, 15, device, 1, device);
    else if (argc > 2)
      cublasSscal(handle, 16, &one, device, 1);
    else
      cublasSaxpy(handle, 15, &one, host.data(), 1, device, 1);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 3;
  }
  level1<float>(handle), level1<double>(handle), level1<float, true>(handle), level1<double, true>(handle);
  level2<float>(handle), level2<double>(handle), level2<float, true>(handle), level2<double, true>(handle);
  level3<float>(handle), level3<double>(handle), level3<float, true>(handle), level3<double, true>(handle);
  narrow_products<__half, __half, __half>(handle, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, 2e-3, "half");
  narrow_products<__half, __half, float>(handle, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2e-3, "half, float");
  narrow_products<__half, float, float>(handle, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6, "half into float");
  narrow_products<__nv_bfloat16, __nv_bfloat16, float>(handle, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1e-2,
                                                       "bfloat16");
  narrow_products<__nv_bfloat16, float, float>(handle, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6,
                                               "bfloat16 into float");
  narrow_products<float, float, float>(handle, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-6, "float");
  narrow_products<double, double, double>(handle, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-12, "double");
  indices<float>(handle), indices<double>(handle), indices<float, true>(handle), indices<double, true>(handle);
  typed_vectors<__half, float>(handle, CUDA_R_16F, CUDA_R_32F, 2e-3, "half");
  typed_vectors<__nv_bfloat16, float>(handle, CUDA_R_16BF, CUDA_R_32F, 1e-2, "bfloat16");
  typed_vectors<float, float>(handle, CUDA_R_32F, CUDA_R_32F, 1e-6, "float");
  typed_vectors<double, double>(handle, CUDA_R_64F, CUDA_R_64F, 1e-12, "double");
  factors<float>(handle, cublasSgetrfBatched, cublasSgetriBatched, cublasSgetrsBatched, cublasSmatinvBatched, "float");
  factors<double>(handle, cublasDgetrfBatched, cublasDgetriBatched, cublasDgetrsBatched, cublasDmatinvBatched,
                  "double");
  second_names();
  on_the_host<float>(cublasXtSgemm, "float"), on_the_host<double>(cublasXtDgemm, "double");
  modes(handle);
  refusals(handle);
  cublasDestroy(handle);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
