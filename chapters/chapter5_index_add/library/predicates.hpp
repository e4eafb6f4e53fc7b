/// \file
/// What a shape asks for: the conditions that v9's rules are made of. All take a problem with elements.
///
/// They see R, N, the row's bytes and the type. The index is on the device, and reading it back would cost more than
/// any of the kernels. The limits were chosen on an H200, those of few rows and of narrow words on an H100.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/library/kept_tiles.cuh"
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
inline bool fits_private_rows(const Problem& p) { return private_rows::refuse(p) == nullptr; }

/// Whether neighbouring threads can take elements of one row.
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

inline bool has_long_rows(const Problem& p) { return rows_lie_together(p) && row_bytes(p) >= (64 << 10); }
/// Rows that nobody names are read in vain, so each should expect two entries.
inline bool shares_long_rows(const Problem& p) {
  return has_long_rows(p) && src_bytes(p) >= (8 << 20) && p.entries() <= 512 && p.entries() >= 2 * p.rows() &&
         row_owner::refuse(p) == nullptr;
}
/// By whole words of 16 bytes, or elements of 8: v8a has one word per thread under way, and narrower ones are too little.
inline bool has_few_long_rows(const Problem& p) {
  const int few = v8b::refuse(p) == nullptr ? 64 : 512;  // Double and the integers have no wide atomics.
  return has_long_rows(p) && src_bytes(p) >= (8 << 20) && p.entries() <= few &&
         (element_bytes(p.type) == 8 || widest_word(p, row_dims(p)) * element_bytes(p.type) == 16);
}

// ---- Rows that a tile names again and again.

/// Two rows, or few sums in all of very many floats: in v8b, all blocks would add to the same few places.
inline bool fits_few_sums(const Problem& p) {
  if (!fits_private_rows(p)) return false;
  if (p.rows() <= 2) return p.entries() >= 1024;
  return !is_narrow(p) && p.rows() * p.row_elements() <= 512 && entries_per_row(p) >= 16384;
}
inline bool takes_tiles(const Problem& p) {
  return v8b::refuse(p) == nullptr && rows_lie_together(p) && p.rows() <= v8b::kBuckets;
}
/// Whether there are bytes enough for a sort, and a tile names most of the rows.
inline bool names_most_rows(const Problem& p) {
  return src_bytes(p) >= (32 << 20) && 4 * v8b::plan(row_map(p)).entries >= 3 * p.rows();
}
/// So few rows beside the bytes that sorting costs little, even where every row is named equally often; in small
/// launches, up to 64 rows.
inline bool fills_few_rows(const Problem& p) {
  const std::int64_t bytes = src_bytes(p);
  if (p.entries() >= 512 && bytes >= (12 << 20) && bytes / (32 << 10) >= p.rows()) return true;
  if (p.rows() > 64) return false;
  return (p.entries() >= 1024 && bytes >= (8 << 20)) || (p.entries() >= 8192 && bytes >= (4 << 20)) ||
         (entries_per_row(p) > 256 && row_bytes(p) >= 128);
}
inline bool meets_in_tiles(const Problem& p) {
  return takes_tiles(p) &&
         (fills_few_rows(p) || entries_per_row(p) >= (is_narrow(p) ? 2048 : 512) || names_most_rows(p));
}
/// So many entries per row that a half or a bfloat16 would lose them.
inline bool meets_in_kept_tiles(const Problem& p) {
  if (!takes_tiles(p) || kept_tiles::refuse(p) != nullptr) return false;
  if (!is_narrow(p)) return entries_per_row(p) >= 16384;
  return entries_per_row(p) >= 2048 || (entries_per_row(p) >= 128 && names_most_rows(p));
}
/// Many long entries, whose sort takes little beside moving them. Words of a language go to few of many rows.
inline bool may_meet_unseen(const Problem& p) {
  return v8b::refuse(p) == nullptr && rows_lie_together(p) && row_bytes(p) >= 1024 && p.entries() >= 16384 &&
         src_bytes(p) >= (32 << 20);
}
/// Double and the integers are not summed in float: where many queue, the whole sort takes less.
inline bool queues_without_tiles(const Problem& p) {
  const std::int64_t many = entries_per_row(p) >= 4096 ? 16 << 10 : 128 << 10;
  return v8b::refuse(p) != nullptr && row_bytes(p) >= 64 && p.entries() >= 256 * p.rows() &&
         (p.entries() >= many || src_bytes(p) >= (32 << 20)) && sorted_segments::refuse(p) == nullptr;
}
/// Double and the integers into few rows: blocks keep columns of them, where reading parts of rows is cheap.
inline bool fills_narrow_rows(const Problem& p) {
  if (v8b::refuse(p) == nullptr || private_lines::refuse(p) != nullptr) return false;
  if (src_bytes(p) > (p.rows() <= 32 ? 64 << 20 : 32 << 20) && row_bytes(p) > 64) return false;
  if (p.entries() >= (8 << 10) && p.entries() >= 256 * p.rows() && p.src.count() >= (1 << 20)) return true;
  const bool is_wide = element_bytes(p.type) == 8;
  return p.entries() >= (16 << 10) && p.entries() >= (is_wide ? 128 : 64) * p.rows() &&
         (is_wide || p.src.count() >= (2 << 20));
}
/// Long rows without tiles: the sort takes little beside moving them.
inline bool may_queue_unseen(const Problem& p) {
  return v8b::refuse(p) != nullptr && rows_lie_together(p) && row_bytes(p) >= 512 && p.entries() >= 8192 &&
         p.src.count() >= (12 << 20) && sorted_segments::refuse(p) == nullptr;
}

// ---- Entries that lie side by side.

/// Whether there are entries enough for each sum, and blocks enough for all multiprocessors, or few entries for each.
/// Not where parts of a line would be added in half or bfloat16, and kept tiles round once.
inline bool fills_lines(const Problem& p) {
  if (index_is_major(p.dst, p.dim) || private_lines::refuse(p) != nullptr) return false;
  if (p.entries() < std::max<std::int64_t>(p.rows(), 128)) return false;
  if (p.entries() < std::min<std::int64_t>(2 * p.rows(), 1024)) return false;
  const private_lines::Plan plan = private_lines::plan(p);
  // Of many lines v7b has something to do in each.
  if (p.entries() * p.row_elements() < (p.row_elements() >= 32 ? 1 << 20 : 64 << 10)) return false;
  if (is_narrow(p) && plan.parts > 1 && meets_in_kept_tiles(p)) return false;
  const std::int64_t blocks = plan.groups * plan.parts;
  return blocks >= 2 * multiprocessors() || (blocks >= 96 && p.entries() >= 256 * p.rows()) ||
         (blocks >= 32 && plan.entries_per_block <= 16384 && p.entries() >= private_lines::kEntriesPerRow * p.rows());
}
/// Long lines whose rows are named about twice or more often, so that dst is near when it is added to.
inline bool spreads_lines(const Problem& p) {
  return !index_is_major(p.dst, p.dim) && spread_lines::refuse(p) == nullptr && p.row_elements() > 1 &&
         p.entries() >= 2 * p.rows() && p.entries() >= (16 << 10);
}

/// Rows of one element, or so few words that v7b's division counts, and enough in a row for two warps.
inline bool has_short_rows(const Problem& p) {
  return rows_lie_together(p) && short_rows::refuse(p) == nullptr && (p.row_elements() == 1 || row_bytes(p) >= 64 * 16);
}

}  // namespace warpbook::chapter5::predicates
