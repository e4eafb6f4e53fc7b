/// \file
/// What a shape asks for: the conditions that v9's rules are made of. All take a problem with elements.
///
/// They see R, N, the row's bytes and the type. The index is on the device, and reading it back would cost more than
/// any of the kernels. The limits were chosen on an H200, on random problems of two dimensions, drawn evenly and by
/// Zipf's law: mostly, v7b is left where the even draw loses little by it.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/library/kept_tiles.cuh"
#include "chapters/chapter5_index_add/library/merged_entries.cuh"
#include "chapters/chapter5_index_add/library/private_lines.cuh"
#include "chapters/chapter5_index_add/library/private_rows.cuh"
#include "chapters/chapter5_index_add/library/row_owner.cuh"
#include "chapters/chapter5_index_add/library/short_rows.cuh"
#include "chapters/chapter5_index_add/library/sorted_segments.cuh"
#include "chapters/chapter5_index_add/library/spread_lines.cuh"
#include "chapters/chapter5_index_add/v8a_one_owner.cuh"
#include "chapters/chapter5_index_add/v8b_sorted_tiles.cuh"

namespace warpbook::chapter5::predicates {

using Problem = IndexAddProblem;

inline bool always(const Problem&) { return true; }
inline std::int64_t row_bytes(const Problem& p) { return p.row_elements() * element_bytes(p.type); }
inline std::int64_t src_bytes(const Problem& p) { return p.entries() * row_bytes(p); }
inline std::int64_t entries_per_row(const Problem& p) { return p.entries() / std::max<std::int64_t>(p.rows(), 1); }
inline bool is_narrow(const Problem& p) { return element_bytes(p.type) == 2; }
inline bool sums_in_tiles(const Problem& p) { return v8b::refuse(p) == nullptr; }
inline bool fits_private_rows(const Problem& p) { return private_rows::refuse(p) == nullptr; }

inline bool rows_lie_together(const Problem& p) { return index_is_major(p.dst, p.dim) || p.row_elements() == 1; }

// ---- Without atomics: the same result on every run, or a type that has none.

inline bool avoids_atomics(const Problem& p) { return p.deterministic || !has_atomics(p.type); }
inline bool repeats_in_few_rows(const Problem& p) {
  return avoids_atomics(p) && p.rows() <= 16 && p.entries() >= 4096 && fits_private_rows(p);
}
/// So few entries that looking at all of them costs less than a sort; or a sort that takes no such rows.
inline bool repeats_by_entry(const Problem& p) {
  const std::int64_t few = rows_lie_together(p) ? 1024 : 64;
  return avoids_atomics(p) && v8a::refuse(p) == nullptr &&
         (p.entries() <= few || sorted_segments::refuse(p) != nullptr);
}
/// A block per row starts more blocks, which a short launch pays for.
inline bool repeats_by_row(const Problem& p) {
  return repeats_by_entry(p) && src_bytes(p) >= (4 << 20) && row_owner::refuse(p) == nullptr;
}

// ---- Few entries of long rows: v7b is over before the glance is where bytes are few.

inline bool has_long_rows(const Problem& p) {
  return rows_lie_together(p) && row_bytes(p) >= (256 << 10) && src_bytes(p) >= (16 << 20);
}
/// Rows that nobody names are read in vain, so each should expect two entries. Rows in pieces share sectors with their
/// neighbours, and gain sooner.
inline bool shares_long_rows(const Problem& p) {
  const bool in_pieces =
      rows_lie_together(p) && row_dims(p).dims > 1 && row_bytes(p) >= (128 << 10) && src_bytes(p) >= (8 << 20);
  return (has_long_rows(p) || in_pieces) && p.entries() <= 512 && entries_per_row(p) >= 2 && entries_per_row(p) <= 64 &&
         row_owner::refuse(p) == nullptr;
}
/// By whole words of 16 bytes: v8a has one word per thread under way, and narrower ones are too little.
inline bool has_few_long_rows(const Problem& p) {
  return has_long_rows(p) && sums_in_tiles(p) && p.entries() <= 64 &&
         widest_word(p, row_dims(p)) * element_bytes(p.type) == 16;
}

// ---- Entries that lie side by side.

/// Few sums in all, which each block keeps for itself. Along the last dimension v7b adds every element by itself. Rows
/// of one float are a line, which private_lines sums with less.
inline bool fits_few_sums(const Problem& p) {
  if (p.row_elements() == 1 && !is_narrow(p)) return false;
  return p.rows() * p.row_elements() <= 512 && entries_per_row(p) >= (rows_lie_together(p) ? 2048 : 32) &&
         fits_private_rows(p);
}
/// So many entries per row that a half or a bfloat16 would lose them.
inline bool meets_in_kept_tiles(const Problem& p) {
  if (!is_narrow(p) || kept_tiles::refuse(p) != nullptr) return false;
  const bool names_most_rows = src_bytes(p) >= (32 << 20) && 4 * v8b::plan(row_map(p)).entries >= 3 * p.rows();
  return entries_per_row(p) >= 2048 || (entries_per_row(p) >= 128 && names_most_rows);
}
/// Many entries, or many for each row. Not where parts of a line would be added in half or bfloat16, and kept tiles
/// round once.
inline bool fills_lines(const Problem& p) {
  if (rows_lie_together(p) || private_lines::refuse(p) != nullptr) return false;
  if (private_lines::plan(p).parts > 1 && meets_in_kept_tiles(p)) return false;
  const bool has_many = p.entries() >= 192 && 2 * p.entries() >= p.rows();
  const bool has_many_per_row = entries_per_row(p) >= (p.entries() >= 96 ? 16 : 32);
  return (p.src.count() >= (2 << 20) && (has_many || has_many_per_row)) ||
         (entries_per_row(p) >= 64 && p.entries() >= (8 << 10)) ||
         (entries_per_row(p) >= 512 && p.src.count() >= (32 << 10));
}
/// Very short rows are entries side by side, too. Wider ones of double and the integers gain later, and the sort of
/// what is large gains more, unless few elements lie together: a column takes part of each sector that it reads.
inline bool fills_narrow_rows(const Problem& p) {
  if (private_lines::refuse(p) != nullptr) return false;
  if (p.row_elements() <= 4) return entries_per_row(p) >= 128 && p.entries() >= (16 << 10);
  if (sums_in_tiles(p) || row_bytes(p) > 4096) return false;
  const RowDims row = row_dims(p);
  if (row.dim[row.dims - 1].size > 8 && row_bytes(p) >= 256 && src_bytes(p) > (64 << 20)) return false;
  return entries_per_row(p) >= 1024 && p.src.count() >= (256 << 10);
}
/// Lines that are too long for shared memory, and whose rows are named, so that dst is near when it is added to.
inline bool spreads_lines(const Problem& p) {
  return !rows_lie_together(p) && spread_lines::refuse(p) == nullptr && p.entries() >= p.rows() &&
         p.entries() >= (32 << 10);
}

// ---- Rows that a tile names again and again.

/// Entries enough per row, or rows so long that the sort takes little beside moving them. Words of a language go to few
/// of many rows, so long entries are sorted on suspicion. Tiles of the last dimension read sectors of which they take
/// an element, so little should be read.
inline bool meets_in_tiles(const Problem& p) {
  if (!sums_in_tiles(p)) return false;
  const bool together = rows_lie_together(p);
  if (!together && p.row_elements() > 16 && src_bytes(p) > (16 << 20)) return false;
  const int many = !together ? 32 : is_narrow(p) && row_bytes(p) >= 64 ? 96 : 256;
  if (entries_per_row(p) >= many && src_bytes(p) >= (512 << 10)) return true;
  if (entries_per_row(p) >= (is_narrow(p) ? 4 : 16))
    return p.entries() >= 256 && row_bytes(p) >= 512 && src_bytes(p) >= (16 << 20);
  return together && p.entries() >= 16384 && row_bytes(p) >= 1024 && src_bytes(p) >= (32 << 20);
}
/// Double and the integers have no tiles: the whole sort takes less where many queue.
inline bool queues_without_tiles(const Problem& p) {
  if (sums_in_tiles(p) || sorted_segments::refuse(p) != nullptr || row_bytes(p) < 256) return false;
  return entries_per_row(p) >= (row_bytes(p) >= 4096 ? 256 : 1024) && src_bytes(p) >= (4 << 20);
}

/// Rows of one element, or so few words that v7b's division counts, and enough in a row for two warps.
inline bool has_short_rows(const Problem& p) {
  if (merged_entries::plan(p).merged > 1) return false;
  return rows_lie_together(p) && short_rows::refuse(p) == nullptr && (p.row_elements() == 1 || row_bytes(p) >= 64 * 16);
}

}  // namespace warpbook::chapter5::predicates
