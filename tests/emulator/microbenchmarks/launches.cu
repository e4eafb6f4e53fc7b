/// \file
/// What a launch costs before it does anything.
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

__global__ void nothing() {}

/// Which multiprocessor each block runs on, while all blocks are there.
__global__ void where(unsigned* multiprocessor) {
  unsigned mine = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(mine));
  if (threadIdx.x == 0) multiprocessor[blockIdx.x] = mine;
  const long long start = clock64();
  while (clock64() - start < 20'000) continue;
}

}  // namespace

Json measure_launches(const Bench& bench) {
  constexpr int kLaunches = 200;
  Json result;
  const auto empty = [](unsigned blocks, unsigned threads) {
    return [=](cudaStream_t stream) { return launch(nothing, {.grid = blocks, .block = threads, .stream = stream}); };
  };
  result["events_seconds"] = bench.seconds([](cudaStream_t) { return cudaSuccess; });
  result["launch_seconds"] = bench.seconds(empty(1, 32));
  result["in_stream_seconds"] = bench.seconds([&](cudaStream_t stream) {
    for (int i = 0; i < kLaunches; ++i) check(empty(1, 32)(stream), "launching");
    return cudaSuccess;
  }) / kLaunches;
  result["in_graph_seconds"] =
      bench.graph_seconds(kLaunches, [&](int, cudaStream_t stream) { return empty(1, 32)(stream); });

  const DeviceBuffer from = bench.buffer(kMiB);
  const DeviceBuffer to = bench.buffer(kMiB);
  for (const std::size_t bytes : {std::size_t{4}, 64 * kKiB, kMiB}) {
    const auto copy = [&](int, cudaStream_t stream) {
      return cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream);
    };
    result["copies"].push_back({{"bytes", bytes},
                                {"alone_seconds", bench.seconds([&](cudaStream_t stream) { return copy(0, stream); })},
                                {"in_graph_seconds", bench.graph_seconds(kLaunches, copy)}});
  }

  const unsigned resident = bench.multiprocessors() * 8;
  const PinnedBuffer places(resident * sizeof(unsigned));
  auto* const multiprocessor = reinterpret_cast<unsigned*>(places.data());
  check(launch(where, {.grid = resident, .block = 256, .stream = bench.stream().get()}, multiprocessor), "asking");
  bench.stream().synchronize();
  result["multiprocessor_of_block"] = std::vector<unsigned>(multiprocessor, multiprocessor + resident);

  // How fast blocks that do nothing come and go.
  for (const unsigned threads : {32U, 128U, 256U, 512U, 1024U}) {
    for (const unsigned blocks : {132U, 132U * 16, 132U * 128, 132U * 1024}) {
      result["empty_blocks"].push_back(
          {{"threads", threads}, {"blocks", blocks}, {"seconds", bench.seconds(empty(blocks, threads))}});
    }
  }
  return result;
}

}  // namespace warpbook::microbenchmarks
