/// \file
/// warp patch: a batch of matrices is transposed without shared memory, and each warp moves a patch of 32 elements.
///
/// A patch is kAcross elements wide in the output, and 32 / kAcross high. The output's rows are the input's columns, so
/// what is wide on one side is high on the other.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::warp_patch {

inline constexpr int kWarps = 8;  // Of a block: their patches stand one above the other in the output.
//! [exercise warp_patch]
inline constexpr int kAcross = 8;
//! [exercise warp_patch]
inline constexpr int kDown = 32 / kAcross;

//! [kernel]
template <class W>
__global__ void transpose_patch_kernel(W* __restrict__ dst, const W* __restrict__ src, std::int64_t rows,
                                       std::int64_t columns) {
  const int lane = threadIdx.x;
  const std::int64_t row = std::int64_t{blockIdx.x} * kAcross + lane % kAcross;
  const std::int64_t column = (std::int64_t{blockIdx.y} * kWarps + threadIdx.y) * kDown + lane / kAcross;
  const std::int64_t matrix = blockIdx.z * rows * columns;
  if (row < rows && column < columns) dst[matrix + column * rows + row] = src[matrix + row * columns + column];
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  BatchTranspose m;
  if (p.count() == 0) return cudaSuccess;
  if (as_batch_transpose(p, m) != nullptr) return cudaErrorInvalidValue;
  const std::int64_t patches = ceil_div<std::int64_t>(m.rows, kAcross);
  const std::int64_t stacks = ceil_div<std::int64_t>(m.columns, kWarps * kDown);
  return with_word_bytes(p.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(transpose_patch_kernel<W>,
                  {.grid = {patches, stacks, m.batch}, .block = {32, kWarps}, .stream = stream}, static_cast<W*>(dst),
                  static_cast<const W*>(src), m.rows, m.columns);
  });
}

}  // namespace warpbook::chapter3::warp_patch
