// How the emulator runs blocks: built-in variables, barriers, warp-level operations, shared memory, schedules,
// mistakes.

#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/emulator/execution/schedule.hpp"
#include "tests/catch.hpp"

using warpbook::launch;
namespace emulator = warpbook::emulator;

namespace {

/// Device memory of n elements, 0 in every byte.
template <class T> class Array {
public:
  explicit Array(std::size_t n) : size_(n) {
    REQUIRE(cudaMalloc(&data_, n * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, n * sizeof(T)) == cudaSuccess);
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> copy(size_);
    REQUIRE(cudaMemcpy(copy.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return copy;
  }

private:
  T* data_ = nullptr;
  std::size_t size_;
};

template <class T> std::vector<T> iota(std::size_t n, T first = T{}) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Runs a check under each order of threads.
template <class Check> void under_all_schedules(Check&& check) {
  for (const char* text : {"forward", "reverse", "random:1", "random:2"}) {
    emulator::Schedule schedule;
    REQUIRE(emulator::parse_schedule(text, schedule));
    emulator::set_schedule(schedule);
    INFO("schedule " << text);
    check();
  }
  emulator::set_schedule({});
}

/// Launches a kernel that must fail, and returns what was reported. The device is reset: arrays made before are gone.
template <class... Parameters, class... Given>
std::string report_of(cudaError_t expected, void (*kernel)(Parameters...), const warpbook::LaunchConfig& config,
                      Given... arguments) {
  emulator::reports();
  REQUIRE(launch(kernel, config, arguments...) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == expected);
  CHECK(cudaGetLastError() == expected);
  CHECK(cudaGetLastError() == expected);  // sticky
  std::string text;
  for (const std::string& report : emulator::reports()) text += report;
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
  return text;
}

// ---------------------------------------------------------------------------------------------------- indices and
// extents

__global__ void write_indices(uint3* threads, uint3* blocks) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  threads[i] = threadIdx;
  blocks[i] = blockIdx;
}

TEST_CASE("every thread of every block runs once, with its own indices") {
  const dim3 grid(3, 4, 2);
  const dim3 block(5, 3, 7);
  const unsigned count = 3 * 4 * 2 * 5 * 3 * 7;
  under_all_schedules([&] {
    const Array<uint3> threads(count);
    const Array<uint3> blocks(count);
    REQUIRE(launch(write_indices, {.grid = grid, .block = block}, threads.get(), blocks.get()) == cudaSuccess);
    const auto t = threads.host();
    const auto b = blocks.host();
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned thread = i % 105;
      const unsigned linear = i / 105;
      wrong += t[i].x != thread % 5 || t[i].y != thread / 5 % 3 || t[i].z != thread / 15;
      wrong += b[i].x != linear % 3 || b[i].y != linear / 3 % 4 || b[i].z != linear / 12;
    }
    CHECK(wrong == 0);
  });
}

// ---------------------------------------------------------------------------------------------------------------
// barriers

__global__ void mark_far(char* far) { far[(blockIdx.x + 1LL) << 30] = 1; }

TEST_CASE("one block of a large launch runs, on more memory than there is") {
  auto* const far = static_cast<char*>(emulator::allocate_sparse(std::size_t{110} << 30U));
  REQUIRE(far != nullptr);
  const auto marked = [&](double share) {
    emulator::run_one_block(share);
    const cudaError_t error = launch(mark_far, {.grid = 101}, far);
    emulator::run_one_block(-1);
    REQUIRE((error == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess));
    std::vector<int> blocks;
    for (int block = 0; block <= 100; ++block) {
      char& mark = far[(block + 1LL) << 30];
      if (mark != 0) blocks.push_back(block);
      mark = 0;
    }
    return blocks;
  };
  CHECK(marked(0) == std::vector{0});
  CHECK(marked(0.5) == std::vector{50});
  CHECK(marked(1) == std::vector{100});
  CHECK(marked(-1) == iota<int>(101));
  auto* const other = static_cast<char*>(emulator::allocate_sparse(1));
  CHECK(other - far >= std::ptrdiff_t{174} << 30);
  CHECK(cudaFree(other) == cudaSuccess);
  CHECK(cudaFree(far) == cudaSuccess);
  CHECK(emulator::allocate_sparse(std::size_t{1} << 50U) == nullptr);
}

__global__ void reverse_through_shared(int* values, int phases) {
  __shared__ int tile[1024];
  for (int phase = 0; phase < phases; ++phase) {
    tile[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    values[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x] + 1;
    __syncthreads();
  }
}

TEST_CASE("barriers hold for any block size and order of threads") {
  under_all_schedules([] {
    for (const unsigned size : {1U, 31U, 32U, 33U, 64U, 100U, 1023U, 1024U}) {
      const Array<int> values(size * 8);
      REQUIRE(launch(reverse_through_shared, {.grid = 8, .block = size}, values.get(), 3) == cudaSuccess);
      CHECK(values.host() == std::vector<int>(size * 8, 3));
    }
  });
}

__global__ void early_return(int* out, unsigned stay) {
  __shared__ int sum[2];
  if (threadIdx.x == 0) sum[0] = sum[1] = 0;
  __syncthreads();
  if (threadIdx.x >= stay) return;
  for (int i = 0; i < 3; ++i) {
    atomicAdd(&sum[i & 1], 1);
    __syncthreads();
  }
  out[threadIdx.x] = sum[0] * 100 + sum[1];
}

TEST_CASE("a thread that returned holds no barrier up") {
  under_all_schedules([] {
    for (const unsigned stay : {1U, 7U, 32U, 50U, 96U}) {
      const Array<int> out(96);
      REQUIRE(launch(early_return, {.grid = 1, .block = 96}, out.get(), stay) == cudaSuccess);
      REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
      const auto result = out.host();
      for (unsigned i = 0; i < 96; ++i) CHECK(result[i] == (i < stay ? static_cast<int>(stay * 201) : 0));
    }
  });
}

__global__ void barrier_votes(int* out) {
  const int third = threadIdx.x % 3 == 0;
  out[threadIdx.x * 4] = __syncthreads_count(third);
  out[threadIdx.x * 4 + 1] = __syncthreads_or(threadIdx.x == 70);
  out[threadIdx.x * 4 + 2] = __syncthreads_and(third);
  out[threadIdx.x * 4 + 3] = __syncthreads_and(1);
}

TEST_CASE("barriers that vote") {
  under_all_schedules([] {
    const Array<int> out(400);
    REQUIRE(launch(barrier_votes, {.grid = 1, .block = 100}, out.get()) == cudaSuccess);
    const auto result = out.host();
    for (unsigned i = 0; i < 400; ++i) CHECK(result[i] == (i % 4 == 0 ? 34 : i % 4 == 2 ? 0 : 1));
  });
}

// --------------------------------------------------------------------------------------------------------- warp
// operations

__global__ void shuffles(int* out, int width) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int* mine = out + threadIdx.x * 4;
  mine[0] = __shfl_sync(~0U, lane, 5, width);
  mine[1] = __shfl_up_sync(~0U, lane, 3, width);
  mine[2] = __shfl_down_sync(~0U, lane, 3, width);
  mine[3] = __shfl_xor_sync(~0U, lane, 6, width);
}

TEST_CASE("shuffles within segments of every width") {
  under_all_schedules([] {
    for (int width = 1; width <= 32; width *= 2) {
      INFO("width " << width);
      const Array<int> out(256);
      REQUIRE(launch(shuffles, {.grid = 1, .block = 64}, out.get(), width) == cudaSuccess);
      const auto result = out.host();
      for (int t = 0; t < 64; ++t) {
        const int lane = t % 32;
        const int begin = lane / width * width;
        const std::size_t at = static_cast<std::size_t>(t) * 4;
        CHECK(result[at] == begin + 5 % width);
        CHECK(result[at + 1] == (lane - 3 >= begin ? lane - 3 : lane));
        CHECK(result[at + 2] == (lane + 3 < begin + width ? lane + 3 : lane));
        CHECK(result[at + 3] == ((lane ^ 6) < begin + width ? lane ^ 6 : lane));
      }
    }
  });
}

template <class T> __global__ void rotate(T* values) {
  values[threadIdx.x] = __shfl_sync(~0U, values[threadIdx.x], static_cast<int>(threadIdx.x + 1) % 32);
}

template <class T> void check_rotation(T scale) {
  const Array<T> values(32);
  std::vector<T> host(32);
  for (std::size_t i = 0; i < 32; ++i) host[i] = static_cast<T>(i) * scale;
  REQUIRE(cudaMemcpy(values.get(), host.data(), 32 * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(launch(rotate<T>, {.grid = 1, .block = 32}, values.get()) == cudaSuccess);
  std::rotate(host.begin(), host.begin() + 1, host.end());
  CHECK(values.host() == host);
}

__global__ void narrow_shuffle(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(~0U, static_cast<short>(-static_cast<int>(threadIdx.x)), 1);
}

TEST_CASE("shuffles carry every type that CUDA's do") {
  const Array<int> out(32);
  REQUIRE(launch(narrow_shuffle, {.grid = 1, .block = 32}, out.get()) == cudaSuccess);
  CHECK(out.host()[4] == -5);
  check_rotation<int>(-7);
  check_rotation<unsigned>(0x70000000U);
  check_rotation<long long>(-(1LL << 40));
  check_rotation<unsigned long long>(1ULL << 40);
  check_rotation<float>(0.125F);
  check_rotation<double>(0.1);
}

__global__ void masked_groups(unsigned* out) {
  // Three groups of lanes that go different ways, and meet among themselves only.
  const unsigned lane = threadIdx.x;
  unsigned value = lane;
  if (lane < 8) {
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffU, value, offset);
    __syncwarp(0xffU);
  } else if (lane % 2 == 0) {
    value = __ballot_sync(0x55555500U, lane >= 16);
  } else {
    value = static_cast<unsigned>(__any_sync(0xaaaaaa00U, lane == 31) * 2 + __all_sync(0xaaaaaa00U, lane > 8));
  }
  out[lane] = value;
}

TEST_CASE("lanes meet per mask") {
  under_all_schedules([] {
    const Array<unsigned> out(32);
    REQUIRE(launch(masked_groups, {.grid = 1, .block = 32}, out.get()) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const auto result = out.host();
    for (unsigned i = 0; i < 32; ++i) CHECK(result[i] == (i < 8 ? 28U : i % 2 == 0 ? 0x55550000U : 3U));
  });
}

__global__ void exited_lanes(unsigned* out) {
  if (threadIdx.x % 4 == 3) return;
  out[threadIdx.x] = __ballot_sync(~0U, 1);
  __syncwarp();
}

TEST_CASE("a lane that returned holds no warp operation up") {
  under_all_schedules([] {
    const Array<unsigned> out(48);
    REQUIRE(launch(exited_lanes, {.grid = 1, .block = 48}, out.get()) == cudaSuccess);
    const auto result = out.host();
    for (unsigned i = 0; i < 48; ++i) CHECK(result[i] == (i % 4 == 3 ? 0U : i < 32 ? 0x77777777U : 0x7777U));
  });
}

__global__ void matches(unsigned* out) {
  const int key = static_cast<int>(threadIdx.x % 5);
  int same = -1;
  out[threadIdx.x * 3] = __match_any_sync(~0U, key);
  out[threadIdx.x * 3 + 1] = __match_all_sync(~0U, key, &same);
  out[threadIdx.x * 3 + 2] = __match_all_sync(~0U, 9, &same) + static_cast<unsigned>(same);
}

TEST_CASE("matches") {
  const Array<unsigned> out(96);
  REQUIRE(launch(matches, {.grid = 1, .block = 32}, out.get()) == cudaSuccess);
  const auto result = out.host();
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned expected = 0;
    for (unsigned other = lane % 5; other < 32; other += 5) expected |= 1U << other;
    CHECK(result[lane * 3] == expected);
    CHECK(result[lane * 3 + 1] == 0);
    CHECK(result[lane * 3 + 2] == 0);  // all ones and 1
  }
}

__global__ void aggregated(int* counter, unsigned* masks) {
  if (threadIdx.x % 3 == 0) {
    const unsigned active = __activemask();
    masks[threadIdx.x] = active;
    const int leader = __ffs(static_cast<int>(active)) - 1;
    if (static_cast<int>(threadIdx.x % 32) == leader) atomicAdd(counter, __popc(active));
  }
}

TEST_CASE("the active mask holds the lanes that go the same way") {
  under_all_schedules([] {
    const Array<int> counter(1);
    const Array<unsigned> masks(64);
    REQUIRE(launch(aggregated, {.grid = 1, .block = 64}, counter.get(), masks.get()) == cudaSuccess);
    CHECK(counter.host()[0] == 22);
    CHECK(masks.host()[0] == 0x49249249U);
    CHECK(masks.host()[33] == 0x92492492U);
  });
}

// ----------------------------------------------------------------------------------------------------------- shared
// memory

template <int kWords> __global__ void shared_sum(unsigned* out) {
  __shared__ unsigned words[kWords];
  unsigned first = words[threadIdx.x % kWords];  // not initialised: poison
  __syncthreads();
  words[threadIdx.x % kWords] = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = first == 0xffffffffU ? words[(threadIdx.x + 1) % kWords] : 12345U;
}

TEST_CASE("a block's shared memory is its own, and begins as poison") {
  const Array<unsigned> out(64 * 64);
  REQUIRE(launch(shared_sum<64>, {.grid = 64, .block = 64}, out.get()) == cudaSuccess);
  const auto result = out.host();
  unsigned wrong = 0;
  for (unsigned i = 0; i < result.size(); ++i) wrong += result[i] != i / 64;
  CHECK(wrong == 0);
}

__global__ void dynamic_reverse(const double* in, double* out) {
  auto* tile = warpbook::dynamic_shared<double>();
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
  if (reinterpret_cast<std::uintptr_t>(tile) % 128 != 0) out[0] = -1;
}

TEST_CASE("dynamic shared memory") {
  const Array<double> in(256);
  const Array<double> out(256);
  auto host = iota<double>(256);
  REQUIRE(cudaMemcpy(in.get(), host.data(), 256 * sizeof(double), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(launch(dynamic_reverse, {.grid = 1, .block = 256, .shared_bytes = 256 * sizeof(double)}, in.get(),
                 out.get()) == cudaSuccess);
  std::reverse(host.begin(), host.end());
  CHECK(out.host() == host);
}

// ------------------------------------------------------------------------------------------------------------------
// spinning

__global__ void ticket_lock(int* ticket, int* turn, int* total) {
  const int mine = atomicAdd(ticket, 1);
  while (atomicAdd(turn, 0) != mine) {
  }
  *total += 1;
  __threadfence();
  atomicAdd(turn, 1);
}

TEST_CASE("threads that spin on an atomic let the others run") {
  const Array<int> words(3);
  REQUIRE(launch(ticket_lock, {.grid = 4, .block = 40}, words.get(), words.get() + 1, words.get() + 2) == cudaSuccess);
  CHECK(words.host() == std::vector<int>{160, 160, 160});
}

// ------------------------------------------------------------------------------------------------------------------
// mistakes

__global__ void divergent_barrier(int* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = 1;
    __syncthreads();
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}

__global__ void barrier_and_warp() {
  if (threadIdx.x == 0)
    __syncthreads();
  else
    __syncwarp();
}

__global__ void foreign_mask() { __syncwarp(0xfffffffeU); }

/// For both, so that the compiler does not refuse it in a kernel.
__host__ __device__ cudaError_t synchronize() { return cudaDeviceSynchronize(); }
__global__ void calls_the_runtime(int* out) { out[threadIdx.x] = synchronize(); }

__global__ void trapped(int thread) {
  __syncthreads();
  if (static_cast<int>(threadIdx.x) == thread) __trap();
  __syncthreads();
}

TEST_CASE("a divergent barrier is reported") {
  const Array<int> out(32);
  const std::string text = report_of(cudaErrorLaunchFailure, divergent_barrier, {.grid = 1, .block = 32}, out.get());
  CHECK(text.find("Divergent thread(s) in block") != std::string::npos);
  CHECK(text.find("divergent_barrier") != std::string::npos);
}

TEST_CASE("a deadlock is reported, with who waits where") {
  const std::string text = report_of(cudaErrorLaunchFailure, barrier_and_warp, {.grid = 1, .block = 32});
  CHECK(text.find("Deadlock") != std::string::npos);
  CHECK(text.find("1 thread(s), the first (0,0,0), wait at __syncthreads()") != std::string::npos);
  CHECK(text.find("31 thread(s), the first (1,0,0), wait in a warp-level operation") != std::string::npos);
}

TEST_CASE("a mask that does not name the caller is reported") {
  CHECK(report_of(cudaErrorLaunchFailure, foreign_mask, {.grid = 1, .block = 32}).find("Invalid arguments") !=
        std::string::npos);
}

TEST_CASE("a kernel that calls the runtime is reported") {
  const Array<int> out(64);
  CHECK(report_of(cudaErrorNotSupported, calls_the_runtime, {.grid = 200, .block = 64}, out.get())
            .find("Runtime call inside a kernel") != std::string::npos);
}

TEST_CASE("a trap ends the kernel, and the next one runs") {
  for (int round = 0; round < 3; ++round) {
    report_of(cudaErrorLaunchFailure, trapped, {.grid = 64, .block = 128}, 77);
    const Array<int> values(64 * 128);
    REQUIRE(launch(reverse_through_shared, {.grid = 64, .block = 128}, values.get(), 2) == cudaSuccess);
    CHECK(values.host() == std::vector<int>(64 * 128, 2));
  }
}

#ifndef NDEBUG
__global__ void asserting(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

TEST_CASE("a failed assertion ends the kernel as CUDA has it") {
  const std::string text = report_of(cudaErrorAssert, asserting, {.grid = 1, .block = 64}, 40);
  CHECK(text.find("block (0,0,0), thread (40,0,0) Assertion `") != std::string::npos);
}
#endif

TEST_CASE("schedules by name") {
  emulator::Schedule schedule;
  CHECK(emulator::parse_schedule("random:18446744073709551615", schedule));
  CHECK(schedule.seed == 18446744073709551615U);
  for (const char* text : {"", "forwards", "random", "random:", "random:-1", "random:1x"}) {
    CHECK_FALSE(emulator::parse_schedule(text, schedule));
  }
}

}  // namespace

namespace {

const std::string& made_once() {
  static const std::string name = std::to_string(42);  // Its guard is read atomically, also in instrumented files.
  return name;
}

}  // namespace

TEST_CASE("A kernel file may have a function-local static", "[core]") { CHECK(made_once() == "42"); }
