/// \file
/// The verifier against kernels that are wrong on purpose: each has to be rejected, and for the right reason.
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/harness/chapter.hpp"
#include "common/harness/float_elements.hpp"
#include "common/harness/raw_elements.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // Rows of threads in a block.
constexpr std::uint64_t kSeed = 2026;

/// y = transpose of x, of floats: bit for bit.
class TransposeCase : public Case {
public:
  TransposeCase(int rows, int columns, std::int64_t offset_bytes = 0)
      : rows(rows), columns(columns), offset_bytes_(offset_bytes) {}

  std::string title() const override { return "transpose"; }
  std::string parameters() const override { return ""; }
  std::vector<BufferLayout> inputs() const override { return {{"x", count(), 4, offset_bytes_}}; }
  BufferLayout output() const override { return {"y", count(), 4, offset_bytes_}; }
  std::int64_t bytes_moved() const override { return 8 * count(); }
  void fill(std::size_t, std::uint64_t seed, std::span<std::byte> bytes) const override {
    for (std::int64_t i = 0; i < count(); ++i) {
      const float value = static_cast<float>(i + static_cast<std::int64_t>(seed % 1000)) + 0.5F;
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
  }
  void reference(std::span<const std::span<const std::byte>> in, std::span<std::byte> out) const override {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c)
        std::memcpy(&out[4 * (c * rows + r)], &in[0][4 * (r * columns + c)], 4);
    }
  }
  std::string coordinate(std::int64_t e) const override {
    return "[" + std::to_string(e / rows) + ", " + std::to_string(e % rows) + "]";
  }

  std::int64_t count() const { return std::int64_t{rows} * columns; }

  int rows;
  int columns;

private:
  std::int64_t offset_bytes_;
};

/// y = 2 x, or y += 2 x, in float: compared with a bound.
class ScaleCase : public Case {
public:
  explicit ScaleCase(std::int64_t n, bool updates = false) : n(n), updates_(updates) {}

  std::string title() const override { return "scale"; }
  std::string parameters() const override { return ""; }
  std::vector<BufferLayout> inputs() const override { return {{"x", n, 4, 0}}; }
  BufferLayout output() const override { return {"y", n, 4, 0}; }
  std::int64_t bytes_moved() const override { return 8 * n; }
  bool updates_output() const override { return updates_; }
  void fill(std::size_t array, std::uint64_t, std::span<std::byte> bytes) const override {
    for (std::int64_t i = 0; i < n; ++i) {
      const float value = std::sin(static_cast<float>(i)) + static_cast<float>(array) + 2;
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
  }
  void reference(std::span<const std::span<const std::byte>> in, std::span<std::byte> out) const override {
    for (std::int64_t i = 0; i < n; ++i) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, &in[0][4 * i], 4);
      if (updates_) std::memcpy(&y, &out[4 * i], 4);
      y += 2 * x;
      std::memcpy(&out[4 * i], &y, 4);
    }
  }
  Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const override {
    Difference result;
    for (std::int64_t i = 0; i < n; ++i) {
      float want = 0;
      float got = 0;
      std::memcpy(&want, &expected[4 * i], 4);
      std::memcpy(&got, &actual[4 * i], 4);
      if (std::abs(got - want) <= 1e-6F * std::abs(want)) continue;  // False for NaN.
      if (result.count++ == 0)
        result = {.count = 1, .first = i, .expected = std::to_string(want), .actual = std::to_string(got)};
    }
    return result;
  }
  std::string coordinate(std::int64_t e) const override { return "[" + std::to_string(e) + "]"; }

  std::int64_t n;

private:
  bool updates_;
};

/// y = x in bytes, every value equally often.
class ByteCase : public Case {
public:
  explicit ByteCase(std::int64_t n) : n(n) {}
  std::string title() const override { return "bytes"; }
  std::string parameters() const override { return ""; }
  std::vector<BufferLayout> inputs() const override { return {{"x", n, 1, 1}}; }
  BufferLayout output() const override { return {"y", n, 1, 3}; }
  std::int64_t bytes_moved() const override { return 2 * n; }
  void fill(std::size_t, std::uint64_t, std::span<std::byte> bytes) const override {
    for (std::int64_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i % 256);
  }
  void reference(std::span<const std::span<const std::byte>> in, std::span<std::byte> out) const override {
    std::copy(in[0].begin(), in[0].end(), out.begin());
  }
  std::string coordinate(std::int64_t e) const override { return "[" + std::to_string(e) + "]"; }

  std::int64_t n;
};

// ------------------------------------------------------------------------------------------------- transposing kernels
/// What is wrong with a tile.
enum class Mistake { none, swapped_indices, missing_barrier, off_by_one };

template <Mistake mistake> __global__ void tiled(float* y, const float* x, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int column = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  if (mistake == Mistake::missing_barrier) {  // Shared memory may still hold an earlier launch's tile, which is right.
    for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kRows) tile[r][threadIdx.x] = 0;
    __syncthreads();
  }
  if (mistake == Mistake::missing_barrier && threadIdx.y == 0) {  // Late, so that others do read what is not there yet.
    const long long start = clock64();
    while (clock64() - start < 20000) {
    }
  }
  for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kRows) {
    if (first_row + r < rows && column < columns) tile[r][threadIdx.x] = x[(first_row + r) * columns + column];
  }
  if (mistake != Mistake::missing_barrier) __syncthreads();

  const int row = first_row + static_cast<int>(threadIdx.x);
  const int first_column = static_cast<int>(blockIdx.x) * kTile;
  for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kRows) {
    if (row >= rows || first_column + c >= columns) continue;
    float value = tile[threadIdx.x][c];
    if (mistake == Mistake::off_by_one && first_column > 0) value = tile[threadIdx.x][c == 0 ? 0 : c - 1];
    const int to =
        mistake == Mistake::swapped_indices ? row * columns + first_column + c : (first_column + c) * rows + row;
    y[to] = value;
  }
}

template <Mistake mistake> cudaError_t run_tiled(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  const auto& c = static_cast<const TransposeCase&>(problem);
  if (c.count() == 0) return cudaSuccess;
  return launch(
      tiled<mistake>,
      {.grid = {ceil_div(c.columns, kTile), ceil_div(c.rows, kTile)}, .block = {kTile, kRows}, .stream = stream},
      static_cast<float*>(arrays.output), static_cast<const float*>(arrays.inputs[0]), c.rows, c.columns);
}

/// The remainder as the articles print it: `id - id / size`.
__global__ void wrong_remainder(float* y, const float* x, int rows, int columns) {
  const int id = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (id >= rows * columns) return;
  const int column = id / rows;
  const int row = id - id / rows;  // Should be id - id / rows * rows.
  if (row < rows) y[id] = x[row * columns + column];
}

__global__ void offset_by(float* y, const float* x, int n, int offset) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i + offset] = x[i];
}

cudaError_t run_wrong_remainder(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  const auto& c = static_cast<const TransposeCase&>(problem);
  return launch(wrong_remainder, {.grid = ceil_div<std::int64_t>(c.count(), 256), .block = 256, .stream = stream},
                static_cast<float*>(arrays.output), static_cast<const float*>(arrays.inputs[0]), c.rows, c.columns);
}

// ----------------------------------------------------------------------------------------------------- scaling kernels
/// What is wrong with an elementwise kernel.
enum class Fault { none, dropped_tail, nan, zeros, past_the_end, before_the_start, input, accumulate, assign };

template <Fault fault> __global__ void scale(float* y, float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float value = 2 * x[i];
  if (fault == Fault::nan && i == 77) value = nanf("");
  if (fault == Fault::zeros && i % 2 == 1) value = 0;
  if (fault == Fault::accumulate) value += y[i];
  y[i] = value;
  if (fault == Fault::past_the_end && i == n - 1) y[n + 2] = 1;
  if (fault == Fault::before_the_start && i == 0) y[-1] = 1;
  if (fault == Fault::input && i == 5) x[5] = 99;
}

template <Fault fault> cudaError_t run_scale(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  const auto n = static_cast<int>(static_cast<const ScaleCase&>(problem).n);
  if (n == 0) return cudaSuccess;
  const int blocks = fault == Fault::dropped_tail ? n / 256 : ceil_div(n, 256);
  return launch(scale<fault>, {.grid = blocks, .block = 256, .stream = stream}, static_cast<float*>(arrays.output),
                static_cast<float*>(const_cast<void*>(arrays.inputs[0])), n);
}

__global__ void copy_bytes(unsigned char* y, const unsigned char* x, int n, int left_out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n && i != left_out) y[i] = x[i];
}

__global__ void read_vectors(float4* y, const float4* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = x[i];
}

// --------------------------------------------------------------------------------------------------------------
// helpers
Step step_of(std::function<cudaError_t(const Case&, const Arrays&, cudaStream_t)> run) {
  Step step;
  step.version = "v1";
  step.name = "test";
  step.run = std::move(run);
  return step;
}

/// Verifies, and brings the device back if the step took it down.
Verification verify(const Step& step, const Case& problem) {
  Verification result = verify_step(step, problem, kSeed);
  if (result.device_lost) static_cast<void>(cudaDeviceReset());
  INFO(result.reason);
  CHECK(result.reason.find('\n') == std::string::npos);
  CHECK(result.reason.empty() == (result.status == Status::pass));
  return result;
}

Verification verify(cudaError_t (*run)(const Case&, const Arrays&, cudaStream_t), const Case& problem) {
  return verify(step_of(run), problem);
}

bool mentions(const Verification& v, const std::string& part) {
  UNSCOPED_INFO(v.reason);
  return v.reason.find(part) != std::string::npos;
}

/// Requires that a step fails on a case, for a reason that mentions `part`.
template <class Run> Verification check_rejected(const Run& run, const Case& problem, const std::string& part = "") {
  Verification v = verify(run, problem);
  CHECK(v.status == Status::fail);
  CHECK(mentions(v, part));
  return v;
}

const TransposeCase kOddMatrix(65, 130);
const ScaleCase kOddVector(1000);

}  // namespace

TEST_CASE("right kernels pass") {
  for (const auto& [rows, columns] : {std::pair{65, 130}, {1, 1}, {1, 77}, {33, 1}, {64, 64}, {0, 5}}) {
    CAPTURE(rows, columns);
    CHECK(verify(run_tiled<Mistake::none>, TransposeCase(rows, columns)).status == Status::pass);
    CHECK(verify(run_tiled<Mistake::none>, TransposeCase(rows, columns, 4)).status == Status::pass);
  }
  CHECK(verify(run_scale<Fault::none>, ScaleCase(1000)).status == Status::pass);
  CHECK(verify(run_scale<Fault::none>, ScaleCase(0)).status == Status::pass);
  CHECK(verify(run_scale<Fault::accumulate>, ScaleCase(1000, true)).status == Status::pass);
}

TEST_CASE("swapped indices are rejected") {
  const Verification v =
      check_rejected(run_tiled<Mistake::swapped_indices>, kOddMatrix, "the output is the first input as it stands");
  CHECK(v.coordinate == "[0, 1]");
  CHECK(v.difference.first == 1);
}

TEST_CASE("a missing barrier is rejected") { check_rejected(run_tiled<Mistake::missing_barrier>, kOddMatrix); }

TEST_CASE("an off-by-one tile is rejected") {
  const Verification v = check_rejected(run_tiled<Mistake::off_by_one>, kOddMatrix);
  CHECK(v.coordinate == "[33, 0]");  // The first tile is right, and so is the first column of the next.
}

TEST_CASE("id - id / size is rejected") { check_rejected(run_wrong_remainder, kOddMatrix, "never written"); }

TEST_CASE("a dropped tail is rejected") {
  const Verification v = check_rejected(run_scale<Fault::dropped_tail>, kOddVector,
                                        "the last 232 elements were never written: a dropped tail?");
  CHECK(v.coordinate == "[768]");
  CHECK(v.difference.count == 232);
}

TEST_CASE("NaN is rejected") {
  const Verification v = check_rejected(run_scale<Fault::nan>, kOddVector, "NaN was written");
  CHECK(v.coordinate == "[77]");
  CHECK(v.difference.count == 1);
}

TEST_CASE("zeros are rejected") { check_rejected(run_scale<Fault::zeros>, kOddVector, "zeros where values belong"); }

TEST_CASE("nothing launched is rejected") {
  const auto nothing = step_of([](const Case&, const Arrays&, cudaStream_t) { return cudaSuccess; });
  const Verification v = check_rejected(nothing, kOddMatrix, "nothing was written: was the kernel launched?");
  CHECK(v.difference.count == kOddMatrix.count());
  check_rejected(nothing, ScaleCase(100, true), "as they were before");
}

TEST_CASE("what a step leaves while it prepares is no result") {
  Step step = step_of([](const Case&, const Arrays&, cudaStream_t) { return cudaSuccess; });
  step.prepare = run_tiled<Mistake::none>;
  check_rejected(step, kOddMatrix, "nothing was written: was the kernel launched?");

  bool prepared = false;
  step.prepare = [&](const Case&, const Arrays&, cudaStream_t) {
    prepared = true;
    return cudaSuccess;
  };
  step.run = [&](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    return prepared ? run_tiled<Mistake::none>(c, arrays, stream) : cudaErrorInvalidValue;
  };
  CHECK(verify(step, kOddMatrix).status == Status::pass);

  step.prepare = [](const Case&, const Arrays&, cudaStream_t) { return cudaErrorInvalidValue; };
  check_rejected(step, kOddMatrix, "preparing: launch failed: invalid argument");
}

TEST_CASE("a write past the end is rejected") {
  const Verification v = check_rejected(run_scale<Fault::past_the_end>, kOddVector);
  // Behind the guard band on a GPU; the emulator stops the kernel.
  CHECK((mentions(v, "4 bytes behind y were overwritten, the nearest 9 bytes past its end") ||
         mentions(v, "out of bounds")));
}

TEST_CASE("a write before the start is rejected") {
  const Verification v = check_rejected(run_scale<Fault::before_the_start>, kOddVector);
  CHECK((mentions(v, "in front of y were overwritten") || mentions(v, "out of bounds")));
}

TEST_CASE("a result at the wrong place is rejected with both its traces") {
  const auto shifted = step_of([](const Case& problem, const Arrays& arrays, cudaStream_t stream) {
    const auto& c = static_cast<const TransposeCase&>(problem);
    return launch(offset_by, {.grid = 1, .block = 64, .stream = stream}, static_cast<float*>(arrays.output),
                  static_cast<const float*>(arrays.inputs[0]), static_cast<int>(c.count()), 1);
  });
  const Verification v = check_rejected(shifted, TransposeCase(1, 64));
  CHECK((mentions(v, "behind y") || mentions(v, "out of bounds")));
}

TEST_CASE("an overwritten input is rejected") {
  const Verification v = check_rejected(run_scale<Fault::input>, kOddVector, "input x was overwritten");
  CHECK(v.difference.count == 0);
}

TEST_CASE("stale output is rejected") {
  // It computes once and counts on its output staying where it is.
  int calls = 0;
  const auto lazy = step_of([&calls](const Case& problem, const Arrays& arrays, cudaStream_t stream) {
    return ++calls == 1 ? run_scale<Fault::none>(problem, arrays, stream) : cudaSuccess;
  });
  const ScaleCase problem(1000);
  const HostCase host(problem, kSeed);
  const Stream stream;
  Transfer transfer(stream);
  const DeviceCase device(host, {}, transfer);
  CHECK(verify_step(lazy, host, device, stream, transfer).status == Status::pass);
  const Verification second = verify_step(lazy, host, device, stream, transfer);
  CHECK(second.status == Status::fail);
  CHECK(mentions(second, "nothing was written"));
}

TEST_CASE("a sum where the output was to be added to, and the reverse, are rejected") {
  CHECK(verify(run_scale<Fault::assign>, ScaleCase(1000, true)).status == Status::fail);
  CHECK(verify(run_scale<Fault::accumulate>, ScaleCase(1000)).status == Status::fail);
}

TEST_CASE("one byte left out is noticed, whatever its value") {
  const ByteCase problem(1000);
  for (const int left_out : {0, 1, 127, 128, 255, 256, 600, 999}) {
    const auto step = step_of([&](const Case&, const Arrays& arrays, cudaStream_t stream) {
      return launch(copy_bytes, {.grid = 4, .block = 256, .stream = stream}, static_cast<unsigned char*>(arrays.output),
                    static_cast<const unsigned char*>(arrays.inputs[0]), 1000, left_out);
    });
    CAPTURE(left_out);
    const Verification v = verify(step, problem);
    CHECK(v.status == Status::fail);
    CHECK(v.difference.count == 1);
    CHECK(v.difference.first == left_out);
  }
}

TEST_CASE("an element that came to a wrong place is named, though others are there twice") {
  const auto told = [](const std::vector<std::uint16_t>& actual) {
    const std::vector<std::uint16_t> expected{7, 7, 8, 9};
    return misplaced_element(std::as_bytes(std::span(expected)), std::as_bytes(std::span(expected)),
                             std::as_bytes(std::span(actual)), 2, [](std::int64_t i) { return std::to_string(i); });
  };
  CHECK(told({8, 7, 9, 8}) == "input element 3 came where 2 belongs");
  CHECK(told({7, 7, 5, 8}).empty());
  CHECK(told({8, 8, 8, 9}).empty());
}

TEST_CASE("the last element of many is compared, too") {
  const TransposeCase problem(1, 5'000'001);
  const auto all_but_last = step_of([](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const auto n = static_cast<int>(static_cast<const TransposeCase&>(c).count());
    return launch(offset_by, {.grid = ceil_div(n, 256), .block = 256, .stream = stream},
                  static_cast<float*>(arrays.output), static_cast<const float*>(arrays.inputs[0]), n - 1, 0);
  });
  const Verification v = check_rejected(all_but_last, problem, "the last element was never written: a dropped tail?");
  CHECK(v.difference.count == 1);
  CHECK(v.difference.first == 5'000'000);
}

TEST_CASE("a refused launch is a failure, said or not") {
  const auto too_wide = [](bool says_so) {
    return step_of([says_so](const Case& c, const Arrays& arrays, cudaStream_t stream) {
      const cudaError_t error = launch(offset_by, {.grid = 1, .block = 2048, .stream = stream},
                                       static_cast<float*>(arrays.output), static_cast<const float*>(arrays.inputs[0]),
                                       static_cast<int>(static_cast<const TransposeCase&>(c).count()), 0);
      return says_so ? error : cudaSuccess;
    });
  };
  const Verification said = check_rejected(too_wide(true), kOddMatrix, "launch failed: ");
  CHECK(mentions(said, "cudaErrorInvalid"));
  CHECK_FALSE(said.device_lost);
  check_rejected(too_wide(false), kOddMatrix);
  CHECK(verify(run_tiled<Mistake::none>, kOddMatrix).status == Status::pass);  // Nothing of it is left.
}

TEST_CASE("a launcher that throws is a failure") {
  const auto thrower =
      step_of([](const Case&, const Arrays&, cudaStream_t) -> cudaError_t { throw std::runtime_error("no\nplan"); });
  const Verification v = check_rejected(thrower, kOddMatrix);
  CHECK(v.reason == "the launcher threw: no plan");
}

TEST_CASE("a misaligned access is a failure, and the emulated device comes back", kTraps) {
  const auto vectors = step_of([](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const auto n = static_cast<int>(static_cast<const TransposeCase&>(c).count() / 4);
    return launch(read_vectors, {.grid = ceil_div(n, 64), .block = 64, .stream = stream},
                  static_cast<float4*>(arrays.output), static_cast<const float4*>(arrays.inputs[0]), n);
  });
  CHECK(verify(vectors, TransposeCase(1, 256)).status == Status::pass);
  const Verification v = check_rejected(vectors, TransposeCase(1, 256, 4), "cudaErrorMisalignedAddress");
  CHECK(v.device_lost);
#ifdef WARPBOOK_EMULATED
  CHECK(verify(vectors, TransposeCase(1, 256)).status == Status::pass);
#endif
}

TEST_CASE("steps get scratch memory, and a write behind it is rejected") {
  struct ScratchCase : ByteCase {
    using ByteCase::ByteCase;
    std::int64_t scratch_bytes() const override { return 300; }
  };
  // To the output by way of the scratch memory.
  const auto by_way_of = [](int more) {
    return step_of([=](const Case&, const Arrays& arrays, cudaStream_t stream) {
      auto* scratch = static_cast<std::byte*>(arrays.scratch);
      if (reinterpret_cast<std::uintptr_t>(scratch) % 256 != 0) return cudaErrorMisalignedAddress;
      cudaError_t error = cudaMemsetAsync(scratch, 0, static_cast<std::size_t>(300 + more), stream);
      if (error == cudaSuccess) {
        error = cudaMemcpyAsync(scratch, arrays.inputs[0], 300, cudaMemcpyDeviceToDevice, stream);
      }
      if (error != cudaSuccess) return error;
      return cudaMemcpyAsync(arrays.output, scratch, 300, cudaMemcpyDeviceToDevice, stream);
    });
  };
  CHECK(verify(by_way_of(0), ScratchCase(300)).status == Status::pass);
  const Verification v = check_rejected(by_way_of(1), ScratchCase(300));
  // The emulator's memset refuses to leave the allocation, where its fences are none.
  CHECK((mentions(v, "the scratch memory") || mentions(v, "invalid argument")));
}

TEST_CASE("a step that refuses a case is skipped with its reason") {
  Step step = step_of(run_tiled<Mistake::none>);
  step.refusal = [](const Case&) { return std::string("both dimensions must be even"); };
  const Verification v = verify_step(step, kOddMatrix, kSeed);
  CHECK(v.status == Status::skipped);
  CHECK(v.reason == "both dimensions must be even");
}

TEST_CASE("a yardstick is compared with the input") {
  Step copy = step_of([](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const auto n = static_cast<int>(static_cast<const TransposeCase&>(c).count());
    return launch(offset_by, {.grid = ceil_div(n, 256), .block = 256, .stream = stream},
                  static_cast<float*>(arrays.output), static_cast<const float*>(arrays.inputs[0]), n, 0);
  });
  CHECK(verify(copy, kOddMatrix).status == Status::fail);
  copy.kind = StepKind::yardstick;
  CHECK(verify(copy, kOddMatrix).status == Status::pass);
  Step wrong = step_of(run_tiled<Mistake::none>);
  wrong.kind = StepKind::yardstick;
  CHECK(verify(wrong, kOddMatrix).status == Status::fail);
}

TEST_CASE("a yardstick that fills is compared with what it fills with") {
  const auto filling_with = [](int value) {
    Step fill = step_of([=](const Case& c, const Arrays& arrays, cudaStream_t stream) {
      return cudaMemsetAsync(arrays.output, value, static_cast<std::size_t>(c.output().bytes()), stream);
    });
    fill.kind = StepKind::yardstick;
    fill.fills = std::byte{0x5a};
    return fill;
  };
  CHECK(verify(filling_with(0x5a), kOddMatrix).status == Status::pass);
  check_rejected(filling_with(0x5b), kOddMatrix, "from the fill");
}

TEST_CASE("references read and write doubles and integers of any size as they are") {
  using Limits = std::numeric_limits<double>;
  for (const double value :
       {0.0, -0.0, 0.1, -1.5, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity()}) {
    std::byte element[8];
    encode(FloatType::float64, value, element);
    CHECK(std::memcmp(element, &value, 8) == 0);
    const double again = decode(FloatType::float64, element);
    CHECK(std::memcmp(&again, &value, 8) == 0);
  }
  for (const int bytes : {1, 2, 4, 8}) {
    const auto highest = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - 8 * bytes));
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{100}, highest, -highest - 1}) {
      std::byte element[9] = {};
      store_integer(element, bytes, value);
      CHECK(load_integer(element, bytes) == value);
      CHECK(element[bytes] == std::byte{0});
    }
  }
}

TEST_CASE("the same seed makes the same data") {
  const TransposeCase problem(8, 8);
  const HostCase a(problem, 5);
  const HostCase b(problem, 5);
  const HostCase c(problem, 6);
  CHECK(std::memcmp(a.expected().data(), b.expected().data(), a.expected().size()) == 0);
  CHECK(std::memcmp(a.expected().data(), c.expected().data(), a.expected().size()) != 0);
}

}  // namespace warpbook
