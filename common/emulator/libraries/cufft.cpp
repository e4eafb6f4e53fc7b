// cuFFT on the host. A plan is three axes, the outer ones of one element where it has fewer; a line of numbers is
// divided by its smallest factor until what is left is prime.

#include "common/emulator/include/cufft.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <mutex>
#include <numbers>
#include <optional>
#include <vector>

#include "common/emulator/include/warpbook_library.h"

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;
using Complex = std::complex<double>;

/// exp(sign * 2 * pi * i * k / n), for all k.
std::vector<Complex> roots_of(std::size_t n, int sign) {
  std::vector<Complex> roots(n);
  for (std::size_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  return roots;
}

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

/// The transform of lines of one length.
class Line {
public:
  Line(std::size_t n, int sign) : n_(n), roots_(roots_of(n, sign)), before_(n) {
    // A length with a large prime becomes a convolution, of a length that is a power of 2 (Bluestein's).
    std::size_t rest = n;
    std::size_t factor = 1;
    while (rest > 1) rest /= factor = smallest_factor(rest);
    constexpr std::size_t kLarge = 61;
    if (factor <= kLarge) return;
    const std::size_t wide = std::bit_ceil(2 * n - 1);
    chirp_.resize(n);
    const std::vector<Complex> halves = roots_of(2 * n, sign);
    for (std::size_t k = 0; k < n; ++k) chirp_[k] = halves[k * k % (2 * n)];
    kernel_.assign(wide, 0);
    for (std::size_t k = 0; k < n; ++k) kernel_[k] = kernel_[(wide - k) % wide] = std::conj(chirp_[k]);
    Line(wide, -1).transform(kernel_.data());
  }

  void transform(Complex* line) {
    if (!kernel_.empty()) return convolve(line);
    std::copy_n(line, n_, before_.begin());
    divide(before_.data(), 1, line, n_);
  }

private:
  void divide(const Complex* in, std::size_t stride, Complex* out, std::size_t n) const {
    if (n == 1) {
      *out = *in;
      return;
    }
    const std::size_t parts = smallest_factor(n);
    const std::size_t length = n / parts;
    for (std::size_t part = 0; part < parts; ++part)
      divide(in + part * stride, stride * parts, out + part * length, length);
    const std::size_t step = n_ / n;
    std::array<Complex, 61> values;
    for (std::size_t k = 0; k < length; ++k) {
      for (std::size_t part = 0; part < parts; ++part) values[part] = out[part * length + k];
      for (std::size_t q = 0; q < parts; ++q) {
        Complex sum = 0;
        for (std::size_t part = 0; part < parts; ++part)
          sum += values[part] * roots_[part * (k + q * length) % n * step];
        out[q * length + k] = sum;
      }
    }
  }

  void convolve(Complex* line) const {
    const std::size_t wide = kernel_.size();
    std::vector<Complex> data(wide);
    for (std::size_t k = 0; k < n_; ++k) data[k] = line[k] * chirp_[k];
    Line(wide, -1).transform(data.data());
    for (std::size_t k = 0; k < wide; ++k) data[k] *= kernel_[k];
    Line(wide, 1).transform(data.data());
    for (std::size_t k = 0; k < n_; ++k) line[k] = data[k] * chirp_[k] / static_cast<double>(wide);
  }

  std::size_t n_;
  std::vector<Complex> roots_;
  std::vector<Complex> before_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;
};

/// Where the elements of one side lie.
struct Layout {
  std::array<std::size_t, 3> extents{1, 1, 1};  ///< elements that are there, by axis
  std::array<std::size_t, 3> pitches{0, 0, 1};  ///< elements from one to the next, by axis
  std::size_t batch = 0;                        ///< elements from one batch to the next

  std::size_t at(std::size_t x, std::size_t y, std::size_t z) const {
    return x * pitches[0] + y * pitches[1] + z * pitches[2];
  }
  std::size_t last() const { return at(extents[0] - 1, extents[1] - 1, extents[2] - 1); }
};

struct Plan {
  bool made = false;
  std::array<std::size_t, 3> n{1, 1, 1};
  cufftType type = CUFFT_C2C;
  std::size_t batches = 0;
  std::optional<std::array<Layout, 2>> own;  ///< of in and out, where the program says them
  cudaStream_t stream = nullptr;
};

std::mutex mutex;
std::map<cufftHandle, Plan> plans;

Plan* find(cufftHandle handle) {
  const auto found = plans.find(handle);
  return found == plans.end() ? nullptr : &found->second;
}

bool reads_reals(cufftType type) { return type == CUFFT_R2C || type == CUFFT_D2Z; }
bool writes_reals(cufftType type) { return type == CUFFT_C2R || type == CUFFT_Z2D; }

/// The elements of one side: of the last axis, complex numbers are half as many where the other side is real.
std::array<std::size_t, 3> extents_of(const Plan& plan, bool out) {
  std::array<std::size_t, 3> extents = plan.n;
  if (out ? reads_reals(plan.type) : writes_reals(plan.type)) extents[2] = extents[2] / 2 + 1;
  return extents;
}

Layout packed(const Plan& plan, bool out, bool in_place) {
  Layout layout;
  layout.extents = extents_of(plan, out);
  // In place, a row of reals has room for the complex numbers that it becomes.
  const bool padded = in_place && (out ? writes_reals(plan.type) : reads_reals(plan.type));
  const std::size_t row = padded ? (plan.n[2] / 2 + 1) * 2 : layout.extents[2];
  layout.pitches = {row * layout.extents[1], row, 1};
  layout.batch = row * layout.extents[1] * layout.extents[0];
  return layout;
}

std::array<Layout, 2> layouts(const Plan& plan, bool in_place) {
  return plan.own ? *plan.own : std::array{packed(plan, false, in_place), packed(plan, true, in_place)};
}

/// One side as the advanced layout of `cufftPlanMany` says.
Layout given(const Plan& plan, bool out, int rank, const int* embed, int stride, int distance) {
  Layout layout;
  layout.extents = extents_of(plan, out);
  const auto size = [&](int axis) { return static_cast<std::size_t>(axis < 0 ? 1 : embed[axis]); };
  layout.pitches[2] = static_cast<std::size_t>(stride);
  layout.pitches[1] = layout.pitches[2] * size(rank - 1);
  layout.pitches[0] = layout.pitches[1] * (rank > 1 ? size(rank - 2) : 1);
  layout.batch = static_cast<std::size_t>(distance);
  return layout;
}

/// The whole cube, axis after axis.
void transform(std::vector<Complex>& cube, const std::array<std::size_t, 3>& n, int sign) {
  const std::array<std::size_t, 3> pitches{n[1] * n[2], n[2], 1};
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (n[axis] == 1) continue;
    Line line(n[axis], sign);
    std::vector<Complex> values(n[axis]);
    for (std::size_t begin = 0; begin < cube.size(); ++begin) {
      if (begin / pitches[axis] % n[axis] != 0) continue;
      for (std::size_t k = 0; k < n[axis]; ++k) values[k] = cube[begin + k * pitches[axis]];
      line.transform(values.data());
      for (std::size_t k = 0; k < n[axis]; ++k) cube[begin + k * pitches[axis]] = values[k];
    }
  }
}

template <class Visit> void each(const std::array<std::size_t, 3>& extents, Visit visit) {
  for (std::size_t x = 0; x < extents[0]; ++x)
    for (std::size_t y = 0; y < extents[1]; ++y)
      for (std::size_t z = 0; z < extents[2]; ++z) visit(x, y, z);
}

/// A batch: `In` and `Out` are T or std::complex<T>.
template <class In, class Out>
void run_one(const Plan& plan, const In* in, const Layout& from, Out* out, const Layout& to, int sign) {
  const auto& n = plan.n;
  std::vector<Complex> cube(n[0] * n[1] * n[2]);
  const auto place = [&](std::size_t x, std::size_t y, std::size_t z) { return (x * n[1] + y) * n[2] + z; };
  each(from.extents, [&](std::size_t x, std::size_t y, std::size_t z) {
    const Complex value(in[from.at(x, y, z)]);
    cube[place(x, y, z)] = value;
    if (from.extents[2] < n[2] && z != 0)  // The other half mirrors this one.
      cube[place((n[0] - x) % n[0], (n[1] - y) % n[1], n[2] - z)] = std::conj(value);
  });
  transform(cube, n, sign);
  each(to.extents, [&](std::size_t x, std::size_t y, std::size_t z) {
    const Complex value = cube[place(x, y, z)];
    if constexpr (std::is_floating_point_v<Out>)
      out[to.at(x, y, z)] = static_cast<Out>(value.real());
    else
      out[to.at(x, y, z)] = Out(value);
  });
}

LibraryOperand operand(const char* name, const void* begin, const Layout& layout, std::size_t batches,
                       std::size_t bytes, bool written) {
  const std::size_t width = (layout.last() + 1) * bytes;
  const std::size_t pitch = layout.batch * bytes;
  if (pitch >= width) return {name, begin, width, batches, pitch, written};
  const std::size_t whole = width + (batches - 1) * pitch;  // Batches lie between each other's elements.
  return {name, begin, whole, 1, whole, written};
}

/// Tells of the call that the result refuses; returns the result.
cufftResult refuse(const char* function, const void* pc, cufftResult result) {
  const bool plan = result == CUFFT_INVALID_PLAN;
  const bool type = result == CUFFT_INVALID_TYPE;
  const bool size = result == CUFFT_INVALID_SIZE;
  warpbook::emulator::library_refused(function, pc,
                                      plan   ? "CUFFT_INVALID_PLAN"
                                      : type ? "CUFFT_INVALID_TYPE"
                                      : size ? "CUFFT_INVALID_SIZE"
                                             : "CUFFT_INVALID_VALUE",
                                      result,
                                      plan   ? "the plan was not made, or is destroyed"
                                      : type ? "the plan is for a transform of another type"
                                      : size ? "an extent is less than 1"
                                             : "a parameter cannot be");
  return result;
}

template <class In, class Out>
cufftResult execute(const char* function, const void* pc, cufftHandle handle, cufftType type, const void* in, void* out,
                    int sign) {
  const std::lock_guard lock(mutex);
  const Plan* found = find(handle);
  if (found == nullptr || !found->made) return refuse(function, pc, CUFFT_INVALID_PLAN);
  if (found->type != type) return refuse(function, pc, CUFFT_INVALID_TYPE);
  if (in == nullptr || out == nullptr || (sign != CUFFT_FORWARD && sign != CUFFT_INVERSE))
    return refuse(function, pc, CUFFT_INVALID_VALUE);
  const Plan plan = *found;
  const auto sides = layouts(plan, in == out);
  const auto elements = static_cast<double>(plan.n[0] * plan.n[1] * plan.n[2] * plan.batches);
  LibraryCall call;
  call.function = function;
  call.pc = pc;
  call.stream = plan.stream;
  call.flops = 5 * elements * std::log2(std::max(2.0, elements / static_cast<double>(plan.batches)));
  call.element_bytes =
      static_cast<unsigned>(std::min(sizeof(In), sizeof(Out)) / (type == CUFFT_C2C || type == CUFFT_Z2Z ? 2 : 1));
  call.operands = [=] {
    return std::vector{operand("idata", in, sides[0], plan.batches, sizeof(In), false),
                       operand("odata", out, sides[1], plan.batches, sizeof(Out), true)};
  };
  call.run = [=] {
    for (std::size_t i = 0; i < plan.batches; ++i)
      run_one(plan, static_cast<const In*>(in) + i * sides[0].batch, sides[0],
              static_cast<Out*>(out) + i * sides[1].batch, sides[1], sign);
  };
  return warpbook::emulator::run_library_call(std::move(call)) == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

cufftResult make_plan(const char* function, const void* pc, cufftHandle handle, int rank, int* n, int* inembed,
                      int istride, int idist, int* onembed, int ostride, int odist, cufftType type, int batch,
                      std::size_t* work) {
  if (work != nullptr) *work = 0;
  if (rank < 1 || rank > 3 || n == nullptr || batch < 1) return refuse(function, pc, CUFFT_INVALID_VALUE);
  if (std::any_of(n, n + rank, [](int each) { return each < 1; })) return refuse(function, pc, CUFFT_INVALID_SIZE);
  if (type != CUFFT_C2C && type != CUFFT_Z2Z && !reads_reals(type) && !writes_reals(type))
    return refuse(function, pc, CUFFT_INVALID_TYPE);
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (plan == nullptr || plan->made) return refuse(function, pc, CUFFT_INVALID_PLAN);
  for (int axis = 0; axis < rank; ++axis)
    plan->n[static_cast<unsigned>(3 - rank + axis)] = static_cast<std::size_t>(n[axis]);
  plan->type = type;
  plan->batches = static_cast<std::size_t>(batch);
  if (inembed != nullptr && onembed != nullptr) {
    if (istride < 1 || ostride < 1 || idist < 0 || odist < 0) return refuse(function, pc, CUFFT_INVALID_VALUE);
    plan->own = {given(*plan, false, rank, inembed, istride, idist), given(*plan, true, rank, onembed, ostride, odist)};
  }
  plan->made = true;
  return CUFFT_SUCCESS;
}

/// Of elements that lie one behind the other.
template <std::size_t kRank>
cufftResult make_packed(const char* function, const void* pc, cufftHandle plan, std::array<int, kRank> n,
                        cufftType type, int batch, std::size_t* work) {
  return make_plan(function, pc, plan, kRank, n.data(), nullptr, 1, 0, nullptr, 1, 0, type, batch, work);
}

template <class Make> cufftResult plan_by(cufftHandle* handle, Make make) {
  if (const cufftResult result = cufftCreate(handle); result != CUFFT_SUCCESS) return result;
  const cufftResult result = make();
  if (result != CUFFT_SUCCESS) cufftDestroy(*handle);
  return result;
}

template <std::size_t kRank>
cufftResult packed_plan(const char* function, const void* pc, cufftHandle* plan, std::array<int, kRank> n,
                        cufftType type, int batch) {
  return plan_by(plan, [&] { return make_packed(function, pc, *plan, n, type, batch, nullptr); });
}

}  // namespace

cufftResult cufftCreate(cufftHandle* handle) {
  if (handle == nullptr) return refuse(WARPBOOK_HERE, CUFFT_INVALID_VALUE);
  const std::lock_guard lock(mutex);
  *handle = plans.empty() ? 1 : plans.rbegin()->first + 1;
  plans[*handle] = {};
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard lock(mutex);
  return plans.erase(handle) == 1 ? CUFFT_SUCCESS : refuse(WARPBOOK_HERE, CUFFT_INVALID_PLAN);
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, cufftType type, int batch, std::size_t* work) {
  return make_plan(WARPBOOK_HERE, handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, work);
}
cufftResult cufftMakePlan1d(cufftHandle plan, int n, cufftType type, int batch, std::size_t* work) {
  return make_packed(WARPBOOK_HERE, plan, std::array{n}, type, batch, work);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int rows, int columns, cufftType type, std::size_t* work) {
  return make_packed(WARPBOOK_HERE, plan, std::array{rows, columns}, type, 1, work);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, std::size_t* work) {
  return make_packed(WARPBOOK_HERE, plan, std::array{nx, ny, nz}, type, 1, work);
}
cufftResult cufftPlan1d(cufftHandle* plan, int n, cufftType type, int batch) {
  return packed_plan(WARPBOOK_HERE, plan, std::array{n}, type, batch);
}
cufftResult cufftPlan2d(cufftHandle* plan, int rows, int columns, cufftType type) {
  return packed_plan(WARPBOOK_HERE, plan, std::array{rows, columns}, type, 1);
}
cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return packed_plan(WARPBOOK_HERE, plan, std::array{nx, ny, nz}, type, 1);
}
cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                          int ostride, int odist, cufftType type, int batch) {
  return plan_by(plan, [&, function = __func__, pc = __builtin_return_address(0)] {
    return make_plan(function, pc, *plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                     nullptr);
  });
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  return execute<std::complex<float>, std::complex<float>>(WARPBOOK_HERE, plan, CUFFT_C2C, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  return execute<float, std::complex<float>>(WARPBOOK_HERE, plan, CUFFT_R2C, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  return execute<std::complex<float>, float>(WARPBOOK_HERE, plan, CUFFT_C2R, in, out, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return execute<std::complex<double>, std::complex<double>>(WARPBOOK_HERE, plan, CUFFT_Z2Z, in, out, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute<double, std::complex<double>>(WARPBOOK_HERE, plan, CUFFT_D2Z, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute<std::complex<double>, double>(WARPBOOK_HERE, plan, CUFFT_Z2D, in, out, CUFFT_INVERSE);
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (plan == nullptr) return refuse(WARPBOOK_HERE, CUFFT_INVALID_PLAN);
  plan->stream = stream;
  return CUFFT_SUCCESS;
}
// It works in memory of the host's.
cufftResult cufftGetSize(cufftHandle handle, std::size_t* work) {
  const std::lock_guard lock(mutex);
  if (find(handle) == nullptr) return refuse(WARPBOOK_HERE, CUFFT_INVALID_PLAN);
  if (work != nullptr) *work = 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int) { return cufftGetSize(handle, nullptr); }
cufftResult cufftSetWorkArea(cufftHandle handle, void*) { return cufftGetSize(handle, nullptr); }
cufftResult cufftGetVersion(int* version) {
  if (version == nullptr) return refuse(WARPBOOK_HERE, CUFFT_INVALID_VALUE);
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}
