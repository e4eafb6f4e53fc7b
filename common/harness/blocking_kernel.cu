#include "common/harness/blocking_kernel.hpp"

#include "common/cuda/launch.cuh"

namespace warpbook {
namespace {

constexpr double kPatienceSeconds = 0.5;

__global__ void blocking_kernel(volatile int* flags, long long patience_clocks) {
  const long long start = clock64();
  while (flags[0] == 0) {
    if (clock64() - start > patience_clocks) {
      flags[1] = 1;
      return;
    }
  }
}

__global__ void empty_kernel() {}

}  // namespace

cudaError_t blocking_kernel_present() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, blocking_kernel);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

void enqueue_empty_kernels(const Stream& stream, int count) {
  for (int i = 0; i < count; ++i) {
    check(launch(empty_kernel, {.stream = stream.get()}), "launching a kernel that does nothing");
  }
}

BlockingKernel::BlockingKernel() : flags_(2 * sizeof(int)) {
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "asking for the device's clock");
  patience_clocks_ = static_cast<long long>(kPatienceSeconds * 1e3 * kilohertz);
  release();
}

void BlockingKernel::hold(const Stream& stream) {
  auto* const flags = reinterpret_cast<volatile int*>(flags_.data());
  flags[0] = 0;
  flags[1] = 0;
  // Page-locked memory has the same address on the device.
  check(launch(blocking_kernel, {.stream = stream.get()}, flags, patience_clocks_), "launching the blocking kernel");
}

void BlockingKernel::release() noexcept { reinterpret_cast<volatile int*>(flags_.data())[0] = 1; }

bool BlockingKernel::timed_out() const noexcept { return reinterpret_cast<const volatile int*>(flags_.data())[1] != 0; }

}  // namespace warpbook
