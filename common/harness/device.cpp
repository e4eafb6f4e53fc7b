#include "common/harness/device.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "common/cuda/error.hpp"
#include "common/harness/blocking_kernel.hpp"

#ifdef WARPBOOK_EMULATED
#include <warpbook_emulator.h>
#endif

namespace warpbook {
namespace {

/// "13.0" from CUDA's 13000.
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

int attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess) return value;
  static_cast<void>(cudaGetLastError());
  return 0;
}

int driver_cuda_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int runtime_cuda_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}

/// The driver's own version ("580.159.04"), or the CUDA version it supports.
std::string driver_text() {
  if (!device_emulated()) {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word) {  // "NVRM version: NVIDIA UNIX ... Kernel Module  580.159.04  Release Build ..."
      const bool number =
          std::all_of(word.begin(), word.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
      if (number && word.find('.') != std::string::npos) return word;
    }
  }
  return "CUDA " + version_text(driver_cuda_version());
}

[[noreturn]] void no_device(const std::string& what) { throw NoDevice(what); }

std::optional<std::size_t> number_in(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // "max", or no such file.
}

}  // namespace

bool device_emulated() noexcept {
#ifdef WARPBOOK_EMULATED
  return true;
#else
  return false;
#endif
}

DeviceInfo query_device() {
  int devices = 0;
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorInsufficientDriver && driver_cuda_version() > 0) {
    no_device(
        fmt::format("the driver is too old: it supports CUDA {}, this program was built with {}; update the driver",
                    version_text(driver_cuda_version()), version_text(runtime_cuda_version())));
  }
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    no_device("no CUDA device here");
  }
  if (error != cudaSuccess) no_device("no usable CUDA device: " + CudaError::describe(error));

  cudaDeviceProp properties{};
  error = cudaSetDevice(0);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) no_device("the CUDA device cannot be used: " + CudaError::describe(error));

  DeviceInfo info;
  info.name = properties.name;
  info.emulated = device_emulated();
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.clock_hertz = attribute(cudaDevAttrClockRate) * 1e3;
  info.memory_bytes = properties.totalGlobalMem;
  info.l2_bytes = static_cast<std::size_t>(std::max(0, properties.l2CacheSize));
  info.driver = driver_text();
  info.toolkit = version_text(runtime_cuda_version());

  error = device_emulated() ? cudaSuccess : blocking_kernel_present();
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    no_device(fmt::format("this program holds no code for {} (compute capability {}.{}): build it on this machine",
                          info.name, info.major, info.minor));
  }
  if (error != cudaSuccess) no_device("the CUDA device cannot be used: " + CudaError::describe(error));
  info.free_bytes = device_free_bytes();
  return info;
}

std::size_t device_free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  return free;
}

std::size_t host_free_bytes() {
  std::size_t free = std::numeric_limits<std::size_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  std::string line;
  while (std::getline(meminfo, line)) {
    std::istringstream words(line);
    std::string key;
    std::size_t kibibytes = 0;
    if (words >> key >> kibibytes && key == "MemAvailable:") free = kibibytes * 1024;
  }
  // A container may have less than the machine.
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) free = std::min(free, *limit > *used ? *limit - *used : 0);
  return free;
}

FenceWidth device_fences() noexcept { return device_emulated() ? FenceWidth{0, 0} : FenceWidth{}; }

LaunchCounters take_launch_counters() {
  LaunchCounters result;
#ifdef WARPBOOK_EMULATED
  const auto launch = emulator::take_launches();
  result.launches = launch.launches;
  for (const auto& [name, value] : launch.counters) result.counters.push_back({name, value});
  result.extrapolated = launch.extrapolated;
  result.limited_by = launch.limited_by;
#endif
  return result;
}

void map_accesses() {
#ifdef WARPBOOK_EMULATED
  emulator::map_accesses();
#endif
}

std::string take_access_map([[maybe_unused]] const std::string& title) {
#ifdef WARPBOOK_EMULATED
  return emulator::take_access_map(title);
#else
  return {};
#endif
}

std::string take_device_report() {
  std::string text;
#ifdef WARPBOOK_EMULATED
  const std::vector<std::string> reports = emulator::reports();
  if (reports.empty()) return {};
  std::istringstream lines(reports[0]);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, std::min(line.size(), line.find_first_not_of("= ")));  // compute-sanitizer's margin.
    if (!line.empty()) text += (text.empty() ? "" : ", ") + line;
  }
  if (reports.size() > 1) text += fmt::format(" (and {} more)", reports.size() - 1);
#endif
  return text;
}

}  // namespace warpbook
