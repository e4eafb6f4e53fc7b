/// \file
/// Loops as they are mostly written: over loads, with a number of turns that the compiler does not know; over exchanges
/// in shared memory; over additions that all lanes send to one address.
#include <string>

#include "tests/emulator/measured_kernels.cuh"
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr unsigned kThreads = 256;

/// Loads in loops of a number of turns that the compiler does not know, by what it was told about unrolling.
Json counted_loads(const Bench& bench) {
  const std::size_t bytes = 512 * kMiB;
  const DeviceBuffer words = bench.buffer(bytes);
  const DeviceBuffer out = bench.buffer(16 * kMiB);
  Json rows;
  const auto add = [&](const char* name, auto* kernel, unsigned blocks, unsigned turns, unsigned step, unsigned apart) {
    const double seconds = bench.seconds([&](cudaStream_t stream) {
      return launch(kernel, {.grid = blocks, .block = kThreads, .stream = stream},
                    reinterpret_cast<unsigned*>(out.data()), reinterpret_cast<const unsigned*>(words.data()), turns,
                    step, apart);
    });
    rows.push_back({{"loop", name},
                    {"turns", turns},
                    {"words_between_turns", step},
                    {"words_between_threads", apart},
                    {"blocks", blocks},
                    {"seconds", seconds}});
  };
  for (const unsigned blocks : {4U, 132U, 1056U, 2112U}) {
    for (const unsigned turns : {4U, 32U, 128U}) {
      if (std::size_t{blocks} * turns * kThreads * 4 > bytes / 2) continue;
      const auto by_rows_and_columns = [&](const char* name, auto* kernel) {
        add((std::string("column, ") + name).c_str(), kernel, blocks, turns, blocks * kThreads, 1);
        add((std::string("row, ") + name).c_str(), kernel, blocks, turns, 1, turns);
      };
      by_rows_and_columns("as compiled", measured::sum_counted<0>);
      by_rows_and_columns("one at a time", measured::sum_counted<1>);
      by_rows_and_columns("sixteen", measured::sum_counted<16>);
    }
  }
  return rows;
}

/// Additions in shared memory by a loop of compare and swap that the kernel writes down: one at a time, or four.
Json exchanges(const Bench& bench) {
  const DeviceBuffer out = bench.buffer(kMiB);
  Json rows;
  const auto add = [&](auto* kernel, unsigned together, unsigned blocks, unsigned threads, unsigned addresses) {
    constexpr unsigned kTurns = 16;
    const double seconds = bench.seconds(
        [&](cudaStream_t stream) {
          return launch(kernel, {.grid = blocks, .block = threads, .stream = stream},
                        reinterpret_cast<float*>(out.data()), addresses, kTurns);
        },
        L2::warm, 5);
    rows.push_back({{"together", together},
                    {"blocks", blocks},
                    {"threads", threads},
                    {"addresses", addresses},
                    {"additions_a_thread", kTurns * together},
                    {"seconds", seconds}});
  };
  for (const unsigned threads : {32U, 256U, 1024U}) {
    for (const unsigned addresses : {1U, 4U, 32U, 256U, 4096U}) {
      add(measured::exchange_in_shared<1>, 1, 132, threads, addresses);
      add(measured::exchange_in_shared<4>, 4, 132, threads, addresses);
    }
  }
  return rows;
}

/// All lanes of all warps to one address that the compiler knows to be one.
__global__ void count_threads(int* at, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) atomicAdd(at, 1);
}
__global__ void add_threads(int* at, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) atomicAdd(at, static_cast<int>(threadIdx.x + i));
}
__global__ void add_floats(float* at, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) atomicAdd(at, static_cast<float>(threadIdx.x));
}
__global__ void take_numbers(int* at, unsigned turns) {
  int last = 0;
  for (unsigned i = 0; i < turns; ++i) last += atomicAdd(at, 1);
  if (never(static_cast<unsigned>(last))) *at = 0;
}
__global__ void largest_of_threads(int* at, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) atomicMax(at, static_cast<int>(threadIdx.x + i));
}
/// The same in shared memory.
__global__ void count_in_shared(int* at, unsigned turns) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (unsigned i = 0; i < turns; ++i) atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) at[blockIdx.x] = sum;
}
__global__ void add_floats_in_shared(float* at, unsigned turns) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (unsigned i = 0; i < turns; ++i) atomicAdd(&sum, static_cast<float>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) at[blockIdx.x] = sum;
}

Json one_address(const Bench& bench) {
  const DeviceBuffer out = bench.buffer(kMiB);
  Json rows;
  const auto add = [&]<class T>(const char* name, void (*kernel)(T*, unsigned), unsigned blocks, unsigned turns) {
    const double seconds = bench.seconds(
        [&](cudaStream_t stream) {
          return launch(kernel, {.grid = blocks, .block = kThreads, .stream = stream}, reinterpret_cast<T*>(out.data()),
                        turns);
        },
        L2::warm, 5);
    rows.push_back({{"operation", name}, {"blocks", blocks}, {"turns", turns}, {"seconds", seconds}});
  };
  for (const unsigned blocks : {1U, 132U, 1024U}) {
    for (const unsigned turns : {1U, 4U}) {
      add("count", count_threads, blocks, turns);
      add("add int", add_threads, blocks, turns);
      add("add float", add_floats, blocks, turns);
      add("take a number", take_numbers, blocks, turns);
      add("largest", largest_of_threads, blocks, turns);
      add("count in shared", count_in_shared, blocks, turns);
      add("add float in shared", add_floats_in_shared, blocks, turns);
    }
  }
  return rows;
}

/// One addition a thread to places without order, as a histogram of many bins has them; the L2 holds none of them.
__global__ void scatter_additions(int* data, const unsigned* places, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(data + (places[i] & mask), 1);
}
__global__ void scatter_own(int* data, const unsigned*, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(data + (measured::hashed(i) & mask), 1);
}
__global__ void put_places(unsigned* places) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  places[i] = measured::hashed(i);
}

Json scattered(const Bench& bench) {
  const DeviceBuffer data = bench.buffer(256 * kMiB);
  const DeviceBuffer places = bench.buffer(64 * kMiB);
  check(launch(put_places, {.grid = 65536, .block = kThreads, .stream = bench.stream().get()},
               reinterpret_cast<unsigned*>(places.data())),
        "writing places");
  Json rows;
  for (const unsigned count : {1U << 18, 1U << 20, 1U << 22, 1U << 24}) {
    for (const unsigned power : {8U, 10U, 12U, 16U, 20U, 24U, 26U}) {
      for (const bool cold : {false, true}) {
        const auto time = [&](auto* kernel) {
          return bench.seconds(
              [&](cudaStream_t stream) {
                return launch(kernel, {.grid = count / kThreads, .block = kThreads, .stream = stream},
                              reinterpret_cast<int*>(data.data()), reinterpret_cast<const unsigned*>(places.data()),
                              (1U << power) - 1);
              },
              cold ? L2::cold : L2::warm, 5);
        };
        rows.push_back({{"additions", count},
                        {"addresses", 1U << power},
                        {"l2", cold ? "cold" : "warm"},
                        {"read_places_seconds", time(scatter_additions)},
                        {"computed_places_seconds", time(scatter_own)}});
      }
    }
  }
  return rows;
}

}  // namespace

Json measure_loops(const Bench& bench) {
  return {{"counted_loads", counted_loads(bench)},
          {"exchanges", exchanges(bench)},
          {"one_address", one_address(bench)},
          {"scattered", scattered(bench)}};
}

}  // namespace warpbook::microbenchmarks
