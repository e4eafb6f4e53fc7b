// What launch() does besides launching.

#include <cuda_runtime.h>

#include <cstddef>

#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

constexpr int kThreads = 256;

/// 8 KiB of its own, and what the launch brings.
__global__ void touch_kernel(int* result, int dynamic_words) {
  __shared__ int own[2048];
  int* const brought = dynamic_shared<int>();
  for (int i = static_cast<int>(threadIdx.x); i < 2048; i += kThreads) own[i] = 1;
  for (int i = static_cast<int>(threadIdx.x); i < dynamic_words; i += kThreads) brought[i] = 1;
  __syncthreads();
  if (threadIdx.x == 0) *result = own[2047] + brought[dynamic_words - 1];
}

}  // namespace

TEST_CASE("static arrays count to the 48 KiB of shared memory that a launch gets unasked") {
  const DeviceBuffer result(sizeof(int));
  for (const int kibibytes : {4, 16, 32, 40, 41, 44, 48, 56}) {
    CAPTURE(kibibytes);
    const Stream stream;
    const std::size_t bytes = static_cast<std::size_t>(kibibytes) * 1024;
    CHECK(launch(touch_kernel, {.block = kThreads, .shared_bytes = bytes, .stream = stream.get()},
                 reinterpret_cast<int*>(result.data()), static_cast<int>(bytes / sizeof(int))) == cudaSuccess);
    stream.synchronize();
    int value = 0;
    check(cudaMemcpy(&value, result.data(), sizeof(value), cudaMemcpyDeviceToHost), "reading the result");
    CHECK(value == 2);
  }
}

}  // namespace warpbook
