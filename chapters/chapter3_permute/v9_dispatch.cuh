/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No step is best everywhere. After merging dimensions there are these cases, in this order: nothing moves, which is a
/// copy; whole rows move (v6b, with v7b's division); both fast dimensions are long, so that tiles fit (v6a where
/// everything is aligned, else v7c); short dimensions leave a warp's reads close together, so that the caches make up
/// for them (v6b's kernel again, which writes in order and gathers); and all else (v7d's boxes). The choice looks at
/// nothing but shape, permutation and alignment.
///
/// Expect each case's best step, nearly everywhere. This is what `permute.cuh` gives away, so what is measured is what
/// people take.
#pragma once

#include "chapters/chapter3_permute/v7c_any_rank_tile.cuh"
#include "chapters/chapter3_permute/v7d_rows_and_columns.cuh"

namespace warpbook::chapter3::v9 {

/// How many times the bytes it needs a gather of 1024 neighbours of the output, about a block's, fetches from the input
/// in 32-byte sectors, if its L1 keeps each until the block is done. `p` is merged.
inline double gathered_excess(const PermuteProblem& p) {
  constexpr double kNeighbours = 1024;
  const Strides stride = src_strides(p);
  double left = kNeighbours;
  double sectors = 1;
  for (int k = p.rank - 1; k >= 0 && left > 1; --k) {
    const int d = p.permutation[k];
    const double taken = std::min(static_cast<double>(p.shape[d]), left);
    const double step = static_cast<double>(stride[d]) * p.element_bytes / 32;  // In sectors.
    sectors *= step >= 1 ? taken : std::max(1.0, taken * step);
    left /= taken;
  }
  return sectors * 32 / (kNeighbours * p.element_bytes);
}

/// Up to which excess a gather is taken instead of boxes: chosen on an H200, for each element size, over the 200 random
/// problems of tests/peers. The sweep itself is not kept.
inline double most_gathered_excess(int element_bytes) {
  switch (element_bytes) {
  case 1:
    return 1.2;
  case 2:
    return 7;
  case 4:
    return 3.2;
  default:
    return 3.5;
  }
}

//! [kernel]
inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (m.rank <= 1) {
    const auto bytes = static_cast<std::size_t>(m.count() * m.element_bytes);
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor>(m, src, dst, stream);
  const PermuteProblem q = with_elements_of(m, movement_bytes(m, src, dst));
  if (v7c::refuse(q) == nullptr) {
    return v6a::refuse(q, src, dst) == nullptr ? v6a::run(q, src, dst, stream) : v7c::run_tiles(q, src, dst, stream);
  }
  if (gathered_excess(q) <= most_gathered_excess(q.element_bytes)) {
    return v6b::run_with<FastDivisor>(q, src, dst, stream);
  }
  return v7d::run_boxes(q, src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v9
