/// \file
/// Kernels that the microbenchmarks time on a card and the model's test on the emulator.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace warpbook::measured {

/// A number without order.
__device__ inline unsigned hashed(unsigned i) {
  i *= 0x9e3779b9U;
  i ^= i >> 15;
  i *= 0x85ebca6bU;
  return i ^ i >> 13;
}

/// What an addition to a half changes it by: never 0, and up as often as down, so that sums stay where each of these
/// still changes them.
__device__ inline float change(unsigned hash) {
  const float size = static_cast<float>(8U + (hash >> 24 & 7U));
  return (hash >> 31) != 0 ? size : -size;
}

/// Keys without order, which is what a sort is given.
inline __global__ void scatter_keys(std::uint32_t* keys, std::uint32_t* values, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    std::uint32_t word = i * 2654435761U + 0x9e3779b9U;
    word = (word ^ word >> 16) * 0x85ebca6bU;
    word = (word ^ word >> 13) * 0xc2b2ae35U;
    keys[i] = word ^ word >> 16;
    values[i] = i;
  }
}

/// Divisions that wait for each other, `rounds` a thread, in a block's first `busy` threads: the others return at once.
inline __global__ void divide_in_some(unsigned* out, unsigned busy, unsigned rounds, unsigned divisor) {
  if (threadIdx.x >= busy) return;
  unsigned x = 0xf0000000U - threadIdx.x;
  for (unsigned i = 0; i < rounds; ++i) x = x / (divisor + (x & 1)) + 0xf0000000U;
  if (x == 0x5eed5eedU) *out = x;  // The compiler cannot know that it never is.
}

/// Copies four words a thread through shared memory; a block's first warp divides `rounds` times in between, one after
/// the other, while the others wait for it.
inline __global__ void copy_staged(uint4* __restrict__ out, const uint4* __restrict__ in, unsigned rounds,
                                   unsigned divisor) {
  constexpr unsigned kThreads = 256;
  __shared__ uint4 tile[4 * kThreads];
  const std::size_t first = std::size_t{blockIdx.x} * (4 * kThreads);
  for (unsigned i = threadIdx.x; i < 4 * kThreads; i += kThreads) tile[i] = in[first + i];
  __syncthreads();
  if (threadIdx.x < 32) {
    unsigned x = 0xf0000000U - threadIdx.x;
    for (unsigned i = 0; i < rounds; ++i) x = x / (divisor + (x & 1)) + 0xf0000000U;
    if (x == 0x5eed5eedU) tile[0].x = x;  // The compiler cannot know that it never is.
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 4 * kThreads; i += kThreads) out[first + i] = tile[i ^ 1];
}

/// What a thread's loads have to do with each other.
enum class Loads {
  apart,    ///< nothing
  guarded,  ///< nothing, but each is behind a condition of its own, that needs no memory
  chained   ///< each address needs what the load before brought
};

/// `count` words a thread, `distance` words apart. All words are 0; `n` of them.
template <Loads loads, int count>
__global__ void load_words(unsigned* __restrict__ out, const unsigned* __restrict__ words, unsigned distance,
                           unsigned n) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const unsigned from = thread + static_cast<unsigned>(i) * distance;
    if constexpr (loads == Loads::chained) {
      sum += words[from + sum];
    } else if (loads == Loads::apart || from < n) {
      sum += words[from];
    }
  }
  out[thread] = sum;
}

/// `turns` words a thread, `step` words apart, in a loop whose length the compiler does not know: unrolled as it likes
/// (0), or so many times. Threads begin `apart` words from each other. All words are 0.
template <int unrolled>
__global__ void sum_counted(unsigned* __restrict__ out, const unsigned* __restrict__ words, unsigned turns,
                            unsigned step, unsigned apart) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned* const from = words + thread * apart;
  unsigned sum = 0;
  if constexpr (unrolled == 0) {
    for (unsigned i = 0; i < turns; ++i) sum += from[i * step];
  } else {
#pragma unroll(unrolled)
    for (unsigned i = 0; i < turns; ++i) sum += from[i * step];
  }
  out[thread] = sum;
}

/// Additions to floats in shared memory by a loop of compare and swap, `together` of a thread's at a time: who comes
/// too late tries again.
template <int together> __global__ void exchange_in_shared(float* out, unsigned addresses, unsigned turns) {
  __shared__ unsigned sums[4096];
  for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  for (unsigned turn = 0; turn < turns; ++turn) {
    unsigned at[together];
    unsigned assumed[together];
    bool waits[together];
#pragma unroll
    for (int k = 0; k < together; ++k) {
      at[k] = hashed((turn * together + static_cast<unsigned>(k)) * blockDim.x + threadIdx.x) & (addresses - 1);
      assumed[k] = *reinterpret_cast<volatile unsigned*>(sums + at[k]);
      waits[k] = true;
    }
    bool any = true;
    while (any) {
      any = false;
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (!waits[k]) continue;
        const unsigned found = atomicCAS(sums + at[k], assumed[k], __float_as_uint(__uint_as_float(assumed[k]) + 1.0F));
        waits[k] = found != assumed[k];
        assumed[k] = found;
        any = any || waits[k];
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = __uint_as_float(sums[0]);
}

/// One addition of 1 a thread: of each `hot_of` one to the first half, the others, where there are `others`, spread
/// over so many (a power of two) behind it.
inline __global__ void add_mixed(__half* data, unsigned hot_of, unsigned others) {
  const unsigned hash = hashed(blockIdx.x * blockDim.x + threadIdx.x);
  const bool hot = hash / 64 % hot_of == 0;
  if (!hot && others == 0) return;
  atomicAdd(data + (hot ? 0 : 64 + (hashed(hash) & (others - 1))), __float2half(1.0F));
}

/// One addition a thread; a warp's go to 32 neighbours, at one of `rows` (a power of two) places without order.
inline __global__ void add_rows(__half* data, unsigned rows) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = hashed(thread / 32) & (rows - 1);
  atomicAdd(data + row * 32 + thread % 32, __float2half(change(hashed(thread))));
}

}  // namespace warpbook::measured
