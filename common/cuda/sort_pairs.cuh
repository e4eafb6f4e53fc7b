/// \file
/// Sorting on the device: 32-bit keys, each with a 32-bit value.
///
/// With the toolkit it is CUB's radix sort; emulated, a plain radix sort that keeps CUB's promises.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef WARPBOOK_EMULATED
#include <cub/device/device_radix_sort.cuh>
#endif

#include "common/cuda/launch.cuh"

namespace warpbook {

#ifdef WARPBOOK_EMULATED
namespace detail {

inline constexpr int kSortDigits = 256;
inline constexpr int kSortTile = 1024;  // Pairs that a warp sorts by a digit.

/// How often each digit is found in each tile: counts[digit * tiles + tile].
__global__ inline void count_digits_kernel(std::uint32_t* counts, const std::uint32_t* __restrict__ keys, int n,
                                           int tiles, int shift, std::uint32_t mask) {
  __shared__ std::uint32_t found[kSortDigits];
  const int tile = static_cast<int>(blockIdx.x);
  for (int d = static_cast<int>(threadIdx.x); d < kSortDigits; d += 32) found[d] = 0;
  __syncwarp();
  for (int i = tile * kSortTile + static_cast<int>(threadIdx.x); i < min(n, (tile + 1) * kSortTile); i += 32) {
    atomicAdd(&found[(keys[i] >> shift) & mask], 1U);
  }
  __syncwarp();
  for (int d = static_cast<int>(threadIdx.x); d < kSortDigits; d += 32) counts[d * tiles + tile] = found[d];
}

/// Each count becomes the sum of those before it. One warp.
__global__ inline void scan_counts_kernel(std::uint32_t* counts, int n) {
  const int lane = static_cast<int>(threadIdx.x);
  std::uint32_t before = 0;
  for (int first = 0; first < n; first += 32) {
    const std::uint32_t own = first + lane < n ? counts[first + lane] : 0;
    std::uint32_t sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(0xffffffffU, sum, static_cast<unsigned>(step));
      if (lane >= step) sum += other;
    }
    if (first + lane < n) counts[first + lane] = before + sum - own;
    before += __shfl_sync(0xffffffffU, sum, 31);
  }
}

/// Moves each pair to its digit's place, those of one digit in the order in which they stood.
__global__ inline void scatter_pairs_kernel(std::uint32_t* keys_out, std::uint32_t* values_out,
                                            const std::uint32_t* __restrict__ keys,
                                            const std::uint32_t* __restrict__ values,
                                            const std::uint32_t* __restrict__ counts, int n, int tiles, int shift,
                                            std::uint32_t mask) {
  __shared__ std::uint32_t next[kSortDigits];
  const int tile = static_cast<int>(blockIdx.x);
  const unsigned lane = threadIdx.x;
  for (int d = static_cast<int>(lane); d < kSortDigits; d += 32) next[d] = counts[d * tiles + tile];
  __syncwarp();
  const int end = min(n, (tile + 1) * kSortTile);
  for (int first = tile * kSortTile; first < end; first += 32) {
    const int i = first + static_cast<int>(lane);
    const bool active = i < end;
    const std::uint32_t key = active ? keys[i] : 0;
    const int digit = active ? static_cast<int>((key >> shift) & mask) : kSortDigits;
    const unsigned same = __match_any_sync(0xffffffffU, digit);
    const int rank = __popc(same & ((1U << lane) - 1));
    const std::uint32_t place = active ? next[digit] + static_cast<std::uint32_t>(rank) : 0;
    __syncwarp();
    if (active && rank == 0) next[digit] += static_cast<std::uint32_t>(__popc(same));
    __syncwarp();
    if (active) {
      keys_out[place] = key;
      values_out[place] = values[i];
    }
  }
}

}  // namespace detail
#endif

/// Sorts n pairs by their keys' lowest `bits` bits; pairs of equal keys keep their order. Called with `workspace` null
/// it only sets `workspace_bytes`, for this n and these bits. The inputs stay as they are. It does not wait, and
/// allocates nothing.
/// \param workspace device memory, aligned to 256 bytes; or null. \param workspace_bytes its size; set where it is
/// null.
/// \param keys_out, values_out n each, sorted. \param keys, values n each. Device memory, not overlapping.
/// \param n pairs, 0 or more. \param bits 1 to 32. \param stream where the work is queued.
/// Source: CUB's DeviceRadixSort (A. Adinets, D. Merrill, "Onesweep: a faster least significant digit radix sort for
/// GPUs", 2022).
inline cudaError_t sort_pairs(void* workspace, std::size_t& workspace_bytes, std::uint32_t* keys_out,
                              std::uint32_t* values_out, const std::uint32_t* keys, const std::uint32_t* values, int n,
                              int bits, cudaStream_t stream) {
#ifndef WARPBOOK_EMULATED
  return cub::DeviceRadixSort::SortPairs(workspace, workspace_bytes, keys, keys_out, values, values_out, n, 0, bits,
                                         stream);
#else
  using namespace detail;
  const int tiles = ceil_div(n, kSortTile);
  const int passes = ceil_div(bits, 8);
  const std::size_t count_bytes = static_cast<std::size_t>(tiles) * kSortDigits * 4;
  const std::size_t pair_bytes = static_cast<std::size_t>(n) * 4;
  if (workspace == nullptr) {
    workspace_bytes = count_bytes + 2 * pair_bytes;
    return cudaSuccess;
  }
  if (workspace_bytes < count_bytes + 2 * pair_bytes) return cudaErrorInvalidValue;
  if (n == 0) return cudaSuccess;
  auto* const counts = static_cast<std::uint32_t*>(workspace);
  auto* const other_keys = counts + count_bytes / 4;
  auto* const other_values = other_keys + n;
  // The passes go to and fro between two arrays, so that the last one ends in the output.
  for (int pass = 0; pass < passes; ++pass) {
    const std::uint32_t mask = (1U << std::min(8, bits - pass * 8)) - 1;  // Of the last digit, which may be short.
    const bool to_output = (passes - pass) % 2 == 1;
    std::uint32_t* const to_keys = to_output ? keys_out : other_keys;
    std::uint32_t* const to_values = to_output ? values_out : other_values;
    const std::uint32_t* const from_keys = pass == 0 ? keys : to_output ? other_keys : keys_out;
    const std::uint32_t* const from_values = pass == 0 ? values : to_output ? other_values : values_out;
    cudaError_t error = launch(count_digits_kernel, {.grid = tiles, .block = 32, .stream = stream}, counts, from_keys,
                               n, tiles, pass * 8, mask);
    if (error != cudaSuccess) return error;
    error = launch(scan_counts_kernel, {.grid = 1, .block = 32, .stream = stream}, counts, tiles * kSortDigits);
    if (error != cudaSuccess) return error;
    error = launch(scatter_pairs_kernel, {.grid = tiles, .block = 32, .stream = stream}, to_keys, to_values, from_keys,
                   from_values, counts, n, tiles, pass * 8, mask);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
#endif
}

}  // namespace warpbook
