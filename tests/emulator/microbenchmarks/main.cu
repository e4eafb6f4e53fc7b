/// \file
/// `microbenchmarks [FILE [GROUP]]`: measures the constants of the emulator's model of time on the GPU that is here,
/// and writes them as JSON (to standard output where no file is named); with a group ("atomics"), these alone. A run
/// takes seconds.
///
/// Nothing in it is taken from a chapter: the model is set from these figures and judged on the chapters.
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr std::size_t kFlushBytes = 256 * kMiB;
constexpr long long kHoldClocks = 60'000;

__global__ void spin(long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) continue;
}

__global__ void fill(unsigned* out, std::size_t n, unsigned word) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x)
    out[i] = word;
}

std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return "unknown";
}

Json describe_run() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  int toolkit = 0;
  check(cudaRuntimeGetVersion(&toolkit), "asking for the toolkit's version");
  const std::string version = std::to_string(toolkit / 1000) + "." + std::to_string(toolkit % 1000 / 10);
  return {{"date", date}, {"driver", driver_version()}, {"toolkit", version}, {"commit", WARPBOOK_COMMIT}};
}

Json describe_device(const Bench& bench) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  return {{"name", properties.name},
          {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
          {"multiprocessors", properties.multiProcessorCount},
          {"l2_bytes", properties.l2CacheSize},
          {"shared_bytes_per_multiprocessor", properties.sharedMemPerMultiprocessor},
          {"memory_bytes", properties.totalGlobalMem},
          {"clock_hertz", bench.clock_hertz()}};
}

/// Shared memory and L1 beside the DRAM: bandwidths of the whole card, latencies in clocks.
Json ratios(const Bench& bench, const Json& result) {
  const auto most = [](const Json& rows) {
    double best = 0;
    for (const Json& row : rows) best = std::max(best, row["bytes_per_clock"].get<double>());
    return best;
  };
  Json stride_1;
  for (const Json& row : result["on_chip"]["shared"])
    if (row["access"] == "load" && row["stride_accesses"] == 1) stride_1.push_back(row);
  const Json& largest = result["memory"]["bandwidth"].back();
  const double dram = largest["bytes"].get<double>() / largest["read_seconds"].get<double>();
  const double clocks = bench.clock_hertz() * bench.multiprocessors();
  const Json& latency = result["memory"]["latency"];
  const double dram_clocks = latency["dram"]["clocks"].get<double>();
  return {{"dram_read_bytes_per_second", dram},
          {"shared_bytes_per_second", most(stride_1) * clocks},
          {"shared_bandwidth_over_dram", most(stride_1) * clocks / dram},
          {"l1_bandwidth_over_dram", most(result["on_chip"]["l1"]) * clocks / dram},
          {"dram_latency_over_shared", dram_clocks / result["on_chip"]["shared_latency_clocks"].get<double>()},
          {"dram_latency_over_l1", dram_clocks / latency["l1"]["clocks"].get<double>()},
          {"dram_latency_over_l2", dram_clocks / latency["l2"]["clocks"].get<double>()}};
}

}  // namespace

Bench::Bench() : flush_(kFlushBytes) {
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "counting multiprocessors");
  constexpr long long kClocks = 20'000'000;
  const auto spin_for = [](long long clocks) {
    return [clocks](cudaStream_t stream) { return launch(spin, {.stream = stream}, clocks); };
  };
  const double more = seconds(spin_for(2 * kClocks), L2::warm, 3) - seconds(spin_for(kClocks), L2::warm, 3);
  clock_hertz_ = static_cast<double>(kClocks) / more;
}

void Bench::prepare(L2 l2) const {
  if (l2 == L2::cold) check(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream_.get()), "flushing the L2");
  check(launch(spin, {.stream = stream_.get()}, kHoldClocks), "holding the stream");
}

DeviceBuffer Bench::buffer(std::size_t bytes, unsigned word) const {
  DeviceBuffer result(bytes);
  check(launch(fill, {.grid = 1024, .block = 256, .stream = stream_.get()}, reinterpret_cast<unsigned*>(result.data()),
               bytes / sizeof(unsigned), word),
        "filling a buffer");
  stream_.synchronize();
  return result;
}

}  // namespace warpbook::microbenchmarks

int main(int argc, char** argv) {
  using namespace warpbook::microbenchmarks;
  try {
    const Bench bench;
    Json result{{"device", describe_device(bench)}, {"run", describe_run()}};
    const auto add = [&](const char* name, Json (*measure)(const Bench&)) {
      if (argc > 2 && std::string_view(name) != argv[2]) return;
      std::cerr << name << '\n';
      result[name] = measure(bench);
    };
    add("launches", measure_launches);
    add("memory", measure_memory);
    add("on_chip", measure_on_chip);
    add("instructions", measure_instructions);
    add("atomics", measure_atomics);
    add("contended", measure_contended);
    add("loops", measure_loops);
    add("sorts", measure_sorts);
    if (argc < 3) result["ratios"] = ratios(bench, result);
    if (argc < 2) {
      std::cout << result.dump(1) << '\n';
    } else if (std::ofstream file(argv[1]); !(file << result.dump(1) << '\n').flush()) {
      std::cerr << "microbenchmarks: cannot write \"" << argv[1] << "\"\n";
      return 4;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "microbenchmarks: " << error.what() << '\n';
    return 3;
  }
}
