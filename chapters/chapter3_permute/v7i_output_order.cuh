/// \file
/// v7i output order: neighbouring blocks write neighbours.
///
/// v7c, v7d and v7f number their tiles and boxes as the input has them: neighbouring blocks, which run at about the
/// same time, read neighbours and write far apart. Where tiles are cut at odd places, a sector (or a cache line)
/// belongs to two of them on either side. One that is read in two parts costs a second hit in the L2. One that is
/// written in two parts must wait in the L2 for its other part: if it has to make room before that comes, the memory
/// gets it in two writes, each a part of its smallest unit. So it is the writes that ought to come close together in
/// time. Here the grid goes along the output's dimensions, the fastest first; nothing else is new but the tiles'
/// shapes, which were chosen anew with it.
///
/// Expect nothing where tiles fall on whole lines, and most where odd matrices are large and many: their blocks had the
/// whole input between the two parts of a line.
#pragma once

#include "chapters/chapter3_permute/v7d_tables.cuh"
#include "chapters/chapter3_permute/v7f_aligned_windows.cuh"

namespace warpbook::chapter3::v7i {

/// The tile of single elements, for few rows or for many; chosen among six shapes an element size by the random
/// problems of tests/peers (seeds 1 and 3) that tiles fit, on an H200. The trial is not kept.
template <int bytes> struct Tiles;
template <> struct Tiles<1> {
  using Few = v7c::ElementTile<1, 64, 64, 128>;
  using Many = Few;
};
template <> struct Tiles<2> {
  using Few = v7c::ElementTile<2, 64, 32, 64>;
  using Many = v7c::TallTile<2>;
};
template <> struct Tiles<4> {
  using Few = v7c::ElementTile<4, 64, 64, 256>;
  using Many = v7c::TallTile<4>;
};
template <> struct Tiles<8> {
  using Few = v7c::ElementTile<8, 32, 64, 256>;
  using Many = v7c::TallTile<8>;
};
template <> struct Tiles<16> {
  using Few = v7c::FlatTile<16>;
  using Many = v7c::TallTile<16>;
};

/// Rows from which there are many: the matrix is as long along the output.
inline int many_rows(int element_bytes) { return element_bytes <= 2 ? 128 : element_bytes == 4 ? 64 : 32; }

//! [kernel]
/// Moves tiles in the output's order. `m` is merged, not empty and not refused by v7c.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const DimensionOrder order = dst_order(m);
  if (v7c::moves_wide_words(m, src, dst)) return v7c::run_wide_tiles(m, order, src, dst, stream);
  const bool many = m.dst_shape(m.rank - 1) >= many_rows(m.element_bytes);
  if (many && v7f::refuse(m) == nullptr) return v7f::run_tiles(m, order, src, dst, stream);
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if (many) return v7c::run_element_tiles<typename Tiles<bytes>::Many>(m, order, src, dst, stream);
    return v7c::run_element_tiles<typename Tiles<bytes>::Few>(m, order, src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor>(m, src, dst, stream);
  const PermuteProblem q = with_elements_of(m, movement_bytes(m, src, dst));
  if (v7c::refuse(q) == nullptr) return run_tiles(q, src, dst, stream);
  return v7d::run_boxes(q, dst_order(q), src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v7i
