/// \file
/// CUB's radix sort of pairs, for 4-byte keys and values: the same kernels, grids, passes and tiles, so that what it
/// does to memory, and how long it is modelled to take, is about what the toolkit's sort does.
///
/// Up to 4864 pairs are sorted by one block, in registers and shared memory, 6 bits at a time. More of them go through
/// "onesweep": one kernel counts the digits of all passes, one turns the counts into places, and then a kernel for each
/// 8 bits reads the pairs, ranks them within its tile, learns from the tile before it where its digits go, and writes
/// them there. The sizes are those of CUB 2.8 (CUDA 13.0) for 4-byte keys and values from compute capability 8.0 on.
///
/// Source: A. Adinets, D. Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022, and CUB's
/// documentation; written anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../../cuda_runtime.h"

namespace warpbook::emulator::radix_sort {

inline constexpr unsigned kAll = 0xffffffffU;

// Of the block that sorts few pairs by itself.
inline constexpr int kSmallThreads = 256;
inline constexpr int kSmallItems = 19;  // a thread
inline constexpr int kSmallPairs = kSmallThreads * kSmallItems;
inline constexpr int kSmallBits = 6;  // a pass

// Of the kernels that sort many.
inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;
inline constexpr int kMostPasses = 4;
inline constexpr int kCountThreads = 128;
inline constexpr int kCountItems = 16;
inline constexpr int kSweepThreads = 384;
inline constexpr int kSweepWarps = kSweepThreads / 32;
inline constexpr int kSweepItems = 23;
inline constexpr int kSweepPairs = kSweepThreads * kSweepItems;

/// The sum of what the lanes before this one have, and the sum of all.
__device__ __forceinline__ std::uint32_t sum_before(std::uint32_t value, std::uint32_t& all) {
  std::uint32_t sum = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(kAll, sum, step);
    if (threadIdx.x % 32 >= step) sum += other;
  }
  all = __shfl_sync(kAll, sum, 31);
  return sum - value;
}

/// The same over a block's warps; `of_warps` has room for one number of each.
template <int warps>
__device__ __forceinline__ std::uint32_t block_sum_before(std::uint32_t value, std::uint32_t* of_warps,
                                                          std::uint32_t& all) {
  std::uint32_t of_warp = 0;
  const std::uint32_t before = sum_before(value, of_warp);
  if (threadIdx.x % 32 == 31) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  std::uint32_t warps_before = 0;
  all = 0;
#pragma unroll
  for (unsigned warp = 0; warp < warps; ++warp) {
    const std::uint32_t sum = of_warps[warp];
    if (warp < threadIdx.x / 32) warps_before += sum;
    all += sum;
  }
  return warps_before + before;
}

/// All of it in one block.
__global__ inline void __launch_bounds__(kSmallThreads)
    sort_tile_kernel(std::uint32_t* keys_out, std::uint32_t* values_out, const std::uint32_t* __restrict__ keys,
                     const std::uint32_t* __restrict__ values, int n, int bits) {
  // A thread counts its own keys, two digits to a word: rows of words, a column a thread, and one row that stays empty
  // so that each thread adds up as many words as it has neighbours' rows.
  constexpr int kRows = (1 << kSmallBits) / 2 + 1;
  __shared__ std::uint32_t room[kRows * kSmallThreads];
  __shared__ std::uint32_t of_warps[kSmallThreads / 32];
  auto* const counts = reinterpret_cast<std::uint16_t*>(room);
  const int thread = static_cast<int>(threadIdx.x);
  const auto count_of = [&](std::uint32_t digit) {
    constexpr std::uint32_t kHalf = (1U << kSmallBits) / 2;
    return static_cast<std::size_t>(digit % kHalf * kSmallThreads + threadIdx.x) * 2 + digit / kHalf;
  };
  std::uint32_t key[kSmallItems];
  std::uint32_t value[kSmallItems];
#pragma unroll
  for (int i = 0; i < kSmallItems; ++i) {
    const int from = thread * kSmallItems + i;
    key[i] = kAll;  // Behind all others.
    if (from < n) key[i] = keys[from];
  }
#pragma unroll
  for (int i = 0; i < kSmallItems; ++i) {
    const int from = thread * kSmallItems + i;
    value[i] = 0;
    if (from < n) value[i] = values[from];
  }

  for (int bit = 0; bit < bits; bit += kSmallBits) {
    const std::uint32_t mask = (1U << std::min(kSmallBits, bits - bit)) - 1;
    std::uint32_t rank[kSmallItems];
    __syncthreads();
#pragma unroll
    for (int row = 0; row < kRows; ++row) room[row * kSmallThreads + thread] = 0;
    for (int i = 0; i < kSmallItems; ++i) {  // Not unrolled: each may need the one before.
      std::uint16_t& count = counts[count_of(key[i] >> bit & mask)];
      rank[i] = count;
      count = static_cast<std::uint16_t>(rank[i] + 1);
    }
    __syncthreads();
    std::uint32_t own[kRows];
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      own[i] = room[thread * kRows + i];
      sum += own[i];
    }
    std::uint32_t all = 0;
    std::uint32_t before = block_sum_before<kSmallThreads / 32>(sum, of_warps, all);
    before += all << 16;  // The high halves' digits come behind all of the low halves'.
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      room[thread * kRows + i] = before;
      before += own[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSmallItems; ++i) rank[i] += counts[count_of(key[i] >> bit & mask)];
    const bool last = bit + kSmallBits >= bits;
    for (auto* const moved : {key, value}) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kSmallItems; ++i) room[rank[i]] = moved[i];
      __syncthreads();
      // After the last pass side by side, as they are stored.
#pragma unroll
      for (int i = 0; i < kSmallItems; ++i)
        moved[i] = room[last ? i * kSmallThreads + thread : thread * kSmallItems + i];
    }
  }
#pragma unroll
  for (int i = 0; i < kSmallItems; ++i)
    if (i * kSmallThreads + thread < n) keys_out[i * kSmallThreads + thread] = key[i];
#pragma unroll
  for (int i = 0; i < kSmallItems; ++i)
    if (i * kSmallThreads + thread < n) values_out[i * kSmallThreads + thread] = value[i];
}

/// How often each digit of each pass is found: bins[pass * kDigits + digit], zero before.
__global__ inline void __launch_bounds__(kCountThreads)
    count_digits_kernel(std::uint32_t* bins, const std::uint32_t* __restrict__ keys, int n, int bits) {
  __shared__ std::uint32_t found[kMostPasses][kDigits];
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  const int thread = static_cast<int>(threadIdx.x);
  for (int digit = thread; digit < kDigits; digit += kCountThreads)
    for (int pass = 0; pass < passes; ++pass) found[pass][digit] = 0;
  __syncthreads();
  constexpr int kTile = kCountThreads * kCountItems;
  for (std::int64_t begin = std::int64_t{blockIdx.x} * kTile; begin < n; begin += std::int64_t{gridDim.x} * kTile) {
    std::uint32_t key[kCountItems];
#pragma unroll
    for (int i = 0; i < kCountItems; ++i) {
      const std::int64_t from = begin + i * kCountThreads + thread;
      if (from < n) key[i] = keys[from];
    }
    for (int pass = 0; pass < passes; ++pass) {
      const std::uint32_t mask = (1U << std::min(kDigitBits, bits - pass * kDigitBits)) - 1;
#pragma unroll
      for (int i = 0; i < kCountItems; ++i)
        if (begin + i * kCountThreads + thread < n) atomicAdd(&found[pass][key[i] >> pass * kDigitBits & mask], 1U);
    }
  }
  __syncthreads();
  for (int digit = thread; digit < kDigits; digit += kCountThreads) {
    for (int pass = 0; pass < passes; ++pass) {
      const std::uint32_t count = found[pass][digit];
      if (count > 0) atomicAdd(&bins[pass * kDigits + digit], count);
    }
  }
}

/// Counts become places: each the sum of those before it. A block for each pass.
__global__ inline void __launch_bounds__(kDigits) place_digits_kernel(std::uint32_t* bins) {
  __shared__ std::uint32_t of_warps[kDigits / 32];
  std::uint32_t& own = bins[blockIdx.x * kDigits + threadIdx.x];
  std::uint32_t all = 0;
  own = block_sum_before<kDigits / 32>(own, of_warps, all);
}

// What a tile has told of a digit, beside the number in the other bits.
inline constexpr std::uint32_t kOwn = 1U << 30;       // The tile's own count.
inline constexpr std::uint32_t kUpToHere = 1U << 31;  // With all tiles before it.
inline constexpr std::uint32_t kNumber = kOwn - 1;

/// One pass. `told` has a word for each tile and digit, `next_tile` one word, all of them zero before.
__global__ inline void __launch_bounds__(kSweepThreads)
    sweep_kernel(std::uint32_t* told, std::uint32_t* next_tile, std::uint32_t* keys_out, std::uint32_t* values_out,
                 const std::uint32_t* __restrict__ places, const std::uint32_t* __restrict__ keys,
                 const std::uint32_t* __restrict__ values, int n, int shift, std::uint32_t mask) {
  __shared__ std::uint32_t room[kSweepPairs];  // First each warp's counts of digits, then the pairs in order.
  __shared__ std::uint32_t to[kDigits];        // What a pair's rank in the tile lacks to its place.
  __shared__ std::uint32_t of_warps[kSweepWarps];
  __shared__ std::uint32_t shared_tile;
  const int thread = static_cast<int>(threadIdx.x);
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t* const own_counts = room + threadIdx.x / 32 * kDigits;
  if (thread == 0) shared_tile = atomicAdd(next_tile, 1U);  // Tiles before this one have begun, and will be told of.
  __syncthreads();
  const std::uint32_t tile = shared_tile;
  const int begin = static_cast<int>(tile) * kSweepPairs;
  const int pairs = std::min(kSweepPairs, n - begin);
  const int first = begin + thread / 32 * 32 * kSweepItems + static_cast<int>(lane);

  std::uint32_t key[kSweepItems];
  std::uint32_t rank[kSweepItems];
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) {
    key[i] = kAll;
    if (first + 32 * i < n) key[i] = keys[first + 32 * i];
  }
  for (int digit = static_cast<int>(lane); digit < kDigits; digit += 32) own_counts[digit] = 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) atomicAdd(&own_counts[key[i] >> shift & mask], 1U);
  __syncthreads();
  std::uint32_t count = 0;
  if (thread < kDigits) {
#pragma unroll
    for (int warp = 0; warp < kSweepWarps; ++warp) {
      const std::uint32_t of_warp = room[warp * kDigits + thread];
      room[warp * kDigits + thread] = count;
      count += of_warp;
    }
    // Keys beyond the end are counted for the last digit, and nobody asks what the last tile has of it.
    const std::uint32_t flag = tile == 0 ? kUpToHere : kOwn;
    static_cast<volatile std::uint32_t*>(told)[tile * kDigits + threadIdx.x] = flag | count;
  }
  std::uint32_t all = 0;
  const std::uint32_t tile_place = block_sum_before<kSweepWarps>(count, of_warps, all);
  if (thread < kDigits)
#pragma unroll
    for (int warp = 0; warp < kSweepWarps; ++warp) room[warp * kDigits + thread] += tile_place;
  __syncthreads();
  // Lanes with one digit stand in their order; the first of them moves the digit's count on.
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) {
    const std::uint32_t digit = key[i] >> shift & mask;
    const unsigned same = __match_any_sync(kAll, digit);
    const int leader = __ffs(static_cast<int>(same)) - 1;
    std::uint32_t before = 0;
    if (static_cast<int>(lane) == leader) {
      before = own_counts[digit];
      own_counts[digit] = before + static_cast<std::uint32_t>(__popc(same));
    }
    __syncwarp();  // The next key of this digit may have another leader.
    before = __shfl_sync(kAll, before, leader);
    rank[i] = before + static_cast<std::uint32_t>(__popc(same & ((1U << lane) - 1)));
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) room[rank[i]] = key[i];
  if (thread < kDigits) {
    // On a GPU a digit is often looked up in several tiles, and some of it while a tile is still at work.
    std::uint32_t tiles_before = 0;
    if (tile > 0) {
      const std::uint32_t* const last = told + (tile - 1) * kDigits + threadIdx.x;
      wait_for_block(last, kUpToHere);
      tiles_before = *static_cast<const volatile std::uint32_t*>(last) & kNumber;
      static_cast<volatile std::uint32_t*>(told)[tile * kDigits + threadIdx.x] = kUpToHere | (tiles_before + count);
    }
    to[thread] = places[thread] + tiles_before - tile_place;
  }
  __syncthreads();
  std::uint32_t digits[kSweepItems];
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) {
    const int at = i * kSweepThreads + thread;
    if (at >= pairs) continue;
    const std::uint32_t sorted = room[at];
    digits[i] = sorted >> shift & mask;
    keys_out[to[digits[i]] + static_cast<std::uint32_t>(at)] = sorted;
  }
  std::uint32_t value[kSweepItems];
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i)
    if (first + 32 * i < n) value[i] = values[first + 32 * i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i)
    if (first + 32 * i < n) room[rank[i]] = value[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSweepItems; ++i) {
    const int at = i * kSweepThreads + thread;
    if (at < pairs) values_out[to[digits[i]] + static_cast<std::uint32_t>(at)] = room[at];
  }
}

/// Where things lie in the workspace, in words.
struct Plan {
  int passes = 0;
  int tiles = 0;
  std::size_t bins = 0;
  std::size_t told = 0;
  std::size_t pairs = 0;  ///< Twice: keys and values between two passes.

  Plan(int n, int bits)
      : passes((bits + kDigitBits - 1) / kDigitBits), tiles((n + kSweepPairs - 1) / kSweepPairs),
        bins(static_cast<std::size_t>(passes) * kDigits), told(static_cast<std::size_t>(tiles) * kDigits),
        pairs(passes > 1 ? static_cast<std::size_t>(n) : 0) {}
  std::size_t words() const { return bins + told + 2 * pairs + static_cast<std::size_t>(passes); }
};

/// A launch; arguments convert as in a plain call.
template <class... Parameters>
cudaError_t run(void (*kernel)(Parameters...), int grid, int block, cudaStream_t stream,
                warpbook::emulator::NotDeduced<Parameters>... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(block));
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// Sorts by the lowest `bits` bits.
inline cudaError_t sort(void* workspace, std::size_t& workspace_bytes, std::uint32_t* keys_out,
                        std::uint32_t* values_out, const std::uint32_t* keys, const std::uint32_t* values, int n,
                        int bits, cudaStream_t stream) {
  const Plan plan(n, bits);
  const std::size_t bytes = n <= kSmallPairs ? 1 : plan.words() * sizeof(std::uint32_t);
  if (workspace == nullptr) {
    workspace_bytes = bytes;
    return cudaSuccess;
  }
  if (workspace_bytes < bytes) return cudaErrorInvalidValue;
  if (n == 0) return cudaSuccess;
  if (n <= kSmallPairs)
    return run(sort_tile_kernel, 1, kSmallThreads, stream, keys_out, values_out, keys, values, n, bits);
  auto* const bins = static_cast<std::uint32_t*>(workspace);
  auto* const told = bins + plan.bins;
  auto* const other_keys = told + plan.told;
  auto* const other_values = other_keys + plan.pairs;
  auto* const next_tile = other_values + plan.pairs;
  const auto clear = [&](std::uint32_t* words, std::size_t count) {
    return cudaMemsetAsync(words, 0, count * sizeof(std::uint32_t), stream);
  };
  cudaError_t error = clear(next_tile, static_cast<std::size_t>(plan.passes));
  if (error == cudaSuccess) error = clear(bins, plan.bins);
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  if (error == cudaSuccess) error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count_digits_kernel, kCountThreads, 0);
  if (error == cudaSuccess)
    error = run(count_digits_kernel, blocks * multiprocessors, kCountThreads, stream, bins, keys, n, bits);
  if (error == cudaSuccess) error = run(place_digits_kernel, plan.passes, kDigits, stream, bins);
  // The passes go to and fro between two arrays, so that the last one ends in the output.
  for (int pass = 0; pass < plan.passes && error == cudaSuccess; ++pass) {
    const std::uint32_t mask = (1U << std::min(kDigitBits, bits - pass * kDigitBits)) - 1;
    const bool to_output = (plan.passes - pass) % 2 == 1;
    error = clear(told, plan.told);
    if (error != cudaSuccess) break;
    error = run(sweep_kernel, plan.tiles, kSweepThreads, stream, told, next_tile + pass,
                to_output ? keys_out : other_keys, to_output ? values_out : other_values, bins + pass * kDigits,
                pass == 0   ? keys
                : to_output ? other_keys
                            : keys_out,
                pass == 0   ? values
                : to_output ? other_values
                            : values_out,
                n, pass * kDigitBits, mask);
  }
  return error;
}

}  // namespace warpbook::emulator::radix_sort

namespace cub {

/// Sorts on the device. Called with `workspace` null, it only sets `workspace_bytes`.
struct DeviceRadixSort {
  /// Sorts `items` pairs by the keys' lowest `end_bit` bits; pairs of equal keys keep their order.
  static cudaError_t SortPairs(void* workspace, std::size_t& workspace_bytes, const std::uint32_t* keys,
                               std::uint32_t* keys_out, const std::uint32_t* values, std::uint32_t* values_out,
                               int items, int begin_bit = 0, int end_bit = 32, cudaStream_t stream = nullptr) {
    if (begin_bit != 0) return cudaErrorNotSupported;
    return warpbook::emulator::radix_sort::sort(workspace, workspace_bytes, keys_out, values_out, keys, values, items,
                                                end_bit, stream);
  }
};

}  // namespace cub
