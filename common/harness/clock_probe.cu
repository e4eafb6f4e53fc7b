#include "common/harness/clock_probe.hpp"

#include "common/cuda/launch.cuh"

namespace warpbook {
namespace {

constexpr long long kClocks = 600'000;

__global__ void count_clocks(long long* counted, long long clocks) {
  const long long start = clock64();
  long long passed = 0;
  while (passed < clocks) passed = clock64() - start;
  *counted = passed;
}

}  // namespace

double measured_clock_hertz(const Stream& stream) {
  const PinnedBuffer counted(sizeof(long long));  // The same address on the device.
  auto* const passed = reinterpret_cast<long long*>(counted.data());
  const Event start;
  const Event stop;
  check(launch(count_clocks, {.stream = stream.get()}, passed, 1LL), "loading the clock's kernel");
  start.record(stream);
  check(launch(count_clocks, {.stream = stream.get()}, passed, kClocks), "counting clocks");
  stop.record(stream);
  stream.synchronize();
  return static_cast<double>(*passed) / stop.seconds_since(start);
}

}  // namespace warpbook
