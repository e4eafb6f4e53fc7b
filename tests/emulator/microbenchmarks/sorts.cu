/// \file
/// Sorting pairs: what the toolkit's radix sort takes by pairs and by bits, as a part of a graph.
#include <cub/device/device_radix_sort.cuh>

#include "tests/emulator/measured_kernels.cuh"
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
Json measure_sorts(const Bench& bench) {
  constexpr int kLaunches = 20;
  constexpr unsigned kMost = 1U << 24;
  constexpr unsigned kLongSort = 1U << 20;
  constexpr std::size_t kBytes = kMost * sizeof(std::uint32_t);
  const DeviceBuffer keys = bench.buffer(kBytes);
  const DeviceBuffer values = bench.buffer(kBytes);
  const DeviceBuffer keys_out = bench.buffer(kBytes);
  const DeviceBuffer values_out = bench.buffer(kBytes);
  const auto words = [](const DeviceBuffer& buffer) { return reinterpret_cast<std::uint32_t*>(buffer.data()); };
  check(launch(measured::scatter_keys, {.grid = 1024, .block = 256, .stream = bench.stream().get()}, words(keys),
               words(values), kMost),
        "scattering keys");
  Json result;
  for (const unsigned n :
       {3U, 15U, 256U, 1024U, 4096U, 4864U, 4865U, 8192U, 16384U, 65536U, 1U << 18, 1U << 20, 1U << 22, kMost}) {
    for (const int bits : {3, 6, 8, 11, 15, 21, 26}) {
      std::size_t workspace_bytes = 0;
      const int count = static_cast<int>(n);
      const auto sorted = [&](void* workspace, cudaStream_t stream) {
        return cub::DeviceRadixSort::SortPairs(workspace, workspace_bytes, words(keys), words(keys_out), words(values),
                                               words(values_out), count, 0, bits, stream);
      };
      check(sorted(nullptr, nullptr), "asking");
      const DeviceBuffer workspace = bench.buffer((workspace_bytes + 255) / 256 * 256);
      const auto sort = [&](int, cudaStream_t stream) { return sorted(workspace.data(), stream); };
      const int launches = n > kLongSort ? 2 : kLaunches;
      result.push_back({{"pairs", n}, {"bits", bits}, {"in_graph_seconds", bench.graph_seconds(launches, sort)}});
    }
  }
  return result;
}

}  // namespace warpbook::microbenchmarks
