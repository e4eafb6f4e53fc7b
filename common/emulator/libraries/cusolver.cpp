/// \file
/// cuSOLVER's dense functions over the host's LAPACK. Each checks its arguments as cuSOLVER does and hands the rest to
/// the runtime: what the operation touches, and a call of LAPACK that is made when it is its turn in the handle's
/// stream. LAPACK works in memory of its own; the program's workspace is only looked at.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/emulator/include/cusolverDn.h"
#include "common/emulator/include/warpbook_library.h"

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};
struct syevjInfo {};
struct gesvdjInfo {};

/// Fortran's functions, which get the lengths of their words behind the other arguments.
#define WARPBOOK_LAPACK(T, R, x, sy, xgqr, xmqr, WORK, WORK_SIZE)                                                      \
  extern "C" {                                                                                                         \
  void x##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);                                          \
  void x##potrs_(const char*, const int*, const int*, const T*, const int*, T*, const int*, int*, std::size_t);        \
  void x##potri_(const char*, const int*, T*, const int*, int*, std::size_t);                                          \
  void x##getrf_(const int*, const int*, T*, const int*, int*, int*);                                                  \
  void x##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*,          \
                 std::size_t);                                                                                         \
  void x##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                                    \
  void xgqr(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                       \
  void xmqr(const char*, const char*, const int*, const int*, const int*, const T*, const int*, const T*, T*,          \
            const int*, T*, const int*, int*, std::size_t, std::size_t);                                               \
  void x##sy##evd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, WORK WORK_SIZE int*,      \
                   const int*, int*, std::size_t, std::size_t);                                                        \
  void x##sy##gvd_(const int*, const char*, const char*, const int*, T*, const int*, T*, const int*, R*, T*,           \
                   const int*, WORK WORK_SIZE int*, const int*, int*, std::size_t, std::size_t);                       \
  void x##gesvd_(const char*, const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*, const int*, \
                 T*, const int*, WORK int*, std::size_t, std::size_t);                                                 \
  }                                                                                                                    \
  template <> struct Lapack<T> {                                                                                       \
    using Real = R;                                                                                                    \
    static constexpr auto potrf = x##potrf_;                                                                           \
    static constexpr auto potrs = x##potrs_;                                                                           \
    static constexpr auto potri = x##potri_;                                                                           \
    static constexpr auto getrf = x##getrf_;                                                                           \
    static constexpr auto getrs = x##getrs_;                                                                           \
    static constexpr auto geqrf = x##geqrf_;                                                                           \
    static constexpr auto gqr = xgqr;                                                                                  \
    static constexpr auto mqr = xmqr;                                                                                  \
    static constexpr auto evd = x##sy##evd_;                                                                           \
    static constexpr auto gvd = x##sy##gvd_;                                                                           \
    static constexpr auto gesvd = x##gesvd_;                                                                           \
  };
#define WARPBOOK_NOTHING
#define WARPBOOK_AND ,
#define WARPBOOK_REALS(R) R* WARPBOOK_AND
#define WARPBOOK_SIZE const int* WARPBOOK_AND

namespace {
template <class T> struct Lapack;
WARPBOOK_LAPACK(float, float, s, sy, sorgqr_, sormqr_, WARPBOOK_NOTHING, WARPBOOK_NOTHING)
WARPBOOK_LAPACK(double, double, d, sy, dorgqr_, dormqr_, WARPBOOK_NOTHING, WARPBOOK_NOTHING)
WARPBOOK_LAPACK(std::complex<float>, float, c, he, cungqr_, cunmqr_, WARPBOOK_REALS(float), WARPBOOK_SIZE)
WARPBOOK_LAPACK(std::complex<double>, double, z, he, zungqr_, zunmqr_, WARPBOOK_REALS(double), WARPBOOK_SIZE)
}  // namespace
#undef WARPBOOK_LAPACK

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;
using warpbook::emulator::run_library_call;
using Operands = std::vector<LibraryOperand>;

template <class T> using RealOf = typename Lapack<T>::Real;
template <class T> constexpr bool kIsComplex = !std::is_same_v<T, RealOf<T>>;

/// CUDA's complex numbers as C++'s, which lie in memory in the same way.
template <class T> struct Host {
  using type = T;
};
template <> struct Host<cuComplex> {
  using type = std::complex<float>;
};
template <> struct Host<cuDoubleComplex> {
  using type = std::complex<double>;
};
template <class T> auto* host(T* a) { return reinterpret_cast<typename Host<T>::type*>(a); }
template <class T> const auto* host(const T* a) { return reinterpret_cast<const typename Host<T>::type*>(a); }
template <class T> auto* const* host_of_each(T* const* a) {
  return reinterpret_cast<typename Host<T>::type* const*>(a);
}

bool is_known(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER; }
bool is_known(cusolverEigMode_t mode) { return mode == CUSOLVER_EIG_MODE_NOVECTOR || mode == CUSOLVER_EIG_MODE_VECTOR; }
bool is_known(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }
bool is_known(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
bool is_leading(std::int64_t rows, std::int64_t ld) { return rows >= 0 && ld >= std::max<std::int64_t>(1, rows); }
bool is_count(std::int64_t n) { return n >= 0 && n <= std::numeric_limits<int>::max(); }

char letter(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
char letter(cusolverEigMode_t mode) { return mode == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N'; }
char letter(cublasOperation_t op) { return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C'; }

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(std::max<std::int64_t>(n, 0)); }

template <class T>
LibraryOperand matrix(const char* name, const T* a, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                      bool written) {
  return {name, a, size(rows) * sizeof(T), size(columns), size(ld) * sizeof(T), written};
}
template <class T> LibraryOperand vector(const char* name, const T* x, std::int64_t n, bool written) {
  return {name, x, size(n) * sizeof(T), 1, size(n) * sizeof(T), written};
}

/// Elements of the workspace that a function asks for.
int room(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kBlock = 32;
  return static_cast<int>(
      std::min<std::int64_t>(kBlock * std::max<std::int64_t>(1, m + n), std::numeric_limits<int>::max()));
}

const char* name_of(cusolverStatus_t status) {
  switch (status) {
  case CUSOLVER_STATUS_NOT_INITIALIZED:
    return "CUSOLVER_STATUS_NOT_INITIALIZED";
  case CUSOLVER_STATUS_INVALID_VALUE:
    return "CUSOLVER_STATUS_INVALID_VALUE";
  default:
    return "CUSOLVER_STATUS_NOT_SUPPORTED";
  }
}

/// Tells of the call that the status refuses; returns the status.
cusolverStatus_t refuse(cusolverStatus_t status, const char* function, const void* pc) {
  const char* const why = status == CUSOLVER_STATUS_NOT_INITIALIZED ? "the handle was not created"
                          : status == CUSOLVER_STATUS_INVALID_VALUE
                              ? "an extent, a leading dimension, the size of the workspace or a pointer cannot be"
                              : "the types do not go together, or are not emulated";
  warpbook::emulator::library_refused(function, pc, name_of(status), status, why);
  return status;
}

/// A call under way.
struct Call {
  cusolverDnHandle_t handle;
  const char* function;
  const void* pc;

  template <class T>
  cusolverStatus_t run_with(double flops, std::function<Operands()> operands, std::function<void()> work) const {
    LibraryCall call;
    call.function = function;
    call.pc = pc;
    call.stream = handle->stream;
    call.flops = kIsComplex<T> ? 4 * flops : flops;
    call.element_bytes = sizeof(RealOf<T>);
    call.operands = std::move(operands);
    call.run = std::move(work);
    return run_library_call(std::move(call)) == cudaSuccess ? CUSOLVER_STATUS_SUCCESS
                                                            : CUSOLVER_STATUS_EXECUTION_FAILED;
  }
  template <class T> cusolverStatus_t run(double flops, Operands operands, std::function<void()> work) const {
    return run_with<T>(flops, [operands = std::move(operands)] { return operands; }, std::move(work));
  }
};

cusolverStatus_t check(cusolverDnHandle_t handle, bool valid, const char* function, const void* pc) {
  if (handle == nullptr) return refuse(CUSOLVER_STATUS_NOT_INITIALIZED, function, pc);
  return valid ? CUSOLVER_STATUS_SUCCESS : refuse(CUSOLVER_STATUS_INVALID_VALUE, function, pc);
}

#define WARPBOOK_CALL(valid)                                                                                           \
  if (const cusolverStatus_t status = check(handle, valid, WARPBOOK_HERE); status != CUSOLVER_STATUS_SUCCESS)          \
    return status;                                                                                                     \
  [[maybe_unused]] const Call call { handle, WARPBOOK_HERE }

/// Calls a function of LAPACK twice: it tells how much memory it wants, and gets it.
template <class T, class Function> int with_work(Function call) {
  T wanted{};
  int info = call(&wanted, -1);
  if (info != 0) return info;
  std::vector<T> work(size(static_cast<std::int64_t>(std::real(wanted))) + 1);
  return call(work.data(), static_cast<int>(work.size()));
}

// ---- What the functions do

template <class T> int factor_cholesky(cublasFillMode_t uplo, int n, T* a, int lda) {
  const char half = letter(uplo);
  int info = 0;
  Lapack<T>::potrf(&half, &n, a, &lda, &info, 1);
  return info;
}
template <class T> int solve_cholesky(cublasFillMode_t uplo, int n, int columns, const T* a, int lda, T* b, int ldb) {
  const char half = letter(uplo);
  int info = 0;
  Lapack<T>::potrs(&half, &n, &columns, a, &lda, b, &ldb, &info, 1);
  return info;
}

/// A = L * U without exchanges of rows. Returns the first column, from 1, whose pivot is 0; 0 where there is none.
template <class T> int factor_as_it_stands(int m, int n, T* a, int lda) {
  int singular = 0;
  const auto at = [=](int i, int j) -> T& { return a[std::ptrdiff_t{j} * lda + i]; };
  for (int k = 0; k < std::min(m, n); ++k) {
    if (at(k, k) == T{}) {
      if (singular == 0) singular = k + 1;
      continue;
    }
    for (int i = k + 1; i < m; ++i) at(i, k) /= at(k, k);
    for (int j = k + 1; j < n; ++j)
      for (int i = k + 1; i < m; ++i) at(i, j) -= at(i, k) * at(k, j);
  }
  return singular;
}

/// A = P * L * U. Pivots have 32 or 64 bits; without memory for them, rows stay where they are.
template <class T, class Pivot> int factor_rows(int m, int n, T* a, int lda, Pivot* pivots) {
  if (pivots == nullptr) return factor_as_it_stands(m, n, a, lda);
  std::vector<int> found(size(std::min(m, n)) + 1);
  int info = 0;
  Lapack<T>::getrf(&m, &n, a, &lda, found.data(), &info);
  std::copy(found.begin(), found.end() - 1, pivots);
  return info;
}
template <class T, class Pivot>
int solve_rows(cublasOperation_t trans, int n, int columns, const T* a, int lda, const Pivot* pivots, T* b, int ldb) {
  std::vector<int> given(size(n) + 1);
  for (int i = 0; i < n; ++i)
    given[size(i)] = pivots == nullptr ? i + 1 : std::clamp(static_cast<int>(pivots[i]), 1, n);
  const char op = letter(trans);
  int info = 0;
  Lapack<T>::getrs(&op, &n, &columns, a, &lda, given.data(), b, &ldb, &info, 1);
  return info;
}

template <class T> int factor_orthogonal(int m, int n, T* a, int lda, T* tau) {
  return with_work<T>([=](T* work, int lwork) {
    int info = 0;
    Lapack<T>::geqrf(&m, &n, a, &lda, tau, work, &lwork, &info);
    return info;
  });
}

/// Eigenvalues of A, or of A and B; eigenvectors in the place of A.
template <class T>
int eigenvalues(int type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, T* b, int ldb,
                RealOf<T>* w) {
  if (n == 0) return 0;
  const char job = letter(jobz);
  const char half = letter(uplo);
  // What LAPACK's manual asks for at least.
  const auto count = static_cast<std::int64_t>(n);
  const auto square = 2 * count * count;
  int lwork = static_cast<int>(std::min<std::int64_t>(1 + 6 * count + square, std::numeric_limits<int>::max()));
  int lrwork = static_cast<int>(std::min<std::int64_t>(1 + 5 * count + square, std::numeric_limits<int>::max()));
  int liwork = 3 + 5 * n;
  std::vector<T> work(size(lwork));
  std::vector<RealOf<T>> rwork(kIsComplex<T> ? size(lrwork) : 0);
  std::vector<int> iwork(size(liwork));
  int info = 0;
  if constexpr (kIsComplex<T>) {
    if (b == nullptr)
      Lapack<T>::evd(&job, &half, &n, a, &lda, w, work.data(), &lwork, rwork.data(), &lrwork, iwork.data(), &liwork,
                     &info, 1, 1);
    else
      Lapack<T>::gvd(&type, &job, &half, &n, a, &lda, b, &ldb, w, work.data(), &lwork, rwork.data(), &lrwork,
                     iwork.data(), &liwork, &info, 1, 1);
  } else {
    if (b == nullptr)
      Lapack<T>::evd(&job, &half, &n, a, &lda, w, work.data(), &lwork, iwork.data(), &liwork, &info, 1, 1);
    else
      Lapack<T>::gvd(&type, &job, &half, &n, a, &lda, b, &ldb, w, work.data(), &lwork, iwork.data(), &liwork, &info, 1,
                     1);
  }
  return info;
}

/// A = U * S * VT; A is lost.
template <class T>
int singular_values(char jobu, char jobvt, int m, int n, T* a, int lda, RealOf<T>* s, T* u, int ldu, T* vt, int ldvt) {
  if (std::min(m, n) == 0) return 0;
  std::vector<RealOf<T>> reals(5 * size(std::min(m, n)));
  ldu = std::max(1, ldu);
  ldvt = std::max(1, ldvt);
  return with_work<T>([&](T* work, int lwork) {
    int info = 0;
    if constexpr (kIsComplex<T>)
      Lapack<T>::gesvd(&jobu, &jobvt, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, reals.data(), &info, 1, 1);
    else
      Lapack<T>::gesvd(&jobu, &jobvt, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, &info, 1, 1);
    return info;
  });
}

template <class T> T conjugate(T value) {
  if constexpr (kIsComplex<T>)
    return std::conj(value);
  else
    return value;
}

/// A = U * S * V^H, where V is asked for. U and V are whole or have as many columns as there are values.
template <class T>
int singular_vectors(bool vectors, bool whole, int m, int n, T* a, int lda, RealOf<T>* s, T* u, int ldu, T* v,
                     int ldv) {
  if (!vectors) return singular_values('N', 'N', m, n, a, lda, s, u, 1, v, 1);
  const char job = whole ? 'A' : 'S';
  const int rows = whole ? n : std::min(m, n);
  std::vector<T> vt(size(rows) * size(n) + 1);
  const int info = singular_values(job, job, m, n, a, lda, s, u, ldu, vt.data(), rows);
  for (int j = 0; j < rows; ++j)
    for (int i = 0; i < n; ++i) v[std::ptrdiff_t{j} * ldv + i] = conjugate(vt[size(i) * size(rows) + size(j)]);
  return info;
}

// ---- Calls

template <class T>
cusolverStatus_t potrf(const Call& call, cublasFillMode_t uplo, int n, T* a, int lda, Operands work, int* info) {
  work.push_back(matrix("A", a, n, n, lda, true));
  work.push_back(vector("devInfo", info, 1, true));
  return call.run<T>(n / 3.0 * n * n, std::move(work), [=] { *info = factor_cholesky(uplo, n, a, lda); });
}

template <class T>
cusolverStatus_t potrs(const Call& call, cublasFillMode_t uplo, int n, int columns, const T* a, int lda, T* b, int ldb,
                       int* info) {
  return call.run<T>(
      2.0 * n * n * columns,
      {matrix("A", a, n, n, lda, false), matrix("B", b, n, columns, ldb, true), vector("devInfo", info, 1, true)},
      [=] { *info = solve_cholesky(uplo, n, columns, a, lda, b, ldb); });
}

/// A batch of matrices that pointers in device memory lead to, and right sides.
template <class T>
cusolverStatus_t cholesky_batch(const Call& call, double flops, int n, T* const* a, int lda, bool a_written,
                                T* const* b, int ldb, int* info, int results, int batch, std::function<int(int)> work) {
  Operands arrays{vector("Aarray", a, batch, false)};
  if (b != nullptr) arrays.push_back(vector("Barray", b, batch, false));
  const cusolverStatus_t status = call.run<T>(0, arrays, [] {});
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  const auto operands = [=] {
    Operands all{vector("infoArray", info, results, true)};
    for (int i = 0; i < batch; ++i) {
      all.push_back(matrix("A", a[i], n, n, lda, a_written));
      if (b != nullptr) all.push_back(matrix("B", b[i], n, 1, ldb, true));
    }
    return all;
  };
  return call.run_with<T>(flops * batch, operands, [=] {
    for (int i = 0; i < batch; ++i) {
      const int done = work(i);
      if (i < results) info[i] = done;
    }
  });
}

template <class T, class Pivot>
cusolverStatus_t getrf(const Call& call, int m, int n, T* a, int lda, Pivot* pivots, Operands work, int* info) {
  work.push_back(matrix("A", a, m, n, lda, true));
  if (pivots != nullptr) work.push_back(vector("devIpiv", pivots, std::min(m, n), true));
  work.push_back(vector("devInfo", info, 1, true));
  const double k = std::min(m, n);
  return call.run<T>(k * k * (std::max(m, n) - k / 3), std::move(work),
                     [=] { *info = factor_rows(m, n, a, lda, pivots); });
}

template <class T, class Pivot>
cusolverStatus_t getrs(const Call& call, cublasOperation_t trans, int n, int columns, const T* a, int lda,
                       const Pivot* pivots, T* b, int ldb, int* info) {
  Operands operands{matrix("A", a, n, n, lda, false), matrix("B", b, n, columns, ldb, true),
                    vector("devInfo", info, 1, true)};
  if (pivots != nullptr) operands.push_back(vector("devIpiv", pivots, n, false));
  return call.run<T>(2.0 * n * n * columns, std::move(operands),
                     [=] { *info = solve_rows(trans, n, columns, a, lda, pivots, b, ldb); });
}

template <class T>
cusolverStatus_t geqrf(const Call& call, int m, int n, T* a, int lda, T* tau, Operands work, int* info) {
  work.push_back(matrix("A", a, m, n, lda, true));
  work.push_back(vector("TAU", tau, std::min(m, n), true));
  work.push_back(vector("devInfo", info, 1, true));
  const double k = std::min(m, n);
  return call.run<T>(2 * k * k * (std::max(m, n) - k / 3), std::move(work),
                     [=] { *info = factor_orthogonal(m, n, a, lda, tau); });
}

template <class T>
cusolverStatus_t evd(const Call& call, int type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda,
                     T* b, int ldb, RealOf<T>* w, Operands work, int* info, int batch = 1) {
  work.push_back(matrix("A", a, n, std::int64_t{n} * batch, lda, true));
  if (b != nullptr) work.push_back(matrix("B", b, n, n, ldb, true));
  work.push_back(vector("W", w, std::int64_t{n} * batch, true));
  work.push_back(vector("devInfo", info, batch, true));
  return call.run<T>(9.0 * n * n * n * batch, std::move(work), [=] {
    for (int i = 0; i < batch; ++i)
      info[i] =
          eigenvalues(type, jobz, uplo, n, a + std::ptrdiff_t{i} * lda * n, lda, b, ldb, w + std::ptrdiff_t{i} * n);
  });
}

template <class T>
cusolverStatus_t gesvd(const Call& call, char jobu, char jobvt, int m, int n, T* a, int lda, RealOf<T>* s, T* u,
                       int ldu, T* vt, int ldvt, Operands work, int* info) {
  work.push_back(matrix("A", a, m, n, lda, true));
  work.push_back(vector("S", s, std::min(m, n), true));
  if (jobu == 'A' || jobu == 'S') work.push_back(matrix("U", u, m, jobu == 'A' ? m : n, ldu, true));
  if (jobvt == 'A' || jobvt == 'S') work.push_back(matrix("VT", vt, n, n, ldvt, true));
  work.push_back(vector("devInfo", info, 1, true));
  return call.run<T>(14.0 * m * n * n, std::move(work),
                     [=] { *info = singular_values(jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt); });
}
bool is_job(signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }
bool are_vectors(signed char jobu, signed char jobvt, std::int64_t m, std::int64_t n, std::int64_t lda,
                 std::int64_t ldu, std::int64_t ldvt) {
  return is_job(jobu) && is_job(jobvt) && !(jobu == 'O' && jobvt == 'O') && is_count(m) && is_count(n) && m >= n &&
         is_leading(m, lda) && (jobu == 'N' || jobu == 'O' || is_leading(m, ldu)) &&
         (jobvt == 'N' || jobvt == 'O' || is_leading(n, ldvt));
}

template <class T>
cusolverStatus_t gesvdj(const Call& call, cusolverEigMode_t jobz, bool whole, int m, int n, T* a, int lda, RealOf<T>* s,
                        T* u, int ldu, T* v, int ldv, Operands work, int* info, int batch = 1) {
  const int values = std::min(m, n);
  const bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
  const int columns_u = whole ? m : values;
  const int columns_v = whole ? n : values;
  work.push_back(matrix("A", a, m, std::int64_t{n} * batch, lda, true));
  work.push_back(vector("S", s, std::int64_t{values} * batch, true));
  if (vectors) {
    work.push_back(matrix("U", u, m, std::int64_t{columns_u} * batch, ldu, true));
    work.push_back(matrix("V", v, n, std::int64_t{columns_v} * batch, ldv, true));
  }
  work.push_back(vector("info", info, batch, true));
  return call.run<T>(14.0 * m * n * values * batch, std::move(work), [=] {
    for (std::ptrdiff_t i = 0; i < batch; ++i)
      info[i] = singular_vectors(vectors, whole, m, n, a + i * lda * n, lda, s + i * values, u + i * ldu * columns_u,
                                 ldu, v + i * ldv * columns_v, ldv);
  });
}

/// A function that tells how large the workspace is to be.
cusolverStatus_t tell_room(cusolverDnHandle_t handle, bool valid, int wanted, int* lwork, const char* function,
                           const void* pc) {
  const cusolverStatus_t status = check(handle, valid && lwork != nullptr, function, pc);
  if (status == CUSOLVER_STATUS_SUCCESS) *lwork = wanted;
  return status;
}
#define WARPBOOK_ROOM(valid, m, n) return tell_room(handle, valid, room(m, n), lwork, WARPBOOK_HERE)

Operands workspace(const void* work, int lwork, std::size_t element) {
  return {{"the workspace", work, size(lwork) * element, 1, size(lwork) * element, true}};
}

// ---- Types as arguments

template <class Work> bool by_type(cudaDataType type, Work work) {
  switch (type) {
  case CUDA_R_32F:
    return work(float{});
  case CUDA_R_64F:
    return work(double{});
  case CUDA_C_32F:
    return work(std::complex<float>{});
  case CUDA_C_64F:
    return work(std::complex<double>{});
  default:
    return false;
  }
}
std::size_t bytes_of(cudaDataType type) {
  std::size_t bytes = 0;
  by_type(type, [&](auto zero) { return (bytes = sizeof(zero)) != 0; });
  return bytes;
}
cudaDataType real_of(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

cusolverStatus_t tell_bytes(cusolverDnHandle_t handle, bool valid, cudaDataType type, std::int64_t elements,
                            std::size_t* device, std::size_t* of_host, const char* function, const void* pc) {
  const cusolverStatus_t status = check(handle, valid && device != nullptr && of_host != nullptr, function, pc);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  if (bytes_of(type) == 0) return refuse(CUSOLVER_STATUS_NOT_SUPPORTED, function, pc);
  *device = size(elements) * bytes_of(type);
  *of_host = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

/// Calls `work(zero of the type, operands with the workspace)`, if the types go together.
template <class Work>
cusolverStatus_t typed(const Call& call, cudaDataType type, bool goes, const void* device, std::size_t bytes,
                       std::int64_t elements, Work work) {
  if (!goes || bytes_of(type) == 0) return refuse(CUSOLVER_STATUS_NOT_SUPPORTED, call.function, call.pc);
  if (bytes < size(elements) * bytes_of(type)) return refuse(CUSOLVER_STATUS_INVALID_VALUE, call.function, call.pc);
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
  by_type(type, [&](auto zero) {
    status = work(zero, elements == 0 ? Operands{} : Operands{{"the workspace", device, bytes, 1, bytes, true}});
    return true;
  });
  return status;
}

template <class Object> cusolverStatus_t create(Object** made, const char* function, const void* pc) {
  if (made == nullptr) return refuse(CUSOLVER_STATUS_INVALID_VALUE, function, pc);
  *made = new Object;  // NOLINT(cppcoreguidelines-owning-memory): destroyed by the program
  return CUSOLVER_STATUS_SUCCESS;
}
template <class Object> cusolverStatus_t destroy(Object* made, const char* function, const void* pc) {
  if (made == nullptr) return refuse(CUSOLVER_STATUS_INVALID_VALUE, function, pc);
  delete made;  // NOLINT(cppcoreguidelines-owning-memory)
  return CUSOLVER_STATUS_SUCCESS;
}
/// Hints for methods that are not here change nothing.
template <class... Pointers> cusolverStatus_t take(const char* function, const void* pc, Pointers... pointers) {
  return ((pointers == nullptr) || ...) ? refuse(CUSOLVER_STATUS_INVALID_VALUE, function, pc) : CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

// ---- Handles

cusolverStatus_t cusolverGetVersion(int* version) {
  if (version != nullptr) *version = CUSOLVER_VERSION;
  return take(WARPBOOK_HERE, version);
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value) {
  if (value != nullptr)
    *value = type == MAJOR_VERSION   ? CUSOLVER_VER_MAJOR
             : type == MINOR_VERSION ? CUSOLVER_VER_MINOR
                                     : CUSOLVER_VER_PATCH;
  return take(WARPBOOK_HERE, value);
}
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) { return create(handle, WARPBOOK_HERE); }
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) { return destroy(handle, WARPBOOK_HERE); }
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  if (handle != nullptr) handle->stream = stream;
  return check(handle, true, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  if (handle != nullptr && stream != nullptr) *stream = handle->stream;
  return check(handle, stream != nullptr, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) { return create(params, WARPBOOK_HERE); }
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) { return destroy(params, WARPBOOK_HERE); }
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t, cusolverAlgMode_t) {
  return take(WARPBOOK_HERE, params);
}
#define WARPBOOK_JACOBI(Syevj, X)                                                                                      \
  cusolverStatus_t cusolverDnCreate##Syevj##Info(X##Info_t* info) { return create(info, WARPBOOK_HERE); }              \
  cusolverStatus_t cusolverDnDestroy##Syevj##Info(X##Info_t info) { return destroy(info, WARPBOOK_HERE); }             \
  cusolverStatus_t cusolverDnX##X##SetTolerance(X##Info_t info, double) { return take(WARPBOOK_HERE, info); }          \
  cusolverStatus_t cusolverDnX##X##SetMaxSweeps(X##Info_t info, int) { return take(WARPBOOK_HERE, info); }             \
  cusolverStatus_t cusolverDnX##X##SetSortEig(X##Info_t info, int) { return take(WARPBOOK_HERE, info); }               \
  cusolverStatus_t cusolverDnX##X##GetResidual(cusolverDnHandle_t, X##Info_t info, double* residual) {                 \
    if (residual != nullptr) *residual = 0;                                                                            \
    return take(WARPBOOK_HERE, info, residual);                                                                        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDnX##X##GetSweeps(cusolverDnHandle_t, X##Info_t info, int* sweeps) {                        \
    if (sweeps != nullptr) *sweeps = 0;                                                                                \
    return take(WARPBOOK_HERE, info, sweeps);                                                                          \
  }
WARPBOOK_JACOBI(Syevj, syevj)
WARPBOOK_JACOBI(Gesvdj, gesvdj)
#undef WARPBOOK_JACOBI

// ---- By type

#define WARPBOOK_SOLVERS(T, R, x, sy, gqrs, mqrs)                                                                      \
  cusolverStatus_t cusolverDn##x##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T*,        \
                                                   int lda, int* lwork) {                                              \
    WARPBOOK_ROOM(is_known(uplo) && is_leading(n, lda), n, 0);                                                         \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda,        \
                                        T* work, int lwork, int* info) {                                               \
    WARPBOOK_CALL(is_known(uplo) && is_leading(n, lda) && lwork >= room(n, 0) && info != nullptr);                     \
    return potrf(call, uplo, n, host(a), lda, workspace(work, lwork, sizeof(T)), info);                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs, const T* a, \
                                        int lda, T* b, int ldb, int* info) {                                           \
    WARPBOOK_CALL(is_known(uplo) && nrhs >= 0 && is_leading(n, lda) && is_leading(n, ldb) && info != nullptr);         \
    return potrs(call, uplo, n, nrhs, host(a), lda, host(b), ldb, info);                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a[],        \
                                               int lda, int* info, int batch) {                                        \
    WARPBOOK_CALL(is_known(uplo) && is_leading(n, lda) && batch >= 0 && info != nullptr);                              \
    return cholesky_batch(call, n / 3.0 * n * n, n, host_of_each(a), lda, true, decltype(host_of_each(a)){}, 1, info,  \
                          batch, batch, [=](int i) { return factor_cholesky(uplo, n, host(a[i]), lda); });             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potrsBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,      \
                                               T* a[], int lda, T* b[], int ldb, int* info, int batch) {               \
    WARPBOOK_CALL(is_known(uplo) && nrhs == 1 && is_leading(n, lda) && is_leading(n, ldb) && batch >= 0 &&             \
                  info != nullptr);                                                                                    \
    return cholesky_batch(call, 2.0 * n * n, n, host_of_each(a), lda, false, host_of_each(b), ldb, info, 1, batch,     \
                          [=](int i) { return solve_cholesky(uplo, n, 1, host(a[i]), lda, host(b[i]), ldb); });        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T*,        \
                                                   int lda, int* lwork) {                                              \
    WARPBOOK_ROOM(is_known(uplo) && is_leading(n, lda), n, 0);                                                         \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##potri(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda,        \
                                        T* work, int lwork, int* info) {                                               \
    WARPBOOK_CALL(is_known(uplo) && is_leading(n, lda) && lwork >= room(n, 0) && info != nullptr);                     \
    Operands operands = workspace(work, lwork, sizeof(T));                                                             \
    operands.push_back(matrix("A", a, n, n, lda, true));                                                               \
    operands.push_back(vector("devInfo", info, 1, true));                                                              \
    return call.run<Host<T>::type>(2.0 / 3 * n * n * n, std::move(operands), [=] {                                     \
      const char half = letter(uplo);                                                                                  \
      Lapack<Host<T>::type>::potri(&half, &n, host(a), &lda, info, 1);                                                 \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T*, int lda, int* lwork) { \
    WARPBOOK_ROOM(n >= 0 && is_leading(m, lda), m, n);                                                                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* work, int* pivots,  \
                                        int* info) {                                                                   \
    WARPBOOK_CALL(n >= 0 && is_leading(m, lda) && info != nullptr);                                                    \
    return getrf(call, m, n, host(a), lda, pivots, workspace(work, room(m, n), sizeof(T)), info);                      \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##getrs(cusolverDnHandle_t handle, cublasOperation_t trans, int n, int nrhs,           \
                                        const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {            \
    WARPBOOK_CALL(is_known(trans) && nrhs >= 0 && is_leading(n, lda) && is_leading(n, ldb) && info != nullptr);        \
    return getrs(call, trans, n, nrhs, host(a), lda, pivots, host(b), ldb, info);                                      \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T*, int lda, int* lwork) { \
    WARPBOOK_ROOM(n >= 0 && is_leading(m, lda), 0, n);                                                                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T* work,       \
                                        int lwork, int* info) {                                                        \
    WARPBOOK_CALL(n >= 0 && is_leading(m, lda) && lwork >= room(0, n) && info != nullptr);                             \
    return geqrf(call, m, n, host(a), lda, host(tau), workspace(work, lwork, sizeof(T)), info);                        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gqrs##_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const T*, int lda, \
                                                    const T*, int* lwork) {                                            \
    WARPBOOK_ROOM(k >= 0 && n >= k && m >= n && is_leading(m, lda), 0, n);                                             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gqrs(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau,    \
                                       T* work, int lwork, int* info) {                                                \
    WARPBOOK_CALL(k >= 0 && n >= k && m >= n && is_leading(m, lda) && lwork >= room(0, n) && info != nullptr);         \
    Operands operands = workspace(work, lwork, sizeof(T));                                                             \
    operands.push_back(matrix("A", a, m, n, lda, true));                                                               \
    operands.push_back(vector("tau", tau, k, false));                                                                  \
    operands.push_back(vector("info", info, 1, true));                                                                 \
    using Element = Host<T>::type;                                                                                     \
    return call.run<Element>(4.0 * m * n * k, std::move(operands), [=] {                                               \
      *info = with_work<Element>([=](Element* room_of_its_own, int elements) {                                         \
        int result = 0;                                                                                                \
        Lapack<Element>::gqr(&m, &n, &k, host(a), &lda, host(tau), room_of_its_own, &elements, &result);               \
        return result;                                                                                                 \
      });                                                                                                              \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##mqrs##_bufferSize(cusolverDnHandle_t handle, cublasSideMode_t side,                  \
                                                    cublasOperation_t trans, int m, int n, int k, const T*, int lda,   \
                                                    const T*, const T*, int ldc, int* lwork) {                         \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    WARPBOOK_ROOM(is_known(side) && is_known(trans) && n >= 0 && k >= 0 && k <= order && is_leading(order, lda) &&     \
                      is_leading(m, ldc),                                                                              \
                  m, n);                                                                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##mqrs(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans,      \
                                       int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T* work, \
                                       int lwork, int* info) {                                                         \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    using Element = Host<T>::type;                                                                                     \
    WARPBOOK_CALL(is_known(side) && is_known(trans) && (!kIsComplex<Element> || trans != CUBLAS_OP_T) && n >= 0 &&     \
                  k >= 0 && k <= order && is_leading(order, lda) && is_leading(m, ldc) && lwork >= room(m, n) &&       \
                  info != nullptr);                                                                                    \
    Operands operands = workspace(work, lwork, sizeof(T));                                                             \
    operands.push_back(matrix("A", a, order, k, lda, false));                                                          \
    operands.push_back(vector("tau", tau, k, false));                                                                  \
    operands.push_back(matrix("C", c, m, n, ldc, true));                                                               \
    operands.push_back(vector("devInfo", info, 1, true));                                                              \
    return call.run<Element>(4.0 * m * n * k, std::move(operands), [=] {                                               \
      const char left = side == CUBLAS_SIDE_LEFT ? 'L' : 'R';                                                          \
      const char op = trans == CUBLAS_OP_N ? 'N' : kIsComplex<Element> ? 'C' : 'T';                                    \
      *info = with_work<Element>([=](Element* room_of_its_own, int elements) {                                         \
        int result = 0;                                                                                                \
        Lapack<Element>::mqr(&left, &op, &m, &n, &k, host(a), &lda, host(tau), host(c), &ldc, room_of_its_own,         \
                             &elements, &result, 1, 1);                                                                \
        return result;                                                                                                 \
      });                                                                                                              \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evd_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                \
                                                     cublasFillMode_t uplo, int n, const T*, int lda, const R*,        \
                                                     int* lwork) {                                                     \
    WARPBOOK_ROOM(is_known(jobz) && is_known(uplo) && is_leading(n, lda), n, n);                                       \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evd(cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo,    \
                                          int n, T* a, int lda, R* w, T* work, int lwork, int* info) {                 \
    WARPBOOK_CALL(is_known(jobz) && is_known(uplo) && is_leading(n, lda) && lwork >= room(n, n) && info != nullptr);   \
    return evd(call, 1, jobz, uplo, n, host(a), lda, decltype(host(a)){}, 1, w, workspace(work, lwork, sizeof(T)),     \
               info);                                                                                                  \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##gvd_bufferSize(cusolverDnHandle_t handle, cusolverEigType_t type,                \
                                                     cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T*,   \
                                                     int lda, const T*, int ldb, const R*, int* lwork) {               \
    WARPBOOK_ROOM(                                                                                                     \
        type >= 1 && type <= 3 && is_known(jobz) && is_known(uplo) && is_leading(n, lda) && is_leading(n, ldb), n, n); \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##gvd(cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz,   \
                                          cublasFillMode_t uplo, int n, T* a, int lda, T* b, int ldb, R* w, T* work,   \
                                          int lwork, int* info) {                                                      \
    WARPBOOK_CALL(type >= 1 && type <= 3 && is_known(jobz) && is_known(uplo) && is_leading(n, lda) &&                  \
                  is_leading(n, ldb) && lwork >= room(n, n) && info != nullptr);                                       \
    return evd(call, type, jobz, uplo, n, host(a), lda, host(b), ldb, w, workspace(work, lwork, sizeof(T)), info);     \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                \
                                                     cublasFillMode_t uplo, int n, const T*, int lda, const R*,        \
                                                     int* lwork, syevjInfo_t) {                                        \
    WARPBOOK_ROOM(is_known(jobz) && is_known(uplo) && is_leading(n, lda), n, n);                                       \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evj(cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo,    \
                                          int n, T* a, int lda, R* w, T* work, int lwork, int* info, syevjInfo_t) {    \
    WARPBOOK_CALL(is_known(jobz) && is_known(uplo) && is_leading(n, lda) && lwork >= room(n, n) && info != nullptr);   \
    return evd(call, 1, jobz, uplo, n, host(a), lda, decltype(host(a)){}, 1, w, workspace(work, lwork, sizeof(T)),     \
               info);                                                                                                  \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##gvj_bufferSize(cusolverDnHandle_t handle, cusolverEigType_t type,                \
                                                     cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T*,   \
                                                     int lda, const T*, int ldb, const R*, int* lwork, syevjInfo_t) {  \
    WARPBOOK_ROOM(                                                                                                     \
        type >= 1 && type <= 3 && is_known(jobz) && is_known(uplo) && is_leading(n, lda) && is_leading(n, ldb), n, n); \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##gvj(cusolverDnHandle_t handle, cusolverEigType_t type, cusolverEigMode_t jobz,   \
                                          cublasFillMode_t uplo, int n, T* a, int lda, T* b, int ldb, R* w, T* work,   \
                                          int lwork, int* info, syevjInfo_t) {                                         \
    WARPBOOK_CALL(type >= 1 && type <= 3 && is_known(jobz) && is_known(uplo) && is_leading(n, lda) &&                  \
                  is_leading(n, ldb) && lwork >= room(n, n) && info != nullptr);                                       \
    return evd(call, type, jobz, uplo, n, host(a), lda, host(b), ldb, w, workspace(work, lwork, sizeof(T)), info);     \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evjBatched_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,         \
                                                            cublasFillMode_t uplo, int n, const T*, int lda, const R*, \
                                                            int* lwork, syevjInfo_t, int batch) {                      \
    WARPBOOK_ROOM(is_known(jobz) && is_known(uplo) && is_leading(n, lda) && batch >= 0, n, n);                         \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##sy##evjBatched(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                    \
                                                 cublasFillMode_t uplo, int n, T* a, int lda, R* w, T* work,           \
                                                 int lwork, int* info, syevjInfo_t, int batch) {                       \
    WARPBOOK_CALL(is_known(jobz) && is_known(uplo) && is_leading(n, lda) && lwork >= room(n, n) && batch >= 0 &&       \
                  info != nullptr);                                                                                    \
    return evd(call, 1, jobz, uplo, n, host(a), lda, decltype(host(a)){}, 1, w, workspace(work, lwork, sizeof(T)),     \
               info, batch);                                                                                           \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, int* lwork) {              \
    WARPBOOK_ROOM(n >= 0 && m >= n, m, n);                                                                             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvd(cusolverDnHandle_t handle, signed char jobu, signed char jobvt, int m, int n,  \
                                        T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T* work, int lwork, R*,   \
                                        int* info) {                                                                   \
    WARPBOOK_CALL(are_vectors(jobu, jobvt, m, n, lda, ldu, ldvt) && lwork >= room(m, n) && info != nullptr);           \
    return gesvd(call, jobu, jobvt, m, n, host(a), lda, s, host(u), ldu, host(vt), ldvt,                               \
                 workspace(work, lwork, sizeof(T)), info);                                                             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int, int m,     \
                                                    int n, const T*, int lda, const R*, const T*, int, const T*, int,  \
                                                    int* lwork, gesvdjInfo_t) {                                        \
    WARPBOOK_ROOM(is_known(jobz) && n >= 0 && is_leading(m, lda), m, n);                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m, int n,    \
                                         T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T* work, int lwork,        \
                                         int* info, gesvdjInfo_t) {                                                    \
    WARPBOOK_CALL(is_known(jobz) && n >= 0 && is_leading(m, lda) && lwork >= room(m, n) && info != nullptr &&          \
                  (jobz == CUSOLVER_EIG_MODE_NOVECTOR || (is_leading(m, ldu) && is_leading(n, ldv))));                 \
    return gesvdj(call, jobz, econ == 0, m, n, host(a), lda, s, host(u), ldu, host(v), ldv,                            \
                  workspace(work, lwork, sizeof(T)), info);                                                            \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvdjBatched_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m,   \
                                                           int n, const T*, int lda, const R*, const T*, int,          \
                                                           const T*, int, int* lwork, gesvdjInfo_t, int batch) {       \
    WARPBOOK_ROOM(is_known(jobz) && n >= 0 && n <= 32 && m <= 32 && is_leading(m, lda) && batch >= 0, m, n);           \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##x##gesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, T* a, \
                                                int lda, R* s, T* u, int ldu, T* v, int ldv, T* work, int lwork,       \
                                                int* info, gesvdjInfo_t, int batch) {                                  \
    WARPBOOK_CALL(is_known(jobz) && n >= 0 && n <= 32 && m <= 32 && is_leading(m, lda) && lwork >= room(m, n) &&       \
                  batch >= 0 && info != nullptr &&                                                                     \
                  (jobz == CUSOLVER_EIG_MODE_NOVECTOR || (is_leading(m, ldu) && is_leading(n, ldv))));                 \
    return gesvdj(call, jobz, true, m, n, host(a), lda, s, host(u), ldu, host(v), ldv,                                 \
                  workspace(work, lwork, sizeof(T)), info, batch);                                                     \
  }
WARPBOOK_SOLVERS(float, float, S, sy, orgqr, ormqr)
WARPBOOK_SOLVERS(double, double, D, sy, orgqr, ormqr)
WARPBOOK_SOLVERS(cuComplex, float, C, he, ungqr, unmqr)
WARPBOOK_SOLVERS(cuDoubleComplex, double, Z, he, ungqr, unmqr)
#undef WARPBOOK_SOLVERS

// ---- With types as arguments

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo,
                                             std::int64_t n, cudaDataType type_a, const void*, std::int64_t lda,
                                             cudaDataType, std::size_t* device_bytes, std::size_t* host_bytes) {
  return tell_bytes(handle, is_known(uplo) && is_count(n) && is_leading(n, lda), type_a, room(n, 0), device_bytes,
                    host_bytes, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo, std::int64_t n,
                                  cudaDataType type_a, void* a, std::int64_t lda, cudaDataType compute,
                                  void* device_work, std::size_t device_bytes, void*, std::size_t, int* info) {
  WARPBOOK_CALL(is_known(uplo) && is_count(n) && is_count(lda) && is_leading(n, lda) && info != nullptr);
  return typed(call, type_a, compute == type_a, device_work, device_bytes, room(n, 0), [&](auto zero, Operands work) {
    return potrf(call, uplo, static_cast<int>(n), static_cast<decltype(zero)*>(a), static_cast<int>(lda),
                 std::move(work), info);
  });
}
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo, std::int64_t n,
                                  std::int64_t nrhs, cudaDataType type_a, const void* a, std::int64_t lda,
                                  cudaDataType type_b, void* b, std::int64_t ldb, int* info) {
  WARPBOOK_CALL(is_known(uplo) && is_count(n) && is_count(nrhs) && is_count(lda) && is_count(ldb) &&
                is_leading(n, lda) && is_leading(n, ldb) && info != nullptr);
  return typed(call, type_a, type_b == type_a, nullptr, 0, 0, [&](auto zero, const Operands&) {
    using T = decltype(zero);
    return potrs(call, uplo, static_cast<int>(n), static_cast<int>(nrhs), static_cast<const T*>(a),
                 static_cast<int>(lda), static_cast<T*>(b), static_cast<int>(ldb), info);
  });
}
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, std::int64_t m,
                                             std::int64_t n, cudaDataType type_a, const void*, std::int64_t lda,
                                             cudaDataType, std::size_t* device_bytes, std::size_t* host_bytes) {
  return tell_bytes(handle, is_count(m) && is_count(n) && is_leading(m, lda), type_a, room(m, n), device_bytes,
                    host_bytes, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t, std::int64_t m, std::int64_t n,
                                  cudaDataType type_a, void* a, std::int64_t lda, std::int64_t* pivots,
                                  cudaDataType compute, void* device_work, std::size_t device_bytes, void*, std::size_t,
                                  int* info) {
  WARPBOOK_CALL(is_count(m) && is_count(n) && is_count(lda) && is_leading(m, lda) && info != nullptr);
  return typed(call, type_a, compute == type_a, device_work, device_bytes, room(m, n), [&](auto zero, Operands work) {
    return getrf(call, static_cast<int>(m), static_cast<int>(n), static_cast<decltype(zero)*>(a), static_cast<int>(lda),
                 pivots, std::move(work), info);
  });
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasOperation_t trans,
                                  std::int64_t n, std::int64_t nrhs, cudaDataType type_a, const void* a,
                                  std::int64_t lda, const std::int64_t* pivots, cudaDataType type_b, void* b,
                                  std::int64_t ldb, int* info) {
  WARPBOOK_CALL(is_known(trans) && is_count(n) && is_count(nrhs) && is_count(lda) && is_count(ldb) &&
                is_leading(n, lda) && is_leading(n, ldb) && info != nullptr);
  return typed(call, type_a, type_b == type_a, nullptr, 0, 0, [&](auto zero, const Operands&) {
    using T = decltype(zero);
    return getrs(call, trans, static_cast<int>(n), static_cast<int>(nrhs), static_cast<const T*>(a),
                 static_cast<int>(lda), pivots, static_cast<T*>(b), static_cast<int>(ldb), info);
  });
}
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, std::int64_t m,
                                             std::int64_t n, cudaDataType type_a, const void*, std::int64_t lda,
                                             cudaDataType, const void*, cudaDataType, std::size_t* device_bytes,
                                             std::size_t* host_bytes) {
  return tell_bytes(handle, is_count(m) && is_count(n) && is_leading(m, lda), type_a, room(0, n), device_bytes,
                    host_bytes, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t, std::int64_t m, std::int64_t n,
                                  cudaDataType type_a, void* a, std::int64_t lda, cudaDataType type_tau, void* tau,
                                  cudaDataType compute, void* device_work, std::size_t device_bytes, void*, std::size_t,
                                  int* info) {
  WARPBOOK_CALL(is_count(m) && is_count(n) && is_count(lda) && is_leading(m, lda) && info != nullptr);
  return typed(call, type_a, compute == type_a && type_tau == type_a, device_work, device_bytes, room(0, n),
               [&](auto zero, Operands work) {
                 using T = decltype(zero);
                 return geqrf(call, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                              static_cast<T*>(tau), std::move(work), info);
               });
}
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                             cublasFillMode_t uplo, std::int64_t n, cudaDataType type_a, const void*,
                                             std::int64_t lda, cudaDataType, const void*, cudaDataType,
                                             std::size_t* device_bytes, std::size_t* host_bytes) {
  return tell_bytes(handle, is_known(jobz) && is_known(uplo) && is_count(n) && is_leading(n, lda), type_a, room(n, n),
                    device_bytes, host_bytes, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                  cublasFillMode_t uplo, std::int64_t n, cudaDataType type_a, void* a, std::int64_t lda,
                                  cudaDataType type_w, void* w, cudaDataType compute, void* device_work,
                                  std::size_t device_bytes, void*, std::size_t, int* info) {
  WARPBOOK_CALL(is_known(jobz) && is_known(uplo) && is_count(n) && is_count(lda) && is_leading(n, lda) &&
                info != nullptr);
  return typed(call, type_a, compute == type_a && type_w == real_of(type_a), device_work, device_bytes, room(n, n),
               [&](auto zero, Operands work) {
                 using T = decltype(zero);
                 return evd(call, 1, jobz, uplo, static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                            static_cast<T*>(nullptr), 1, static_cast<RealOf<T>*>(w), std::move(work), info);
               });
}
cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, signed char jobu,
                                             signed char jobvt, std::int64_t m, std::int64_t n, cudaDataType type_a,
                                             const void*, std::int64_t lda, cudaDataType, const void*, cudaDataType,
                                             const void*, std::int64_t ldu, cudaDataType, const void*,
                                             std::int64_t ldvt, cudaDataType, std::size_t* device_bytes,
                                             std::size_t* host_bytes) {
  return tell_bytes(handle, are_vectors(jobu, jobvt, m, n, lda, ldu, ldvt), type_a, room(m, n), device_bytes,
                    host_bytes, WARPBOOK_HERE);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t, signed char jobu, signed char jobvt,
                                  std::int64_t m, std::int64_t n, cudaDataType type_a, void* a, std::int64_t lda,
                                  cudaDataType type_s, void* s, cudaDataType type_u, void* u, std::int64_t ldu,
                                  cudaDataType type_vt, void* vt, std::int64_t ldvt, cudaDataType compute,
                                  void* device_work, std::size_t device_bytes, void*, std::size_t, int* info) {
  WARPBOOK_CALL(are_vectors(jobu, jobvt, m, n, lda, ldu, ldvt) && is_count(lda) && is_count(ldu) && is_count(ldvt) &&
                info != nullptr);
  const bool goes = compute == type_a && type_s == real_of(type_a) && type_u == type_a && type_vt == type_a;
  return typed(call, type_a, goes, device_work, device_bytes, room(m, n), [&](auto zero, Operands work) {
    using T = decltype(zero);
    return gesvd(call, jobu, jobvt, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                 static_cast<RealOf<T>*>(s), static_cast<T*>(u), static_cast<int>(ldu), static_cast<T*>(vt),
                 static_cast<int>(ldvt), std::move(work), info);
  });
}
