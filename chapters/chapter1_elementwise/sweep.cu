/// \file
/// Times the chapter's kernels over block sizes and numbers of waves, and prints JSON: what kThreads, kPacks and kWaves
/// were chosen by. Not part of run_all; `cmake --build build/gpu --target chapter1_sweep` makes
/// build/gpu/chapter1/sweep.

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "chapters/chapter1_elementwise/v1_naive.cuh"
#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"
#include "chapters/chapter1_elementwise/v5a_packs_in_flight.cuh"
#include "common/cuda/resources.hpp"
#include "common/harness/device.hpp"
#include "common/harness/measure.hpp"
#include "common/harness/statistics.hpp"

namespace warpbook::chapter1 {
namespace {

constexpr int kSamples = 31;
constexpr int kBlocks[] = {64, 128, 256, 512, 1024};
constexpr int kWaveCounts[] = {1, 2, 4, 8, 16, 32, 0};  // 0: a block for each tile.

bool first_row = true;  // Nothing separates it from a row before.

/// Kernels over one array length and type.
template <class T> class Sweep {
public:
  Sweep(Sampler& sampler, const char* type, std::int64_t count)
      : sampler_(sampler), type_(type), count_(count), z_(bytes() * 3 / 2), x_(bytes() * 3 / 2), y_(bytes()) {
    check(cudaMemset(x_.data(), 0x3c, x_.bytes()), "filling x");
    check(cudaMemset(y_.data(), 0x3d, y_.bytes()), "filling y");
  }

  void run() {
    time("copy", 0, 0, 0, [this](cudaStream_t stream) {
      return cudaMemcpyAsync(z_.data(), x_.data(), z_.bytes(), cudaMemcpyDeviceToDevice, stream);
    });
    for (const int block : kBlocks) time_kernel("v1", v1::multiply_kernel<T>, 1, block, 0, count_);
    for (const int block : kBlocks) {
      for (const int waves : kWaveCounts) {
        if (waves != 0) time_kernel("v2", v2::multiply_kernel<T>, 1, block, waves, count_);
        time_kernel("v5", v5a::multiply_kernel<T, 1>, 1, block, waves, count_ / kPerPack<T>);
        time_kernel("v5", v5a::multiply_kernel<T, 2>, 2, block, waves, count_ / kPerPack<T>);
        time_kernel("v5", v5a::multiply_kernel<T, 4>, 4, block, waves, count_ / kPerPack<T>);
      }
    }
  }

private:
  using Kernel = void (*)(T*, const T*, const T*, std::int64_t);

  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

  void time_kernel(const char* name, Kernel kernel, int packs, int block, int waves, std::int64_t items) {
    const std::int64_t tiles = ceil_div<std::int64_t>(items, packs);
    std::int64_t grid = ceil_div<std::int64_t>(tiles, block);
    if (waves != 0) check(v2::grid_of_waves(tiles, block, waves, grid), "asking the device");
    time(name, packs, block, waves, [&](cudaStream_t stream) {
      return launch(kernel, {.grid = grid, .block = block, .stream = stream}, reinterpret_cast<T*>(z_.data()),
                    reinterpret_cast<const T*>(x_.data()), reinterpret_cast<const T*>(y_.data()), count_);
    });
  }

  void time(const char* name, int packs, int block, int waves, const std::function<cudaError_t(cudaStream_t)>& work) {
    const auto sample = [&] {
      return sampler_.sample([&](const Stream& stream) { check(work(stream.get()), "launching"); });
    };
    sampler_.hold(false);
    sample();
    sampler_.hold(true);
    std::vector<double> seconds(kSamples);
    for (double& s : seconds) s = sample();
    const Summary summary = summarize(seconds);
    std::printf("%s\n  {\"kernel\":\"%s\",\"dtype\":\"%s\",\"n\":%lld,\"packs\":%d,\"block\":%d,\"waves\":%d,"
                "\"seconds\":{\"median\":%.4g,\"p25\":%.4g,\"p75\":%.4g}}",
                first_row ? "" : ",", name, type_, static_cast<long long>(count_), packs, block, waves, summary.median,
                summary.p25, summary.p75);
    std::fflush(stdout);
    first_row = false;
  }

  Sampler& sampler_;
  const char* type_;
  std::int64_t count_;
  DeviceBuffer z_;
  DeviceBuffer x_;
  DeviceBuffer y_;
};

void run() {
  const DeviceInfo device = query_device();
  const Stream stream;
  Sampler sampler(stream, device);
  std::printf(
      "{\"chapter\":1,\"device\":\"%s\",\"driver\":\"%s\",\"toolkit\":\"%s\",\"commit\":\"%s\",\"samples\":%d,\n"
      " \"waves_0\":\"a block for each tile\",\"rows\":[",
      device.name.c_str(), device.driver.c_str(), device.toolkit.c_str(), WARPBOOK_COMMIT, kSamples);
  for (const std::int64_t count : {std::int64_t{1} << 25, std::int64_t{1} << 28}) {
    Sweep<float>(sampler, "float", count).run();
    Sweep<__half>(sampler, "half", count).run();
  }
  std::printf("\n]}\n");
}

}  // namespace
}  // namespace warpbook::chapter1

int main() {
  try {
    warpbook::chapter1::run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "error: %s\n", problem.what());
    return 3;
  }
  return 0;
}
