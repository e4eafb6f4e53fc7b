/// \file
/// Sorting on the device: 32-bit keys, each with a 32-bit value.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

namespace warpbook {

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
  return cub::DeviceRadixSort::SortPairs(workspace, workspace_bytes, keys, keys_out, values, values_out, n, 0, bits,
                                         stream);
}

}  // namespace warpbook
