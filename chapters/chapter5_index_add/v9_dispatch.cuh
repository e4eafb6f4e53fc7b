/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No kernel is best everywhere. v8a reads and writes everything once, for few entries of long rows. v8b sorts a tile,
/// for rows that a tile names again and again. v7b prepares nothing, and queues at rows that are named often. Rows that
/// are few or short, types that are not summed in float, and results that must repeat need others, and those are
/// library kernels (library/README.md). Which one runs is decided by a table: the first rule that holds.
///
/// Expect the time of each case's best kernel. This is what `index_add.cuh` gives away. No rule sees how the index is
/// drawn: where it is not what the shape suggests, another kernel may be faster.
#pragma once

#include <iterator>

#include "chapters/chapter5_index_add/library/predicates.hpp"
#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"

namespace warpbook::chapter5::v9 {

/// What runs for a problem.
enum class Kernel {
  one_owner,        ///< v8a: few entries.
  sorted_tiles,     ///< v8b: rows named again and again.
  row_owner,        ///< v8a with a block per row.
  private_lines,    ///< Entries side by side: the last dimension, or the only one.
  spread_lines,     ///< The same, with lines too long for shared memory.
  private_rows,     ///< Very few rows.
  kept_tiles,       ///< v8b with float sums to the end.
  sorted_segments,  ///< No atomics at all.
  short_rows,       ///< Rows of one element, and launches of few microseconds.
  merged_entries,   ///< v7b with several entries per thread: takes everything that has atomics.
};

struct Rule {
  bool (*holds)(const IndexAddProblem&);
  Kernel kernel;
  const char* evidence;  ///< A case of chapter5.json that this rule decides; "" where no recorded case needs it.
};

//! [kernel]
/// Tried from the top on a problem with elements; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {predicates::repeats_in_few_rows, Kernel::private_rows, ""},
    {predicates::repeats_by_row, Kernel::row_owner, "shape=100,4096 dim=0 count=1024 dtype=int16"},
    {predicates::repeats_by_entry, Kernel::one_owner, "shape=4096,1024 dim=0 count=256 dtype=int16"},
    {predicates::avoids_atomics, Kernel::sorted_segments, "shape=1024,64 dim=0 count=1048576 dtype=int8"},
    {predicates::shares_long_rows, Kernel::row_owner, "shape=16,32,64,128 dim=2 count=256 dtype=float"},
    {predicates::has_few_long_rows, Kernel::one_owner, "shape=32,1024,1024 dim=0 count=15 dtype=float"},
    {predicates::fits_few_sums, Kernel::private_rows, "shape=1,64 dim=0 count=1048576 dtype=float"},
    {predicates::fills_lines, Kernel::private_lines, "shape=16,32,64,128 dim=3 count=512 dtype=half"},
    {predicates::meets_in_kept_tiles, Kernel::kept_tiles, "shape=16,64 dim=0 count=1048576 dtype=half"},
    {predicates::fills_narrow_rows, Kernel::private_lines, "shape=16,26 dim=0 count=40000 dtype=double"},
    {predicates::meets_in_tiles, Kernel::sorted_tiles, "shape=1024,64 dim=0 count=1048576 dtype=float"},
    {predicates::spreads_lines, Kernel::spread_lines, "shape=64,50000 dim=1 count=200000 dtype=double draw=zipf"},
    {predicates::queues_without_tiles, Kernel::sorted_segments, "shape=1024,64 dim=0 count=1048576 dtype=int32"},
    {predicates::has_short_rows, Kernel::short_rows, "shape=32768,1024 dim=0 count=15 dtype=float"},
    {predicates::always, Kernel::merged_entries, "shape=1048576,64 dim=0 count=1048576 dtype=float"},
};

/// The kernel for a problem with elements.
inline Kernel choose(const IndexAddProblem& p) {
  const Rule* rule = std::begin(kRules);
  while (!rule->holds(p)) ++rule;
  return rule->kernel;
}
//! [kernel]

/// True where no sum is rounded to half or bfloat16 before the last one.
inline bool sums_in_float(const IndexAddProblem& p) {
  if (element_bytes(p.type) > 2 || p.empty()) return true;
  const Kernel kernel = choose(p);
  if (kernel == Kernel::private_lines) return private_lines::sums_in_float(p);
  return kernel == Kernel::one_owner || kernel == Kernel::row_owner || kernel == Kernel::private_rows ||
         kernel == Kernel::kept_tiles || kernel == Kernel::sorted_segments;
}

/// Bytes of workspace that the problem needs.
inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  if (p.empty()) return 0;
  switch (choose(p)) {
  case Kernel::private_rows:
    return private_rows::workspace_bytes(p);
  case Kernel::kept_tiles:
    return kept_tiles::workspace_bytes(p);
  case Kernel::sorted_segments:
    return sorted_segments::workspace_bytes(p);
  default:
    return 0;
  }
}

/// A kernel for elements of T, which is what `p.type` says.
template <class T>
cudaError_t run_as(Kernel kernel, const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (kernel == Kernel::one_owner) return v8a::run_as<T>(p, a, stream);
  if (kernel == Kernel::row_owner) return row_owner::run_as<T>(p, a, stream);
  if (kernel == Kernel::sorted_segments) return sorted_segments::run_as<T>(p, a, stream);
  if constexpr (kSumsInFloat<T>) {
    if (kernel == Kernel::private_rows) return private_rows::run_as<T>(p, a, stream);
    if (kernel == Kernel::kept_tiles) return kept_tiles::run_as<T>(p, a, stream);
    if (kernel == Kernel::sorted_tiles) return v8b::run_as<T>(p, a, stream);
  }
  if constexpr (kHasAtomics<T>) {
    if (kernel == Kernel::private_lines) return private_lines::run_as<T>(p, a, stream);
    if (kernel == Kernel::spread_lines) return spread_lines::run_as<T>(p, a, stream);
    if (kernel == Kernel::short_rows) return short_rows::run_as<T>(p, a, stream);
    if (kernel == Kernel::merged_entries) return merged_entries::run_as<T>(p, a, stream);
  }
  return cudaErrorNotSupported;
}

/// A kernel that is named, whatever the rules say.
inline cudaError_t run_kernel(Kernel kernel, const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return with_type(p.type, [&]<class T>() { return run_as<T>(kernel, p, a, stream); });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return p.empty() ? cudaSuccess : run_kernel(choose(p), p, a, stream);
}

}  // namespace warpbook::chapter5::v9
