// What is checked of global memory where a program asks for it: races, reads of what nobody wrote; and what is no
// mistake though it looks like one.

#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;
namespace emulator = warpbook::emulator;

namespace {

/// Device memory of n elements.
template <class T> class Array {
public:
  explicit Array(std::size_t n) { REQUIRE(cudaMalloc(&data_, n * sizeof(T)) == cudaSuccess); }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* get() const { return data_; }

private:
  T* data_ = nullptr;
};

/// What is found of launches while it lives; all blocks are traced.
class Watching {
public:
  explicit Watching(const std::string& names) {
    REQUIRE(emulator::set_checks(names));
    emulator::set_trace(emulator::TraceMode::all);
    emulator::reports();
  }
  ~Watching() {
    emulator::set_checks("none");
    emulator::set_trace(emulator::TraceMode::sample);
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

  template <class... P, class... A>
  std::vector<std::string> of(void (*kernel)(P...), const warpbook::LaunchConfig& config, A... arguments) const {
    REQUIRE(launch(kernel, config, arguments...) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    return emulator::reports();
  }
};

bool says(const std::vector<std::string>& found, const std::string& part) {
  return found.size() == 1 && found[0].find(part) != std::string::npos;
}

__device__ unsigned index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void own_element(int* data) { data[index()] += 1; }
__global__ void same_element(int* data) { data[threadIdx.x] = static_cast<int>(blockIdx.x); }
__global__ void same_value(int* data) { data[threadIdx.x] = 7; }
__global__ void own_byte(char* data) { data[index()] = static_cast<char>(index()); }
template <class T> __global__ void own_update(T* data) { data[index()] = static_cast<T>(data[index()] + 1); }
template <class T> __global__ void from_neighbour(T* data) { data[index()] = static_cast<T>(data[index() ^ 1U] + 1); }
__global__ void same_byte(char* data) { data[index() / 2] = static_cast<char>(index()); }
__global__ void atomic_sum(int* data) { atomicAdd(data, 1); }
__global__ void atomic_and_read(int* data, int* out) {
  atomicAdd(data, 1);
  out[index()] = *data;
}
__global__ void shift(int* data) {
  const int next = data[threadIdx.x + 1];
  __syncthreads();
  data[threadIdx.x] = next;
}
__global__ void shift_in_warp(int* data) {
  const int next = data[threadIdx.x + 1];
  __syncwarp();
  data[threadIdx.x] = next;
}
__global__ void wide_beside_narrow(int* data) {
  if (threadIdx.x == 0) *reinterpret_cast<int4*>(data) = int4{1, 2, 3, 4};
  if (threadIdx.x == 32) data[3] = 5;
}

/// Block 0 writes and raises a flag; block 1 waits for the flag and reads. As it is done with volatile.
template <bool fence> __global__ void flag(int* data, volatile int* raised, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 1;
    __syncthreads();
    if (fence) __threadfence();
    if (threadIdx.x == 0) *raised = 1;
  } else {
    if (threadIdx.x == 0) {
      while (*raised == 0) {
      }
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
  }
}

__global__ void copy(int* out, const int* in) { out[index()] = in[index()]; }
__global__ void count_up(int* data) { atomicAdd(&data[index()], 1); }
struct Padded {
  int value;
  char small;
};
__global__ void copy_padded(Padded* out, const Padded* in) { out[index()] = in[index()]; }

__device__ int scratch_of_block(int value) {
  __shared__ int scratch;
  const int before = scratch;
  __syncthreads();
  scratch = value;
  __syncthreads();
  return before;
}
__global__ void looks_back(int* out) { out[blockIdx.x] = scratch_of_block(static_cast<int>(blockIdx.x)); }

}  // namespace

TEST_CASE("races in global memory") {
  const Watching watching("race");
  const Array<int> data(1024);
  const Array<int> out(1024);
  REQUIRE(cudaMemset(data.get(), 0, 4096) == cudaSuccess);
  const auto same = watching.of(same_element, {.grid = 2, .block = 64}, data.get());
  CHECK(says(same, "Race reported between Write access at "));
  CHECK(says(same, "block (1,0,0), thread (0,0,0) and block (0,0,0), thread (0,0,0)"));
  CHECK(says(same, "Threads write one place in one statement: use an atomic"));
  CHECK(says(watching.of(same_byte, {.grid = 1, .block = 64}, reinterpret_cast<char*>(data.get())), "Race reported"));
  CHECK_FALSE(watching.of(from_neighbour<char>, {.grid = 1, .block = 64}, reinterpret_cast<char*>(data.get())).empty());
  CHECK_FALSE(
      watching.of(from_neighbour<short>, {.grid = 1, .block = 64}, reinterpret_cast<short*>(data.get())).empty());
  CHECK(says(watching.of(atomic_and_read, {.grid = 2, .block = 32}, data.get(), out.get()), "Atomic access at"));
  CHECK(says(watching.of(wide_beside_narrow, {.grid = 1, .block = 64}, data.get()), "at byte 12 of allocation"));
}

TEST_CASE("what is no race") {
  const Watching watching("race");
  const Array<int> data(1024);
  const Array<int> out(1024);
  REQUIRE(cudaMemset(data.get(), 0, 4096) == cudaSuccess);
  CHECK(watching.of(own_element, {.grid = 4, .block = 64}, data.get()).empty());
  CHECK(watching.of(own_element, {.grid = 4, .block = 64}, data.get()).empty());  // a launch orders
  CHECK(watching.of(same_value, {.grid = 4, .block = 64}, data.get()).empty());
  CHECK(watching.of(own_byte, {.grid = 4, .block = 64}, reinterpret_cast<char*>(data.get())).empty());
  // Elements of which a word holds several: each is read and written by a thread of its own.
  CHECK(watching.of(own_update<char>, {.grid = 4, .block = 64}, reinterpret_cast<char*>(data.get())).empty());
  CHECK(watching.of(own_update<short>, {.grid = 4, .block = 64}, reinterpret_cast<short*>(data.get())).empty());
  CHECK(watching.of(atomic_sum, {.grid = 4, .block = 64}, data.get()).empty());
  CHECK(watching.of(shift, {.grid = 1, .block = 64}, data.get()).empty());
  CHECK(watching.of(shift_in_warp, {.grid = 1, .block = 32}, data.get()).empty());
}

TEST_CASE("a volatile flag between blocks orders what a fence made visible") {
  const Watching watching("race");
  const Array<int> data(64);
  const Array<int> raised(1);
  const Array<int> out(64);
  REQUIRE(cudaMemset(raised.get(), 0, 4) == cudaSuccess);
  CHECK(watching.of(flag<true>, {.grid = 2, .block = 64}, data.get(), raised.get(), out.get()).empty());
  REQUIRE(cudaMemset(raised.get(), 0, 4) == cudaSuccess);
  CHECK(says(watching.of(flag<false>, {.grid = 2, .block = 64}, data.get(), raised.get(), out.get()),
             "Race reported between"));
}

TEST_CASE("global memory that nobody wrote") {
  const Watching watching("init");
  const Array<int> in(64);
  const Array<int> out(64);
  REQUIRE(cudaMemset(in.get(), 0, 40 * sizeof(int)) == cudaSuccess);
  const auto found = watching.of(copy, {.grid = 1, .block = 64}, out.get(), in.get());
  CHECK(says(found, "Uninitialized __global__ memory read of size 4 bytes"));
  CHECK(says(found, "thread (40,0,0)"));
  CHECK(says(found, "index 40 of 64 elements of 4 bytes"));
  const std::vector<int> host(64);
  REQUIRE(cudaMemcpy(in.get(), host.data(), 256, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(watching.of(copy, {.grid = 1, .block = 64}, out.get(), in.get()).empty());
  CHECK(watching.of(count_up, {.grid = 1, .block = 64}, out.get()).empty());  // the kernel before wrote it

  const Array<int> copied(64);  // a copy of what nobody wrote is still that
  const Array<int> fresh(64);
  REQUIRE(cudaMemcpy(copied.get(), fresh.get(), 256, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(says(watching.of(count_up, {.grid = 1, .block = 64}, copied.get()), "Uninitialized __global__ memory read"));
  CHECK(watching.of(count_up, {.grid = 1, .block = 64}, copied.get()).empty());
}

TEST_CASE("the padding of a struct, and memory that the host writes, are not reported") {
  const Watching watching("init");
  const Array<Padded> in(8);
  const Array<Padded> out(8);
  for (int i = 0; i < 8; ++i) {
    const int value = i;
    const char small = 'a';
    REQUIRE(cudaMemcpy(&in.get()[i].value, &value, sizeof value, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemcpy(&in.get()[i].small, &small, sizeof small, cudaMemcpyHostToDevice) == cudaSuccess);
  }
  CHECK(watching.of(copy_padded, {.grid = 1, .block = 8}, out.get(), in.get()).empty());

  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 64 * sizeof(int)) == cudaSuccess);
  const Array<int> result(64);
  CHECK(watching.of(copy, {.grid = 1, .block = 64}, result.get(), managed).empty());
  REQUIRE(cudaFree(managed) == cudaSuccess);
}

TEST_CASE("names of checks") {
  CHECK(emulator::set_checks("init,race"));
  CHECK(emulator::set_checks("all"));
  CHECK_FALSE(emulator::set_checks("init,bounds"));
  CHECK(emulator::set_checks("none"));
  CHECK(emulator::set_checks(""));
}

TEST_CASE("shared arrays of functions that a kernel calls do not keep what another block left there") {
  const Array<int> out(8);
  REQUIRE(launch(looks_back, {.grid = 8, .block = 1}, out.get()) == cudaSuccess);
  std::vector<int> seen(8);
  REQUIRE(cudaMemcpy(seen.data(), out.get(), 32, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 1; i < 8; ++i) CHECK(seen[static_cast<std::size_t>(i)] == -1);
  emulator::reports();
}
