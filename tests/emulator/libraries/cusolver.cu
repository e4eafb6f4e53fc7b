// cuSOLVER's dense functions: what they find is put back together.
#include <cusolverDn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>

static int bad = 0;
static cusolverDnHandle_t handle;

static void check(bool right, const char* what, int n = 0) {
  if (!right && bad++ < 20) std::printf("wrong: %s, %d\n", what, n);
}
#define DONE(call) check((call) == CUSOLVER_STATUS_SUCCESS, #call)

static std::vector<void*> rooms;

/// Device memory that the host reads, too.
template <class T> static T* room(std::size_t count, const T* values = nullptr) {
  T* place;
  cudaMallocManaged(&place, (count + !count) * sizeof(T));
  rooms.push_back(place);
  if (values != nullptr) std::memcpy(static_cast<void*>(place), values, count * sizeof(T));
  return place;
}
template <class T> static T* room(const std::vector<T>& values) { return room(values.size(), values.data()); }

/// By columns, without gaps.
template <class T> struct Matrix {
  int rows, columns;
  std::vector<T> values;
  Matrix(int m, int n, const T* from = nullptr, int ld = 0) : rows(m), columns(n), values(m * n) {
    for (int i = 0; from != nullptr && i < m * n; ++i) values[i] = from[i / m * ld + i % m];
  }
  T& operator()(int i, int j) { return values[j * rows + i]; }
  T operator()(int i, int j) const { return values[j * rows + i]; }
};
template <class T> static T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}
template <class T> static Matrix<T> operator*(const Matrix<T>& a, const Matrix<T>& b) {
  Matrix<T> c(a.rows, b.columns);
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.columns; ++j)
      for (int k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}
template <class T> static Matrix<T> adjoint(const Matrix<T>& a) {
  Matrix<T> b(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) b(j, i) = conjugate(a(i, j));
  return b;
}
template <class T> static bool near(const Matrix<T>& a, const Matrix<T>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    worst = std::max(worst, double(std::abs(a.values[i] - b.values[i])));
  return a.values.size() == b.values.size() && worst < (sizeof(std::abs(T{})) == 4 ? 1e-3 : 1e-11);
}
template <class T> static T number(int i) {
  if constexpr (std::is_floating_point_v<T>)
    return T(i * 7 % 13 - 6) / 4;
  else
    return T(i * 7 % 13 - 6, i % 5 - 2) / typename T::value_type(4);
}
template <class T> static Matrix<T> full(int m, int n) {
  Matrix<T> a(m, n);
  for (int i = 0; i < m * n; ++i) a.values[i] = number<T>(i) + T(i % (m + 1) == 0 ? 5 : 0);
  return a;
}
template <class T, class R> static Matrix<T> diagonal(int m, int n, const R* values) {
  Matrix<T> a(m, n);
  for (int i = 0; i < std::min(m, n); ++i) a(i, i) = values[i];
  return a;
}
template <class T> static Matrix<T> identity(int n) { return diagonal<T>(n, n, std::vector<double>(n, 1).data()); }

/// CUDA's names of a type's functions.
template <class T> struct Names;
#define NAMES(Host, Device, Real, x, sy, gqr_, mqr_)                                                                   \
  template <> struct Names<Host> {                                                                                     \
    using D = Device;                                                                                                  \
    using R = Real;                                                                                                    \
    static constexpr auto potrf_bytes = cusolverDn##x##potrf_bufferSize;                                               \
    static constexpr auto potrf = cusolverDn##x##potrf;                                                                \
    static constexpr auto potrs = cusolverDn##x##potrs;                                                                \
    static constexpr auto potri_bytes = cusolverDn##x##potri_bufferSize;                                               \
    static constexpr auto potri = cusolverDn##x##potri;                                                                \
    static constexpr auto potrf_batch = cusolverDn##x##potrfBatched;                                                   \
    static constexpr auto potrs_batch = cusolverDn##x##potrsBatched;                                                   \
    static constexpr auto getrf_bytes = cusolverDn##x##getrf_bufferSize;                                               \
    static constexpr auto getrf = cusolverDn##x##getrf;                                                                \
    static constexpr auto getrs = cusolverDn##x##getrs;                                                                \
    static constexpr auto geqrf_bytes = cusolverDn##x##geqrf_bufferSize;                                               \
    static constexpr auto geqrf = cusolverDn##x##geqrf;                                                                \
    static constexpr auto gqr_bytes = cusolverDn##x##gqr_##_bufferSize;                                                \
    static constexpr auto gqr = cusolverDn##x##gqr_;                                                                   \
    static constexpr auto mqr_bytes = cusolverDn##x##mqr_##_bufferSize;                                                \
    static constexpr auto mqr = cusolverDn##x##mqr_;                                                                   \
    static constexpr auto evd_bytes = cusolverDn##x##sy##evd_bufferSize;                                               \
    static constexpr auto evd = cusolverDn##x##sy##evd;                                                                \
    static constexpr auto gvd_bytes = cusolverDn##x##sy##gvd_bufferSize;                                               \
    static constexpr auto gvd = cusolverDn##x##sy##gvd;                                                                \
    static constexpr auto evj_bytes = cusolverDn##x##sy##evj_bufferSize;                                               \
    static constexpr auto evj = cusolverDn##x##sy##evj;                                                                \
    static constexpr auto gvj_bytes = cusolverDn##x##sy##gvj_bufferSize;                                               \
    static constexpr auto gvj = cusolverDn##x##sy##gvj;                                                                \
    static constexpr auto evj_batch_bytes = cusolverDn##x##sy##evjBatched_bufferSize;                                  \
    static constexpr auto evj_batch = cusolverDn##x##sy##evjBatched;                                                   \
    static constexpr auto gesvd_bytes = cusolverDn##x##gesvd_bufferSize;                                               \
    static constexpr auto gesvd = cusolverDn##x##gesvd;                                                                \
    static constexpr auto gesvdj_bytes = cusolverDn##x##gesvdj_bufferSize;                                             \
    static constexpr auto gesvdj = cusolverDn##x##gesvdj;                                                              \
    static constexpr auto gesvdj_batch_bytes = cusolverDn##x##gesvdjBatched_bufferSize;                                \
    static constexpr auto gesvdj_batch = cusolverDn##x##gesvdjBatched;                                                 \
  };
NAMES(float, float, float, S, sy, orgqr, ormqr)
NAMES(double, double, double, D, sy, orgqr, ormqr)
NAMES(std::complex<float>, cuComplex, float, C, he, ungqr, unmqr)
NAMES(std::complex<double>, cuDoubleComplex, double, Z, he, ungqr, unmqr)

constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;
constexpr auto kVectors = CUSOLVER_EIG_MODE_VECTOR;

template <class T> static void check_type() {
  using N = Names<T>;
  using D = typename N::D;
  using R = typename N::R;
  const auto at = [](T* p) { return reinterpret_cast<D*>(p); };
  const int n = 7, m = 9;
  int lwork = 0;
  T* work = room<T>(4096);
  int* info = room<int>(4);
  const Matrix<T> a = full<T>(n, n), tall = full<T>(m, n), x = full<T>(n, 2);
  Matrix<T> spd = a * adjoint(a);
  for (int i = 0; i < n; ++i) spd(i, i) += T(1);
  const auto is_done = [&](const char* what) {
    cudaDeviceSynchronize();
    check(lwork <= 4096, what, lwork);
    check(*info == 0, what, *info);
    *info = -100;
  };

  // Cholesky
  T* d_a = room(spd.values);
  T* d_b = room((spd * x).values);
  DONE(N::potrf_bytes(handle, kLower, n, at(d_a), n, &lwork));
  DONE(N::potrf(handle, kLower, n, at(d_a), n, at(work), lwork, info));
  is_done("potrf");
  Matrix<T> l(n, n, d_a, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) l(i, j) = T{};
  check(near(l * adjoint(l), spd), "potrf");
  DONE(N::potrs(handle, kLower, n, 2, at(d_a), n, at(d_b), n, info));
  is_done("potrs");
  check(near(Matrix<T>(n, 2, d_b, n), x), "potrs");
  DONE(N::potri_bytes(handle, kLower, n, at(d_a), n, &lwork));
  DONE(N::potri(handle, kLower, n, at(d_a), n, at(work), lwork, info));
  is_done("potri");
  Matrix<T> inverse(n, n, d_a, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) inverse(i, j) = conjugate(inverse(j, i));
  check(near(inverse * spd, identity<T>(n)), "potri");

  T* pair = room<T>(2 * n * n + 2 * n);
  D** each = room<D*>(4);
  for (int i = 0; i < 2; ++i) {
    std::copy(spd.values.begin(), spd.values.end(), pair + i * n * n);
    const Matrix<T> b = spd * x;
    std::copy_n(b.values.begin() + i * n, n, pair + 2 * n * n + i * n);
    each[i] = at(pair + i * n * n);
    each[2 + i] = at(pair + 2 * n * n + i * n);
  }
  DONE(N::potrf_batch(handle, kLower, n, each, n, info, 2));
  is_done("potrfBatched");
  check(info[1] == 0, "potrfBatched");
  DONE(N::potrs_batch(handle, kLower, n, 1, each, n, each + 2, n, info, 2));
  is_done("potrsBatched");
  check(near(Matrix<T>(n, 2, pair + 2 * n * n, n), x), "potrsBatched");

  // LU, with and without exchanges of rows
  int* pivots = room<int>(n);
  for (int* p : {pivots, static_cast<int*>(nullptr)}) {
    std::copy(a.values.begin(), a.values.end(), d_a);
    const Matrix<T> b = a * x;
    std::copy(b.values.begin(), b.values.end(), d_b);
    DONE(N::getrf_bytes(handle, n, n, at(d_a), n, &lwork));
    DONE(N::getrf(handle, n, n, at(d_a), n, at(work), p, info));
    is_done("getrf");
    DONE(N::getrs(handle, CUBLAS_OP_N, n, 2, at(d_a), n, p, at(d_b), n, info));
    is_done("getrs");
    check(near(Matrix<T>(n, 2, d_b, n), x), "getrs", p != nullptr);
  }
  std::fill_n(d_a, n * n, T{});
  d_a[0] = d_a[3 * n + 3] = T(1);
  DONE(N::getrf(handle, n, n, at(d_a), n, at(work), pivots, info));
  cudaDeviceSynchronize();
  check(*info == 2, "getrf of a singular matrix", *info);

  // QR
  T* d_t = room(tall.values);
  T* tau = room<T>(n);
  DONE(N::geqrf_bytes(handle, m, n, at(d_t), m, &lwork));
  DONE(N::geqrf(handle, m, n, at(d_t), m, at(tau), at(work), lwork, info));
  is_done("geqrf");
  Matrix<T> r(n, n, d_t, m);
  for (int j = 0; j < n; ++j)
    for (int i = j + 1; i < n; ++i) r(i, j) = T{};
  T* d_c = room(tall.values);
  const auto op = std::is_floating_point_v<T> ? CUBLAS_OP_T : CUBLAS_OP_C;
  DONE(N::mqr_bytes(handle, CUBLAS_SIDE_LEFT, op, m, n, n, at(d_t), m, at(tau), at(d_c), m, &lwork));
  DONE(N::mqr(handle, CUBLAS_SIDE_LEFT, op, m, n, n, at(d_t), m, at(tau), at(d_c), m, at(work), lwork, info));
  is_done("mqr");
  check(near(Matrix<T>(n, n, d_c, m), r), "mqr");
  DONE(N::gqr_bytes(handle, m, n, n, at(d_t), m, at(tau), &lwork));
  DONE(N::gqr(handle, m, n, n, at(d_t), m, at(tau), at(work), lwork, info));
  is_done("gqr");
  check(near(Matrix<T>(m, n, d_t, m) * r, tall), "gqr");

  // Eigenvalues
  R* w = room<R>(2 * n);
  std::copy(spd.values.begin(), spd.values.end(), d_a);
  DONE(N::evd_bytes(handle, kVectors, kLower, n, at(d_a), n, w, &lwork));
  DONE(N::evd(handle, kVectors, kLower, n, at(d_a), n, w, at(work), lwork, info));
  is_done("evd");
  const auto is_spectrum = [&](const T* vectors, const R* values, const Matrix<T>& right) {
    const Matrix<T> v(n, n, vectors, n);
    return std::is_sorted(values, values + n) && near(spd * v, right * v * diagonal<T>(n, n, values));
  };
  check(is_spectrum(d_a, w, identity<T>(n)), "evd");
  Matrix<T> other = identity<T>(n);
  for (int i = 0; i < n; ++i) other(i, i) = T(1 + i);
  std::copy(spd.values.begin(), spd.values.end(), d_a);
  T* d_other = room(other.values);
  DONE(N::gvd_bytes(handle, CUSOLVER_EIG_TYPE_1, kVectors, kLower, n, at(d_a), n, at(d_other), n, w, &lwork));
  DONE(N::gvd(handle, CUSOLVER_EIG_TYPE_1, kVectors, kLower, n, at(d_a), n, at(d_other), n, w, at(work), lwork, info));
  is_done("gvd");
  check(is_spectrum(d_a, w, other), "gvd");
  syevjInfo_t jacobi;
  DONE(cusolverDnCreateSyevjInfo(&jacobi));
  DONE(cusolverDnXsyevjSetTolerance(jacobi, 1e-7));
  std::copy(spd.values.begin(), spd.values.end(), d_a);
  DONE(N::evj_bytes(handle, kVectors, kLower, n, at(d_a), n, w, &lwork, jacobi));
  DONE(N::evj(handle, kVectors, kLower, n, at(d_a), n, w, at(work), lwork, info, jacobi));
  is_done("evj");
  check(is_spectrum(d_a, w, identity<T>(n)), "evj");
  std::copy(spd.values.begin(), spd.values.end(), d_a);
  std::copy(other.values.begin(), other.values.end(), d_other);
  DONE(N::gvj_bytes(handle, CUSOLVER_EIG_TYPE_1, kVectors, kLower, n, at(d_a), n, at(d_other), n, w, &lwork, jacobi));
  DONE(N::gvj(handle, CUSOLVER_EIG_TYPE_1, kVectors, kLower, n, at(d_a), n, at(d_other), n, w, at(work), lwork, info,
              jacobi));
  is_done("gvj");
  check(is_spectrum(d_a, w, other), "gvj");
  for (int i = 0; i < 2; ++i) std::copy(spd.values.begin(), spd.values.end(), pair + i * n * n);
  DONE(N::evj_batch_bytes(handle, kVectors, kLower, n, at(pair), n, w, &lwork, jacobi, 2));
  DONE(N::evj_batch(handle, kVectors, kLower, n, at(pair), n, w, at(work), lwork, info, jacobi, 2));
  is_done("evjBatched");
  check(is_spectrum(pair + n * n, w + n, identity<T>(n)), "evjBatched");
  DONE(cusolverDnDestroySyevjInfo(jacobi));

  // Singular values
  R* s = room<R>(2 * n);
  T* u = room<T>(2 * m * m);
  T* v = room<T>(2 * n * n);
  std::copy(tall.values.begin(), tall.values.end(), d_t);
  DONE(N::gesvd_bytes(handle, m, n, &lwork));
  DONE(N::gesvd(handle, 'A', 'A', m, n, at(d_t), m, s, at(u), m, at(v), n, at(work), lwork, nullptr, info));
  is_done("gesvd");
  check(near(Matrix<T>(m, m, u, m) * diagonal<T>(m, n, s) * Matrix<T>(n, n, v, n), tall), "gesvd");
  gesvdjInfo_t svd;
  DONE(cusolverDnCreateGesvdjInfo(&svd));
  DONE(cusolverDnXgesvdjSetMaxSweeps(svd, 15));
  for (int econ = 0; econ < 2; ++econ) {
    std::copy(tall.values.begin(), tall.values.end(), d_t);
    DONE(N::gesvdj_bytes(handle, kVectors, econ, m, n, at(d_t), m, s, at(u), m, at(v), n, &lwork, svd));
    DONE(N::gesvdj(handle, kVectors, econ, m, n, at(d_t), m, s, at(u), m, at(v), n, at(work), lwork, info, svd));
    is_done("gesvdj");
    const int columns = econ ? n : m;
    check(near(Matrix<T>(m, columns, u, m) * diagonal<T>(columns, n, s) * adjoint(Matrix<T>(n, n, v, n)), tall),
          "gesvdj", econ);
  }
  T* two = room<T>(2 * m * n);
  for (int i = 0; i < 2; ++i) std::copy(tall.values.begin(), tall.values.end(), two + i * m * n);
  DONE(N::gesvdj_batch_bytes(handle, kVectors, m, n, at(two), m, s, at(u), m, at(v), n, &lwork, svd, 2));
  DONE(N::gesvdj_batch(handle, kVectors, m, n, at(two), m, s, at(u), m, at(v), n, at(work), lwork, info, svd, 2));
  is_done("gesvdjBatched");
  check(near(Matrix<T>(m, m, u + m * m, m) * diagonal<T>(m, n, s + n) * adjoint(Matrix<T>(n, n, v + n * n, n)), tall),
        "gesvdjBatched");
  DONE(cusolverDnDestroyGesvdjInfo(svd));
}

/// The functions with types as arguments.
static void check_typed() {
  using C = std::complex<double>;
  const int n = 6;
  const auto type = CUDA_C_64F;
  cusolverDnParams_t params;
  DONE(cusolverDnCreateParams(&params));
  DONE(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_0));
  const Matrix<C> a = full<C>(n, n), x = full<C>(n, 2);
  Matrix<C> spd = a * adjoint(a);
  for (int i = 0; i < n; ++i) spd(i, i) += 1;
  std::size_t bytes = 0, on_host = 0;
  C *d_a = room(a.values), *d_b = room((a * x).values), *tau = room<C>(n), *u = room<C>(n * n), *vt = room<C>(n * n);
  double* w = room<double>(n);
  void* work = room<char>(1 << 16);
  std::int64_t* pivots = room<std::int64_t>(n);
  int* info = room<int>(1);
  const auto is_done = [&](const char* what) {
    cudaDeviceSynchronize();
    check(bytes <= 1 << 16 && *info == 0, what, *info);
  };
  const auto again = [&](const Matrix<C>& from) { std::copy(from.values.begin(), from.values.end(), d_a); };
  DONE(cusolverDnXgetrf_bufferSize(handle, params, n, n, type, d_a, n, type, &bytes, &on_host));
  DONE(cusolverDnXgetrf(handle, params, n, n, type, d_a, n, pivots, type, work, bytes, nullptr, on_host, info));
  DONE(cusolverDnXgetrs(handle, params, CUBLAS_OP_N, n, 2, type, d_a, n, pivots, type, d_b, n, info));
  is_done("Xgetrs");
  check(near(Matrix<C>(n, 2, d_b, n), x), "Xgetrs");
  again(spd);
  const Matrix<C> b = spd * x;
  std::copy(b.values.begin(), b.values.end(), d_b);
  DONE(cusolverDnXpotrf_bufferSize(handle, params, kLower, n, type, d_a, n, type, &bytes, &on_host));
  DONE(cusolverDnXpotrf(handle, params, kLower, n, type, d_a, n, type, work, bytes, nullptr, on_host, info));
  DONE(cusolverDnXpotrs(handle, params, kLower, n, 2, type, d_a, n, type, d_b, n, info));
  is_done("Xpotrs");
  check(near(Matrix<C>(n, 2, d_b, n), x), "Xpotrs");
  again(a);
  DONE(cusolverDnXgeqrf_bufferSize(handle, params, n, n, type, d_a, n, type, tau, type, &bytes, &on_host));
  DONE(cusolverDnXgeqrf(handle, params, n, n, type, d_a, n, type, tau, type, work, bytes, nullptr, on_host, info));
  is_done("Xgeqrf");
  Matrix<C> r(n, n, d_a, n);
  for (int j = 0; j < n; ++j)
    for (int i = j + 1; i < n; ++i) r(i, j) = 0;
  check(near(adjoint(r) * r, adjoint(a) * a), "Xgeqrf");
  again(spd);
  DONE(cusolverDnXsyevd_bufferSize(handle, params, kVectors, kLower, n, type, d_a, n, CUDA_R_64F, w, type, &bytes,
                                   &on_host));
  DONE(cusolverDnXsyevd(handle, params, kVectors, kLower, n, type, d_a, n, CUDA_R_64F, w, type, work, bytes, nullptr,
                        on_host, info));
  is_done("Xsyevd");
  const Matrix<C> v(n, n, d_a, n);
  check(near(spd * v, v * diagonal<C>(n, n, w)), "Xsyevd");
  again(a);
  DONE(cusolverDnXgesvd_bufferSize(handle, params, 'S', 'S', n, n, type, d_a, n, CUDA_R_64F, w, type, u, n, type, vt, n,
                                   type, &bytes, &on_host));
  DONE(cusolverDnXgesvd(handle, params, 'S', 'S', n, n, type, d_a, n, CUDA_R_64F, w, type, u, n, type, vt, n, type,
                        work, bytes, nullptr, on_host, info));
  is_done("Xgesvd");
  check(near(Matrix<C>(n, n, u, n) * diagonal<C>(n, n, w) * Matrix<C>(n, n, vt, n), a), "Xgesvd");
  check(cusolverDnXpotrf(handle, params, kLower, n, CUDA_R_16F, d_a, n, CUDA_R_16F, work, bytes, nullptr, 0, info) ==
            CUSOLVER_STATUS_NOT_SUPPORTED,
        "Xpotrf of halves");
  DONE(cusolverDnDestroyParams(params));
}

static void check_refusals() {
  float* a = room<float>(4096);
  int lwork = 0;
  int* info = room<int>(1);
  check(cusolverDnSpotrf_bufferSize(nullptr, kLower, 3, a, 3, &lwork) == CUSOLVER_STATUS_NOT_INITIALIZED, "no handle");
  check(cusolverDnSgetrf_bufferSize(handle, 4, 4, a, 3, &lwork) == CUSOLVER_STATUS_INVALID_VALUE, "lda");
  check(cusolverDnSgesvd_bufferSize(handle, 3, 4, &lwork) == CUSOLVER_STATUS_INVALID_VALUE, "a wide matrix");
  check(cusolverDnSpotrf(handle, kLower, 4, a, 4, a + 99, 1, info) == CUSOLVER_STATUS_INVALID_VALUE, "lwork");
}

int main(int arguments, char**) {
  DONE(cusolverDnCreate(&handle));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  DONE(cusolverDnSetStream(handle, stream));
  if (arguments > 1) {  // The pivots are one too few.
    double *a, *work;
    int* pivots;
    cudaMalloc(&a, 9 * sizeof(double));
    cudaMemset(a, 0, 9 * sizeof(double));
    cudaMalloc(&pivots, 2 * sizeof(int));
    int lwork;
    cusolverDnDgetrf_bufferSize(handle, 3, 3, a, 3, &lwork);
    cudaMalloc(&work, lwork * sizeof(double));
    cusolverDnDgetrf(handle, 3, 3, a, 3, work, pivots, pivots);
    cudaDeviceSynchronize();
    return 0;
  }
  check_type<float>();
  check_type<double>();
  check_type<std::complex<float>>();
  check_type<std::complex<double>>();
  check_typed();
  check_refusals();
  DONE(cusolverDnDestroy(handle));
  cudaStreamDestroy(stream);
  for (void* each : rooms) cudaFree(each);
  std::printf("%d wrong\n", bad);
}
