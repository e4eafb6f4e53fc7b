// The emulator's model of time against what was measured on an NVIDIA H200.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <cmath>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <string>
#include <utility>

#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"
#include "tests/catch.hpp"
#include "tests/emulator/measured_kernels.cuh"

using warpbook::ceil_div;
using warpbook::launch;
using warpbook::measured::hashed;
namespace emulator = warpbook::emulator;
namespace measured = warpbook::measured;

namespace {

constexpr std::size_t kMiB = 1 << 20;

/// Device memory; its content does not matter.
class Buffer {
public:
  explicit Buffer(std::size_t bytes) { REQUIRE(cudaMalloc(&data_, bytes) == cudaSuccess); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  template <class T> T* as() const { return static_cast<T*>(data_); }

private:
  void* data_ = nullptr;
};

/// Seconds between two events around a device-to-device copy.
double copy_seconds(void* to, const void* from, std::size_t bytes) {
  cudaEvent_t begin{};
  cudaEvent_t end{};
  float milliseconds = 0;
  REQUIRE(cudaEventCreate(&begin) == cudaSuccess);
  REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  REQUIRE(cudaEventRecord(begin) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice) == cudaSuccess);
  REQUIRE(cudaEventRecord(end) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(end) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
  CHECK(cudaEventDestroy(begin) == cudaSuccess);
  CHECK(cudaEventDestroy(end) == cudaSuccess);
  return milliseconds * 1e-3;
}

bool within(double value, double expected, double share) { return std::abs(value / expected - 1) <= share; }

template <class T> __global__ void copy_words(T* out, const T* in, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

template <class T> __global__ void multiply(T* out, const T* a, const T* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = static_cast<T>(a[i] * b[i]);
}

__global__ void nothing() {}

/// One addition a thread, at hashed places among `addresses`: as tests/emulator/microbenchmarks/contended.cu has it.
__global__ void add_changing(__half* data, unsigned addresses) {
  const unsigned hash = hashed(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(data + (hash & (addresses - 1)), __float2half(measured::change(hashed(hash))));
}

/// Additions to one float, all of a thread to the same.
__global__ void add_in_shared(float* out, unsigned addresses, unsigned turns) {
  __shared__ float sums[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  for (unsigned i = 0; i < turns; ++i) atomicAdd(&sums[threadIdx.x % addresses], 2.0F);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

template <class... P, class... A>
emulator::LaunchReport run(void (*kernel)(P...), const warpbook::LaunchConfig& config, A... arguments) {
  REQUIRE(launch(kernel, config, arguments...) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  return emulator::last_launch();
}

}  // namespace

TEST_CASE("copies take what they took on the H200") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  const Buffer from(128 * kMiB);
  const Buffer to(128 * kMiB);
  for (const auto& [mebibytes, microseconds] : {std::pair{16, 12.29}, {32, 20.19}, {64, 36.38}, {128, 67.36}}) {
    INFO(mebibytes << " MiB");
    const double seconds = copy_seconds(to.as<void>(), from.as<void>(), static_cast<std::size_t>(mebibytes) * kMiB);
    CHECK(within(seconds, microseconds * 1e-6,
                 0.06));  // memory.bandwidth of docs/results/nvidia-h200/microbenchmarks.json
  }
}

TEST_CASE("wide copies in a kernel run at the speed of a copy, narrow ones wait for memory") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr int kBytes = 64 * kMiB;
  const Buffer from(kBytes);
  const Buffer to(kBytes);
  const double ceiling = copy_seconds(to.as<void>(), from.as<void>(), kBytes);
  const auto wide = run(copy_words<float4>, {.grid = kBytes / 16 / 256, .block = 256}, to.as<float4>(),
                        from.as<float4>(), kBytes / 16);
  CHECK(within(wide.modelled_seconds, ceiling, 0.12));
  CHECK(std::string(wide.limited_by) == "DRAM");
  const auto narrow =
      run(copy_words<short>, {.grid = kBytes / 2 / 256, .block = 256}, to.as<short>(), from.as<short>(), kBytes / 2);
  CHECK(std::string(narrow.limited_by) == "latency");
  CHECK(narrow.modelled_seconds > 1.5 * ceiling);
}

TEST_CASE("one element a thread, elementwise: 32 Mi elements") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr int kN = 32 << 20;
  const Buffer a(kN * sizeof(float));
  const Buffer b(kN * sizeof(float));
  const Buffer out(kN * sizeof(float));
  const warpbook::LaunchConfig config{.grid = kN / 256, .block = 256};
  const auto floats = run(multiply<float>, config, out.as<float>(), a.as<float>(), b.as<float>(), kN);
  CHECK(within(floats.modelled_seconds, 125.1e-6, 0.1));
  const auto shorts = run(multiply<short>, config, out.as<short>(), a.as<short>(), b.as<short>(), kN);
  CHECK(within(shorts.modelled_seconds, 105.6e-6, 0.1));  // measured with halves: as wide
}

TEST_CASE("an empty kernel takes its launch") {
  const auto seen = run(nothing, {.block = 32});
  CHECK(seen.modelled_seconds > 1e-6);
  CHECK(seen.modelled_seconds < 10e-6);
}

TEST_CASE("additions to halves take as long as those that they meet make them") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  struct Row {
    unsigned addresses;
    unsigned warps;
    double microseconds;  // contended of docs/results/nvidia-h200/microbenchmarks.json, half
  };
  for (const auto& [addresses, warps, microseconds] : {Row{1, 32, 416},
                                                       {1, 256, 7055},
                                                       {16, 32, 42.4},
                                                       {1024, 256, 21.1},
                                                       {1024, 2048, 580},
                                                       {65536, 2048, 8.22},
                                                       {65536, 8192, 29.3},
                                                       {65536, 32768, 100},
                                                       {1 << 20, 32768, 29.7}}) {
    INFO(warps << " warps, " << addresses << " addresses");
    const Buffer sums(addresses * sizeof(__half));
    REQUIRE(cudaMemset(sums.as<void>(), 0, addresses * sizeof(__half)) == cudaSuccess);
    const warpbook::LaunchConfig config{.grid = warps * 32 / 256, .block = 256};
    const auto seen = run(add_changing, config, sums.as<__half>(), addresses);
    INFO(seen.modelled_seconds * 1e6 << " us modelled, " << microseconds << " measured");
    CHECK(seen.modelled_seconds > 0.5e-6 * microseconds);
    CHECK(seen.modelled_seconds < 2e-6 * microseconds);
  }
}

TEST_CASE("additions that nobody disturbs make room, and those at one address wait for each other all the same") {
  const auto seconds = [](unsigned others) {
    const Buffer sums((64 + (1 << 20)) * sizeof(__half));
    REQUIRE(cudaMemset(sums.as<void>(), 0, (64 + (1 << 20)) * sizeof(__half)) == cudaSuccess);
    return run(measured::add_mixed, {.grid = 2048, .block = 256}, sums.as<__half>(), 512U, others).modelled_seconds;
  };
  const double alone = seconds(0);
  const double mixed = seconds(1U << 20);
  INFO(alone * 1e6 << " us alone, " << mixed * 1e6 << " with others");
  CHECK(within(mixed, alone, 0.3));
}

namespace {

constexpr int kLoads = 8;

/// Modelled seconds of a block's loads from the DRAM, or from a line, beyond those of one load.
template <measured::Loads loads> double seconds_of_more_loads(unsigned distance) {
  constexpr unsigned kThreads = 32;
  const std::size_t bytes = (kLoads * std::size_t{distance} + kThreads) * sizeof(unsigned);
  const Buffer words(bytes);
  const Buffer out(kThreads * sizeof(unsigned));
  REQUIRE(cudaMemset(words.as<void>(), 0, bytes) == cudaSuccess);
  const auto seconds = [&](auto* kernel) {
    return run(kernel, {.grid = 1, .block = kThreads}, out.as<unsigned>(), words.as<const unsigned>(), distance,
               static_cast<unsigned>(bytes / sizeof(unsigned)))
        .modelled_seconds;
  };
  return seconds(measured::load_words<loads, kLoads>) - seconds(measured::load_words<loads, 1>);
}

/// Loads that wait for each other, more of them in the first block; all words are 0.
__global__ void follow(unsigned* out, const unsigned* words, unsigned first_turns, unsigned turns) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = 0;
  for (unsigned i = 0; i < (blockIdx.x == 0 ? first_turns : turns); ++i) at = words[(i << 13) + thread + at];
  out[thread] = at;
}

/// Loads that wait for each other, of the same words in each block; all are 0.
__global__ void follow_one(unsigned* out, const unsigned* words, unsigned turns) {
  unsigned at = 0;
  for (unsigned i = 0; i < turns; ++i) at = words[(i << 13) + threadIdx.x + at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

}  // namespace

namespace {

enum class Stop { barrier, meeting, atomic };

/// Divisions that wait for each other, where a thread that stops between them lets others run.
template <Stop stop>
__global__ void divide_and_stop(unsigned* out, unsigned rounds, unsigned divisions, unsigned divisor) {
  unsigned x = 0xf0000000U - threadIdx.x;
  for (unsigned i = 0; i < rounds; ++i) {
    for (unsigned j = 0; j < divisions; ++j) x = x / (divisor + (x & 1)) + 0xf0000000U;
    if constexpr (stop == Stop::barrier) __syncthreads();
    if constexpr (stop == Stop::meeting) __syncwarp();
    if constexpr (stop == Stop::atomic) atomicAdd(out + threadIdx.x, x);
  }
  out[threadIdx.x] = x;
}

}  // namespace

TEST_CASE("a warp takes as long as its busiest lane, and a multiprocessor as all of its blocks") {
  constexpr unsigned kDivisions = 1024;
  const Buffer out(256 * sizeof(unsigned));
  const auto seconds = [&](unsigned blocks, unsigned threads, unsigned busy, unsigned divisions = kDivisions) {
    return run(measured::divide_in_some, {.grid = blocks, .block = threads}, out.as<unsigned>(), busy, divisions, 37U)
        .modelled_seconds;
  };
  const double one_warp = seconds(1, 32, 32);
  for (const unsigned busy : {1U, 8U, 32U}) {
    INFO(busy << " lanes of 256");
    CHECK(within(seconds(1, 256, busy), one_warp, 0.05));
  }
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  // instructions.busy_threads and busy_blocks of docs/results/nvidia-h200/microbenchmarks_2.json: on a host whose
  // launches take 1.6 us longer.
  for (const auto& [busy, microseconds] : {std::pair{1U, 76.1}, {8U, 76.2}, {32U, 76.1}, {128U, 76.3}, {256U, 82.4}}) {
    INFO(busy << " lanes of 256");
    CHECK(within(seconds(132, 256, busy) * 1e6, microseconds, 0.2));
  }
  const double full = seconds(132, 1024, 1024, 256);  // fewer than were measured, to be quicker
  for (const auto& [blocks, times] : {std::pair{66U, 1.0}, {133U, 1.89}, {264U, 1.9}}) {
    INFO(blocks << " blocks");
    CHECK(within(seconds(blocks, 1024, 1024, 256) / full, times, 0.08));
  }

  // Whoever stops goes on where it was: the threads' work is not added up, and nothing of it is lost.
  REQUIRE(cudaMemset(out.as<void>(), 0, 256 * sizeof(unsigned)) == cudaSuccess);
  const auto stopping = [&](auto* kernel) {
    return run(kernel, {.grid = 1, .block = 256}, out.as<unsigned>(), 100U, kDivisions / 100, 37U).modelled_seconds;
  };
  CHECK(within(stopping(divide_and_stop<Stop::barrier>), one_warp, 0.15));
  CHECK(within(stopping(divide_and_stop<Stop::meeting>), one_warp, 0.15));
  CHECK(within(stopping(divide_and_stop<Stop::atomic>), one_warp, 0.3));
}

TEST_CASE("where all blocks run at once, the slowest one decides") {
  constexpr unsigned kTurns = 32;
  const Buffer words((kTurns << 13) * sizeof(unsigned));
  const Buffer out(132 * 32 * sizeof(unsigned));
  REQUIRE(cudaMemset(words.as<void>(), 0, (kTurns << 13) * sizeof(unsigned)) == cudaSuccess);
  const auto seconds = [&](unsigned first, unsigned others) {
    return run(follow, {.grid = 132, .block = 32}, out.as<unsigned>(), words.as<const unsigned>(), first, others)
        .modelled_seconds;
  };
  const double all = seconds(kTurns, kTurns);
  CHECK(within(seconds(kTurns, 1), all, 0.15));
  CHECK(seconds(1, 1) < 0.6 * all);
}

TEST_CASE("blocks that ask for the same at the same time wait for it together, and later ones find it in the L2") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr unsigned kTurns = 64;
  constexpr unsigned kWave = 132 * 32;  // blocks
  const Buffer words(kTurns * sizeof(unsigned) << 13);
  const Buffer out(4 * kWave * 32 * sizeof(unsigned));
  REQUIRE(cudaMemset(words.as<void>(), 0, kTurns * sizeof(unsigned) << 13) == cudaSuccess);
  const auto seconds = [&](unsigned blocks) {
    return run(follow_one, {.grid = blocks, .block = 32}, out.as<unsigned>(), words.as<const unsigned>(), kTurns)
        .modelled_seconds;
  };
  const double alone = seconds(1);
  CHECK(within(seconds(kWave), alone, 0.1));
  CHECK(seconds(4 * kWave) < 3 * alone);
}

TEST_CASE("a load waits for those that its address needs, and for no others") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr double kDram = 333e-9;  // memory.latency of docs/results/nvidia-h200/microbenchmarks.json
  constexpr double kL1 = 21.8e-9;   // the same
  constexpr unsigned kFar = 1U << 16;
  const double chained = seconds_of_more_loads<measured::Loads::chained>(kFar);
  INFO("chained " << chained * 1e9 << " ns");
  CHECK(within(chained, (kLoads - 1) * kDram, 0.25));
  CHECK(seconds_of_more_loads<measured::Loads::apart>(kFar) < kDram);
  CHECK(seconds_of_more_loads<measured::Loads::guarded>(kFar) < kDram);
  // From the second one on, a line lies in the L1.
  const double near = seconds_of_more_loads<measured::Loads::chained>(0);
  INFO("from one line " << near * 1e9 << " ns");
  CHECK(near > (kLoads - 1) * kL1);
  CHECK(near < 2 * (kLoads - 1) * kL1);
}

TEST_CASE("loads that wait for each other, and such that do not, take about as long as on the H200") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr unsigned kDistance = 1U << 20;
  constexpr unsigned kWords = (kLoads + 1) * kDistance;
  const Buffer words(std::size_t{kWords} * sizeof(unsigned));
  const Buffer out(std::size_t{kDistance} * sizeof(unsigned));
  REQUIRE(cudaMemset(words.as<void>(), 0, std::size_t{kWords} * sizeof(unsigned)) == cudaSuccess);
  struct Row {
    unsigned blocks;
    double apart, guarded, chained;  // microseconds: memory.waiting_loads of docs/results/nvidia-h200/
  };
  for (const auto& [blocks, apart, guarded, chained] :
       {Row{1, 3.71, 3.65, 6.11}, {132, 4.38, 4.35, 7.01}, {1056, 7.36, 7.36, 8.38}, {4096, 15.39, 15.49, 22.24}}) {
    const auto check = [&](const char* name, auto* kernel, double microseconds) {
      const double seconds =
          run(kernel, {.grid = blocks, .block = 256}, out.as<unsigned>(), words.as<const unsigned>(), kDistance, kWords)
              .modelled_seconds;
      UNSCOPED_INFO(blocks << " blocks, " << name << ": " << seconds * 1e6 << " us modelled, " << microseconds
                           << " measured");
      CHECK(within(seconds * 1e6, microseconds, 0.2));
    };
    check("apart", measured::load_words<measured::Loads::apart, kLoads>, apart);
    check("guarded", measured::load_words<measured::Loads::guarded, kLoads>, guarded);
    check("chained", measured::load_words<measured::Loads::chained, kLoads>, chained);
  }
}

TEST_CASE("loops over loads take as long as nvcc's unrolling lets them") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  const Buffer words(std::size_t{132} * 256 * 128 * sizeof(unsigned));
  const Buffer out(std::size_t{132} * 256 * sizeof(unsigned));
  REQUIRE(cudaMemset(words.as<void>(), 0, std::size_t{132} * 256 * 128 * sizeof(unsigned)) == cudaSuccess);
  struct Row {
    unsigned blocks, turns;
    double unrolled, row, one;  // microseconds: counted_loads of docs/results/nvidia-h200/microbenchmarks_loops.json
  };
  for (const auto& [blocks, turns, unrolled, row, one] : {Row{4, 32, 4.42, 7.97, 15.84},
                                                          {4, 128, 8.26, 20.77, 52.70},
                                                          {132, 32, 5.92, 9.18, 17.15},
                                                          {132, 128, 11.49, 21.98, 56.45}}) {
    const auto check = [&](const char* name, auto* kernel, unsigned step, unsigned apart, double microseconds) {
      const double seconds = run(kernel, {.grid = blocks, .block = 256}, out.as<unsigned>(), words.as<const unsigned>(),
                                 turns, step, apart)
                                 .modelled_seconds;
      UNSCOPED_INFO(blocks << " blocks, " << turns << " turns, " << name << ": " << seconds * 1e6 << " us modelled, "
                           << microseconds << " measured");
      CHECK(within(seconds * 1e6, microseconds, 0.2));
    };
    check("columns", measured::sum_counted<0>, blocks * 256, 1, unrolled);
    check("rows", measured::sum_counted<0>, 1, turns, row);
    check("one at a time", measured::sum_counted<1>, blocks * 256, 1, one);
  }
}

TEST_CASE("exchanges in shared memory wait for those that they meet") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  const Buffer out(132 * sizeof(float));
  struct Row {
    unsigned threads, addresses;
    double alone, together;  // microseconds: exchanges of docs/results/nvidia-h200/microbenchmarks_loops.json
  };
  for (const auto& [threads, addresses, alone, together] : {Row{32, 1, 97.63, 513.86},
                                                            {32, 32, 11.58, 41.41},
                                                            {256, 1, 704.61, 5790.3},
                                                            {256, 32, 29.47, 164.54},
                                                            {1024, 1, 10717.8, 72097.2},
                                                            {1024, 32, 95.74, 716.16},
                                                            {1024, 4096, 8.80, 32.26}}) {
    const auto check = [&](auto* kernel, double microseconds) {
      const double seconds =
          run(kernel, {.grid = 132, .block = threads}, out.as<float>(), addresses, 16U).modelled_seconds;
      UNSCOPED_INFO(threads << " threads, " << addresses << " addresses: " << seconds * 1e6 << " us modelled, "
                            << microseconds << " measured");
      CHECK(seconds > 0.5e-6 * microseconds);
      CHECK(seconds < 2e-6 * microseconds);
    };
    check(measured::exchange_in_shared<1>, alone);
    check(measured::exchange_in_shared<4>, together);
  }
}

TEST_CASE("copies whose blocks wait for one of their warps take about as long as on the H200") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr std::size_t kBytes = std::size_t{4224} * 4 * 256 * sizeof(uint4);
  const Buffer from(kBytes);
  const Buffer to(kBytes);
  REQUIRE(cudaMemset(from.as<void>(), 0, kBytes) == cudaSuccess);
  struct Row {
    unsigned blocks;
    double none, some, many;  // microseconds: memory.staged_copies of docs/results/nvidia-h200/microbenchmarks_2.json,
  };  // less 1.6; 0, 64 and 256 divisions
  for (const auto& [blocks, none, some, many] : {Row{132, 5.31, 9.76, 23.52},
                                                 {1056, 11.81, 15.42, 30.24},
                                                 {2112, 21.12, 26.66, 55.55},
                                                 {4224, 38.8, 43.5, 101.5}}) {
    for (const auto& [divisions, microseconds] : {std::pair{0U, none}, {64U, some}, {256U, many}}) {
      const double seconds = run(measured::copy_staged, {.grid = blocks, .block = 256}, to.as<uint4>(),
                                 from.as<const uint4>(), divisions, 37U)
                                 .modelled_seconds;
      INFO(blocks << " blocks, " << divisions << " divisions: " << seconds * 1e6 << " us modelled");
      CHECK(within(seconds * 1e6, microseconds, 0.2));
    }
  }
}

TEST_CASE("additions to halves by whole rows, and beside others, take about as long as on the H200") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  constexpr unsigned kOthers = 1U << 20;
  const std::size_t bytes = (64 + 2 * kOthers) * sizeof(__half);
  const Buffer sums(bytes);
  const auto check = [](const std::string& name, double seconds, double microseconds) {
    UNSCOPED_INFO(name << ": " << seconds * 1e6 << " us modelled, " << microseconds << " measured");
    CHECK(seconds > 0.5e-6 * microseconds);
    CHECK(seconds < 2e-6 * microseconds);
  };
  struct Rows {
    unsigned rows, warps;
    double microseconds;  // contended, "half, rows", of docs/results/nvidia-h200/microbenchmarks.json
  };
  for (const auto& [rows, warps, microseconds] :
       {Rows{1, 256, 240}, {16, 2048, 381}, {2048, 32768, 51.9}, {65536, 32768, 10.30}}) {
    REQUIRE(cudaMemset(sums.as<void>(), 0, bytes) == cudaSuccess);
    check(std::to_string(rows) + " rows",
          run(measured::add_rows, {.grid = warps / 8, .block = 256}, sums.as<__half>(), rows).modelled_seconds,
          microseconds);
  }
  // The same, "half, mixed": of 4096 additions one goes to a place where the others do not.
  for (const auto& [others, microseconds] : {std::pair{0U, 35.4}, std::pair{kOthers, 45.5}}) {
    REQUIRE(cudaMemset(sums.as<void>(), 0, bytes) == cudaSuccess);
    check(std::to_string(others) + " others",
          run(measured::add_mixed, {.grid = 2048, .block = 256}, sums.as<__half>(), 4096U, others).modelled_seconds,
          microseconds);
  }
}

namespace {

/// Modelled seconds of a sort, as a part of a graph.
double sort_seconds(int n, int bits) {
  using warpbook::check;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(std::uint32_t);
  const Buffer keys(bytes);
  const Buffer values(bytes);
  const Buffer keys_out(bytes);
  const Buffer values_out(bytes);
  check(launch(measured::scatter_keys, {.grid = 64, .block = 256}, keys.as<std::uint32_t>(), values.as<std::uint32_t>(),
               static_cast<unsigned>(n)),
        "scattering keys");
  std::size_t workspace_bytes = 0;
  const auto sort = [&](void* workspace, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(workspace, workspace_bytes, keys.as<std::uint32_t>(),
                                           keys_out.as<std::uint32_t>(), values.as<std::uint32_t>(),
                                           values_out.as<std::uint32_t>(), n, 0, bits, stream);
  };
  check(sort(nullptr, nullptr), "asking for the workspace's size");
  const Buffer workspace(workspace_bytes);
  const warpbook::Stream stream;
  const auto graph =
      warpbook::Graph::capture(stream, [&](cudaStream_t captured) { return sort(workspace.as<void>(), captured); });
  const warpbook::Event begin;
  const warpbook::Event end;
  begin.record(stream);
  graph.launch(stream);
  end.record(stream);
  stream.synchronize();
  return end.seconds_since(begin);
}

}  // namespace

TEST_CASE("a sort takes about as long as the toolkit's") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  struct Row {
    int pairs;
    int bits;
    double microseconds;  // sorts of docs/results/nvidia-h200/microbenchmarks.json
  };
  for (const auto& [pairs, bits, microseconds] : {Row{15, 6, 2.84},
                                                  {15, 26, 8.57},
                                                  {1024, 11, 4.56},
                                                  {4864, 21, 9.87},
                                                  {16384, 11, 30.34},
                                                  {65536, 26, 52.48},
                                                  {1 << 18, 21, 46.85}}) {
    const double seconds = sort_seconds(pairs, bits);
    INFO(pairs << " pairs, " << bits << " bits: " << seconds * 1e6 << " us modelled, " << microseconds << " measured");
    CHECK(seconds > 0.5e-6 * microseconds);
    CHECK(seconds < 2e-6 * microseconds);
  }
}

TEST_CASE("additions to floats in shared memory wait for each other at an address") {
  if (std::string(emulator::device_name()) != "NVIDIA H200") return;
  const Buffer out(132 * sizeof(float));
  constexpr unsigned kTurns = 16;
  const warpbook::LaunchConfig config{.grid = 132, .block = 256};
  const auto none = run(add_in_shared, config, out.as<float>(), 32U, 0U);
  for (const unsigned addresses : {32U, 8U, 1U}) {
    INFO(addresses << " addresses");
    const auto seen = run(add_in_shared, config, out.as<float>(), addresses, kTurns);
    const double seconds = seen.modelled_seconds - none.modelled_seconds;
    // on_chip.shared_atomics: some 50 clocks for each lane at the address
    CHECK(within(seconds, kTurns * 256.0 / addresses * 50 / 1.98e9, 0.25));
  }
}
