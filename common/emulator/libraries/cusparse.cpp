/// \file
/// cuSPARSE on the host. An operation lists the elements of its sparse matrix, in whichever format they are, and walks
/// the list. It computes in the type that the program asks for; the order of a sum is that of the elements.
#include "common/emulator/include/cusparse.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/emulator/include/cuda_bf16.h"
#include "common/emulator/include/cuda_fp16.h"
#include "common/emulator/include/warpbook_library.h"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace {

struct Values {
  const void* begin;
  cudaDataType type;
};

struct Indices {
  const void* begin;
  cusparseIndexType_t type;
  cusparseIndexBase_t base;
};

}  // namespace

struct cusparseSpVecDescr {
  std::int64_t size, nnz;
  Indices indices;
  Values values;
};

struct cusparseDnVecDescr {
  std::int64_t size;
  Values values;
};

struct cusparseSpMatDescr {
  cusparseFormat_t format;
  std::int64_t rows, columns, nnz;
  Indices first;   ///< offsets of rows (CSR) or columns (CSC), or the indices of rows (COO)
  Indices second;  ///< the other indices
  Values values;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int batch = 1;
  std::int64_t first_stride = 0;   ///< of a batch: elements of `first` from one matrix to the next
  std::int64_t values_stride = 0;  ///< of the other indices and of the values
};

struct cusparseDnMatDescr {
  std::int64_t rows, columns, ld;
  Values values;
  cusparseOrder_t order;
  int batch = 1;
  std::int64_t stride = 0;  ///< of a batch: elements from one matrix to the next
};

struct cusparseSpSVDescr {
  bool analysed = false;
};
struct cusparseSpSMDescr : cusparseSpSVDescr {};

/// A product by rows, before alpha.
struct cusparseSpGEMMDescr {
  std::vector<std::map<std::int64_t, std::complex<double>>> rows;
  std::int64_t nnz = -1;  ///< -1: not made
};

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;
using Operands = std::vector<LibraryOperand>;

/// Room that the program is to give. Operations here work in memory of the host's.
constexpr std::size_t kBuffer = 512;

// ---- Elements

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_64F:
  case CUDA_C_32F:
    return 8;
  case CUDA_C_64F:
    return 16;
  default:
    return 0;
  }
}
bool is_known(cudaDataType type) { return bytes_of(type) != 0; }

std::size_t bytes_of(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I ? 4 : 8; }
bool is_known(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }
bool is_known(cusparseIndexBase_t base) { return base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE; }
bool is_known(cusparseOperation_t op) {
  return op >= CUSPARSE_OPERATION_NON_TRANSPOSE && op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}
bool transposes(cusparseOperation_t op) { return op != CUSPARSE_OPERATION_NON_TRANSPOSE; }

template <class T> T* writable(const void* begin) { return static_cast<T*>(const_cast<void*>(begin)); }

template <class C> C load(const Values& values, std::int64_t at) {
  if constexpr (std::is_same_v<C, float>) {
    if (values.type == CUDA_R_16F) return __half2float(static_cast<const __half*>(values.begin)[at]);
    if (values.type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(values.begin)[at]);
  }
  return static_cast<const C*>(values.begin)[at];
}

template <class C> void store(const Values& values, std::int64_t at, C value) {
  if constexpr (std::is_same_v<C, float>) {
    if (values.type == CUDA_R_16F) {
      writable<__half>(values.begin)[at] = __float2half(value);
      return;
    }
    if (values.type == CUDA_R_16BF) {
      writable<__nv_bfloat16>(values.begin)[at] = __float2bfloat16(value);
      return;
    }
  }
  writable<C>(values.begin)[at] = value;
}

template <class C> C conjugate(C value, cusparseOperation_t op) {
  if constexpr (!std::is_floating_point_v<C>)
    if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) return std::conj(value);
  return value;
}

/// From 0, whatever the base.
std::int64_t load(const Indices& indices, std::int64_t at) {
  const std::int64_t value = indices.type == CUSPARSE_INDEX_32I ? static_cast<const std::int32_t*>(indices.begin)[at]
                                                                : static_cast<const std::int64_t*>(indices.begin)[at];
  return value - indices.base;
}

void store(const Indices& indices, std::int64_t at, std::int64_t value) {
  value += indices.base;
  if (indices.type == CUSPARSE_INDEX_32I)
    writable<std::int32_t>(indices.begin)[at] = static_cast<std::int32_t>(value);
  else
    writable<std::int64_t>(indices.begin)[at] = value;
}

/// Calls `work` with a number of the type in which is computed.
template <class Work> auto by_type(cudaDataType compute, Work work) {
  switch (compute) {
  case CUDA_R_64F:
    return work(double{});
  case CUDA_C_32F:
    return work(std::complex<float>{});
  case CUDA_C_64F:
    return work(std::complex<double>{});
  default:
    return work(float{});
  }
}

/// The type in which values of this one are computed where the program does not say it.
cudaDataType compute_type(cudaDataType type) { return type == CUDA_R_16F || type == CUDA_R_16BF ? CUDA_R_32F : type; }

/// Whether inputs of one type, an output, and the type in which is computed go together.
bool go_together(cudaDataType a, cudaDataType b, cudaDataType out, cudaDataType compute) {
  return a == b && compute_type(a) == compute && (out == a || out == compute);
}

// ---- Sparse matrices

struct Element {
  std::int64_t row, column, at;  ///< `at`: the place of its value
};

std::int64_t lines(const cusparseSpMatDescr& mat) { return mat.format == CUSPARSE_FORMAT_CSC ? mat.columns : mat.rows; }

/// All elements, or nothing where an offset or an index cannot be. Elements behind the last line's are no part of it.
std::optional<std::vector<Element>> elements(const cusparseSpMatDescr& mat) {
  std::vector<Element> list;
  list.reserve(static_cast<std::size_t>(mat.nnz));
  if (mat.format == CUSPARSE_FORMAT_COO) {
    for (std::int64_t i = 0; i < mat.nnz; ++i) list.push_back({load(mat.first, i), load(mat.second, i), i});
  } else {
    const bool by_columns = mat.format == CUSPARSE_FORMAT_CSC;
    for (std::int64_t line = 0; line < lines(mat); ++line) {
      const std::int64_t begin = load(mat.first, line);
      const std::int64_t end = load(mat.first, line + 1);
      if (begin < 0 || end < begin || end > mat.nnz) return std::nullopt;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t other = load(mat.second, i);
        list.push_back({by_columns ? other : line, by_columns ? line : other, i});
      }
    }
  }
  const bool inside = std::all_of(list.begin(), list.end(), [&](const Element& each) {
    return each.row >= 0 && each.row < mat.rows && each.column >= 0 && each.column < mat.columns;
  });
  return inside ? std::optional(std::move(list)) : std::nullopt;
}

std::int64_t place(const cusparseDnMatDescr& mat, std::int64_t row, std::int64_t column) {
  return mat.order == CUSPARSE_ORDER_COL ? row + column * mat.ld : row * mat.ld + column;
}

template <class C>
C load(const cusparseDnMatDescr& mat, cusparseOperation_t op, std::int64_t row, std::int64_t column) {
  return transposes(op) ? conjugate(load<C>(mat.values, place(mat, column, row)), op)
                        : load<C>(mat.values, place(mat, row, column));
}

template <class Mat> std::int64_t rows_of(const Mat& mat, cusparseOperation_t op) {
  return transposes(op) ? mat.columns : mat.rows;
}
template <class Mat> std::int64_t columns_of(const Mat& mat, cusparseOperation_t op) {
  return transposes(op) ? mat.rows : mat.columns;
}

const void* moved(const void* begin, std::int64_t elements, std::size_t width) {
  return static_cast<const std::byte*>(begin) + elements * static_cast<std::int64_t>(width);
}

/// A matrix of a batch. One that is alone belongs to all of the others.
cusparseSpMatDescr of_batch(cusparseSpMatDescr mat, int i) {
  mat.first.begin = moved(mat.first.begin, i * mat.first_stride, bytes_of(mat.first.type));
  mat.second.begin = moved(mat.second.begin, i * mat.values_stride, bytes_of(mat.second.type));
  mat.values.begin = moved(mat.values.begin, i * mat.values_stride, bytes_of(mat.values.type));
  mat.batch = 1;
  return mat;
}
cusparseDnMatDescr of_batch(cusparseDnMatDescr mat, int i) {
  mat.values.begin = moved(mat.values.begin, i * mat.stride, bytes_of(mat.values.type));
  mat.batch = 1;
  return mat;
}
bool are_batches(std::initializer_list<int> counts) {
  const int most = std::max(counts);
  return std::all_of(counts.begin(), counts.end(), [=](int count) { return count == 1 || count == most; });
}

// ---- What an operation touches

LibraryOperand flat(const char* name, const void* begin, std::int64_t count, std::size_t width, bool written) {
  const std::size_t bytes = static_cast<std::size_t>(count) * width;
  return {name, begin, bytes, 1, bytes, written};
}

void add(Operands& operands, const char* name, const cusparseDnVecDescr& vec, bool written) {
  operands.push_back(flat(name, vec.values.begin, vec.size, bytes_of(vec.values.type), written));
}

void add(Operands& operands, const char* name, const cusparseDnMatDescr& mat, bool written) {
  const auto [line, count] =
      mat.order == CUSPARSE_ORDER_COL ? std::pair(mat.rows, mat.columns) : std::pair(mat.columns, mat.rows);
  const std::size_t width = bytes_of(mat.values.type);
  operands.push_back({name, mat.values.begin, static_cast<std::size_t>(line) * width, static_cast<std::size_t>(count),
                      static_cast<std::size_t>(mat.ld) * width, written});
}

LibraryOperand first_of(const cusparseSpMatDescr& mat, bool written) {
  const bool coo = mat.format == CUSPARSE_FORMAT_COO;
  return flat(coo                                 ? "the indices of rows"
              : mat.format == CUSPARSE_FORMAT_CSR ? "the offsets of rows"
                                                  : "the offsets of columns",
              mat.first.begin, coo ? mat.nnz : lines(mat) + 1, bytes_of(mat.first.type), written);
}

/// Its indices and its values.
void add(Operands& operands, const cusparseSpMatDescr& mat, bool indices_written, bool values_written) {
  operands.push_back(first_of(mat, indices_written));
  operands.push_back(flat(mat.format == CUSPARSE_FORMAT_CSC ? "the indices of rows" : "the indices of columns",
                          mat.second.begin, mat.nnz, bytes_of(mat.second.type), indices_written));
  operands.push_back(
      flat("the sparse matrix's values", mat.values.begin, mat.nnz, bytes_of(mat.values.type), values_written));
}

// ---- Calls

/// Tells of the call that the status refuses; returns the status.
cusparseStatus_t refuse(cusparseStatus_t status, const char* function, const void* pc, const char* why = nullptr) {
  if (why == nullptr)
    why = status == CUSPARSE_STATUS_NOT_INITIALIZED ? "the handle was not created"
          : status == CUSPARSE_STATUS_INVALID_VALUE ? "an extent, a size, a leading dimension or a pointer cannot be"
                                                    : "the types or formats do not go together, or are not emulated";
  warpbook::emulator::library_refused(function, pc, cusparseGetErrorName(status), status, why);
  return status;
}

struct Call {
  cusparseHandle_t handle;
  const char* function;
  const void* pc;

  /// A scalar of type C: the host's is read now, the device's when it is its turn.
  template <class C> std::function<C()> scalar(const void* pointer, Operands& operands, const char* name) const {
    if (handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST)
      return [value = *static_cast<const C*>(pointer)] { return value; };
    operands.push_back({name, pointer, sizeof(C), 1, sizeof(C), false});
    return [pointer] { return *static_cast<const C*>(pointer); };
  }

  /// Runs `work(elements of mat)`, which an index outside of the matrix prevents.
  template <class Work>
  cusparseStatus_t run_over(const cusparseSpMatDescr& mat, double flops_by_element, Operands operands, Work work,
                            bool host_waits = false) const {
    if (mat.batch != 1) return refuse(CUSPARSE_STATUS_NOT_SUPPORTED, function, pc);
    return run(
        flops_by_element * static_cast<double>(mat.nnz), mat.values.type, std::move(operands),
        [mat, work = std::move(work), here = *this] {
          if (const auto list = elements(mat))
            work(*list);
          else
            here.refuse_indices();
        },
        host_waits);
  }

  void refuse_indices() const {
    refuse(CUSPARSE_STATUS_EXECUTION_FAILED, function, pc,
           "an offset or an index of a sparse matrix lies outside of it, or its base is another one");
  }

  cusparseStatus_t run(double flops, cudaDataType type, Operands operands, std::function<void()> work,
                       bool host_waits = false) const {
    LibraryCall call;
    call.function = function;
    call.pc = pc;
    call.stream = handle->stream;
    call.flops = flops;
    const bool is_complex = type == CUDA_C_32F || type == CUDA_C_64F;
    call.element_bytes = static_cast<unsigned>(bytes_of(type) / (is_complex ? 2 : 1));
    call.host_waits = host_waits;
    call.operands = [operands = std::move(operands)] { return operands; };
    call.run = std::move(work);
    return run_library_call(std::move(call)) == cudaSuccess ? CUSPARSE_STATUS_SUCCESS
                                                            : CUSPARSE_STATUS_EXECUTION_FAILED;
  }
};

/// What makes a call fail; the first thing that holds decides.
cusparseStatus_t check(cusparseHandle_t handle, bool valid, bool supported, const char* function, const void* pc) {
  if (handle == nullptr) return refuse(CUSPARSE_STATUS_NOT_INITIALIZED, function, pc);
  if (!valid) return refuse(CUSPARSE_STATUS_INVALID_VALUE, function, pc);
  return supported ? CUSPARSE_STATUS_SUCCESS : refuse(CUSPARSE_STATUS_NOT_SUPPORTED, function, pc);
}

#define WARPBOOK_CALL(valid, supported)                                                                                \
  const bool is_valid = handle != nullptr && (valid);                                                                  \
  if (const cusparseStatus_t status = check(handle, is_valid, is_valid && (supported), WARPBOOK_HERE);                 \
      status != CUSPARSE_STATUS_SUCCESS)                                                                               \
    return status;                                                                                                     \
  [[maybe_unused]] const Call call { handle, WARPBOOK_HERE }

/// A function that tells how large a buffer is to be.
cusparseStatus_t buffer_size(cusparseHandle_t handle, bool valid, std::size_t* bytes, const char* function,
                             const void* pc) {
  const cusparseStatus_t status = check(handle, valid && bytes != nullptr, true, function, pc);
  if (status == CUSPARSE_STATUS_SUCCESS) *bytes = kBuffer;
  return status;
}

/// Makes, or changes, a descriptor.
cusparseStatus_t described(bool valid, const char* function, const void* pc) {
  return valid ? CUSPARSE_STATUS_SUCCESS : refuse(CUSPARSE_STATUS_INVALID_VALUE, function, pc);
}

template <class T> void put(T* where, T value) {
  if (where != nullptr) *where = value;
}

template <class Descr, class Value>
cusparseStatus_t made(Descr** out, bool valid, Value value, const char* function, const void* pc) {
  const cusparseStatus_t status = described(out != nullptr && valid, function, pc);
  if (status == CUSPARSE_STATUS_SUCCESS) *out = new Value(std::move(value));
  return status;
}

bool is_valid(const cusparseSpMatDescr& mat) {
  return mat.rows >= 0 && mat.columns >= 0 && mat.nnz >= 0 && is_known(mat.first.type) && is_known(mat.second.type) &&
         is_known(mat.first.base) && is_known(mat.values.type);
}
bool is_valid(const cusparseSpVecDescr& vec) {
  return vec.size >= 0 && vec.nnz >= 0 && vec.nnz <= vec.size && is_known(vec.indices.type) &&
         is_known(vec.indices.base) && is_known(vec.values.type);
}
bool is_valid(const cusparseDnMatDescr& mat) {
  return mat.rows >= 0 && mat.columns >= 0 && is_known(mat.values.type) &&
         mat.ld >= (mat.order == CUSPARSE_ORDER_COL ? mat.rows : mat.columns);
}

// ---- Solving

/// Solves op(A) * x = b in place, of which A is the triangle that its attributes say; `x(i)` is where x[i] stands.
template <class C, class At>
void solve(const cusparseSpMatDescr& mat, cusparseOperation_t op, const std::vector<std::vector<Element>>& rows, At x) {
  const bool lower = (mat.fill == CUSPARSE_FILL_MODE_LOWER) != transposes(op);
  const auto n = static_cast<std::int64_t>(rows.size());
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t row = lower ? k : n - 1 - k;
    C sum = x(row);
    C diagonal = 0;
    for (const Element& each : rows[static_cast<std::size_t>(row)]) {
      const C value = conjugate(load<C>(mat.values, each.at), op);
      if (each.column == row)
        diagonal += value;
      else if ((each.column < row) == lower)
        sum -= value * x(each.column);
    }
    x(row) = mat.diagonal == CUSPARSE_DIAG_TYPE_UNIT ? sum : sum / diagonal;
  }
}

/// The elements of op(A) by rows.
std::vector<std::vector<Element>> by_rows(const std::vector<Element>& list, std::int64_t rows, cusparseOperation_t op) {
  std::vector<std::vector<Element>> result(static_cast<std::size_t>(rows));
  for (Element each : list) {
    if (transposes(op)) std::swap(each.row, each.column);
    result[static_cast<std::size_t>(each.row)].push_back(each);
  }
  return result;
}

/// The elements of a dense matrix that are not 0, in the order in which the sparse one holds them.
template <class Visit> void each_nonzero(const cusparseDnMatDescr& dense, cusparseFormat_t format, Visit visit) {
  by_type(compute_type(dense.values.type), [&](auto number) {
    using C = decltype(number);
    const bool by_columns = format == CUSPARSE_FORMAT_CSC;
    for (std::int64_t line = 0; line < (by_columns ? dense.columns : dense.rows); ++line)
      for (std::int64_t other = 0; other < (by_columns ? dense.rows : dense.columns); ++other) {
        const std::int64_t at = by_columns ? place(dense, other, line) : place(dense, line, other);
        if (const C value = load<C>(dense.values, at); value != C(0)) visit(line, other, value);
      }
  });
}

}  // namespace

// ---- The handle

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  if (handle == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *handle = new cusparseContext;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  WARPBOOK_CALL(true, true);
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version) {
  WARPBOOK_CALL(version != nullptr, true);
  *version = CUSPARSE_VERSION;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  constexpr int kVersion[] = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
    return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *value = kVersion[type];
  return CUSPARSE_STATUS_SUCCESS;
}

namespace {
constexpr std::pair<const char*, const char*> kStatuses[] = {
    {"CUSPARSE_STATUS_SUCCESS", "success"},
    {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {"CUSPARSE_STATUS_MAPPING_ERROR", "mapping error"},
    {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};
bool is_status(cusparseStatus_t status) { return status >= 0 && status < static_cast<int>(std::size(kStatuses)); }
}  // namespace

const char* cusparseGetErrorName(cusparseStatus_t status) {
  return is_status(status) ? kStatuses[status].first : "unrecognized error code";
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  return is_status(status) ? kStatuses[status].second : "unrecognized error code";
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  WARPBOOK_CALL(true, true);
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  WARPBOOK_CALL(stream != nullptr, true);
  *stream = handle->stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  WARPBOOK_CALL(mode == CUSPARSE_POINTER_MODE_HOST || mode == CUSPARSE_POINTER_MODE_DEVICE, true);
  handle->pointer_mode = mode;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  WARPBOOK_CALL(mode != nullptr, true);
  *mode = handle->pointer_mode;
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- Descriptors

#define WARPBOOK_CREATE(Descr, ...)                                                                                    \
  const Descr value{__VA_ARGS__};                                                                                      \
  return made(out, is_valid(value), value, WARPBOOK_HERE)

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* out, int64_t size, int64_t nnz, void* indices, void* values,
                                     cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpVecDescr, size, nnz, {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* out, int64_t size, int64_t nnz,
                                          const void* indices, const void* values, cusparseIndexType_t index_type,
                                          cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpVecDescr, size, nnz, {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vec) {
  delete vec;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t vec, void** values) {
  if (vec == nullptr || values == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *values = writable<void>(vec->values.begin);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vec, void* values) {
  if (vec == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  vec->values.begin = values;
  return CUSPARSE_STATUS_SUCCESS;
}

namespace {
bool is_valid(const cusparseDnVecDescr& vec) { return vec.size >= 0 && is_known(vec.values.type); }
}  // namespace

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* out, int64_t size, void* values, cudaDataType type) {
  WARPBOOK_CREATE(cusparseDnVecDescr, size, {values, type});
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* out, int64_t size, const void* values,
                                          cudaDataType type) {
  WARPBOOK_CREATE(cusparseDnVecDescr, size, {values, type});
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vec) {
  delete vec;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vec, int64_t* size, void** values, cudaDataType* type) {
  if (vec == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  put(size, vec->size), put(values, writable<void>(vec->values.begin)), put(type, vec->values.type);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vec, void** values) {
  return cusparseDnVecGet(vec, nullptr, values, nullptr);
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vec, void* values) {
  if (vec == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  vec->values.begin = values;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_CSR, rows, columns, nnz, {offsets, offset_type, base},
                  {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz,
                                        const void* offsets, const void* indices, const void* values,
                                        cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                        cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_CSR, rows, columns, nnz, {offsets, offset_type, base},
                  {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_CSC, rows, columns, nnz, {offsets, offset_type, base},
                  {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz,
                                        const void* offsets, const void* indices, const void* values,
                                        cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                        cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_CSC, rows, columns, nnz, {offsets, offset_type, base},
                  {indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz,
                                   void* row_indices, void* column_indices, void* values,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_COO, rows, columns, nnz, {row_indices, index_type, base},
                  {column_indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t* out, int64_t rows, int64_t columns, int64_t nnz,
                                        const void* row_indices, const void* column_indices, const void* values,
                                        cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  WARPBOOK_CREATE(cusparseSpMatDescr, CUSPARSE_FORMAT_COO, rows, columns, nnz, {row_indices, index_type, base},
                  {column_indices, index_type, base}, {values, type});
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t mat) {
  delete mat;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t mat, int64_t* rows, int64_t* columns, int64_t* nnz, void** offsets,
                                void** indices, void** values, cusparseIndexType_t* offset_type,
                                cusparseIndexType_t* index_type, cusparseIndexBase_t* base, cudaDataType* type) {
  if (mat == nullptr || mat->format != CUSPARSE_FORMAT_CSR) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  put(rows, mat->rows), put(columns, mat->columns), put(nnz, mat->nnz);
  put(offsets, writable<void>(mat->first.begin)), put(indices, writable<void>(mat->second.begin));
  put(values, writable<void>(mat->values.begin));
  put(offset_type, mat->first.type), put(index_type, mat->second.type), put(base, mat->first.base);
  put(type, mat->values.type);
  return CUSPARSE_STATUS_SUCCESS;
}

namespace {
cusparseStatus_t set_pointers(cusparseSpMatDescr_t mat, cusparseFormat_t format, void* first, void* second,
                              void* values, const char* function, const void* pc) {
  if (mat == nullptr || mat->format != format) return refuse(CUSPARSE_STATUS_INVALID_VALUE, function, pc);
  mat->first.begin = first, mat->second.begin = second, mat->values.begin = values;
  return CUSPARSE_STATUS_SUCCESS;
}
}  // namespace

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t mat, void* offsets, void* indices, void* values) {
  return set_pointers(mat, CUSPARSE_FORMAT_CSR, offsets, indices, values, WARPBOOK_HERE);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t mat, void* offsets, void* indices, void* values) {
  return set_pointers(mat, CUSPARSE_FORMAT_CSC, offsets, indices, values, WARPBOOK_HERE);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t mat, void* row_indices, void* column_indices,
                                        void* values) {
  return set_pointers(mat, CUSPARSE_FORMAT_COO, row_indices, column_indices, values, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t mat, cusparseFormat_t* format) {
  if (mat == nullptr || format == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *format = mat->format;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t mat, cusparseIndexBase_t* base) {
  if (mat == nullptr || base == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *base = mat->first.base;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t mat, int64_t* rows, int64_t* columns, int64_t* nnz) {
  if (mat == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  put(rows, mat->rows), put(columns, mat->columns), put(nnz, mat->nnz);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t mat, void** values) {
  if (mat == nullptr || values == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *values = writable<void>(mat->values.begin);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t mat, void* values) {
  if (mat == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  mat->values.begin = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t mat, cusparseSpMatAttribute_t attribute,
                                           void* data, size_t bytes) {
  if (mat == nullptr || data == nullptr || bytes != sizeof(int))
    return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  if (attribute == CUSPARSE_SPMAT_FILL_MODE)
    *static_cast<cusparseFillMode_t*>(data) = mat->fill;
  else
    *static_cast<cusparseDiagType_t*>(data) = mat->diagonal;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t mat, cusparseSpMatAttribute_t attribute, void* data,
                                           size_t bytes) {
  if (mat == nullptr || data == nullptr || bytes != sizeof(int))
    return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  if (attribute == CUSPARSE_SPMAT_FILL_MODE)
    mat->fill = *static_cast<const cusparseFillMode_t*>(data);
  else
    mat->diagonal = *static_cast<const cusparseDiagType_t*>(data);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* out, int64_t rows, int64_t columns, int64_t ld, void* values,
                                     cudaDataType type, cusparseOrder_t order) {
  WARPBOOK_CREATE(cusparseDnMatDescr, rows, columns, ld, {values, type}, order);
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* out, int64_t rows, int64_t columns, int64_t ld,
                                          const void* values, cudaDataType type, cusparseOrder_t order) {
  WARPBOOK_CREATE(cusparseDnMatDescr, rows, columns, ld, {values, type}, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t mat) {
  delete mat;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t mat, int64_t* rows, int64_t* columns, int64_t* ld, void** values,
                                  cudaDataType* type, cusparseOrder_t* order) {
  if (mat == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  put(rows, mat->rows), put(columns, mat->columns), put(ld, mat->ld);
  put(values, writable<void>(mat->values.begin)), put(type, mat->values.type), put(order, mat->order);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t mat, void** values) {
  return cusparseDnMatGet(mat, nullptr, nullptr, nullptr, values, nullptr, nullptr);
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t mat, void* values) {
  if (mat == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  mat->values.begin = values;
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- Batches

cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t mat, int batch, int64_t offsets_stride,
                                            int64_t values_stride) {
  const bool valid = mat != nullptr && mat->format == CUSPARSE_FORMAT_CSR && batch > 0 &&
                     (offsets_stride == 0 || offsets_stride > mat->rows) && values_stride >= mat->nnz;
  if (!valid) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  mat->batch = batch, mat->first_stride = offsets_stride, mat->values_stride = values_stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t mat, int batch, int64_t stride) {
  const bool valid = mat != nullptr && mat->format == CUSPARSE_FORMAT_COO && batch > 0 && stride >= mat->nnz;
  if (!valid) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  mat->batch = batch, mat->first_stride = mat->values_stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t mat, int* batch) {
  if (mat == nullptr || batch == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  *batch = mat->batch;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t mat, int batch, int64_t stride) {
  const bool valid = mat != nullptr && batch > 0 && stride >= 0;
  if (!valid) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  mat->batch = batch, mat->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t mat, int* batch, int64_t* stride) {
  if (mat == nullptr) return refuse(CUSPARSE_STATUS_INVALID_VALUE, WARPBOOK_HERE);
  put(batch, mat->batch), put(stride, mat->stride);
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- Sparse vectors

namespace {

void add(Operands& operands, const cusparseSpVecDescr& vec, bool values_written) {
  operands.push_back(
      flat("the sparse vector's indices", vec.indices.begin, vec.nnz, bytes_of(vec.indices.type), false));
  operands.push_back(
      flat("the sparse vector's values", vec.values.begin, vec.nnz, bytes_of(vec.values.type), values_written));
}

bool is_inside(const cusparseSpVecDescr& vec) {
  for (std::int64_t i = 0; i < vec.nnz; ++i)
    if (const std::int64_t at = load(vec.indices, i); at < 0 || at >= vec.size) return false;
  return true;
}

/// Moves elements between a dense vector and the sparse one.
cusparseStatus_t move(const Call& call, const cusparseSpVecDescr& x, const cusparseDnVecDescr& y, bool gather) {
  Operands operands;
  add(operands, x, gather);
  add(operands, "y", y, !gather);
  return call.run(0, x.values.type, operands, [=] {
    if (!is_inside(x)) return call.refuse_indices();
    by_type(compute_type(x.values.type), [&](auto number) {
      using C = decltype(number);
      for (std::int64_t i = 0; i < x.nnz; ++i) {
        const std::int64_t at = load(x.indices, i);
        if (gather)
          store(x.values, i, load<C>(y.values, at));
        else
          store(y.values, at, load<C>(x.values, i));
      }
    });
  });
}

}  // namespace

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x_descr,
                               const void* beta, cusparseDnVecDescr_t y_descr) {
  WARPBOOK_CALL(alpha != nullptr && beta != nullptr && x_descr != nullptr && y_descr != nullptr &&
                    x_descr->size == y_descr->size,
                x_descr->values.type == y_descr->values.type);
  return by_type(compute_type(x_descr->values.type), [&](auto number) {
    using C = decltype(number);
    const cusparseSpVecDescr x = *x_descr;
    const cusparseDnVecDescr y = *y_descr;
    Operands operands;
    const auto a = call.scalar<C>(alpha, operands, "alpha");
    const auto b = call.scalar<C>(beta, operands, "beta");
    add(operands, x, false);
    add(operands, "y", y, true);
    return call.run(2.0 * static_cast<double>(x.nnz), x.values.type, operands, [=] {
      if (!is_inside(x)) return call.refuse_indices();
      if (const C scale = b(); scale != C(1))
        for (std::int64_t i = 0; i < y.size; ++i)
          store(y.values, i, scale == C(0) ? C(0) : scale * load<C>(y.values, i));
      for (std::int64_t i = 0; i < x.nnz; ++i) {
        const std::int64_t at = load(x.indices, i);
        store(y.values, at, a() * load<C>(x.values, i) + load<C>(y.values, at));
      }
    });
  });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  WARPBOOK_CALL(x != nullptr && y != nullptr && x->size == y->size, x->values.type == y->values.type);
  return move(call, *x, *y, true);
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  WARPBOOK_CALL(x != nullptr && y != nullptr && x->size == y->size, x->values.type == y->values.type);
  return move(call, *x, *y, false);
}

cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, const void*, cudaDataType, size_t* bytes) {
  return buffer_size(handle, x != nullptr && y != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x_descr,
                              cusparseConstDnVecDescr_t y_descr, void* result, cudaDataType compute, void*) {
  WARPBOOK_CALL(is_known(op) && x_descr != nullptr && y_descr != nullptr && result != nullptr &&
                    x_descr->size == y_descr->size,
                go_together(x_descr->values.type, y_descr->values.type, compute, compute));
  return by_type(compute, [&](auto number) {
    using C = decltype(number);
    const cusparseSpVecDescr x = *x_descr;
    const cusparseDnVecDescr y = *y_descr;
    const bool on_host = handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;  // The host waits for a result that is not captured.
    if (on_host) cudaStreamIsCapturing(handle->stream, &capture);
    Operands operands;
    add(operands, x, false);
    add(operands, "y", y, false);
    if (!on_host) operands.push_back({"result", result, sizeof(C), 1, sizeof(C), true});
    return call.run(
        2.0 * static_cast<double>(x.nnz), x.values.type, operands,
        [=] {
          if (!is_inside(x)) return call.refuse_indices();
          C sum = 0;
          for (std::int64_t i = 0; i < x.nnz; ++i)
            sum += conjugate(load<C>(x.values, i), op) * load<C>(y.values, load(x.indices, i));
          *static_cast<C*>(result) = sum;
        },
        on_host && capture == cudaStreamCaptureStatusNone);
  });
}

// ---- Between sparse and dense

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t, size_t* bytes) {
  return buffer_size(handle, a != nullptr && b != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a_descr,
                                       cusparseDnMatDescr_t b_descr, cusparseSparseToDenseAlg_t, void*) {
  WARPBOOK_CALL(a_descr != nullptr && b_descr != nullptr && a_descr->rows == b_descr->rows &&
                    a_descr->columns == b_descr->columns,
                a_descr->values.type == b_descr->values.type);
  const cusparseSpMatDescr a = *a_descr;
  const cusparseDnMatDescr b = *b_descr;
  Operands operands;
  add(operands, a, false, false);
  add(operands, "B", b, true);
  return call.run_over(a, 0, operands, [=](const std::vector<Element>& list) {
    by_type(compute_type(a.values.type), [&](auto number) {
      using C = decltype(number);
      for (std::int64_t row = 0; row < b.rows; ++row)
        for (std::int64_t column = 0; column < b.columns; ++column) store(b.values, place(b, row, column), C(0));
      for (const Element& each : list) store(b.values, place(b, each.row, each.column), load<C>(a.values, each.at));
    });
  });
}

cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, size_t* bytes) {
  return buffer_size(handle, a != nullptr && b != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a_descr,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void*) {
  WARPBOOK_CALL(a_descr != nullptr && b != nullptr && a_descr->rows == b->rows && a_descr->columns == b->columns,
                a_descr->values.type == b->values.type);
  const cusparseDnMatDescr a = *a_descr;
  Operands operands;
  add(operands, "A", a, false);
  const bool has_offsets = b->format != CUSPARSE_FORMAT_COO;
  if (has_offsets) operands.push_back(first_of(*b, true));
  return call.run(
      0, a.values.type, operands,
      [=] {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(lines(*b)) + 1);
        each_nonzero(a, b->format, [&](std::int64_t line, auto...) { ++counts[static_cast<std::size_t>(line) + 1]; });
        std::partial_sum(counts.begin(), counts.end(), counts.begin());
        b->nnz = counts.back();
        if (!has_offsets) return;
        for (std::size_t line = 0; line < counts.size(); ++line)
          store(b->first, static_cast<std::int64_t>(line), counts[line]);
      },
      true);
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a_descr,
                                               cusparseSpMatDescr_t b_descr, cusparseDenseToSparseAlg_t, void*) {
  WARPBOOK_CALL(a_descr != nullptr && b_descr != nullptr && a_descr->rows == b_descr->rows &&
                    a_descr->columns == b_descr->columns,
                a_descr->values.type == b_descr->values.type);
  const cusparseDnMatDescr a = *a_descr;
  const cusparseSpMatDescr b = *b_descr;
  Operands operands;
  add(operands, "A", a, false);
  add(operands, b, true, true);
  return call.run(0, a.values.type, operands, [=] {
    std::int64_t count = 0;
    each_nonzero(a, b.format, [&](auto...) { ++count; });
    if (count != b.nnz) return call.refuse_indices();
    count = 0;
    each_nonzero(a, b.format, [&](std::int64_t line, std::int64_t other, auto value) {
      if (b.format == CUSPARSE_FORMAT_COO) store(b.first, count, line);
      store(b.second, count, other);
      store(b.values, count++, value);
    });
  });
}

// ---- Products

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void*,
                                         cusparseDnVecDescr_t y, cudaDataType, cusparseSpMVAlg_t, size_t* bytes) {
  return buffer_size(handle, a != nullptr && x != nullptr && y != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void*,
                                         cusparseDnVecDescr_t y, cudaDataType, cusparseSpMVAlg_t, void*) {
  WARPBOOK_CALL(a != nullptr && x != nullptr && y != nullptr, true);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a_descr, cusparseConstDnVecDescr_t x_descr, const void* beta,
                              cusparseDnVecDescr_t y_descr, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  WARPBOOK_CALL(is_known(op) && alpha != nullptr && beta != nullptr && a_descr != nullptr && x_descr != nullptr &&
                    y_descr != nullptr && x_descr->size == columns_of(*a_descr, op) &&
                    y_descr->size == rows_of(*a_descr, op),
                go_together(a_descr->values.type, x_descr->values.type, y_descr->values.type, compute));
  return by_type(compute, [&](auto number) {
    using C = decltype(number);
    const cusparseSpMatDescr a = *a_descr;
    const cusparseDnVecDescr x = *x_descr;
    const cusparseDnVecDescr y = *y_descr;
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    const auto keep = call.scalar<C>(beta, operands, "beta");
    add(operands, a, false, false);
    add(operands, "x", x, false);
    add(operands, "y", y, true);
    return call.run_over(a, 2, operands, [=](const std::vector<Element>& list) {
      std::vector<C> sums(static_cast<std::size_t>(y.size));
      for (const Element& each : list) {
        const auto [row, column] = transposes(op) ? std::pair(each.column, each.row) : std::pair(each.row, each.column);
        sums[static_cast<std::size_t>(row)] += conjugate(load<C>(a.values, each.at), op) * load<C>(x.values, column);
      }
      const C kept = keep();
      for (std::int64_t i = 0; i < y.size; ++i) {
        const C value = scale() * sums[static_cast<std::size_t>(i)];
        store(y.values, i, kept == C(0) ? value : value + kept * load<C>(y.values, i));
      }
    });
  });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void*,
                                         cusparseDnMatDescr_t c, cudaDataType, cusparseSpMMAlg_t, size_t* bytes) {
  return buffer_size(handle, a != nullptr && b != nullptr && c != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void*,
                                         cusparseDnMatDescr_t c, cudaDataType, cusparseSpMMAlg_t, void*) {
  WARPBOOK_CALL(a != nullptr && b != nullptr && c != nullptr, true);
  return CUSPARSE_STATUS_SUCCESS;
}
namespace {
/// Does it for each matrix of a batch, as long as it succeeds.
template <class Work> cusparseStatus_t each_of_batch(int batch, cudaDataType compute, Work work) {
  cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;
  for (int i = 0; i < batch && status == CUSPARSE_STATUS_SUCCESS; ++i)
    status = by_type(compute, [&](auto number) { return work(number, i); });
  return status;
}
}  // namespace

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a_descr, cusparseConstDnMatDescr_t b_descr,
                              const void* beta, cusparseDnMatDescr_t c_descr, cudaDataType compute, cusparseSpMMAlg_t,
                              void*) {
  WARPBOOK_CALL(is_known(op_a) && is_known(op_b) && alpha != nullptr && beta != nullptr && a_descr != nullptr &&
                    b_descr != nullptr && c_descr != nullptr && columns_of(*a_descr, op_a) == rows_of(*b_descr, op_b) &&
                    c_descr->rows == rows_of(*a_descr, op_a) && c_descr->columns == columns_of(*b_descr, op_b),
                go_together(a_descr->values.type, b_descr->values.type, c_descr->values.type, compute) &&
                    are_batches({a_descr->batch, b_descr->batch, c_descr->batch}));
  return each_of_batch(c_descr->batch, compute, [&](auto number, int i) {
    using C = decltype(number);
    const cusparseSpMatDescr a = of_batch(*a_descr, i);
    const cusparseDnMatDescr b = of_batch(*b_descr, i);
    const cusparseDnMatDescr c = of_batch(*c_descr, i);
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    const auto keep = call.scalar<C>(beta, operands, "beta");
    add(operands, a, false, false);
    add(operands, "B", b, false);
    add(operands, "C", c, true);
    return call.run_over(a, 2.0 * static_cast<double>(c.columns), operands, [=](const std::vector<Element>& list) {
      std::vector<C> sums(static_cast<std::size_t>(c.rows * c.columns));
      for (const Element& each : list) {
        const auto [row, inner] =
            transposes(op_a) ? std::pair(each.column, each.row) : std::pair(each.row, each.column);
        const C value = conjugate(load<C>(a.values, each.at), op_a);
        for (std::int64_t column = 0; column < c.columns; ++column)
          sums[static_cast<std::size_t>(row * c.columns + column)] += value * load<C>(b, op_b, inner, column);
      }
      const C kept = keep();
      for (std::int64_t row = 0; row < c.rows; ++row)
        for (std::int64_t column = 0; column < c.columns; ++column) {
          const std::int64_t at = place(c, row, column);
          const C value = scale() * sums[static_cast<std::size_t>(row * c.columns + column)];
          store(c.values, at, kept == C(0) ? value : value + kept * load<C>(c.values, at));
        }
    });
  });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void*, cusparseSpMatDescr_t c, cudaDataType, cusparseSDDMMAlg_t,
                                          size_t* bytes) {
  return buffer_size(handle, a != nullptr && b != nullptr && c != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void*, cusparseSpMatDescr_t c, cudaDataType, cusparseSDDMMAlg_t,
                                          void*) {
  WARPBOOK_CALL(a != nullptr && b != nullptr && c != nullptr, true);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a_descr, cusparseConstDnMatDescr_t b_descr,
                               const void* beta, cusparseSpMatDescr_t c_descr, cudaDataType compute, cusparseSDDMMAlg_t,
                               void*) {
  WARPBOOK_CALL(is_known(op_a) && is_known(op_b) && alpha != nullptr && beta != nullptr && a_descr != nullptr &&
                    b_descr != nullptr && c_descr != nullptr && columns_of(*a_descr, op_a) == rows_of(*b_descr, op_b) &&
                    c_descr->rows == rows_of(*a_descr, op_a) && c_descr->columns == columns_of(*b_descr, op_b),
                c_descr->format == CUSPARSE_FORMAT_CSR &&
                    go_together(a_descr->values.type, b_descr->values.type, c_descr->values.type, compute) &&
                    are_batches({a_descr->batch, b_descr->batch, c_descr->batch}));
  return each_of_batch(c_descr->batch, compute, [&](auto number, int i) {
    using C = decltype(number);
    const cusparseDnMatDescr a = of_batch(*a_descr, i);
    const cusparseDnMatDescr b = of_batch(*b_descr, i);
    const cusparseSpMatDescr c = of_batch(*c_descr, i);
    const std::int64_t inner = columns_of(a, op_a);
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    const auto keep = call.scalar<C>(beta, operands, "beta");
    add(operands, "A", a, false);
    add(operands, "B", b, false);
    add(operands, c, false, true);
    return call.run_over(c, 2.0 * static_cast<double>(inner), operands, [=](const std::vector<Element>& list) {
      const C kept = keep();
      for (const Element& each : list) {
        C sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += load<C>(a, op_a, each.row, k) * load<C>(b, op_b, k, each.column);
        const C value = scale() * sum;
        store(c.values, each.at, kept == C(0) ? value : value + kept * load<C>(c.values, each.at));
      }
    });
  });
}

// ---- Triangles

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr) {
  return made(descr, true, cusparseSpSVDescr{}, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         cusparseDnVecDescr_t y, cudaDataType, cusparseSpSVAlg_t,
                                         cusparseSpSVDescr_t descr, size_t* bytes) {
  return buffer_size(handle, a != nullptr && x != nullptr && y != nullptr && descr != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                       cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t descr, void*) {
  WARPBOOK_CALL(a != nullptr && descr != nullptr && a->rows == a->columns, true);
  descr->analysed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a_descr, cusparseConstDnVecDescr_t x_descr,
                                    cusparseDnVecDescr_t y_descr, cudaDataType compute, cusparseSpSVAlg_t,
                                    cusparseSpSVDescr_t descr) {
  WARPBOOK_CALL(is_known(op) && alpha != nullptr && a_descr != nullptr && x_descr != nullptr && y_descr != nullptr &&
                    descr != nullptr && descr->analysed && a_descr->rows == a_descr->columns &&
                    x_descr->size == a_descr->rows && y_descr->size == a_descr->rows,
                a_descr->format != CUSPARSE_FORMAT_CSC && a_descr->values.type == compute &&
                    go_together(a_descr->values.type, x_descr->values.type, y_descr->values.type, compute));
  return by_type(compute, [&](auto number) {
    using C = decltype(number);
    const cusparseSpMatDescr a = *a_descr;
    const cusparseDnVecDescr x = *x_descr;
    const cusparseDnVecDescr y = *y_descr;
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    add(operands, a, false, false);
    add(operands, "x", x, false);
    add(operands, "y", y, true);
    return call.run_over(a, 2, operands, [=](const std::vector<Element>& list) {
      C* to = writable<C>(y.values.begin);
      for (std::int64_t i = 0; i < y.size; ++i) to[i] = scale() * load<C>(x.values, i);
      solve<C>(a, op, by_rows(list, a.rows, op), [to](std::int64_t i) -> C& { return to[i]; });
    });
  });
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr) {
  return made(descr, true, cusparseSpSMDescr{}, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         cusparseDnMatDescr_t c, cudaDataType, cusparseSpSMAlg_t,
                                         cusparseSpSMDescr_t descr, size_t* bytes) {
  return buffer_size(handle, a != nullptr && b != nullptr && c != nullptr && descr != nullptr, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                       cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t descr, void*) {
  WARPBOOK_CALL(a != nullptr && descr != nullptr && a->rows == a->columns, true);
  descr->analysed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a_descr,
                                    cusparseConstDnMatDescr_t b_descr, cusparseDnMatDescr_t c_descr,
                                    cudaDataType compute, cusparseSpSMAlg_t, cusparseSpSMDescr_t descr) {
  WARPBOOK_CALL(is_known(op_a) && is_known(op_b) && alpha != nullptr && a_descr != nullptr && b_descr != nullptr &&
                    c_descr != nullptr && descr != nullptr && descr->analysed && a_descr->rows == a_descr->columns &&
                    a_descr->rows == rows_of(*b_descr, op_b) && c_descr->rows == a_descr->rows &&
                    c_descr->columns == columns_of(*b_descr, op_b),
                a_descr->format != CUSPARSE_FORMAT_CSC && a_descr->values.type == compute &&
                    go_together(a_descr->values.type, b_descr->values.type, c_descr->values.type, compute));
  return by_type(compute, [&](auto number) {
    using C = decltype(number);
    const cusparseSpMatDescr a = *a_descr;
    const cusparseDnMatDescr b = *b_descr;
    const cusparseDnMatDescr c = *c_descr;
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    add(operands, a, false, false);
    add(operands, "B", b, false);
    add(operands, "C", c, true);
    return call.run_over(a, 2.0 * static_cast<double>(c.columns), operands, [=](const std::vector<Element>& list) {
      const auto rows = by_rows(list, a.rows, op_a);
      std::vector<C> all(static_cast<std::size_t>(c.rows * c.columns));  // B and C may be one matrix.
      for (std::int64_t column = 0; column < c.columns; ++column) {
        C* x = all.data() + column * c.rows;
        for (std::int64_t row = 0; row < c.rows; ++row) x[row] = scale() * load<C>(b, op_b, row, column);
        solve<C>(a, op_a, rows, [x](std::int64_t i) -> C& { return x[i]; });
      }
      for (std::int64_t column = 0; column < c.columns; ++column)
        for (std::int64_t row = 0; row < c.rows; ++row)
          store(c.values, place(c, row, column), all[static_cast<std::size_t>(column * c.rows + row)]);
    });
  });
}

// ---- Sparse products

namespace {
bool is_product(cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c, cusparseSpGEMMDescr_t descr) {
  return is_known(op_a) && is_known(op_b) && alpha != nullptr && beta != nullptr && a != nullptr && b != nullptr &&
         c != nullptr && descr != nullptr && a->columns == b->rows && c->rows == a->rows && c->columns == b->columns;
}
bool is_emulated(cusparseOperation_t op_a, cusparseOperation_t op_b, cusparseConstSpMatDescr_t a,
                 cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c, cudaDataType compute) {
  return op_a == CUSPARSE_OPERATION_NON_TRANSPOSE && op_b == CUSPARSE_OPERATION_NON_TRANSPOSE &&
         a->format == CUSPARSE_FORMAT_CSR && b->format == CUSPARSE_FORMAT_CSR && c->format == CUSPARSE_FORMAT_CSR &&
         go_together(a->values.type, b->values.type, c->values.type, compute);
}
}  // namespace

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr) {
  return made(descr, true, cusparseSpGEMMDescr{}, WARPBOOK_HERE);
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                               cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                               cudaDataType compute, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descr,
                                               size_t* bytes, void*) {
  WARPBOOK_CALL(is_product(op_a, op_b, alpha, a, b, beta, c, descr) && bytes != nullptr,
                is_emulated(op_a, op_b, a, b, c, compute));
  *bytes = kBuffer;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                        const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                        cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descr, size_t* bytes, void* buffer) {
  WARPBOOK_CALL(is_product(op_a, op_b, alpha, a, b, beta, c, descr) && bytes != nullptr,
                is_emulated(op_a, op_b, a, b, c, compute));
  *bytes = kBuffer;
  if (buffer == nullptr) return CUSPARSE_STATUS_SUCCESS;
  Operands operands;
  add(operands, *a, false, false);
  add(operands, *b, false, false);
  const cusparseStatus_t status = by_type(compute, [&](auto number) {
    using C = decltype(number);
    return call.run_over(
        *a, 2, operands,
        [=](const std::vector<Element>& list) {
          const auto others = elements(*b);
          if (!others) return call.refuse_indices();
          const auto rows = by_rows(*others, b->rows, CUSPARSE_OPERATION_NON_TRANSPOSE);
          descr->rows.assign(static_cast<std::size_t>(c->rows), {});
          for (const Element& each : list)
            for (const Element& other : rows[static_cast<std::size_t>(each.column)]) {
              std::complex<double>& sum = descr->rows[static_cast<std::size_t>(each.row)][other.column];
              const C product = load<C>(a->values, each.at) * load<C>(b->values, other.at);
              if constexpr (std::is_floating_point_v<C>)
                sum = static_cast<C>(sum.real()) + product;
              else
                sum = std::complex<double>(C(sum) + product);
            }
          descr->nnz = 0;
          for (const auto& row : descr->rows) descr->nnz += static_cast<std::int64_t>(row.size());
        },
        true);
  });
  if (status == CUSPARSE_STATUS_SUCCESS && descr->nnz >= 0) c->nnz = descr->nnz;
  return status;
}
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                     const void* beta, cusparseSpMatDescr_t c_descr, cudaDataType compute,
                                     cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descr) {
  WARPBOOK_CALL(is_product(op_a, op_b, alpha, a, b, beta, c_descr, descr) && descr->nnz >= 0 &&
                    c_descr->nnz == descr->nnz,
                is_emulated(op_a, op_b, a, b, c_descr, compute));
  return by_type(compute, [&](auto number) {
    using C = decltype(number);
    const cusparseSpMatDescr c = *c_descr;
    Operands operands;
    const auto scale = call.scalar<C>(alpha, operands, "alpha");
    const auto keep = call.scalar<C>(beta, operands, "beta");
    add(operands, c, true, true);
    return call.run(0, c.values.type, operands, [=, product = *descr] {
      const C kept = keep();
      std::int64_t at = 0;
      for (std::int64_t row = 0; row < c.rows; ++row) {
        store(c.first, row, at);
        for (const auto& [column, sum] : product.rows[static_cast<std::size_t>(row)]) {
          C value;
          if constexpr (std::is_floating_point_v<C>)
            value = scale() * static_cast<C>(sum.real());
          else
            value = scale() * C(sum);
          store(c.values, at, kept == C(0) ? value : value + kept * load<C>(c.values, at));
          store(c.second, at++, column);
        }
      }
      store(c.first, c.rows, at);
    });
  });
}

// ---- Formats

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* coo_rows, int nnz, int rows, int* csr_offsets,
                                  cusparseIndexBase_t base) {
  WARPBOOK_CALL(nnz >= 0 && rows >= 0 && is_known(base), true);
  return call.run(0, CUDA_R_32F,
                  {flat("cooRowInd", coo_rows, nnz, sizeof(int), false),
                   flat("csrRowPtr", csr_offsets, rows + 1, sizeof(int), true)},
                  [=] {
                    for (int row = 0; row <= rows; ++row)
                      csr_offsets[row] =
                          static_cast<int>(std::lower_bound(coo_rows, coo_rows + nnz, row + base) - coo_rows) + base;
                  });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* csr_offsets, int nnz, int rows, int* coo_rows,
                                  cusparseIndexBase_t base) {
  WARPBOOK_CALL(nnz >= 0 && rows >= 0 && is_known(base), true);
  return call.run(0, CUDA_R_32F,
                  {flat("csrRowPtr", csr_offsets, rows + 1, sizeof(int), false),
                   flat("cooRowInd", coo_rows, nnz, sizeof(int), true)},
                  [=] {
                    for (int row = 0; row < rows; ++row)
                      for (int i = std::max(0, csr_offsets[row] - base); i < std::min(nnz, csr_offsets[row + 1] - base);
                           ++i)
                        coo_rows[i] = row + base;
                  });
}
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int, int, int, const void*, const int*,
                                               const int*, void*, int*, int*, cudaDataType, cusparseAction_t,
                                               cusparseIndexBase_t, cusparseCsr2CscAlg_t, size_t* bytes) {
  return buffer_size(handle, true, bytes, WARPBOOK_HERE);
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int rows, int columns, int nnz, const void* csr_values,
                                    const int* csr_offsets, const int* csr_columns, void* csc_values, int* csc_offsets,
                                    int* csc_rows, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                                    cusparseCsr2CscAlg_t, void*) {
  WARPBOOK_CALL(rows >= 0 && columns >= 0 && nnz >= 0 && is_known(base), is_known(type));
  const bool numeric = action == CUSPARSE_ACTION_NUMERIC;
  const cusparseSpMatDescr from{CUSPARSE_FORMAT_CSR,
                                rows,
                                columns,
                                nnz,
                                {csr_offsets, CUSPARSE_INDEX_32I, base},
                                {csr_columns, CUSPARSE_INDEX_32I, base},
                                {csr_values, type}};
  const cusparseSpMatDescr to{CUSPARSE_FORMAT_CSC,
                              rows,
                              columns,
                              nnz,
                              {csc_offsets, CUSPARSE_INDEX_32I, base},
                              {csc_rows, CUSPARSE_INDEX_32I, base},
                              {csc_values, type}};
  Operands operands;
  for (const cusparseSpMatDescr* mat : {&from, &to}) {
    add(operands, *mat, mat == &to, mat == &to);
    if (!numeric) operands.pop_back();
  }
  return call.run_over(from, 0, operands, [=](std::vector<Element> list) {
    std::sort(list.begin(), list.end(),
              [](const Element& a, const Element& b) { return std::pair(a.column, a.at) < std::pair(b.column, b.at); });
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(columns) + 1);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(list.size()); ++i) {
      const Element& each = list[static_cast<std::size_t>(i)];
      ++offsets[static_cast<std::size_t>(each.column) + 1];
      store(to.second, i, each.row);
      if (numeric)
        by_type(compute_type(type),
                [&](auto number) { store(to.values, i, load<decltype(number)>(from.values, each.at)); });
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    for (std::size_t i = 0; i < offsets.size(); ++i) store(to.first, static_cast<std::int64_t>(i), offsets[i]);
  });
}
