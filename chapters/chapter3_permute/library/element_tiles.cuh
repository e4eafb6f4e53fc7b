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
/// `chapter3_trials_order.txt` in docs/results; halves' later: `chapter3_trials_placed.txt`.
template <int bytes> struct ManyRows {
  using Tile = v7c::TallTile<bytes>;
};
template <> struct ManyRows<1> {
  using Tile = v7c::ElementTile<1, 64, 64, 128>;
};
template <> struct ManyRows<2> {
  using Tile = v7c::ElementTile<2, 128, 32, 256>;
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

/// Whether tiles are better numbered as the input has them. From a tile to its neighbour along the input it is a whole
/// row of tiles, a line of each of the matrix's rows: with so many that these fill much of the L2, the neighbour finds
/// nothing of its lines' other parts. Not so for wider elements, whose tiles read whole lines. From 4 MiB of lines on
/// it held for all of 8 random problems (seeds 1, 3 and 4 of tests/peers): `chapter3_trials_order.txt`.
inline bool prefers_input_order(const PermuteProblem& m) {
  return m.element_bytes <= 4 && m.dst_shape(m.rank - 1) >= 1 << 15;
}

//! [kernel]
/// Moves tiles in the output's order. `m` is merged, not empty and not refused by v7c.
template <bool keeps = false>
cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const DimensionOrder order = prefers_input_order(m) ? src_order(m) : dst_order(m);
  if (v7c::moves_wide_words(m, src, dst)) return v7c::run_wide_tiles<keeps>(m, order, src, dst, stream);
  if (v7c::moves_words(m, src, dst)) return v7c::run_word_tiles<keeps>(m, order, src, dst, stream);
  const bool many = m.dst_shape(m.rank - 1) >= many_rows(m.element_bytes);
  if (many && v7f::refuse(m) == nullptr) return v7f::run_tiles<keeps>(m, order, src, dst, stream);
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    if constexpr (bytes != 4 && bytes != 8) {
      if (many) return v7c::run_element_tiles<typename ManyRows<bytes>::Tile, keeps>(m, order, src, dst, stream);
    }
    return v7c::run_element_tiles<typename FewRows<bytes>::Tile, keeps>(m, order, src, dst, stream);
  });
}

/// Moves rows, tiles or boxes.
template <bool keeps> cudaError_t run_any(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (moves_as_rows(m)) return v6b::run_with<FastDivisor, keeps>(m, src, dst, stream);
  const PermuteProblem q = simplified(p, src, dst);
  if (v7c::refuse(q) == nullptr) return run_tiles<keeps>(q, src, dst, stream);
  return v7d::run_boxes(q, dst_order(q), src, dst, stream);
}
//! [kernel]

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_any<false>(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v7i
