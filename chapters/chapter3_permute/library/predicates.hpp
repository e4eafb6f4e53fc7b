/// \file
/// What a shape asks for: the conditions that v9's rules are made of. All take a simplified problem of rank 2 or more.
///
/// The limits in here were chosen on an H200, for each element size, on random problems that no comparison of the book
/// uses.
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

/// Few elements: a launch lasts as long as a thread's chain of instructions, and the caches make up for any order.
inline bool is_small(const PermuteProblem& q) { return q.count() < 1 << 19; }

/// Tiles of 16-byte words for a batch of matrices,
inline bool is_wide_transpose(const PermuteProblem& q) { return fills_wide_tiles(q, 2048) && v6::refuse(q) == nullptr; }
/// and for other problems. Of bytes, half a tile has to be full; of many floats and 16-byte elements every tile, since
/// fixed tiles lose nothing where sides are short.
inline bool takes_wide_tiles(const PermuteProblem& q) {
  if (!fills_wide_tiles(q, q.element_bytes == 1 ? 8192 : 2048)) return false;
  const int side = q.element_bytes == 4 ? v6::kSide<4> : q.element_bytes == 16 ? v6::kSide<16> : 1;
  return is_small(q) || (q.shape[q.rank - 1] % side == 0 && q.dst_shape(q.rank - 1) % side == 0);
}

/// How many times the bytes it needs a gather of 1024 neighbours of the output, about a block's, fetches from the input
/// in sectors of 32 bytes, if its L1 keeps each until the block is done.
inline double gathered_excess(const PermuteProblem& q) {
  return input_runs::touched(q, 1024, 32) * 32 / (1024.0 * q.element_bytes);
}

/// Cache lines that a warp's load touches at least.
inline double lines_touched(const PermuteProblem& q) { return input_runs::touched(q, 32, 128); }

/// Whether the caches make up for the disorder of a gather.
inline bool caches_help(const PermuteProblem& q) {
  const double excess = gathered_excess(q);
  if (excess <= 1 && (q.rank <= 4 || lines_touched(q) < 8)) return true;  // A block needs all that it fetches.
  const bool rows = keeps_last_dimension(q);
  // A gather carries its index along two dimensions of the output: where those are short, it divides on and on.
  const std::int64_t carried = q.dst_shape(q.rank - 1) * q.dst_shape(q.rank - 2);
  if (!rows && q.rank > 2 && carried * q.element_bytes < 16) return false;
  // Three elements in turn, as from pixels to planes: they share cache lines that a warp reads anyway, and of bytes and
  // halves few that a block does.
  const bool shares_lines = lines_touched(q) <= 2 || (q.element_bytes <= 2 && input_runs::touched(q, 256, 128) <= 8);
  if (!rows && q.element_bytes <= 4 && excess <= 3 && shares_lines) return true;
  const double most = q.element_bytes == 1   ? (rows ? 2 : 1.3)
                      : q.element_bytes == 2 ? (rows ? 4 : 2)
                      : q.element_bytes == 4 ? 1.3
                                             : (rows ? 2.5 : 1.1);
  return excess <= most;
}

/// A tile that is filled less than that leaves too many of its threads idle.
inline constexpr double kLeastFilled = 0.6;

/// Whether fixed tiles take it, with a line's worth of columns, and are full.
inline bool fills_fixed_tiles(const PermuteProblem& q) {
  return fixed_tile::refuse(q) == nullptr && fixed_tile::fit(q).column_bytes >= 128 &&
         fixed_tile::filled(q) >= kLeastFilled;
}

/// A batch of matrices to transpose: fixed tiles can join no dimension to a side, so element tiles are as full.
inline bool is_transpose(const PermuteProblem& q) {
  BatchTranspose matrices;
  return as_batch_transpose(q, matrices) == nullptr;
}

/// What a gather could take, and fixed tiles take better: short rows of which several lie side by side, and long runs
/// of wide elements that are no matrix's.
inline bool is_tiled_gather(const PermuteProblem& q) {
  if (fixed_tile::refuse(q) != nullptr) return false;
  const fixed_tile::Fit fit = fixed_tile::fit(q);
  if (keeps_last_dimension(q)) {
    const std::int64_t row_bytes = q.shape[q.rank - 1] * q.element_bytes;
    return row_bytes <= (q.element_bytes <= 4 ? 32 : q.element_bytes == 8 ? 56 : 80) && fit.run_bytes >= 128;
  }
  const bool is_long = fit.column_bytes >= 256 && fit.run_bytes >= 64;
  return (q.element_bytes == 4 || q.element_bytes == 8) && is_long && !is_transpose(q) && caches_help(q);
}

/// Whether composite tiles take bytes or halves, full and with long runs.
inline bool takes_composite_tiles(const PermuteProblem& q) {
  if (q.element_bytes > 2) return false;
  return composite_tile::refuse(q) == nullptr && composite_tile::pays(q);
}

/// Tiles of single elements or of 4-byte words, full, or as full as any; of bytes half full. Composite tiles keep more
/// single bytes under way, and fixed tiles join dimensions of wider elements.
inline bool takes_element_tiles(const PermuteProblem& q) {
  if (element_tiles::refuse(q) != nullptr || !fills_tiles(q, 4096)) return false;
  const double filled = element_tiles::filled(q);
  if (q.element_bytes == 1) return filled >= 0.45 && !takes_composite_tiles(q);
  return is_transpose(q) || (filled >= kLeastFilled && !fills_fixed_tiles(q));
}

/// Runs of the input of up to a sector, a thread each, where neither side is long enough for tiles and a block needs
/// three quarters of the lines that it touches. Runs of bytes that are written in many lines take tiles.
inline bool takes_input_runs(const PermuteProblem& q) {
  if (input_runs::refuse(q) != nullptr || fills_tiles(q, 4096)) return false;
  if (q.element_bytes == 1 && lines_touched(q) > 8) return false;
  const auto run_bytes = static_cast<double>(input_runs::plan_run(q).elements * q.element_bytes);
  constexpr double kBlock = input_runs::kThreads;
  return run_bytes <= 32 && input_runs::touched(q, kBlock, 128) * 128 * 3 / 4 <= kBlock * run_bytes;
}

/// Whether the columns that placed words take are narrow, or so long that a tile is one piece of one.
inline bool places_badly(const PermuteProblem& q) {
  if (q.element_bytes > 2 || keeps_last_dimension(q)) return false;
  const std::int64_t columns = composite_matrix::find_columns(q, placed_words::least_bytes(q), true).size;
  const bool is_long = columns > 1 << 20 && gathered_excess(q) <= 4 && !takes_input_runs(q);
  return columns * q.element_bytes <= 64 || is_long;
}

/// Whether nothing but a gather takes so many elements with sides so short.
inline bool only_gathers(const PermuteProblem& q) {
  if (takes_element_tiles(q)) return false;
  return composite_matrix::refuse(q) != nullptr || (places_badly(q) && !takes_composite_tiles(q));
}

/// A gather of elements that are words themselves. A warp's load takes as many turns as it touches lines. Where these
/// are many, a tile is better, if it reads more than an element or two at a time. A matrix with few columns of bytes or
/// halves leaves most of a tile empty.
inline bool is_gather(const PermuteProblem& q) {
  if (only_gathers(q)) return true;
  const double most_lines = q.rank == 2 && q.element_bytes <= 2 ? 32 : q.element_bytes == 2 ? 24 : 20;
  return caches_help(q) && (lines_touched(q) < most_lines || fixed_tile::fit(q).run_bytes < 8);
}

/// A gather of narrower elements, which are written by words.
inline bool is_gather_of_words(const PermuteProblem& q) { return is_gather(q) && gathered_words::refuse(q) == nullptr; }

/// The same where fixed tiles are better: floats of which five or more follow each other.
inline bool takes_runs_by_tiles(const PermuteProblem& q) {
  return q.element_bytes == 4 && takes_input_runs(q) && input_runs::plan_run(q).elements >= 5 && fills_fixed_tiles(q);
}

/// Fixed tiles at their best: bytes and halves whose rows are written by 16 bytes, and three dimensions of wider
/// elements or halves that are no batch of matrices.
inline bool prefers_fixed_tiles(const PermuteProblem& q) {
  const bool is_wide = q.element_bytes <= 2 && fixed_tile::writes_wide(q);
  const bool is_turned = q.element_bytes >= 2 && q.rank == 3 && !is_transpose(q);
  return fills_fixed_tiles(q) && (is_wide || is_turned);
}
/// Otherwise bytes and halves go in pieces that are whole words, at least a sector's worth,
inline bool writes_placed_words(const PermuteProblem& q) {
  if (q.element_bytes > 2 || placed_words::refuse(q) != nullptr || keeps_last_dimension(q)) return false;
  const composite_matrix::Columns columns = composite_matrix::find_columns(q, placed_words::least_bytes(q), true);
  const std::int64_t piece_bytes = columns.piece * q.element_bytes;
  return q.alignment % 4 == 0 && piece_bytes % 4 == 0 && piece_bytes >= 32 && columns.size * q.element_bytes >= 256;
}
/// then by words that are shifted, if at least loads are of whole words.
inline bool loads_words(const PermuteProblem& q) {
  return q.element_bytes <= 2 && fills_fixed_tiles(q) && fixed_tile::fit(q).run_bytes >= 32 &&
         fixed_tile::rows_in_group(q) > 1;
}

inline bool always(const PermuteProblem& /*q*/) { return true; }

}  // namespace warpbook::chapter3::predicates
