/// \file
/// How kernels run on a batch of matrices: a block per tile.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/matrix_tiles.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3 {

/// Launches a kernel that moves words W by tiles of `rows` x `columns`, with blocks of `block` threads.
/// \return cudaErrorInvalidValue for what is no batch of matrices.
template <class W>
cudaError_t launch_tiles(void (*kernel)(W*, const W*, MatrixTiles), const PermuteProblem& p, int rows, int columns,
                         Extent block, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  BatchTranspose m;
  if (as_batch_transpose(p, m) != nullptr) return cudaErrorInvalidValue;
  const MatrixTiles tiles(m.batch, m.rows, m.columns, rows, columns);
  return launch(kernel, {.grid = tiles.blocks, .block = block, .stream = stream}, static_cast<W*>(dst),
                static_cast<const W*>(src), tiles);
}

}  // namespace warpbook::chapter3
