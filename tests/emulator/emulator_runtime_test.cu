// The emulator's CUDA runtime: memory, streams and events in modelled time, graphs, errors.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;

namespace {

__global__ void add(int* values, int amount, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += amount;
}

__global__ void nothing() {}

template <int kBytes> __global__ void uses_shared(char* out) {
  __shared__ char bytes[kBytes];
  bytes[threadIdx.x] = static_cast<char>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = bytes[blockDim.x - 1 - threadIdx.x];
}

__constant__ int factors[4];
__device__ int total;

__global__ void scale(int* values) {
  values[threadIdx.x] *= factors[threadIdx.x % 4];
  atomicAdd(&total, values[threadIdx.x]);
}

struct Three {
  char a;
  double b;
  short c[3];
};

__global__ void many_parameters(char a, double b, Three c, const int* d, short e, double* out) {
  out[0] = a + b + c.a + c.b + c.c[2] + d[0] + e;
}

/// The error of a call, and that cudaGetLastError tells it once.
void check_error(cudaError_t got, cudaError_t expected) {
  CHECK(std::string(cudaGetErrorName(got)) == cudaGetErrorName(expected));
  CHECK(cudaPeekAtLastError() == expected);
  CHECK(cudaGetLastError() == expected);
  CHECK(cudaGetLastError() == cudaSuccess);
}

// -----------------------------------------------------------------------------------------------------------------
// memory

TEST_CASE("device memory begins as poison and is aligned") {
  unsigned char* data = nullptr;
  REQUIRE(cudaMalloc(&data, 1000) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(data) % 512 == 0);
  std::vector<unsigned char> host(1000);
  REQUIRE(cudaMemcpy(host.data(), data, 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host == std::vector<unsigned char>(1000, 0xff));
  CHECK(cudaFree(data) == cudaSuccess);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  check_error(cudaFree(data), cudaErrorInvalidValue);
  int local = 0;
  check_error(cudaFree(&local), cudaErrorInvalidValue);
  REQUIRE(cudaMalloc(&data, 0) == cudaSuccess);
  CHECK(data == nullptr);
}

TEST_CASE("copies stay inside what was allocated, and go the way they say") {
  char* data = nullptr;
  char* other = nullptr;
  REQUIRE(cudaMalloc(&data, 100) == cudaSuccess);
  REQUIRE(cudaMalloc(&other, 100) == cudaSuccess);
  std::vector<char> host(200, 7);
  CHECK(cudaMemcpy(data, host.data(), 100, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(other, data, 100, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemcpy(host.data() + 100, other, 100, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemset(data + 10, 1, 90) == cudaSuccess);
  CHECK(cudaMemcpy(data, host.data(), 0, cudaMemcpyHostToDevice) == cudaSuccess);
  check_error(cudaMemcpy(data, host.data(), 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy(data + 60, other, 50, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  check_error(cudaMemset(data + 10, 1, 91), cudaErrorInvalidValue);
  check_error(cudaMemcpy(data, host.data(), 10, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy(host.data(), data, 10, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  check_error(cudaMemcpy(data, nullptr, 10, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy(data, other, 10, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  cudaFree(data);
  cudaFree(other);
}

TEST_CASE("rows with a pitch") {
  std::int16_t* data = nullptr;
  std::size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&data, &pitch, 30 * sizeof(std::int16_t), 20) == cudaSuccess);
  CHECK(pitch == 512);
  std::vector<std::int16_t> host(600);
  for (std::size_t i = 0; i < 600; ++i) host[i] = static_cast<std::int16_t>(i);
  std::vector<std::int16_t> back(600);
  CHECK(cudaMemcpy2D(data, pitch, host.data(), 60, 60, 20, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemset2D(data, pitch, 0, 2, 20) == cudaSuccess);
  CHECK(cudaMemcpy2D(back.data(), 60, data, pitch, 60, 20, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (std::size_t i = 0; i < 600; i += 30) host[i] = 0;
  CHECK(back == host);
  check_error(cudaMemcpy2D(data, 50, host.data(), 60, 60, 20, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  cudaFree(data);
}

TEST_CASE("what a pointer is") {
  void* pointers[3];
  REQUIRE(cudaMalloc(&pointers[0], 64) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&pointers[1], 64) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pointers[2], 64) == cudaSuccess);
  const cudaMemoryType types[] = {cudaMemoryTypeDevice, cudaMemoryTypeManaged, cudaMemoryTypeHost};
  cudaPointerAttributes attributes{};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(cudaPointerGetAttributes(&attributes, static_cast<char*>(pointers[i]) + 63) == cudaSuccess);
    CHECK(attributes.type == types[i]);
  }
  REQUIRE(cudaPointerGetAttributes(&attributes, &attributes) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  check_error(cudaFree(pointers[2]), cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pointers[2]) == cudaSuccess);
  cudaFree(pointers[0]);
  cudaFree(pointers[1]);
}

TEST_CASE("memory runs out with an error, and the account is kept") {
  std::size_t before = 0;
  std::size_t now = 0;
  std::size_t total = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
  CHECK(before <= total);
  char* data = nullptr;
  check_error(cudaMalloc(&data, total + 1), cudaErrorMemoryAllocation);
  check_error(cudaMalloc(&data, ~std::size_t{0}), cudaErrorMemoryAllocation);
  REQUIRE(cudaMalloc(&data, 1 << 20) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&now, &total) == cudaSuccess);
  CHECK(before - now == 1 << 20);
  cudaFree(data);
  REQUIRE(cudaMemGetInfo(&now, &total) == cudaSuccess);
  CHECK(before == now);
}

TEST_CASE("device and constant variables") {
  const int values[] = {1, 2, 3, 4};
  REQUIRE(cudaMemcpyToSymbol(factors, values, sizeof values) == cudaSuccess);
  const int zero = 0;
  REQUIRE(cudaMemcpyToSymbol(total, &zero, sizeof zero) == cudaSuccess);
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 8 * sizeof(int)) == cudaSuccess);
  const std::vector<int> ones(8, 1);
  REQUIRE(cudaMemcpy(data, ones.data(), 8 * sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(launch(scale, {.grid = 1, .block = 8}, data) == cudaSuccess);
  int sum = 0;
  REQUIRE(cudaMemcpyFromSymbol(&sum, total, sizeof sum) == cudaSuccess);
  CHECK(sum == 20);
  void* address = nullptr;
  REQUIRE(cudaGetSymbolAddress(&address, total) == cudaSuccess);
  CHECK(cudaMemset(address, 0, sizeof(int)) == cudaSuccess);
  check_error(cudaMemset(address, 0, 2 * sizeof(int)), cudaErrorInvalidValue);
  cudaFree(data);
}

// ---------------------------------------------------------------------------------------------------------------
// launches

TEST_CASE("launches that CUDA refuses") {
  check_error(launch(nothing, {.grid = 0, .block = 1}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = 1, .block = 0}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = 1, .block = 1025}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = 1, .block = {32, 33}}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = 1, .block = {1, 1, 65}}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = {1, 65536}, .block = 1}), cudaErrorInvalidConfiguration);
  check_error(launch(nothing, {.grid = -1, .block = 1}), cudaErrorInvalidConfiguration);

  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 1;
  config.dynamicSmemBytes = 48 * 1024 + 1;  // without having asked for it
  check_error(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  config.dynamicSmemBytes = 0;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  check_error(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidClusterSize);  // a grid of one block
  attribute.id = cudaLaunchAttributePriority;
  CHECK(cudaLaunchKernelEx(&config, nothing) == cudaSuccess);
  char* out = nullptr;
  REQUIRE(cudaMalloc(&out, 64) == cudaSuccess);
  check_error(launch(uses_shared<49153>, {.grid = 1, .block = 64}, out), cudaErrorInvalidConfiguration);
  CHECK(launch(uses_shared<49152>, {.grid = 1, .block = 64}, out) == cudaSuccess);
  cudaFree(out);
  void (*none)() = nullptr;
  check_error(cudaLaunchKernelEx(&config, none), cudaErrorInvalidDeviceFunction);
}

TEST_CASE("arguments of all kinds arrive") {
  double* out = nullptr;
  int* d = nullptr;
  REQUIRE(cudaMallocManaged(&out, sizeof(double)) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&d, sizeof(int)) == cudaSuccess);
  *d = 1000;
  const Three three{1, 20.5, {0, 0, 300}};
  REQUIRE(launch(many_parameters, {.grid = 1, .block = 1}, 'a', 2.0F, three, d, 5, out) == cudaSuccess);
  CHECK(*out == 97 + 2 + 1 + 20.5 + 300 + 1000 + 5);
  char a = 'b';
  double b = 3;
  Three c = three;
  short e = 6;
  void* addresses[] = {&a, &b, &c, &d, &e, &out};
  REQUIRE(cudaLaunchKernel(many_parameters, 1, 1, addresses) == cudaSuccess);
  CHECK(*out == 98 + 3 + 1 + 20.5 + 300 + 1000 + 6);
  cudaFree(out);
  cudaFree(d);
}

TEST_CASE("what is known of a kernel") {
  cudaFuncAttributes attributes{};
  REQUIRE(cudaFuncGetAttributes(&attributes, uses_shared<20000>) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 20000);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  int blocks = 0;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0) == cudaSuccess);
  CHECK(blocks == 8);
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, uses_shared<40000>, 128, 0) == cudaSuccess);
  CHECK(blocks < 8);
  int grid = 0;
  int block = 0;
  REQUIRE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing) == cudaSuccess);
  CHECK(block == 1024);
  check_error(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
              cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) == cudaSuccess);
  CHECK(launch(nothing, {.grid = 1, .block = 1, .shared_bytes = 60000}) == cudaSuccess);
}

TEST_CASE("the device") {
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  cudaDeviceProp properties{};
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(properties.warpSize == 32);
  int value = 0;
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  CHECK(value == properties.multiProcessorCount);
  check_error(cudaSetDevice(1), cudaErrorInvalidDevice);
  check_error(cudaGetDeviceProperties(&properties, -1), cudaErrorInvalidDevice);
  CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) == "an illegal memory access was encountered");
}

// ------------------------------------------------------------------------------------------------- streams, events,
// graphs

struct Timed {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  Timed() {
    REQUIRE(cudaEventCreate(&begin) == cudaSuccess);
    REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  }
  ~Timed() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  float milliseconds() const {
    float elapsed = -1;
    REQUIRE(cudaEventElapsedTime(&elapsed, begin, end) == cudaSuccess);
    return elapsed;
  }
};

TEST_CASE("events tell modelled time, the same each time") {
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 4 << 20) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, 4 << 20) == cudaSuccess);
  std::vector<float> times;
  for (int round = 0; round < 3; ++round) {
    const Timed timed;
    REQUIRE(cudaEventRecord(timed.begin) == cudaSuccess);
    REQUIRE(launch(add, {.grid = 4096, .block = 256}, data, 1, 1 << 20) == cudaSuccess);
    REQUIRE(cudaEventRecord(timed.end) == cudaSuccess);
    REQUIRE(cudaEventSynchronize(timed.end) == cudaSuccess);
    times.push_back(timed.milliseconds());
  }
  CHECK(times[0] > 0);
  CHECK(times[1] == Approx(times[2]).epsilon(1e-5));
  cudaFree(data);
}

TEST_CASE("an event that was not recorded, or does not time") {
  cudaEvent_t plain = nullptr;
  cudaEvent_t untimed = nullptr;
  REQUIRE(cudaEventCreate(&plain) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  float elapsed = 0;
  check_error(cudaEventElapsedTime(&elapsed, plain, plain), cudaErrorInvalidResourceHandle);
  REQUIRE(cudaEventRecord(untimed) == cudaSuccess);
  REQUIRE(cudaEventRecord(plain) == cudaSuccess);
  check_error(cudaEventElapsedTime(&elapsed, untimed, plain), cudaErrorInvalidResourceHandle);
  CHECK(cudaEventElapsedTime(&elapsed, plain, plain) == cudaSuccess);
  CHECK(elapsed == 0);
  CHECK(cudaEventDestroy(plain) == cudaSuccess);
  CHECK(cudaEventDestroy(untimed) == cudaSuccess);
  check_error(cudaEventRecord(plain), cudaErrorInvalidResourceHandle);
}

TEST_CASE("streams run side by side, and wait for events") {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) {
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  }
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 4 << 20) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, 4 << 20) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const Timed first;
  const Timed second;
  REQUIRE(cudaEventRecord(first.begin, streams[0]) == cudaSuccess);
  REQUIRE(cudaEventRecord(second.begin, streams[1]) == cudaSuccess);
  REQUIRE(launch(add, {.grid = 4096, .block = 256, .stream = streams[0]}, data, 1, 1 << 20) == cudaSuccess);
  REQUIRE(cudaEventRecord(first.end, streams[0]) == cudaSuccess);
  REQUIRE(cudaEventRecord(second.end, streams[1]) == cudaSuccess);
  float elapsed = 0;
  CHECK(cudaEventElapsedTime(&elapsed, first.begin, first.end) == cudaErrorNotReady);
  REQUIRE(cudaEventSynchronize(first.end) == cudaSuccess);
  CHECK(first.milliseconds() > 0);
  CHECK(second.milliseconds() == 0);
  REQUIRE(cudaStreamWaitEvent(streams[1], first.end) == cudaSuccess);
  REQUIRE(cudaEventRecord(second.end, streams[1]) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(streams[1]) == cudaSuccess);
  CHECK(second.milliseconds() == first.milliseconds());
  for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  check_error(cudaStreamSynchronize(streams[0]), cudaErrorInvalidResourceHandle);
  check_error(launch(nothing, {.grid = 1, .block = 1, .stream = streams[0]}), cudaErrorInvalidResourceHandle);
  cudaFree(data);
}

TEST_CASE("a captured graph runs when it is launched, and only then") {
  cudaStream_t stream = nullptr;
  cudaStream_t side = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&side) == cudaSuccess);
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 400) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, 400) == cudaSuccess);
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  REQUIRE(cudaEventCreate(&fork) == cudaSuccess);
  REQUIRE(cudaEventCreate(&join) == cudaSuccess);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  for (int amount = 1; amount <= 3; ++amount) {
    REQUIRE(launch(add, {.grid = 1, .block = 128, .stream = stream}, data, amount, 100) == cudaSuccess);
  }
  REQUIRE(cudaEventRecord(fork, stream) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(side, fork) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(data, 0, 4, side) == cudaSuccess);
  REQUIRE(cudaEventRecord(join, side) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(stream, join) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 4);
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);

  std::vector<int> host(100);
  REQUIRE(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host == std::vector<int>(100, 0));
  const Timed timed;
  REQUIRE(cudaEventRecord(timed.begin, stream) == cudaSuccess);
  for (int i = 0; i < 5; ++i) REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  REQUIRE(cudaEventRecord(timed.end, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(timed.milliseconds() > 0);
  REQUIRE(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host[0] == 0);
  CHECK(host[99] == 30);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(side);
  cudaFree(data);
}

TEST_CASE("calls that spoil a capture") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  check_error(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  check_error(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  check_error(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  check_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  check_error(launch(nothing, {.grid = 1, .block = 1}), cudaErrorStreamCaptureImplicit);
  check_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  int* data = nullptr;
  check_error(cudaMalloc(&data, 4), cudaErrorStreamCaptureUnsupported);
  check_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(cudaMalloc(&data, 4) == cudaSuccess);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  cudaFree(data);
  cudaStreamDestroy(stream);
}

}  // namespace
