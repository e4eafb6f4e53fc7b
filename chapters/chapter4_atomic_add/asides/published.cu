/// \file
/// The published comparison of half atomics, as it was: `chapter4_published [COUNT]`, 32 Mi without one.
///
/// Three inner products of halves, one thread a product (a pair for half2), each thread's sum added to one address:
/// atomicAdd(half), atomicAdd(half2) with the sum in both halves, and the "fast" half2 atomic whose other half is +0.0.
/// The sums are halves, and the published data makes them saturate: 0.1 x 0.1 stops at 32, 1 x 1 by pairs at 4096. So
/// the same kernels run on two more inputs: products of alternating sign, whose sums stay small and change with every
/// addition, and zeros, whose additions change nothing. What a kernel takes on each tells what its loop waits for.
///
/// Prints one line of JSON a row. Source: BBuf, how-to-optim-algorithm-in-cuda, FastAtomicAdd; written anew.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"

namespace {

using namespace warpbook;

__global__ void half_kernel(__half* total, const __half* a, const __half* b, std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  __half sum = __float2half(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum = sum + a[i] * b[i];
  }
  atomicAdd(total, sum);
}

__global__ void half2_kernel(__half* total, const __half2* a, const __half2* b, std::int64_t pairs) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  __half sum = __float2half(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs; i += threads) {
    sum = sum + a[i].x * b[i].x;
    sum = sum + a[i].y * b[i].y;
  }
  atomicAdd(reinterpret_cast<__half2*>(total), __half2{sum, sum});  // Into both halves.
}

__global__ void fast_kernel(__half* total, const __half* a, const __half* b, std::int64_t count) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  __half sum = __float2half(0);
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    sum = sum + a[i] * b[i];
  }
  atomicAdd(reinterpret_cast<__half2*>(total), __half2{sum, __float2half(0)});
}

/// An input: all elements of a are `a`, those of b are `b` and, at odd places, `sign` times it.
struct Data {
  const char* name;
  float a;
  float b;
  float sign;
  int runs;  // Timed, besides one to warm up. One where a run takes seconds.
};

constexpr Data kData[] = {{"0.1 x 0.1, as published for half and fast", 0.1F, 0.1F, 1, 5},
                          {"1 x 1, as published for half2", 1, 1, 1, 5},
                          {"zeros", 0, 0, 1, 5},
                          {"alternating 0.125 x +-0.125", 0.125F, 0.125F, -1, 1}};

constexpr int kThreads = 256;

void measure(const char* name, const Data& data, std::int64_t count, const DeviceBuffer& a, const DeviceBuffer& b,
             const DeviceBuffer& total, const Stream& stream) {
  const auto run = [&]() -> cudaError_t {
    const LaunchConfig config{
        .grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream.get()};
    auto* const to = reinterpret_cast<__half*>(total.data());
    const auto* const x = reinterpret_cast<const __half*>(a.data());
    const auto* const y = reinterpret_cast<const __half*>(b.data());
    const std::string which = name;
    if (which == "half") return launch(half_kernel, config, to, x, y, count);
    if (which == "fast") return launch(fast_kernel, config, to, x, y, count);
    return launch(half2_kernel, config, to, reinterpret_cast<const __half2*>(x), reinterpret_cast<const __half2*>(y),
                  count / 2);
  };
  std::vector<double> seconds;
  for (int r = data.runs > 1 ? -1 : 0; r < data.runs; ++r) {
    check(cudaMemsetAsync(total.data(), 0, total.bytes(), stream.get()), "clearing the total");
    const Event start;
    const Event stop;
    start.record(stream);
    check(run(), "launching");
    stop.record(stream);
    stream.synchronize();
    if (r >= 0) seconds.push_back(stop.seconds_since(start));
  }
  std::sort(seconds.begin(), seconds.end());
  __half sum[2];
  check(cudaMemcpy(sum, total.data(), sizeof(sum), cudaMemcpyDeviceToHost), "copying the total");
  const double product = static_cast<double>(
      __half2float(__float2half(__half2float(__float2half(data.a)) * __half2float(__float2half(data.b)))));
  const double exact = data.sign < 0 ? 0 : product * static_cast<double>(count);
  std::printf("{\"kernel\": \"%s\", \"data\": \"%s\", \"count\": %lld, \"seconds\": %.9f, \"runs\": %d, \"sum\": %g, "
              "\"true_sum\": %.10g}\n",
              name, data.name, static_cast<long long>(count), seconds[seconds.size() / 2], data.runs,
              static_cast<double>(__half2float(sum[0])), exact);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::int64_t count = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 32 << 20;
    if (count < 2 || count % 2 != 0) {
      std::fprintf(stderr, "error: COUNT=%s: an even number from 2 on\n", argc > 1 ? argv[1] : "");
      return 2;
    }
    const Stream stream;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(__half);
    const DeviceBuffer a(bytes);
    const DeviceBuffer b(bytes);
    const DeviceBuffer total(2 * sizeof(__half));
    std::vector<__half> host(static_cast<std::size_t>(count));
    for (const Data& data : kData) {
      std::fill(host.begin(), host.end(), __float2half(data.a));
      check(cudaMemcpy(a.data(), host.data(), bytes, cudaMemcpyHostToDevice), "copying a");
      for (std::size_t i = 0; i < host.size(); ++i) host[i] = __float2half(i % 2 == 0 ? data.b : data.sign * data.b);
      check(cudaMemcpy(b.data(), host.data(), bytes, cudaMemcpyHostToDevice), "copying b");
      for (const char* name : {"half", "half2", "fast"}) measure(name, data, count, a, b, total, stream);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
