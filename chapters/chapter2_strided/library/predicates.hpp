/// \file
/// What a view asks for: the conditions that v9's rules are made of. All take a simplified problem.
///
/// The limits in here were chosen on an H200, for each element size, on random views that no comparison of the book
/// uses.
#pragma once

#include <algorithm>

#include "chapters/chapter2_strided/library/lone_elements.cuh"
#include "chapters/chapter2_strided/library/narrow_tile.cuh"
#include "chapters/chapter2_strided/library/offset_tables.cuh"
#include "chapters/chapter2_strided/library/repeats.cuh"
#include "chapters/chapter2_strided/library/row_pieces.cuh"
#include "chapters/chapter2_strided/library/short_dims_tile.cuh"
#include "chapters/chapter2_strided/library/short_rows.cuh"
#include "chapters/chapter2_strided/library/staged_steps.cuh"
#include "chapters/chapter2_strided/v8_strided_tile.cuh"

namespace warpbook::chapter2::predicates {

/// Few elements, or words that rows are made of: a launch lasts as long as a thread's chain of instructions.
inline bool is_small(const StridedProblem& q) { return q.count() <= 1 << 14; }

inline bool has_broadcast(const TensorView& view) {
  return std::find(view.strides.begin(), view.strides.begin() + view.dims, 0) != view.strides.begin() + view.dims;
}

/// Whether neighbours are read from the same elements: a broadcast innermost dimension, or windows of which each shares
/// half with the next one, or more. Or halves in short rows that are shown again.
inline bool reads_again(const StridedProblem& q) {
  const TensorView& view = q.view;
  const int last = view.dims - 1;
  const std::int64_t row = view.sizes[last] * q.element_bytes;
  if (view.strides[last] == 0) return true;
  if (q.element_bytes == 2 && view.strides[last] == 1 && row >= 64 && row < 4096 && has_broadcast(view)) return true;
  if (last == 0 || view.strides[last - 1] == 0) return false;
  // A short dimension that lies far apart, with neighbours of each of its elements behind it.
  if (view.sizes[last] <= 8 && view.strides[last - 1] * q.element_bytes <= 8) return true;
  constexpr std::int64_t kNearBytes = 16;  // Further apart, each element of a window has a sector nearly of its own.
  return view.strides[last] * q.element_bytes <= kNearBytes &&
         2 * view.strides[last - 1] < view.sizes[last] * view.strides[last];
}

/// Many floats that are shown more than twice.
inline bool shows_floats_again(const StridedProblem& q) {
  return q.element_bytes == 4 && few_dims::refuse(q) == nullptr && q.view.sizes[q.view.dims - 1] > 3 &&
         q.count() > 12 << 20 && q.count() > 2 * q.view.reach();
}

/// Whether what a view shows again is better read once.
inline bool prefers_repeats(const StridedProblem& q) {
  return repeats::refuse(q) == nullptr && (repeats::whole_copies(q) > 1 || reads_again(q) || shows_floats_again(q));
}

/// Short rows in whole pieces of 8 bytes, windows among them.
inline bool prefers_pieces(const StridedProblem& q) {
  const std::int64_t row = q.view.sizes[q.view.dims - 1] * q.element_bytes;
  return row_pieces::refuse(q) == nullptr && row >= 8 && row <= 128 && repeats::whole_copies(q) == 1;
}

/// Long rows of narrow elements that begin anywhere; of halves longer ones where rows are whole words of 4 bytes, which
/// v7's packs fit. Windows are better read once, and so are copies of a whole.
inline bool prefers_shifted_rows(const StridedProblem& q) {
  const std::int64_t row = q.view.sizes[q.view.dims - 1] * q.element_bytes;
  if (q.into_view || shifted_rows::refuse(q) != nullptr || q.element_bytes > 2 || repeats::whole_copies(q) > 1 ||
      reads_again(q))
    return false;
  return row >= (q.element_bytes == 1 ? 32 : row % 4 != 0 ? 64 : 128);
}

/// The same, of a view that is written.
inline bool prefers_written_rows(const StridedProblem& q) {
  return q.into_view && shifted_rows::refuse(q) == nullptr && q.element_bytes <= 2 &&
         q.view.sizes[q.view.dims - 1] * q.element_bytes >= 512;
}

/// Bytes two apart: with longer steps few_dims has fewer requests than the staging has words.
inline bool prefers_staging(const StridedProblem& q) {
  return q.element_bytes == 1 && staged_steps::refuse(q) == nullptr && q.view.strides[q.view.dims - 1] == 2;
}

/// How far apart the neighbours lie that a warp moves in the contiguous side's order, on the view's side.
struct Walked {
  double lines;          ///< Lines of 128 bytes that 32 neighbours lie in.
  double excess;         ///< How many times the bytes that it needs a block fetches, in sectors: for all its elements,
                         ///< or 128 narrow ones, since their many requests are what costs.
  double excess_blocks;  ///< The same in the blocks of 64 bytes of the DRAM.
};
inline Walked walked_side(const StridedProblem& q) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q, dimension);
  std::reverse(dimension.begin(), dimension.begin() + dims);
  const auto bytes = [&](const CopyDimension& d) {
    return static_cast<double>((q.into_view ? d.dst_stride : d.src_stride) * q.element_bytes);
  };
  const double elements = q.element_bytes < 4 ? 128 : std::min(2048.0, static_cast<double>(q.count()));
  const auto excess = [&](double piece) {
    return pieces_touched(dimension.data(), dims, elements, piece, bytes) * piece / (elements * q.element_bytes);
  };
  return {pieces_touched(dimension.data(), dims, 32, 128, bytes), excess(32), excess(64)};
}

/// How many times the bytes that it needs a tile fetches from the view's side, or writes there, in pieces of so many
/// bytes.
inline double tiled_excess(const StridedProblem& q, double piece) {
  constexpr std::int64_t kSide = 64;
  const TilePlan plan = plan_tiles(q, kSide);
  const Space& space = q.into_view ? plan.along_dst : plan.along_src;
  if (space.dims == 0) return piece == 32 ? walked_side(q).excess : walked_side(q).excess_blocks;
  const auto bytes = [&](const CopyDimension& d) {
    return static_cast<double>((q.into_view ? d.dst_stride : d.src_stride) * q.element_bytes);
  };
  const auto elements = static_cast<double>(std::min(space.count, kSide));
  const double pieces = pieces_touched(space.dimension.data(), space.dims, elements, piece, bytes);
  return pieces * piece / (elements * q.element_bytes);
}

/// Whether going through the contiguous side in order would fetch more than a tile, or in many more lines per request.
/// A step along the view's fastest dimension wastes as much in a tile, unless each of a warp's elements is alone.
inline bool prefers_tiles(const StridedProblem& q) {
  const Walked walked = walked_side(q);
  const double sectors = tiled_excess(q, 32);
  const double blocks = tiled_excess(q, 64);
  const bool half = walked.excess >= 2 * sectors;
  // The L1 does not gather stores.
  if (q.into_view && q.element_bytes < 16 && walked.lines >= (q.element_bytes < 4 ? 8 : 16)) return true;
  if (walked.lines >= 4 && walked.excess >= 2 && half && walked.excess_blocks >= 4 * blocks) return true;
  const auto* const begin = q.view.strides.data();
  const auto* const last = begin + q.view.dims - 1;
  const bool last_is_nearest = std::none_of(begin, last, [&](std::int64_t s) { return s > 0 && s < *last; });
  const bool far_in_order = !last_is_nearest && walked.lines >= 24 && walked.excess >= std::max(3.0, sectors);
  if (q.element_bytes >= 4) {
    return (walked.lines >= 8 && walked.excess_blocks >= std::max(1.9, 2 * blocks)) || far_in_order;
  }
  if (((walked.lines > 12 && walked.excess >= 2) || walked.excess >= 8) && half) return true;
  if (far_in_order && lone_elements::refuse(q) == nullptr) return true;
  return walked.lines > 12 && walked.excess_blocks >= 8 && 3 * blocks <= 2 * walked.excess_blocks;
}

/// Elements alone in their sectors, which a tile would not bring together.
inline bool prefers_lone(const StridedProblem& q) { return lone_elements::refuse(q) == nullptr && !prefers_tiles(q); }

/// How much of its tiles a side fills.
inline double filled(std::int64_t count, std::int64_t side) {
  return static_cast<double>(count) / static_cast<double>(ceil_div(count, side) * side);
}

/// Fewer narrow elements than make enough blocks of narrow_tile's large tiles.
inline bool is_short_of_tiles(const StridedProblem& q) {
  return q.count() * q.element_bytes < (q.element_bytes == 1 ? 16 : 8) << 20;
}

/// Matrices that fill at least half of v8's tiles, both sides contiguous; of halves few, of bytes none.
inline bool fills_strided_tiles(const StridedProblem& q) {
  if (q.element_bytes == 1 || q.element_bytes > 8 || v8::refuse(q) != nullptr) return false;
  if (q.element_bytes == 2 && !is_short_of_tiles(q)) return false;
  const Matrices m = matrices_of(q);
  if (m.column.src_stride != 1 || m.row.dst_stride != 1) return false;
  return filled(m.column.size.divisor, 32) * filled(m.row.size.divisor, q.element_bytes <= 4 ? 128 : 64) >= 0.5;
}

/// The same of narrow elements; a fifth of a tile is enough if it has all rows.
inline bool fills_narrow_tiles(const StridedProblem& q) {
  if (is_short_of_tiles(q) || narrow_tile::refuse(q) != nullptr) return false;
  const narrow_tile::Matrix m = narrow_tile::matrix_of(q);
  const double rows = filled(m.rows.count, 512);
  return filled(m.columns.count, 128 / q.element_bytes) * rows >= (rows > 0.9 ? 0.2 : 0.5);
}

/// A permutation of a contiguous array's dimensions, as `warpbook::permute` takes it.
struct Permutation {
  int rank = 0;  ///< 0: the view is none.
  std::array<std::int64_t, 8> shape{};
  std::array<int, 8> order{};
};

/// The view as a permutation of a whole array's dimensions.
inline Permutation as_permutation(const StridedProblem& q) {
  const TensorView& view = q.view;
  Permutation result;
  if (view.dims < 2 || view.dims > 8) return result;
  std::array<int, 8> by_stride{};  // The view's dimensions as the array has them: the largest stride first.
  for (int d = 0; d < view.dims; ++d) by_stride[d] = d;
  std::sort(by_stride.begin(), by_stride.begin() + view.dims,
            [&](int a, int b) { return view.strides[a] > view.strides[b]; });
  std::int64_t contiguous = 1;
  for (int k = view.dims - 1; k >= 0; --k) {
    if (view.strides[by_stride[k]] != contiguous) return result;
    contiguous *= view.sizes[by_stride[k]];
  }
  result.rank = view.dims;
  for (int k = 0; k < view.dims; ++k) {
    if (q.into_view) {  // From the view's order to the array's.
      result.shape[k] = view.sizes[k];
      result.order[k] = by_stride[k];
    } else {
      result.shape[k] = view.sizes[by_stride[k]];
      result.order[by_stride[k]] = k;
    }
  }
  return result;
}

inline bool is_permutation(const StridedProblem& q) { return as_permutation(q).rank > 0; }

inline bool wants_tiles(const StridedProblem& q) { return is_permutation(q) || prefers_tiles(q); }
inline bool prefers_narrow_tiles(const StridedProblem& q) { return wants_tiles(q) && fills_narrow_tiles(q); }
inline bool prefers_strided_tiles(const StridedProblem& q) { return wants_tiles(q) && fills_strided_tiles(q); }
inline bool prefers_short_dims_tiles(const StridedProblem& q) {
  return wants_tiles(q) && short_dims_tile::refuse(q) == nullptr;
}

/// Short rows where else tiles would take them; or where v7's words would begin in one column and end in the next. Not
/// rows of a broadcast, which is read once, nor a permutation in even sizes, which is permute's.
inline bool prefers_short_rows(const StridedProblem& q) {
  constexpr std::int64_t kLeastRowBytes = 256;   // Shorter rows would leave much of a chunk empty,
  constexpr std::int64_t kLeastBytes = 4 << 20;  // and fewer bytes in all most of the device.
  constexpr std::int64_t kManyRows = 96;         // Tiles of more rows are so short that tiles of words are faster.
  const int last = q.view.dims - 1;
  if (short_rows::refuse(q) != nullptr || repeats::whole_copies(q) > 1) return false;
  const short_rows::ShortRows found = short_rows::short_rows_of(q);
  const std::int64_t row_bytes = found.columns.size * q.element_bytes;
  if (row_bytes < kLeastRowBytes || found.rows.count > kManyRows || q.count() * q.element_bytes < kLeastBytes) {
    return false;
  }
  if (is_permutation(q)) {
    return q.element_bytes == 1 && (found.rows.count <= 32 || row_bytes >= 1024) &&
           short_dims_tile::refuse(q) == nullptr;
  }
  // Bytes that each stand beside a few from far away, or beside copies of themselves.
  const bool is_paired = q.element_bytes == 1 && last > 0 && q.view.strides[last - 1] == 1 &&
                         q.view.sizes[last - 1] >= 1 << 17 && q.view.sizes[last] >= 3 && q.view.sizes[last] < 16;
  if (is_paired || q.view.strides[last] == 0) return is_paired;
  const bool far = q.element_bytes == 1 || q.view.strides[last] * 2 >= 16 << 10;
  const bool uneven = q.view.sizes[last] >= 5 && q.view.sizes[last] * q.element_bytes % 4 != 0;
  return (uneven && far) || prefers_tiles(q);
}

/// Whether few_dims is better than v7: where neighbours are near, along the last dimension or the one before. Long
/// broadcasts are read by fewer loads, which counts against three divisions each.
inline bool prefers_few_dims(const StridedProblem& q) {
  constexpr std::int64_t kFew = 4;
  const TensorView& view = q.view;
  const int last = view.dims - 1;
  if (few_dims::refuse(q) != nullptr || repeats::whole_copies(q) > 1 || shows_floats_again(q)) return false;
  if (q.element_bytes < 4) return view.dims <= 3 && !reads_again(q);
  if (repeats::repeats_last(q) && view.dims > 3) return false;
  int before = last - 1;  // What broadcasts lie between is the same neighbours again.
  while (before >= 0 && view.strides[before] == 0) --before;
  const bool near_before = before >= 0 && view.strides[before] <= kFew;
  return near_before || view.strides[last] <= kFew ||
         (view.dims > 1 && view.sizes[last] <= kFew && view.strides[last] * q.element_bytes <= 32);
}

/// Whether both of the digits that v7 carries run over at each of its steps (of narrow elements: at every second one),
/// and it divides for the dimensions beyond them.
inline bool carries_nothing(const StridedProblem& q) {
  const TensorView& view = q.view;
  const int last = view.dims - 1;
  const bool narrow = q.element_bytes < 4;
  if (view.dims < 3) return false;
  const bool one_by_one = narrow && reads_again(q) && view.sizes[last] * q.element_bytes < repeats::kPackBytes;
  if (view.dims == 3 && !one_by_one) return false;
  const std::int64_t step = 32 * (narrow ? 4 / q.element_bytes : 1);
  return view.sizes[last] < step && view.sizes[last - 1] < step &&
         view.sizes[last] * view.sizes[last - 1] < (narrow ? 2 * step : step);
}

/// Whether halves are loaded again and again for a broadcast that is not the last dimension, and neighbours are near to
/// each other: the memory is not the limit then. Not where the last dimension is long and its table large.
inline bool reads_halves_anew(const StridedProblem& q) {
  constexpr std::int64_t kLong = 1024;
  const int last = q.view.dims - 1;
  if (q.element_bytes != 2 || q.view.strides[last] == 0 || q.view.strides[last] > 16) return false;
  if (q.view.sizes[last] > kLong || reads_again(q)) return false;
  return has_broadcast(q.view);
}

/// Whether v7 would divide anew for every pack, and neither tiles nor reading once is better. A permutation's
/// neighbours must be near to each other besides.
inline bool prefers_tables(const StridedProblem& q) {
  if (offset_tables::refuse(q) != nullptr || (q.element_bytes >= 4 && prefers_few_dims(q))) return false;
  return (carries_nothing(q) || reads_halves_anew(q)) && !repeats::repeats_last(q) && repeats::whole_copies(q) == 1 &&
         !prefers_tiles(q) && (!is_permutation(q) || walked_side(q).lines <= 12);
}

inline bool always(const StridedProblem&) { return true; }

}  // namespace warpbook::chapter2::predicates
