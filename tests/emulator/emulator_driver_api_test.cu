/// \file
/// CUDA's driver interface beside the runtime's, and what programs ask of several devices.
#include <cuComplex.h>
#include <cuda.h>

#include <array>
#include <cstring>
#include <string>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;

namespace {

__global__ void add_one(unsigned* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}

}  // namespace

TEST_CASE("A program may take its device and memory from the driver and launch by the runtime") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  int count = 0;
  REQUIRE(cuDeviceGetCount(&count) == CUDA_SUCCESS);
  REQUIRE(count == 1);
  CUdevice device = -1;
  REQUIRE(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
  CUcontext context = nullptr;
  REQUIRE(cuCtxCreate(&context, 0, device) == CUDA_SUCCESS);

  constexpr int kCount = 100;
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc(&memory, kCount * sizeof(unsigned)) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32(memory, 0x01020304, kCount) == CUDA_SUCCESS);
  REQUIRE(launch(add_one, {.grid = 1, .block = 128}, reinterpret_cast<unsigned*>(memory), kCount) == cudaSuccess);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  std::array<unsigned, kCount> host{};
  REQUIRE(cuMemcpyDtoH(host.data(), memory, sizeof host) == CUDA_SUCCESS);
  for (const unsigned value : host) REQUIRE(value == 0x01020305);

  host.fill(7);
  CUdeviceptr copy = 0;
  REQUIRE(cuMemAlloc(&copy, sizeof host) == CUDA_SUCCESS);
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyHtoDAsync(memory, host.data(), sizeof host, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoDAsync(copy, memory, sizeof host, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  unsigned last = 0;
  REQUIRE(cuMemcpyDtoH(&last, copy + (kCount - 1) * sizeof(unsigned), sizeof last) == CUDA_SUCCESS);
  CHECK(last == 7);
  CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
  CHECK(cuMemFree(copy) == CUDA_SUCCESS);
  CHECK(cuMemFree(memory) == CUDA_SUCCESS);
  CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cudaGetLastError() == cudaSuccess);  // The driver's errors are the driver's.
  CHECK(cuCtxDestroy(context) == CUDA_SUCCESS);
}

TEST_CASE("The driver says of the device what the runtime says") {
  cudaDeviceProp properties{};
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  char name[64];
  REQUIRE(cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS);
  CHECK(std::string(name) == properties.name);
  std::size_t bytes = 0;
  REQUIRE(cuDeviceTotalMem(&bytes, 0) == CUDA_SUCCESS);
  CHECK(bytes == properties.totalGlobalMem);
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  REQUIRE(cuDeviceComputeCapability(&major, &minor, 0) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) == CUDA_SUCCESS);
  CHECK(major == properties.major);
  CHECK(multiprocessors == properties.multiProcessorCount);
  CHECK(cuDeviceGetName(name, sizeof name, 3) == CUDA_ERROR_INVALID_DEVICE);
  CUdevprop old{};
  REQUIRE(cuDeviceGetProperties(&old, 0) == CUDA_SUCCESS);
  CHECK(old.maxThreadsPerBlock == properties.maxThreadsPerBlock);
  CHECK(old.maxGridSize[2] == properties.maxGridSize[2]);
  CHECK(old.SIMDWidth == 32);
  CHECK(old.textureAlign == static_cast<int>(properties.textureAlignment));
}

__device__ int numbers[10];

TEST_CASE("The driver fills, copies rows and finds what holds an address") {
  constexpr std::size_t kPitch = 64;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocAsync(&memory, 4 * kPitch, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD16Async(memory, 0x0102, 2 * kPitch, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32Async(memory, 7, 2, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD2D32(memory + kPitch, kPitch, 9, 3, 2) == CUDA_SUCCESS);
  std::array<unsigned, 8> rows{};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.srcPitch = kPitch;
  copy.srcXInBytes = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = rows.data();
  copy.dstPitch = 8;
  copy.WidthInBytes = 8;
  copy.Height = 4;
  REQUIRE(cuMemcpy2D(&copy) == CUDA_SUCCESS);
  CHECK(rows == std::array<unsigned, 8>{7, 0x01020102, 9, 9, 9, 9, 0x01020102, 0x01020102});
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  CHECK(cuMemcpy2D(&copy) == CUDA_ERROR_NOT_SUPPORTED);

  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  REQUIRE(cuMemGetAddressRange(&begin, &bytes, memory + 5) == CUDA_SUCCESS);
  CHECK(begin == memory);
  CHECK(bytes == 4 * kPitch);
  void* variable = nullptr;
  REQUIRE(cudaGetSymbolAddress(&variable, numbers) == cudaSuccess);
  REQUIRE(cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(variable) + 8) == CUDA_SUCCESS);
  CHECK(begin == reinterpret_cast<CUdeviceptr>(variable));
  CHECK(bytes == sizeof numbers);
  CHECK(cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(rows.data())) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamDestroy(stream) == CUDA_SUCCESS);

  CUuuid uuid{};
  cudaDeviceProp properties{};
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  REQUIRE(cuDeviceGetUuid(&uuid, 0) == CUDA_SUCCESS);
  CHECK(std::memcmp(&uuid, &properties.uuid, sizeof uuid) == 0);
  std::size_t heap = 0;
  REQUIRE(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20) == CUDA_SUCCESS);
  REQUIRE(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE) == CUDA_SUCCESS);
  CHECK(heap >= 1 << 20);
}

TEST_CASE("Contexts are a stack of each thread's") {
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CUcontext current = nullptr;
  CUcontext primary = nullptr;
  CUdevice device = -1;
  REQUIRE(cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
  cuCtxSetCurrent(nullptr);
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(cuCtxGetDevice(&device) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cudaFree(nullptr) == cudaSuccess);  // The runtime makes the primary one current where there is none.
  CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  CHECK(device == 0);
  REQUIRE(cuCtxPopCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == primary);
  REQUIRE(cuCtxCreate(&first, 0, 0) == CUDA_SUCCESS);
  CUctxCreateParams parameters = {};
  REQUIRE(cuCtxCreate(&second, &parameters, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxDestroy(second) == CUDA_SUCCESS);
  parameters.numExecAffinityParams = 1;
  CHECK(cuCtxCreate(&second, &parameters, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
  REQUIRE(cuCtxCreate(&second, nullptr, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == second);
  REQUIRE(cuCtxPopCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == second);
  REQUIRE(cuCtxSetCurrent(second) == CUDA_SUCCESS);
  REQUIRE(cuCtxPopCurrent(nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxPopCurrent(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxDestroy(first) == CUDA_SUCCESS);
  CHECK(cuCtxDestroy(first) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPushCurrent(first) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxDestroy(second) == CUDA_SUCCESS);
}

TEST_CASE("Modules cannot be loaded, and errors have names") {
  CUmodule module = nullptr;
  CHECK(cuModuleLoad(&module, "kernel.ptx") == CUDA_ERROR_NOT_SUPPORTED);
  const char* text = nullptr;
  REQUIRE(cuGetErrorName(CUDA_ERROR_NOT_SUPPORTED, &text) == CUDA_SUCCESS);
  CHECK(std::strcmp(text, "CUDA_ERROR_NOT_SUPPORTED") == 0);
  REQUIRE(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == cudaGetErrorString(cudaErrorMemoryAllocation));
  CHECK(cuGetErrorName(static_cast<CUresult>(77), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);
}

TEST_CASE("One device is nobody's peer") {
  int device = -1;
  const cudaDeviceProp wanted{};
  REQUIRE(cudaChooseDevice(&device, &wanted) == cudaSuccess);
  CHECK(device == 0);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  int* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 2 * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemset(memory, 1, sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemcpyPeer(memory + 1, 0, memory, 0, sizeof(int)) == cudaSuccess);
  CHECK(cudaMemcpyPeer(memory + 1, 1, memory, 0, sizeof(int)) == cudaErrorInvalidDevice);
  int value = 0;
  REQUIRE(cudaMemcpy(&value, memory + 1, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(value == 0x01010101);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  cudaGetLastError();
  char bus[16];
  REQUIRE(cudaDeviceGetPCIBusId(bus, sizeof bus, 0) == cudaSuccess);
  CHECK(std::strlen(bus) == 12);
}

TEST_CASE("Complex numbers") {
  const cuDoubleComplex quotient = cuCdiv(make_cuDoubleComplex(5, 10), make_cuDoubleComplex(3, -4));
  CHECK(cuCreal(quotient) == Approx(-1));
  CHECK(cuCimag(quotient) == Approx(2));
  const cuFloatComplex product = cuCmulf(make_cuComplex(1, 2), cuConjf(make_cuComplex(3, 4)));
  CHECK(cuCrealf(product) == 11);
  CHECK(cuCimagf(product) == 2);
  CHECK(cuCabs(make_cuDoubleComplex(3e200, 4e200)) == Approx(5e200));
}
