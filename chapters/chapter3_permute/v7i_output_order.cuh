/// \file
/// v7i output order: neighbouring blocks write neighbours.
///
/// v7c, v7d and v7f number their tiles and boxes as the input has them: neighbouring blocks, which run at about the
/// same time, read neighbours and write far apart. On 683x256x577 halves reversed v7c is at half a copy's speed, though
/// on 7x1023x2047, as odd, it is at more than four fifths (README.md). What may cost it the rest: tiles are cut at odd
/// places, so a sector belongs to two of them on either side. One that is read in two parts costs a second hit in the
/// L2; one that is written in two parts must wait there for the other, or goes to memory in two writes. (No counter of
/// that is recorded: it is what made us try.) So the writes ought to come close together in time. Here the grid goes
/// along the output's dimensions, the fastest first; nothing else is new but the tiles' shapes, which were chosen anew
/// with it.
///
/// Expect nothing where tiles fall on whole lines, and most where odd tensors are large: their blocks had the whole
/// input between the two parts of a line.
#pragma once

#include "chapters/chapter3_permute/v7d_tables.cuh"
#include "chapters/chapter3_permute/v7f_aligned_windows.cuh"

namespace warpbook::chapter3::v7i {

/// The tile of single elements for many rows. Elements of 4 and 8 bytes have v7f's windows there. It and the next were
/// chosen among some six shapes an element size by random problems (seeds 1 and 3 of tests/peers) on an H200:
/// `chapter3_trials_order.txt` in docs/results.
template <int bytes> struct ManyRows {
  using Tile = v7c::TallTile<bytes>;
};
template <> struct ManyRows<1> {
  using Tile = v7c::ElementTile<1, 64, 64, 128>;
};

/// And for few.
template <int bytes> struct FewRows {
  using Tile = v7c::FlatTile<bytes>;
};
template <> struct FewRows<1> {
  using Tile = ManyRows<1>::Tile;
};
template <> struct FewRows<2> {
  using Tile = v7c::ElementTile<2, 64, 32, 64>;
};
template <> struct FewRows<4> {
  using Tile = v7c::ElementTile<4, 64, 64, 256>;
};
template <> struct FewRows<8> {
  using Tile = v7c::ElementTile<8, 32, 64, 256>;
};

/// From so many rows on there are many.
inline int many_rows(int element_bytes) { return element_bytes <= 2 ? 128 : element_bytes == 4 ? 64 : 32; }

/// Share of its tiles' places that a matrix fills, up to 1. `m` is merged and not refused by v7c; the tiles are those
/// of single elements.
inline double filled(const PermuteProblem& m) {
  const std::int64_t rows = m.dst_shape(m.rank - 1);
  double share = 0;
  const auto fill = [&]<class T>() {
    const auto along = [](std::int64_t side, std::int64_t part) {
      return static_cast<double>(side) / static_cast<double>(ceil_div(side, part) * part);
    };
    share = along(rows, T::kRows) * along(m.shape[m.rank - 1], T::kColumns);
    return cudaSuccess;
  };
  with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if (rows < many_rows(bytes)) return fill.template operator()<typename FewRows<bytes>::Tile>();
    if constexpr (bytes == 4 || bytes == 8) {
      return fill.template operator()<v7f::Tile<bytes>>();
    } else {
      return fill.template operator()<typename ManyRows<bytes>::Tile>();
    }
  });
  return share;
}

//! [kernel]
/// Moves tiles in the output's order. `m` is merged, not empty and not refused by v7c.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const DimensionOrder order = dst_order(m);
  if (v7c::moves_wide_words(m, src, dst)) return v7c::run_wide_tiles(m, order, src, dst, stream);
  const bool many = m.dst_shape(m.rank - 1) >= many_rows(m.element_bytes);
  if (many && v7f::refuse(m) == nullptr) return v7f::run_tiles(m, order, src, dst, stream);
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if constexpr (bytes != 4 && bytes != 8) {
      if (many) return v7c::run_element_tiles<typename ManyRows<bytes>::Tile>(m, order, src, dst, stream);
    }
    return v7c::run_element_tiles<typename FewRows<bytes>::Tile>(m, order, src, dst, stream);
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor>(m, src, dst, stream);
  const PermuteProblem q = simplified(p, src, dst);
  if (v7c::refuse(q) == nullptr) return run_tiles(q, src, dst, stream);
  return v7d::run_boxes(q, dst_order(q), src, dst, stream);
}
//! [kernel]

}  // namespace warpbook::chapter3::v7i
