/// \file
/// What the emulator costs: nanoseconds of an access, a thread, a barrier. `emulator_bench` takes Google Benchmark's
/// flags; WARPBOOK_WORKERS=1 runs on one core. scripts/bench_emulator.py runs it on one core and on all, and records
/// the result.
///
/// A benchmark's rate counts what its name says: accesses, threads or barriers of threads. Everything is included that
/// a launch does besides.
#include <benchmark/benchmark.h>
#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"
#include "common/emulator/execution/worker_pool.hpp"

namespace warpbook {
namespace {

constexpr unsigned kBlocks = 2048;
constexpr unsigned kThreads = 256;
constexpr unsigned kLanes = kBlocks * kThreads;
constexpr unsigned kTurns = 8;    // a thread, each with a load and a store
constexpr unsigned kRepeats = 8;  // of the same work in a launch: waking the cores is not what is measured

/// Neighbours side by side.
__global__ void copy(float* __restrict__ out, const float* __restrict__ in, unsigned turns) {
  const unsigned first = blockIdx.x * blockDim.x * turns + threadIdx.x;
  for (unsigned k = 0; k < turns; ++k) out[first + k * blockDim.x] = in[first + k * blockDim.x];
}

/// Each lane reads from a line of its own.
__global__ void scattered(float* __restrict__ out, const float* __restrict__ in, unsigned turns) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned rows = gridDim.x * blockDim.x / 32;
  for (unsigned k = 0; k < turns; ++k) {
    const unsigned from = (thread % rows) * 32 * turns + thread / rows * turns + k;
    out[thread + k * gridDim.x * blockDim.x] = in[from];
  }
}

/// Through a padded tile, with a barrier.
__global__ void tile(float* __restrict__ out, const float* __restrict__ in, unsigned) {
  __shared__ float tile[32][33];
  const unsigned first = blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) tile[threadIdx.y + 8 * k][threadIdx.x] = in[first + k * 256];
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) out[first + k * 256] = tile[threadIdx.x][threadIdx.y + 8 * k];
}

__global__ void barriers(unsigned turns) {
  for (unsigned k = 0; k < turns; ++k) __syncthreads();
}

__global__ void reduce(float* __restrict__ out, const float* __restrict__ in, unsigned turns) {
  const unsigned first = blockIdx.x * blockDim.x * turns + threadIdx.x;
  for (unsigned k = 0; k < turns; ++k) atomicAdd(out + (first + k * blockDim.x) % 65536, in[first + k * blockDim.x]);
}

using CopyKernel = void (*)(float*, const float*, unsigned);

/// Buffers for `kTurns` floats a thread.
struct Buffers {
  Buffers() : in(kLanes * kTurns * sizeof(float)), out(kLanes * kTurns * sizeof(float)) {
    check(cudaMemset(in.data(), 0, in.bytes()), "clearing the input");
    check(cudaMemset(out.data(), 0, out.bytes()), "clearing the output");
  }
  DeviceBuffer in;
  DeviceBuffer out;
};

void run(benchmark::State& state, CopyKernel kernel, const LaunchConfig& config, unsigned turns,
         emulator::TraceMode mode, double items) {
  const Buffers buffers;
  emulator::set_trace(mode);
  for (auto _ : state) {
    check(launch(kernel, config, reinterpret_cast<float*>(buffers.out.data()),
                 reinterpret_cast<const float*>(buffers.in.data()), turns),
          "launching");
    check(cudaDeviceSynchronize(), "waiting");
  }
  emulator::set_trace(emulator::TraceMode::sample);
  state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations()) * items));
  state.counters["ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * items,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// What the machine's cores give a program that shares nothing: arithmetic, in as many threads as there are workers.
void compute(benchmark::State& state) {
  constexpr unsigned kParts = 480;  // Shared evenly by 1, 2, 4, 8, 12 and 16 threads.
  constexpr unsigned kSteps = 100'000;
  const unsigned workers = emulator::worker_count();
  const auto part = [] {
    std::uint64_t state = 1;
    for (unsigned i = 0; i < kSteps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
    benchmark::DoNotOptimize(state);
  };
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < workers; ++worker) {
      threads.emplace_back([=] {
        for (unsigned i = worker; i < kParts; i += workers) part();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  state.counters["ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * kParts * kSteps,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void add_benchmarks() {
  using emulator::TraceMode;
  benchmark::RegisterBenchmark("the machine/arithmetic", compute)
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime();
  const LaunchConfig repeated{.grid = {kBlocks, kRepeats}, .block = kThreads};
  const LaunchConfig tiles{.grid = {kBlocks * 2, kRepeats}, .block = {32, 8}};
  const auto add = [](const char* name, CopyKernel kernel, const LaunchConfig& config, unsigned turns, TraceMode mode,
                      double items) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { run(state, kernel, config, turns, mode, items); })
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  };
  const double lanes = 1.0 * kLanes * kRepeats;
  const double accesses = 2.0 * lanes * kTurns;
  const double of_tiles = 2.0 * lanes * 16;  // twice the blocks
  add("traced access/copy", copy, repeated, kTurns, TraceMode::all, accesses);
  add("traced access/scattered", scattered, repeated, kTurns, TraceMode::all, accesses);
  add("traced access/tile", tile, tiles, 0, TraceMode::all, of_tiles);
  add("traced access/atomics", reduce, repeated, kTurns, TraceMode::all, accesses);
  add("untraced access/copy", copy, repeated, kTurns, TraceMode::off, accesses);
  add("untraced access/scattered", scattered, repeated, kTurns, TraceMode::off, accesses);
  add("untraced access/tile", tile, tiles, 0, TraceMode::off, of_tiles);
  add("untraced thread/no access", copy, repeated, 0, TraceMode::off, lanes);
  add("untraced thread/one load, one store", copy, repeated, 1, TraceMode::off, lanes);

  for (const TraceMode mode : {TraceMode::off, TraceMode::all}) {
    benchmark::RegisterBenchmark(
        mode == TraceMode::off ? "barrier of a thread/untraced" : "barrier of a thread/traced",
        [mode](benchmark::State& state) {
          constexpr unsigned kBarriers = 64;
          constexpr unsigned kBarrierBlocks = 2048;
          emulator::set_trace(mode);
          for (auto _ : state) {
            check(launch(barriers, {.grid = kBarrierBlocks, .block = kThreads}, kBarriers), "launching");
            check(cudaDeviceSynchronize(), "waiting");
          }
          emulator::set_trace(TraceMode::sample);
          const double items = 1.0 * kBarrierBlocks * kThreads * kBarriers;
          state.counters["ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * items,
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
        })
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
}

}  // namespace
}  // namespace warpbook

int main(int argc, char** argv) {
  warpbook::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
