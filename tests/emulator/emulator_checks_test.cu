// The emulator's reports of bad accesses: that they come, what they say, and which error the program gets.

#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;
namespace emulator = warpbook::emulator;

namespace {

/// Device memory of n elements, for tests that reset the device: it is not freed.
template <class T> T* device_array(std::size_t n) {
  T* data = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), n * sizeof(T)) == cudaSuccess);
  return data;
}

/// Runs a kernel that makes a mistake; returns what was reported, and leaves a fresh device.
template <class... P, class... A>
std::string mistake(cudaError_t expected, void (*kernel)(P...), const warpbook::LaunchConfig& config, A... arguments) {
  emulator::reports();
  const cudaError_t launched = launch(kernel, config, arguments...);
  CHECK((launched == cudaSuccess || launched == expected));  // the emulator may have run it by then
  CHECK(cudaDeviceSynchronize() == expected);
  CHECK(cudaGetLastError() == expected);
  CHECK(cudaGetLastError() == expected);  // sticky
  CHECK(cudaDeviceReset() == cudaSuccess);
  const std::vector<std::string> found = emulator::reports();
  REQUIRE(found.size() == 1);
  return found.front();
}

bool says(const std::string& report, const std::string& part) { return report.find(part) != std::string::npos; }

/// "file.cu:line" of a line of this file.
std::string line(int number) { return "emulator_checks_test.cu:" + std::to_string(number); }

constexpr int kWriteLine = __LINE__ + 2;
__global__ void write_at(int* data, int index) {
  if (threadIdx.x == 5 && blockIdx.x == 1) data[index] = 1;
}

constexpr int kReadLine = __LINE__ + 1;
__global__ void read_all(const float* in, float* out) { out[0] = in[blockIdx.x * blockDim.x + threadIdx.x]; }

constexpr int kWideLine = __LINE__ + 2;
__global__ void read_wide(const float* in, float* out, int offset) {
  const float4 v = *reinterpret_cast<const float4*>(in + offset);
  out[0] = v.x;
}

constexpr int kSharedLine = __LINE__ + 3;
__global__ void shared_past_end(float* out, int index) {
  __shared__ float tile[64];
  tile[static_cast<int>(threadIdx.x) + index] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void one_past_row(float* out) {
  __shared__ float first[64];
  __shared__ float second[64];
  second[threadIdx.x] = 1;
  first[threadIdx.x + 1] = second[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x];
}

__global__ void dynamic_past_end(float* out, int index) {
  float* tile = warpbook::dynamic_shared<float>();
  tile[index] = 1;
  out[0] = tile[0];
}

__global__ void atomic_past_end(int* data, int index) { atomicAdd(&data[index], 1); }

constexpr int kRaceLines = __LINE__ + 3;
template <bool barrier> __global__ void reversed(int* out) {
  __shared__ int row[64];
  row[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (barrier) __syncthreads();
  out[threadIdx.x] = row[63 - threadIdx.x];
}

/// Two tiles in turn, with one barrier too few when `barriers` is 1: the next write comes before the last read is over.
template <int barriers> __global__ void reused_tile(int* out, int n) {
  __shared__ int row[64];
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    row[threadIdx.x] = i;
    __syncthreads();
    sum += row[(threadIdx.x + 32) % 64];
    if (barriers == 2) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <bool sync> __global__ void warp_sum(int* out) {
  __shared__ int row[32];
  row[threadIdx.x] = 1;
  __syncwarp();
  for (unsigned width = 16; width > 0; width /= 2) {
    const int other = threadIdx.x < width ? row[threadIdx.x + width] : 0;
    if (threadIdx.x < width) row[threadIdx.x] += other;
    if (sync) __syncwarp();
  }
  if (threadIdx.x == 0) out[0] = row[0];
}

template <bool same> __global__ void all_to_one(int* out) {
  __shared__ int one;
  one = static_cast<int>(same ? blockIdx.x : threadIdx.x);
  __syncthreads();
  out[blockIdx.x] = one;
}

__global__ void over_what_is_there(int* out) {
  __shared__ int one;
  one = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) one = static_cast<int>(threadIdx.x / 32);  // The first warp stores the 0 again.
  __syncthreads();
  out[blockIdx.x] = one;
}

struct Three {
  int x, y, z;
};

template <bool same> __global__ void structs_to_one(int* out, Three three, unsigned bytes) {
  __shared__ Three one;
  if (!same) three.x = static_cast<int>(threadIdx.x);
  memcpy(&one, &three, bytes);  // in pieces
  __syncthreads();
  out[blockIdx.x] = one.x;
}

__global__ void counter_read_too_soon(int* out) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  atomicAdd(&counter, 1);
  out[threadIdx.x] = counter;
}

__global__ void shared_histogram(int* out) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}

/// A sum and a number beside it, added to as one word of 8 bytes by the first warp, and the number alone by the second.
template <bool barrier> __global__ void halves_of_a_word(int* out) {
  __shared__ unsigned long long both;
  if (threadIdx.x == 0) both = 0;
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&both, 1ULL << 32 | 1);
  if (barrier) __syncthreads();
  if (threadIdx.x >= 32) atomicAdd(reinterpret_cast<unsigned*>(&both), 1U);
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(both);
}

/// Bytes by one thread each, the words that they make up by another one; and the other way round in the next turn.
template <bool barrier> __global__ void bytes_and_words(int* out) {
  __shared__ int words[16];
  auto* const bytes = reinterpret_cast<unsigned char*>(words);
  const unsigned thread = threadIdx.x;
  bytes[thread] = static_cast<unsigned char>(thread);
  if (barrier) __syncthreads();
  int word = 0;
  if (thread < 16) word = words[15 - thread];
  __syncthreads();
  if (thread < 16) words[thread] = word;
  __syncthreads();
  out[thread] = bytes[63 - thread];
}

__global__ void half_written(short* out, int n) {
  __shared__ short row[64];
  if (static_cast<int>(threadIdx.x) < n) row[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x];
}

__global__ void fill(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = i;
}

__global__ void local_array(int* out, int n) {
  int values[32];
  for (int i = 0; i < n; ++i) values[i] = i * i;
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[n - 1 - i];
  out[threadIdx.x] = sum;
}

}  // namespace

TEST_CASE("a write past the end of an allocation") {
  int* const data = device_array<int>(100);
  const std::string report = mistake(cudaErrorIllegalAddress, write_at, {.grid = 3, .block = 64}, data, 100);
  INFO(report);
  CHECK(says(report, "Invalid __global__ write of size 4 bytes"));
  CHECK(says(report, "write_at"));
  CHECK(says(report, line(kWriteLine)));
  CHECK(says(report, "block (1,0,0), thread (5,0,0)"));
  CHECK(says(report, "0 bytes after the end of allocation"));
  CHECK(says(report, "of 400 bytes"));
}

TEST_CASE("a write far past the end of a large allocation, and past a small one behind it") {
  int* const large = device_array<int>(1 << 18);
  int* const small = device_array<int>(16);
  REQUIRE(small > large);
  const std::string report =
      mistake(cudaErrorIllegalAddress, write_at, {.grid = 3, .block = 64}, large, (1 << 18) + 100000);
  CHECK(says(report, "400000 bytes after the end of allocation"));
  CHECK(says(report, "index 362144 of 262144 elements"));
}

TEST_CASE("a write before the begin of an allocation") {
  device_array<int>(100);
  int* const data = device_array<int>(100);
  const std::string report = mistake(cudaErrorIllegalAddress, write_at, {.grid = 3, .block = 64}, data, -2);
  CHECK(says(report, "Invalid __global__ write of size 4 bytes"));
  CHECK(says(report, "8 bytes before the begin of allocation"));
}

TEST_CASE("a null pointer") {
  const std::string report =
      mistake(cudaErrorIllegalAddress, write_at, {.grid = 3, .block = 64}, static_cast<int*>(nullptr), 3);
  CHECK(says(report, "a null pointer"));
}

TEST_CASE("a read past the end by a block in the middle") {
  const float* const in = device_array<float>(1000);
  float* const out = device_array<float>(1);
  const std::string report = mistake(cudaErrorIllegalAddress, read_all, {.grid = 8, .block = 128}, in, out);
  INFO(report);
  CHECK(says(report, "Invalid __global__ read of size 4 bytes"));
  CHECK(says(report, line(kReadLine)));
  CHECK(says(report, "block (7,0,0), thread (1"));  // 104 to 127 do it
}

TEST_CASE("memory that was freed") {
  int* const data = device_array<int>(100);
  REQUIRE(cudaFree(data) == cudaSuccess);
  const std::string report = mistake(cudaErrorIllegalAddress, write_at, {.grid = 3, .block = 64}, data, 0);
  CHECK(says(report, "Invalid __global__ write"));
}

TEST_CASE("a misaligned 16-byte read") {
  const float* const in = device_array<float>(64);
  float* const out = device_array<float>(1);
  const std::string report = mistake(cudaErrorMisalignedAddress, read_wide, {.block = 1}, in, out, 3);
  INFO(report);
  CHECK(says(report, "Invalid __global__ read of size 16 bytes"));
  CHECK(says(report, line(kWideLine)));
  CHECK(says(report, "Address is misaligned: at byte 12 of allocation"));
}

TEST_CASE("a 16-byte read that begins inside and ends outside") {
  const float* const in = device_array<float>(62);
  float* const out = device_array<float>(1);
  const std::string report = mistake(cudaErrorIllegalAddress, read_wide, {.block = 1}, in, out, 60);
  CHECK(says(report, "out of bounds: at byte 240 of allocation"));
}

TEST_CASE("a write past the end of a shared array") {
  float* const out = device_array<float>(64);
  const std::string report = mistake(cudaErrorIllegalAddress, shared_past_end, {.block = 64}, out, 1 << 24);
  CHECK(says(report, "Invalid"));
  const std::string near =
      mistake(cudaErrorIllegalAddress, shared_past_end, {.block = 64}, device_array<float>(64), 80);
  INFO(near);
  CHECK(says(near, "Invalid __shared__ write of size 4 bytes"));
  CHECK(says(near, line(kSharedLine)));
}

TEST_CASE("an index one past the end of a shared array that has neighbours") {
  float* const out = device_array<float>(64);
  const std::string report = mistake(cudaErrorIllegalAddress, one_past_row, {.block = 64}, out);
  INFO(report);
  CHECK(says(report, "Invalid __shared__ write of size 4 bytes"));
  CHECK(says(report, "0 bytes after the end of shared array 'first' of 256 bytes"));
}

TEST_CASE("a write past the end of dynamic shared memory") {
  float* const out = device_array<float>(1);
  const std::string report =
      mistake(cudaErrorIllegalAddress, dynamic_past_end, {.block = 1, .shared_bytes = 256}, out, 64);
  INFO(report);
  CHECK(says(report, "Invalid __shared__ write of size 4 bytes"));
  CHECK(says(report, "0 bytes after the end of 256 bytes of dynamic shared memory"));
}

TEST_CASE("an atomic past the end") {
  int* const data = device_array<int>(4);
  const std::string report = mistake(cudaErrorIllegalAddress, atomic_past_end, {.block = 1}, data, 4);
  CHECK(says(report, "Invalid __global__ atomic of size 4 bytes"));
}

TEST_CASE("right programs are not reported") {
  int* const data = device_array<int>(1000);
  emulator::reports();
  REQUIRE(launch(fill, {.grid = 8, .block = 128}, data, 1000) == cudaSuccess);
  REQUIRE(launch(local_array, {.grid = 2, .block = 64}, data, 32) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(emulator::reports().empty());
  CHECK(cudaFree(data) == cudaSuccess);
}

TEST_CASE("a missing barrier is a race") {
  int* const out = device_array<int>(64);
  emulator::reports();
  REQUIRE(launch(reversed<false>, {.block = 64}, out) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const std::vector<std::string> found = emulator::reports();
  REQUIRE(found.size() == 1);
  INFO(found[0]);
  CHECK(says(found[0], "Race reported between Write access at "));
  CHECK(says(found[0], "and Read access at "));
  CHECK(says(found[0], line(kRaceLines)));
  CHECK(says(found[0], line(kRaceLines + 2)));
  CHECK(says(found[0], "shared array 'row'"));
  CHECK(cudaFree(out) == cudaSuccess);
}

TEST_CASE("races of other shapes") {
  int* const out = device_array<int>(64);
  const auto found = [&](auto kernel, unsigned block, auto... arguments) {
    emulator::reports();
    REQUIRE(launch(kernel, {.grid = 2, .block = block}, arguments...) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    return emulator::reports();
  };
  CHECK(found(reused_tile<1>, 64, out, 4).size() == 1);
  CHECK(found(warp_sum<false>, 32, out).size() >= 1);
  for (const std::string& race : found(bytes_and_words<false>, 64, out)) CHECK(says(race, "Race reported between"));
  CHECK_FALSE(found(bytes_and_words<false>, 64, out).empty());
  const std::vector<std::string> writes = found(all_to_one<false>, 64, out);
  REQUIRE(writes.size() == 1);
  CHECK(says(writes[0], "Write access at"));
  CHECK_FALSE(says(writes[0], "Read access at"));
  CHECK(found(all_to_one<true>, 64, out).empty());  // It does not matter who comes last.
  CHECK(found(over_what_is_there, 64, out).size() == 1);
  CHECK_FALSE(found(structs_to_one<false>, 64, out, Three{1, 2, 3}, 12U).empty());
  CHECK(found(structs_to_one<true>, 64, out, Three{1, 2, 3}, 12U).empty());
  const std::vector<std::string> widths = found(halves_of_a_word<false>, 64, out);
  REQUIRE(widths.size() == 1);
  CHECK(says(widths[0], "An atomic of 4 bytes and one of 8 do not know of each other"));
  CHECK_FALSE(found(counter_read_too_soon, 64, out).empty());  // unlike a load that begins a loop of compare and swap
  CHECK(cudaFree(out) == cudaSuccess);
}

TEST_CASE("right use of shared memory is not reported") {
  int* const out = device_array<int>(64);
  emulator::reports();
  REQUIRE(launch(reversed<true>, {.block = 64}, out) == cudaSuccess);
  REQUIRE(launch(reused_tile<2>, {.block = 64}, out, 4) == cudaSuccess);
  REQUIRE(launch(warp_sum<true>, {.block = 32}, out) == cudaSuccess);
  REQUIRE(launch(shared_histogram, {.block = 64}, out) == cudaSuccess);
  REQUIRE(launch(halves_of_a_word<true>, {.block = 64}, out) == cudaSuccess);
  REQUIRE(launch(bytes_and_words<true>, {.grid = 2, .block = 64}, out) == cudaSuccess);
  REQUIRE(launch(half_written, {.block = 64}, reinterpret_cast<short*>(out), 64) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const std::vector<std::string> found = emulator::reports();
  INFO((found.empty() ? std::string() : found[0]));
  CHECK(found.empty());
  CHECK(cudaFree(out) == cudaSuccess);
}

TEST_CASE("shared memory that nobody wrote") {
  short* const out = device_array<short>(64);
  emulator::reports();
  REQUIRE(launch(half_written, {.block = 64}, out, 40) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const std::vector<std::string> found = emulator::reports();
  REQUIRE(found.size() == 1);
  INFO(found[0]);
  CHECK(says(found[0], "Uninitialized __shared__ memory read of size 2 bytes"));
  CHECK(says(found[0], "thread (40,0,0)"));
  CHECK(says(found[0], "at byte 80 of shared array 'row' of 128 bytes"));
  CHECK(cudaFree(out) == cudaSuccess);
}
