/// \file
/// What a shape asks for: the conditions that v9's rules are made of. All take a simplified problem of rank 2 or more.
///
/// The limits in here were chosen on an H200, for each element size, over several hundred random problems that no
/// comparison of the book uses.
#pragma once

#include <algorithm>

#include "chapters/chapter3_permute/library/composite_tile.cuh"
#include "chapters/chapter3_permute/library/element_tiles.cuh"
#include "chapters/chapter3_permute/library/fixed_tile.cuh"
#include "chapters/chapter3_permute/library/gathered_words.cuh"
#include "chapters/chapter3_permute/library/input_runs.cuh"
#include "chapters/chapter3_permute/library/placed_words.cuh"
#include "chapters/chapter3_permute/permute.hpp"
#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"

namespace warpbook::chapter3::predicates {

/// Whether tiles fit, and a matrix of narrow elements, of which a tile takes many, fills one of so many elements.
inline bool fills_tiles(const PermuteProblem& q, std::int64_t elements) {
  return v8::refuse_tiles(q) == nullptr &&
         (q.element_bytes >= 4 || q.shape[q.rank - 1] * q.dst_shape(q.rank - 1) >= elements);
}

/// Whether tiles of 16-byte words take it, and of narrow elements fill so many. Elements of 8 bytes gain more from the
/// fixed tiles' runs.
inline bool fills_wide_tiles(const PermuteProblem& q, std::int64_t elements) {
  return v8::refuse(q) == nullptr && q.element_bytes != 8 && fills_tiles(q, elements);
}

/// Tiles of 16-byte words for a batch of matrices,
inline bool is_wide_transpose(const PermuteProblem& q) {
  return fills_wide_tiles(q, 2048) && v6::refuse(q) == nullptr;
}
/// and for other problems; of bytes, half a tile has to be full.
inline bool takes_wide_tiles(const PermuteProblem& q) { return fills_wide_tiles(q, q.element_bytes == 1 ? 8192 : 2048); }

/// Few elements: a launch lasts as long as a thread's chain of instructions, and the caches make up for any order.
inline bool is_small(const PermuteProblem& q) { return q.count() < 1 << 19; }

/// How many times the bytes it needs a gather of 1024 neighbours of the output, about a block's, fetches from the input
/// in sectors of 32 bytes, if its L1 keeps each until the block is done.
inline double gathered_excess(const PermuteProblem& q) {
  constexpr double kNeighbours = 1024;
  const Strides stride = src_strides(q);
  double left = kNeighbours;
  double sectors = 1;
  for (int k = q.rank - 1; k >= 0 && left > 1; --k) {
    const int d = q.permutation[k];
    const double taken = std::min(static_cast<double>(q.shape[d]), left);
    const double step = static_cast<double>(stride[d]) * q.element_bytes / 32;  // In sectors.
    sectors *= step >= 1 ? taken : std::max(1.0, taken * step);
    left /= taken;
  }
  return sectors * 32 / (kNeighbours * q.element_bytes);
}

/// Whether the caches make up for the disorder of a gather.
inline bool caches_help(const PermuteProblem& q) {
  const bool rows = keeps_last_dimension(q);
  // A gather carries its index along two dimensions of the output: where those are short, it divides on and on.
  const std::int64_t carried = q.dst_shape(q.rank - 1) * q.dst_shape(q.rank - 2);
  if (!rows && q.rank > 2 && carried * q.element_bytes < 16) return false;
  // Three narrow elements in turn, as from pixels to planes: they share cache lines that a warp reads anyway.
  if (!rows && q.element_bytes <= 2 && gathered_excess(q) <= 3 && input_runs::lines_touched(q) <= 2) return true;
  const double most = q.element_bytes == 1   ? 2
                      : q.element_bytes == 2 ? (rows ? 4 : 2)
                      : q.element_bytes == 4 ? 1.3
                                             : (rows ? 2.5 : 1.1);
  return gathered_excess(q) <= most;
}

/// Whether fixed tiles are full and read long runs: 256 bytes of columns, and runs of `least_run` bytes.
inline bool fills_fixed_tiles(const PermuteProblem& q, std::int64_t least_run) {
  if (fixed_tile::refuse(q) != nullptr) return false;
  const fixed_tile::Fit fit = fixed_tile::fit(q);
  return fit.column_bytes >= 256 && fit.run_bytes >= least_run;
}

/// Whether fixed tiles take narrow elements by words, and are full.
inline bool fills_fixed_tiles_by_words(const PermuteProblem& q) {
  return fills_fixed_tiles(q, 64) && fixed_tile::rows_in_group(q) > 1;
}

/// What a gather could take, and fixed tiles take better: short rows of which several lie side by side, and long runs
/// of wide elements.
inline bool is_tiled_gather(const PermuteProblem& q) {
  if (q.element_bytes > 8 || fixed_tile::refuse(q) != nullptr) return false;
  if (keeps_last_dimension(q)) {
    const std::int64_t row_bytes = q.shape[q.rank - 1] * q.element_bytes;
    return row_bytes <= (q.element_bytes == 8 ? 56 : 32) && fixed_tile::fit(q).run_bytes >= 128;
  }
  return q.element_bytes >= 4 && fills_fixed_tiles(q, 64) && caches_help(q);
}

/// Narrow elements by placed words, whole on both sides, of at least a sector: where the columns before the input's
/// fastest dimension are few, more are behind it, and each lane of a gather would read another line.
inline bool takes_placed_words(const PermuteProblem& q) {
  if (q.element_bytes > 2 || placed_words::refuse(q) != nullptr || keeps_last_dimension(q)) return false;
  const composite_matrix::Columns columns = composite_matrix::find_columns(q, 256, true);
  const std::int64_t piece_bytes = columns.piece * q.element_bytes;
  const bool whole_words = composite_matrix::elements_in_load(q) * q.element_bytes == 4 && piece_bytes % 8 == 0;
  return whole_words && q.alignment % 8 == 0 && piece_bytes >= 32 && piece_bytes < 256 &&
         columns.size * q.element_bytes >= 256 && input_runs::lines_touched(q) >= 32;
}

/// Whether nothing but a gather takes so many elements with sides so short.
inline bool only_gathers(const PermuteProblem& q) {
  return composite_matrix::refuse(q) != nullptr && !fills_tiles(q, 4096);
}

/// A gather of elements that are words themselves. Where each lane of its warps reads another line, a tile reads as
/// many for 32 times as much.
inline bool is_gather(const PermuteProblem& q) {
  if (only_gathers(q)) return true;
  return caches_help(q) && !(fills_tiles(q, 4096) && input_runs::lines_touched(q) >= 32);
}

/// A gather of narrower elements, which are written by words.
inline bool is_gather_of_words(const PermuteProblem& q) { return is_gather(q) && gathered_words::refuse(q) == nullptr; }

/// Whether composite tiles take the problem, full and with long runs.
inline bool fills_composite_tiles(const PermuteProblem& q) {
  return composite_tile::refuse(q) == nullptr && composite_tile::pays(q);
}

/// Whether tiles, whose sides are one dimension each, fall short of composite ones: they write little in a row, stand
/// half empty, or, of bytes, read a line in two parts of which the second comes when the L2 has forgotten the first.
/// From a tile to its neighbour along the input it is a whole row of tiles: a line of each of the matrix's rows.
inline bool tiles_fall_short(const PermuteProblem& q) {
  const std::int64_t rows = q.dst_shape(q.rank - 1);
  constexpr std::int64_t kLineBytes = 128;
  constexpr std::int64_t kL2Bytes = 40 << 20;  // Of an H200's 50 MB.
  if (q.element_bytes == 1) return element_tiles::filled(q) < 0.8 || rows * kLineBytes > kL2Bytes;
  return element_tiles::filled(q) < 0.5 || rows * q.element_bytes < 256;
}

/// Tiles of single elements or of 4-byte words.
inline bool takes_element_tiles(const PermuteProblem& q) {
  return fills_tiles(q, 4096) && !(fills_composite_tiles(q) && tiles_fall_short(q));
}

/// The same where fixed tiles are better: of 8-byte elements, by words, or with very many columns of bytes.
inline bool prefers_fixed_tiles(const PermuteProblem& q) {
  if (!takes_element_tiles(q) || fixed_tile::refuse(q) != nullptr) return false;
  const bool many_columns = q.element_bytes == 1 && q.dst_shape(q.rank - 1) >= 1 << 16;
  return q.element_bytes == 8 || many_columns || fills_fixed_tiles_by_words(q);
}

/// Composite tiles, unless a thread's runs of narrow elements are whole words and fill the lines that a warp's loads
/// touch: 32 lanes' runs fill them exactly at 32 times a run's bytes; the half is room for rounding.
inline bool takes_composite_tiles(const PermuteProblem& q) {
  if (!fills_composite_tiles(q)) return false;
  if (q.element_bytes > 2 || input_runs::refuse(q) != nullptr) return true;
  const std::int64_t run_bytes = input_runs::plan_run(q).elements * q.element_bytes;
  return run_bytes % 4 != 0 || input_runs::lines_touched(q) * 128 >= 32.5 * static_cast<double>(run_bytes);
}

/// The same of floats, or by words. Single narrow elements gain nothing by fixed tiles.
inline bool takes_composite_words(const PermuteProblem& q) {
  return takes_composite_tiles(q) && (q.element_bytes >= 4 || fixed_tile::rows_in_group(q) > 1);
}

/// Runs of the input, a thread each, whose loads touch few enough cache lines.
inline bool takes_input_runs(const PermuteProblem& q) {
  const double most = q.element_bytes == 1 ? 31 : q.element_bytes == 2 ? 32 : q.element_bytes == 4 ? 20 : 12;
  return input_runs::refuse(q) == nullptr && input_runs::lines_touched(q) <= most;
}

/// The same where fixed tiles are better: five floats of eight places, or full tiles by words.
inline bool takes_runs_by_tiles(const PermuteProblem& q) {
  if (!takes_input_runs(q) || fixed_tile::refuse(q) != nullptr) return false;
  return (q.element_bytes == 4 && fixed_tile::fit(q).rows >= 5) || fills_fixed_tiles_by_words(q);
}

/// Fixed tiles with a line's worth of columns.
inline bool has_long_columns(const PermuteProblem& q) {
  return fixed_tile::refuse(q) == nullptr && fixed_tile::fit(q).column_bytes >= 128;
}

/// Everything.
inline bool always(const PermuteProblem& /*q*/) { return true; }

}  // namespace warpbook::chapter3::predicates
