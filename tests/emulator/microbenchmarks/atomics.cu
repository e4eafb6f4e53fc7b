/// \file
/// Atomic additions to global memory, by type, by the lanes of a request that meet, and by the number of addresses.
/// Sums of half and bfloat16 at few addresses soon have no room for another 1: see contended.cu for these.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr std::size_t kBytes = 64 * kMiB;

template <class T> __device__ T one() { return T(1); }
template <> __device__ __half one() { return __float2half(1.0F); }
template <> __device__ __half2 one() { return __float2half2_rn(1.0F); }
template <> __device__ __nv_bfloat16 one() { return __float2bfloat16(1.0F); }
template <> __device__ __nv_bfloat162 one() { return __float2bfloat162_rn(1.0F); }
template <> [[maybe_unused]] __device__ float2 one() { return make_float2(1, 1); }
template <> [[maybe_unused]] __device__ float4 one() { return make_float4(1, 1, 1, 1); }

/// What the device has no such instruction for is compiled to nothing, and not measured.
template <class T> __device__ void add_one(T* where) { atomicAdd(where, one<T>()); }
#if __CUDA_ARCH__ < 900
template <> __device__ void add_one(float2*) {}
template <> __device__ void add_one(float4*) {}
#endif
#if __CUDA_ARCH__ < 800
template <> __device__ void add_one(__nv_bfloat16*) {}
template <> __device__ void add_one(__nv_bfloat162*) {}
#endif

__device__ unsigned hashed(unsigned i) {
  i *= 0x9e3779b9U;
  i ^= i >> 15;
  i *= 0x85ebca6bU;
  return i ^ i >> 13;
}

/// `rounds` additions a thread. Lanes in groups of 2^`together_log2` share an address; groups lie side by side where
/// `scatter` is false, at hashed places among `addresses` (a power of two) otherwise.
template <class T>
__global__ void add_all(T* data, unsigned addresses, unsigned together_log2, unsigned rounds, bool scatter) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned threads = gridDim.x * blockDim.x;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned group = (round * threads + thread) >> together_log2;
    const unsigned at = (scatter ? hashed(group) : group) & (addresses - 1);
    add_one(data + at);
  }
}

template <class T>
double operations_per_second(const Bench& bench, T* data, unsigned addresses, unsigned together_log2, bool scatter,
                             unsigned operations) {
  constexpr unsigned kBlock = 256;
  const unsigned rounds = 4;
  const unsigned blocks = operations / kBlock / rounds;
  const double seconds = bench.seconds(
      [&](cudaStream_t s) {
        return launch(add_all<T>, {.grid = blocks, .block = kBlock, .stream = s}, data, addresses, together_log2,
                      rounds, scatter);
      },
      L2::warm, 3);
  return static_cast<double>(operations) / seconds;
}

template <class T> void measure(const Bench& bench, const char* type, const DeviceBuffer& buffer, Json& result) {
  T* const data = reinterpret_cast<T*>(buffer.data());
  const auto most = static_cast<unsigned>(kBytes / sizeof(T));
  // Few operations where they queue up: a half at one address takes hundreds of nanoseconds.
  constexpr unsigned kMany = 16U << 20;
  constexpr unsigned kFew = 1U << 18;
  for (unsigned together_log2 = 0; together_log2 <= 5; ++together_log2) {
    result["collisions"].push_back(
        {{"type", type},
         {"lanes_at_an_address", 1 << together_log2},
         {"operations_per_second", operations_per_second(bench, data, most / 4, together_log2, false, kMany / 4)}});
  }
  for (unsigned power = 0; power <= 22; power += power < 12 ? 2 : 5) {
    const unsigned addresses = 1U << power;
    if (addresses > most) break;
    result["spread"].push_back({{"type", type},
                                {"addresses", addresses},
                                {"operations_per_second", operations_per_second(bench, data, addresses, 0, true,
                                                                                power < 8 ? kFew : kMany / 4)}});
  }
}

}  // namespace

Json measure_atomics(const Bench& bench) {
  Json result;
  const DeviceBuffer buffer = bench.buffer(kBytes);
  measure<int>(bench, "int", buffer, result);
  measure<unsigned long long>(bench, "uint64", buffer, result);
  measure<float>(bench, "float", buffer, result);
  measure<double>(bench, "double", buffer, result);
  measure<__half>(bench, "half", buffer, result);
  measure<__half2>(bench, "half2", buffer, result);
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking for the compute capability");
  if (major >= 8) {
    measure<__nv_bfloat16>(bench, "bfloat16", buffer, result);
    measure<__nv_bfloat162>(bench, "bfloat162", buffer, result);
  }
  if (major >= 9) {
    measure<float2>(bench, "float2", buffer, result);
    measure<float4>(bench, "float4", buffer, result);
  }
  return result;
}

}  // namespace warpbook::microbenchmarks
