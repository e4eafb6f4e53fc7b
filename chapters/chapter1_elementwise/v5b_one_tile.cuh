/// \file
/// v5b one tile: a block for each tile, and no turns.
///
/// v5a's blocks walk: after a tile they go on by the grid's size. In a large array the blocks that run at the same time
/// soon are at places far apart, because nothing keeps them in step; the hardware, which places a new block where one
/// has left, hands tiles out in order. So the last idea of v2 is taken back: the grid has one block for each tile. The
/// kernel is v5a's; its loop has one turn.
///
/// Expect the same counters and less time, the more so the longer v5a's loop was. (The article's advice, blocks for a
/// number of waves, is from an A100. README.md has the sweep.)
#pragma once

#include "chapters/chapter1_elementwise/v5a_packs_in_flight.cuh"

namespace warpbook::chapter1::v5b {

//! [kernel]
template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t tiles = ceil_div<std::int64_t>(count, std::int64_t{kPerPack<T>} * v5a::kThreads * v5a::kPacks);
  return launch(v5a::multiply_kernel<T, v5a::kPacks>, {.grid = tiles, .block = v5a::kThreads, .stream = stream}, z, x,
                y, count);
}
//! [kernel]

}  // namespace warpbook::chapter1::v5b
