/// \file
/// Shared memory, the L1, barriers: what never leaves a multiprocessor.
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr unsigned kSharedWords = 8192;
constexpr unsigned kRounds = 512;

__device__ void set(unsigned& word, unsigned to) { word = to; }
__device__ void set(uint4& word, unsigned to) { word = make_uint4(to, to, to, to); }

constexpr unsigned kChains = 4;  // of accesses that wait for each other, in each thread

/// Lane i touches word i * stride (in words of T) of shared memory, again and again; thread 0 of block 0 tells how long
/// its block took. Where a load goes depends on the load before (which brings 0), so that none can be left out.
template <class T, bool store> __global__ void shared_requests(unsigned* out, unsigned stride, long long* clocks) {
  __shared__ __align__(16) unsigned memory[kSharedWords];
  for (unsigned i = threadIdx.x; i < kSharedWords; i += blockDim.x) memory[i] = 0;
  __syncthreads();
  T* const words = reinterpret_cast<T*>(memory);
  constexpr unsigned kMask = kSharedWords * 4 / sizeof(T) - 1;
  unsigned at[kChains];
  // Another row for each chain, in the same banks.
  for (unsigned k = 0; k < kChains; ++k) at[k] = (threadIdx.x % 32 * stride + k * (128 / sizeof(T))) & kMask;
  const long long start = clock64();
#pragma unroll 4
  for (unsigned round = 0; round < kRounds / kChains; ++round) {
#pragma unroll
    for (unsigned k = 0; k < kChains; ++k) {
      if constexpr (store) {
        set(words[at[k]], round);
        asm volatile("" ::: "memory");
      } else {
        at[k] += fold(words[at[k]]);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
  if (never(at[0] ^ at[1] ^ at[2] ^ at[3] ^ memory[threadIdx.x])) *out = 1;
}

template <class T, bool store> Json shared_by_stride(const Bench& bench, const char* name) {
  Json rows;
  const PinnedBuffer result(64);
  auto* const clocks = reinterpret_cast<long long*>(result.data());
  for (const unsigned threads : {128U, 1024U}) {
    for (const unsigned stride : {0U, 1U, 2U, 3U, 4U, 8U, 16U, 32U}) {
      check(launch(shared_requests<T, store>,
                   {.grid = bench.multiprocessors(), .block = threads, .stream = bench.stream().get()},
                   reinterpret_cast<unsigned*>(result.data() + 32), stride, clocks),
            "reading shared memory");
      bench.stream().synchronize();
      const double requests = static_cast<double>(kRounds) * threads / 32;
      rows.push_back({{"access", name},
                      {"bytes_an_access", sizeof(T)},
                      {"stride_accesses", stride},
                      {"warps", threads / 32},
                      {"clocks_a_request", static_cast<double>(*clocks) / requests},
                      {"bytes_per_clock", requests * 32 * sizeof(T) / static_cast<double>(*clocks)}});
    }
  }
  return rows;
}

/// Lanes of a warp at k addresses of shared memory.
template <class T> __global__ void shared_atomics(unsigned addresses, T value, long long* clocks) {
  __shared__ T memory[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) memory[i] = T{};
  __syncthreads();
  T* const mine = memory + threadIdx.x % addresses;
  const long long start = clock64();
  for (unsigned round = 0; round < kRounds; ++round) atomicAdd(mine, value);
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
}

template <class T> Json shared_atomics_by_collisions(const Bench& bench, const char* name) {
  Json rows;
  const PinnedBuffer result(64);
  auto* const clocks = reinterpret_cast<long long*>(result.data());
  for (const unsigned addresses : {32U, 16U, 8U, 4U, 2U, 1U}) {
    check(launch(shared_atomics<T>, {.grid = bench.multiprocessors(), .block = 256, .stream = bench.stream().get()},
                 addresses, T{2}, clocks),
          "adding in shared memory");
    bench.stream().synchronize();
    rows.push_back({{"type", name},
                    {"lanes_at_an_address", 32 / addresses},
                    {"clocks_a_request", static_cast<double>(*clocks) / (kRounds * 256.0 / 32)}});
  }
  return rows;
}

__global__ void shared_chase(unsigned* out, unsigned steps, long long* clocks) {
  __shared__ unsigned next[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i + 33) % 1024;
  __syncthreads();
  unsigned at = threadIdx.x;
  const long long start = clock64();
#pragma unroll 16
  for (unsigned i = 0; i < steps; ++i) at = next[at];
  if (threadIdx.x == 0) *clocks = clock64() - start;
  if (never(at)) *out = at;
}

/// Reads the same 16 KiB again and again, through the L1. What is read is 0.
template <class T> __global__ void l1_reads(unsigned* out, const T* in, long long* clocks) {
  constexpr unsigned kWords = 16 * kKiB / sizeof(T);
  unsigned at[kChains];
  for (unsigned k = 0; k < kChains; ++k) at[k] = (threadIdx.x + k * blockDim.x) % kWords;
  for (unsigned k = 0; k < kChains; ++k) at[k] += fold(in[at[k]]);
  __syncthreads();
  const long long start = clock64();
#pragma unroll 4
  for (unsigned round = 0; round < kRounds / kChains; ++round) {
#pragma unroll
    for (unsigned k = 0; k < kChains; ++k) at[k] += fold(in[at[k]]);
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
  if (never(at[0] ^ at[1] ^ at[2] ^ at[3])) *out = 1;
}

/// Each request of a warp touches `lines` (1 << lines_log2) lines that the L1 holds.
__global__ void l1_lines(unsigned* out, const unsigned* in, unsigned lines_log2, long long* clocks) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned own = (lane & ((1U << lines_log2) - 1)) * 32 + (lane >> lines_log2);
  unsigned at[kChains];
  for (unsigned k = 0; k < kChains; ++k) at[k] = own + k * 1024;
  for (unsigned k = 0; k < kChains; ++k) at[k] += in[at[k]];
  __syncthreads();
  const long long start = clock64();
#pragma unroll 4
  for (unsigned round = 0; round < kRounds / kChains; ++round) {
#pragma unroll
    for (unsigned k = 0; k < kChains; ++k) at[k] += in[at[k]];
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
  if (never(at[0] ^ at[1] ^ at[2] ^ at[3])) *out = 1;
}

__global__ void barriers(unsigned rounds, long long* clocks) {
  __syncthreads();
  const long long start = clock64();
  for (unsigned i = 0; i < rounds; ++i) __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
}

__global__ void shuffles(unsigned* out, unsigned rounds, long long* clocks) {
  unsigned value = threadIdx.x;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 8
  for (unsigned i = 0; i < rounds; ++i) value = __shfl_xor_sync(0xffffffffU, value, 1) + 1;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
  if (never(value)) *out = value;
}

}  // namespace

Json measure_on_chip(const Bench& bench) {
  Json result;
  const PinnedBuffer pinned(64);
  auto* const clocks = reinterpret_cast<long long*>(pinned.data());
  auto* const sink = reinterpret_cast<unsigned*>(pinned.data() + 32);
  const auto run = [&](auto kernel, unsigned threads, auto... arguments) {
    const LaunchConfig config{.grid = bench.multiprocessors(), .block = threads, .stream = bench.stream().get()};
    check(launch(kernel, config, arguments...), "launching");
    bench.stream().synchronize();
    return static_cast<double>(*clocks);
  };

  constexpr unsigned kSteps = 4096;
  result["shared_latency_clocks"] = run(shared_chase, 32, sink, kSteps, clocks) / kSteps;
  for (const Json& rows :
       {shared_by_stride<unsigned, false>(bench, "load"), shared_by_stride<uint2, false>(bench, "load"),
        shared_by_stride<uint4, false>(bench, "load"), shared_by_stride<unsigned, true>(bench, "store"),
        shared_by_stride<uint4, true>(bench, "store")})
    for (const Json& row : rows) result["shared"].push_back(row);
  for (const Json& rows :
       {shared_atomics_by_collisions<int>(bench, "int"), shared_atomics_by_collisions<float>(bench, "float"),
        shared_atomics_by_collisions<double>(bench, "double")})
    for (const Json& row : rows) result["shared_atomics"].push_back(row);

  const DeviceBuffer buffer = bench.buffer(16 * kKiB);
  const auto l1 = [&]<class T>(T) {
    const double time = run(l1_reads<T>, 1024, sink, reinterpret_cast<const T*>(buffer.data()), clocks);
    result["l1"].push_back({{"bytes_an_access", sizeof(T)}, {"bytes_per_clock", kRounds * 1024.0 * sizeof(T) / time}});
  };
  l1(unsigned{});
  l1(uint2{});
  l1(uint4{});
  for (unsigned lines_log2 = 0; lines_log2 <= 5; ++lines_log2) {
    const double time = run(l1_lines, 1024, sink, reinterpret_cast<const unsigned*>(buffer.data()), lines_log2, clocks);
    result["l1_lines"].push_back({{"lines_a_request", 1 << lines_log2}, {"clocks_a_request", time / (kRounds * 32.0)}});
  }
  for (const unsigned threads : {32U, 128U, 256U, 512U, 1024U}) {
    result["barriers"].push_back({{"threads", threads}, {"clocks", run(barriers, threads, 1024U, clocks) / 1024}});
    result["shuffles"].push_back(
        {{"warps", threads / 32},
         {"clocks_a_request", run(shuffles, threads, sink, 1024U, clocks) / 1024 / (threads / 32)}});
  }
  return result;
}

}  // namespace warpbook::microbenchmarks
