/// \file
/// Aside: one wave of blocks, which stay until everything is done.
///
/// v2 and v3 take 32 waves of blocks. The loop would allow a single one: as many blocks as the GPU holds at a time.
/// Then no block is placed after the first moment, and a thread's setup is paid once for all its packs.
///
/// We expected it to be at least as fast as v3. It is the slowest way to move packs: blocks that walk drift apart, and
/// the fewer waves there are, the longer they walk. The kernel is v3's.
#pragma once

#include "chapters/chapter1_elementwise/v3_packs.cuh"

namespace warpbook::chapter1::one_wave {

//! [kernel]
template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::int64_t grid = 0;
  const std::int64_t packs = ceil_div<std::int64_t>(count, v3::kPerPack<T>);
  const cudaError_t error = v2::grid_of_waves(packs, v3::kThreads, 1, grid);
  if (error != cudaSuccess) return error;
  return launch(v3::multiply_kernel<T>, {.grid = grid, .block = v3::kThreads, .stream = stream}, z, x, y, count);
}
//! [kernel]

}  // namespace warpbook::chapter1::one_wave
