/// \file
/// Small kernels whose traffic is easy to foretell: each puts one pattern before the memory system. They are run on a
/// GPU under Nsight Compute, which makes the golden files, and on the emulator, whose counters have to agree
/// (scripts/record_counters.py, tests/emulator/emulator_golden_test.py).
///
/// `golden_kernels` launches each of them once, behind a mark (common/harness/step_marker.hpp).
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "common/cuda/error.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"
#include "common/harness/step_marker.hpp"

namespace warpbook::golden {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLanes = 256 << 10;
constexpr std::size_t kBufferBytes = std::size_t{64} << 20;
constexpr unsigned kSharedWords = 2048;

__device__ unsigned thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

/// Spreads consecutive numbers over 32 bits.
__device__ unsigned hashed(unsigned i) {
  i *= 0x9e3779b9U;
  i ^= i >> 15;
  i *= 0x85ebca6bU;
  return i ^ i >> 13;
}

// ----------------------------------------------------------------------------------------------------- global memory

/// Element i * stride + offset to element i.
template <class T>
__global__ void load_strided(T* __restrict__ out, const T* __restrict__ in, unsigned stride, unsigned offset) {
  const unsigned i = thread_of_grid();
  out[i] = in[i * stride + offset];
}

template <class T>
__global__ void store_strided(T* __restrict__ out, const T* __restrict__ in, unsigned stride, unsigned offset) {
  const unsigned i = thread_of_grid();
  out[i * stride + offset] = in[i];
}

__global__ void load_reversed(unsigned* __restrict__ out, const unsigned* __restrict__ in) {
  const unsigned i = thread_of_grid();
  out[i] = in[i ^ 31U];
}

__global__ void load_broadcast(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned lanes) {
  const unsigned i = thread_of_grid();
  out[i] = in[i / lanes];
}

__global__ void gather(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned mask) {
  const unsigned i = thread_of_grid();
  out[i] = in[hashed(i) & mask];
}

/// An odd factor makes it a permutation: no two threads write one word.
__global__ void scatter(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned mask) {
  const unsigned i = thread_of_grid();
  out[i * 0x9e3779b1U & mask] = in[i];
}

__global__ void three_floats(float3* __restrict__ out, const float3* __restrict__ in) {
  const unsigned i = thread_of_grid();
  out[i] = in[i];
}

__global__ void odd_lanes(unsigned* __restrict__ out, const unsigned* __restrict__ in) {
  const unsigned i = thread_of_grid();
  if (i % 2 != 0) out[i] = in[i];
}

/// Both sides of the branch read, from places far apart.
__global__ void two_sides(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned far) {
  const unsigned i = thread_of_grid();
  if (i % 32 < 12) {
    out[i] = in[i] + 1;
  } else {
    out[i] = in[i + far] * 3;
  }
}

__global__ void early_exit(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned n) {
  const unsigned i = thread_of_grid();
  if (i >= n) return;
  out[i] = in[i];
}

/// Lane l takes l % 4 + 1 turns.
__global__ void trip_counts(unsigned* __restrict__ out, const unsigned* __restrict__ in) {
  const unsigned i = thread_of_grid();
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = 0; k <= i % 4; ++k) sum += in[i + k * kLanes];
  out[i] = sum;
}

/// Whole warps take different numbers of turns.
__global__ void trip_counts_by_warp(unsigned* __restrict__ out, const unsigned* __restrict__ in) {
  const unsigned i = thread_of_grid();
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = 0; k <= i / 32 % 4; ++k) sum += in[i + k * kLanes];
  out[i] = sum;
}

__global__ void grid_stride(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned n) {
#pragma unroll 1
  for (unsigned i = thread_of_grid(); i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

/// A block's lines are read a second time, in another order: the L1 has them.
__global__ void read_twice(unsigned* __restrict__ out, const unsigned* in) {
  const unsigned first = blockIdx.x * blockDim.x;
  const unsigned a = in[first + threadIdx.x];
  __syncthreads();
  const unsigned b = in[first + (blockDim.x - 1 - threadIdx.x)];
  out[first + threadIdx.x] = a + b;
}

/// All blocks read the same table.
__global__ void shared_table(unsigned* __restrict__ out, const unsigned* __restrict__ table) {
  const unsigned i = thread_of_grid();
  out[i] = table[threadIdx.x] + i;
}

__global__ void add_in_place(unsigned* data) { data[thread_of_grid()] += 1; }

// ----------------------------------------------------------------------------------------------------- shared memory

/// Each warp writes and reads its words of shared memory with strides, in words of T.
template <class T>
__global__ void shared_strided(T* __restrict__ out, const T* __restrict__ in, unsigned store_stride,
                               unsigned load_stride) {
  __shared__ T memory[kSharedWords * 4 / sizeof(T)];
  constexpr unsigned kMask = kSharedWords * 4 / sizeof(T) - 1;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned k = threadIdx.x; k <= kMask; k += blockDim.x) memory[k] = in[k];
  __syncthreads();
  if (threadIdx.x < 32) memory[lane * store_stride & kMask] = in[lane];
  __syncthreads();
  const T value = memory[lane * load_stride & kMask];
  out[thread_of_grid()] = value;
}

template <unsigned pad> __global__ void shared_transpose(float* __restrict__ out, const float* __restrict__ in) {
  __shared__ float tile[32][32 + pad];
  const std::size_t first = std::size_t{blockIdx.x} * 1024;
  tile[threadIdx.y][threadIdx.x] = in[first + threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[first + threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

/// Lanes of a warp that read the same wide words: `groups` lanes side by side share one, and every `period` of them.
template <class T>
__global__ void shared_alike(T* __restrict__ out, const T* __restrict__ in, unsigned group, unsigned period) {
  __shared__ T memory[256];
  memory[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[thread_of_grid()] = memory[threadIdx.x % period / group];
}

/// A byte a lane: four lanes share a word.
__global__ void shared_bytes(unsigned char* __restrict__ out, const unsigned char* __restrict__ in, unsigned stride) {
  __shared__ unsigned char memory[kSharedWords * 4];
  for (unsigned k = threadIdx.x; k < kSharedWords * 4; k += blockDim.x) memory[k] = in[k];
  __syncthreads();
  out[thread_of_grid()] = memory[threadIdx.x % 32 * stride % (kSharedWords * 4)];
}

// ----------------------------------------------------------------------------------------------------------- atomics

/// Groups of `together` lanes add to one address; groups side by side, over `addresses` (a power of two) of them.
template <class T> __global__ void reduce(T* out, T value, unsigned together, unsigned addresses) {
  atomicAdd(out + (thread_of_grid() / together & (addresses - 1)), value);
}

/// The same where the result is used.
template <class T> __global__ void fetch_add(T* out, T* before, T value, unsigned together) {
  const unsigned i = thread_of_grid();
  before[i] = atomicAdd(out + i / together, value);
}

__global__ void compare_and_swap(unsigned* out, unsigned* before) {
  const unsigned i = thread_of_grid();
  before[i] = atomicCAS(out + i, 0U, i);
}

/// Some lanes only, scattered.
__global__ void reduce_some(unsigned* out, unsigned mask) {
  const unsigned i = thread_of_grid();
  if (hashed(i) % 3 == 0) atomicAdd(out + (hashed(i + 77) & mask), 1U);
}

__global__ void shared_reduce(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned together) {
  __shared__ unsigned memory[256];
  memory[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(memory + threadIdx.x / together, in[threadIdx.x]);
  __syncthreads();
  out[thread_of_grid()] = memory[threadIdx.x];
}

// --------------------------------------------------------------------------------------------------------------- list

class Kernels {
public:
  Kernels() : from_(kBufferBytes), to_(kBufferBytes) {
    check(cudaMemset(from_.data(), 0, kBufferBytes), "clearing the input");
  }

  void run() {
    add_global();
    add_shared();
    add_atomics();
  }

private:
  template <class T> T* in() const { return reinterpret_cast<T*>(from_.data()); }
  template <class T> T* out() const { return reinterpret_cast<T*>(to_.data()); }

  /// Launches a kernel behind its mark.
  template <class... P, class... A>
  void one(const std::string& name, void (*kernel)(P...), const LaunchConfig& config, A... arguments) {
    check(cudaMemset(to_.data(), 0, kBufferBytes), "clearing the output");
    mark_launches(1, ++count_, "kernel", name);
    check(launch(kernel, config, arguments...), name);
    check(cudaDeviceSynchronize(), name);
  }

  template <class T> void add_widths(const char* type) {
    one(std::string("load and store ") + type, load_strided<T>, kGrid, out<T>(), in<T>(), 1U, 0U);
    one(std::string("load every second ") + type, load_strided<T>, kGrid, out<T>(), in<T>(), 2U, 0U);
  }

  void add_global() {
    add_widths<unsigned char>("1 byte");
    add_widths<unsigned short>("2 bytes");
    add_widths<unsigned>("4 bytes");
    add_widths<uint2>("8 bytes");
    add_widths<uint4>("16 bytes");
    for (const unsigned offset : {1U, 3U, 8U, 16U, 31U})
      one("load at offset " + std::to_string(offset * 4), load_strided<unsigned>, kGrid, out<unsigned>(),
          in<unsigned>(), 1U, offset);
    one("load 16 bytes at offset 16", load_strided<uint4>, kGrid, out<uint4>(), in<uint4>(), 1U, 1U);
    for (const unsigned stride : {3U, 4U, 8U, 16U, 32U, 33U})
      one("load with stride " + std::to_string(stride * 4), load_strided<unsigned>, kGrid, out<unsigned>(),
          in<unsigned>(), stride, 0U);
    for (const unsigned stride : {2U, 3U, 4U, 8U, 16U, 32U})
      one("store with stride " + std::to_string(stride * 4), store_strided<unsigned>, kGrid, out<unsigned>(),
          in<unsigned>(), stride, 0U);
    one("store at offset 4", store_strided<unsigned>, kGrid, out<unsigned>(), in<unsigned>(), 1U, 1U);
    one("store 16 bytes with stride 64", store_strided<uint4>, kGrid, out<uint4>(), in<uint4>(), 4U, 0U);
    one("lanes reversed", load_reversed, kGrid, out<unsigned>(), in<unsigned>());
    for (const unsigned lanes : {4U, 32U, 256U})
      one("one address for " + std::to_string(lanes) + " lanes", load_broadcast, kGrid, out<unsigned>(), in<unsigned>(),
          lanes);
    one("gather from 1 MiB", gather, kGrid, out<unsigned>(), in<unsigned>(), kLanes - 1);
    one("gather from 64 MiB", gather, kGrid, out<unsigned>(), in<unsigned>(), (16U << 20) - 1);
    one("scatter over 1 MiB", scatter, kGrid, out<unsigned>(), in<unsigned>(), kLanes - 1);
    one("three floats", three_floats, kGrid, out<float3>(), in<float3>());
    one("odd lanes", odd_lanes, kGrid, out<unsigned>(), in<unsigned>());
    one("both sides of a branch", two_sides, kGrid, out<unsigned>(), in<unsigned>(), kLanes);
    one("early exit", early_exit, kGrid, out<unsigned>(), in<unsigned>(), kLanes / 2 + 13);
    one("blocks of 48", load_strided<unsigned>, {.grid = 4096, .block = 48}, out<unsigned>(), in<unsigned>(), 1U, 0U);
    one("trip counts by lane", trip_counts, kGrid, out<unsigned>(), in<unsigned>());
    one("trip counts by warp", trip_counts_by_warp, kGrid, out<unsigned>(), in<unsigned>());
    one("grid stride", grid_stride, {.grid = 132, .block = 256}, out<unsigned>(), in<unsigned>(), kLanes - 5);
    one("read twice", read_twice, kGrid, out<unsigned>(), in<unsigned>());
    one("one table for all", shared_table, kGrid, out<unsigned>(), in<unsigned>());
    one("add in place", add_in_place, kGrid, out<unsigned>());
  }

  template <class T> void add_strides(const char* type, std::initializer_list<unsigned> strides) {
    for (const unsigned stride : strides)
      one(std::string("shared ") + type + ", stride " + std::to_string(stride), shared_strided<T>,
          {.grid = 128, .block = 256}, out<T>(), in<T>(), stride == 0 ? 1 : stride, stride);
  }

  void add_shared() {
    add_strides<unsigned>("4 bytes", {0U, 1U, 2U, 3U, 4U, 8U, 16U, 32U, 33U});
    add_strides<uint2>("8 bytes", {0U, 1U, 2U, 3U, 4U, 8U, 16U});
    add_strides<uint4>("16 bytes", {0U, 1U, 2U, 3U, 4U, 8U});
    for (const unsigned group : {1U, 2U, 4U, 8U, 16U}) {
      for (const unsigned period : {8U, 16U, 32U}) {
        if (group >= period) continue;
        const std::string alike = ", " + std::to_string(group) + " lanes alike, period " + std::to_string(period);
        const LaunchConfig config{.grid = 128, .block = 256};
        one("shared 8 bytes" + alike, shared_alike<uint2>, config, out<uint2>(), in<uint2>(), group, period);
        one("shared 16 bytes" + alike, shared_alike<uint4>, config, out<uint4>(), in<uint4>(), group, period);
      }
    }
    one("shared bytes", shared_bytes, {.grid = 128, .block = 256}, out<unsigned char>(), in<unsigned char>(), 1U);
    one("shared bytes, stride 66", shared_bytes, {.grid = 128, .block = 256}, out<unsigned char>(), in<unsigned char>(),
        66U);
    const LaunchConfig tiles{.grid = 128, .block = {32, 32}};
    one("tile by columns", shared_transpose<0>, tiles, out<float>(), in<float>());
    one("padded tile by columns", shared_transpose<1>, tiles, out<float>(), in<float>());
  }

  void add_atomics() {
    for (const unsigned together : {1U, 2U, 4U, 8U, 16U, 32U}) {
      const std::string lanes = std::to_string(together) + (together == 1 ? " lane" : " lanes") + " an address";
      one("reduce int, " + lanes, reduce<int>, kGrid, out<int>(), 3, together, kLanes);
      one("reduce float, " + lanes, reduce<float>, kGrid, out<float>(), 3.0F, together, kLanes);
      one("shared reduce, " + lanes, shared_reduce, {.grid = 128, .block = 256}, out<unsigned>(), in<unsigned>(),
          together);
    }
    one("reduce int at 64 addresses", reduce<int>, kGrid, out<int>(), 3, 1U, 64U);
    one("reduce int at one address", reduce<int>, {.grid = 64, .block = 256}, out<int>(), 3, 1U, 1U);
    one("reduce uint64", reduce<unsigned long long>, kGrid, out<unsigned long long>(), 3ULL, 1U, kLanes);
    one("reduce double", reduce<double>, kGrid, out<double>(), 3.0, 1U, kLanes);
    one("reduce some lanes", reduce_some, kGrid, out<unsigned>(), kLanes - 1);
    one("fetch and add int", fetch_add<int>, kGrid, out<int>(), in<int>(), 3, 1U);
    one("fetch and add int, 4 lanes an address", fetch_add<int>, kGrid, out<int>(), in<int>(), 3, 4U);
    one("fetch and add float", fetch_add<float>, kGrid, out<float>(), in<float>(), 3.0F, 1U);
    one("compare and swap", compare_and_swap, kGrid, out<unsigned>(), in<unsigned>());
    one("reduce half2", reduce<__half2>, kGrid, out<__half2>(), __float2half2_rn(1.0F), 1U, kLanes);
    one("reduce half", reduce<__half>, kGrid, out<__half>(), __float2half(1.0F), 1U, kLanes);
  }

  static constexpr LaunchConfig kGrid{.grid = kLanes / kThreads, .block = kThreads};

  DeviceBuffer from_;
  DeviceBuffer to_;
  unsigned count_ = 0;
};

}  // namespace
}  // namespace warpbook::golden

int main() {
  try {
    warpbook::golden::Kernels().run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_kernels: %s\n", error.what());
    return 3;
  }
}
