/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No kernel is best on every input. v8 is as fast as a copy where both fast dimensions are whole multiples of 16
/// bytes. v3 is nearly so where rows stay whole. Odd sizes, short rows and narrow elements need others, and those are
/// library kernels (library/README.md). Which one runs is decided by a table: the first rule that holds. A rule looks
/// at nothing but shape, permutation, element size and alignment.
///
/// Expect the time of each case's best kernel. This is what `permute.cuh` gives away: what is measured is what people
/// take.
#pragma once

#include "chapters/chapter3_permute/library/boxes.cuh"
#include "chapters/chapter3_permute/library/fitted_tile.cuh"
#include "chapters/chapter3_permute/library/gather.cuh"
#include "chapters/chapter3_permute/library/predicates.hpp"

namespace warpbook::chapter3::v9 {

/// What runs for a problem.
enum class Kernel {
  wide_tiles,       ///< v8's tiles, one of them with a side that fits images.
  fixed_in_order,   ///< Fixed tiles that follow each other along the input.
  fixed_tiles,      ///< Composite matrices by tiles whose sides the compiler knows.
  gathered_words,   ///< A gather that writes words.
  gather,           ///< A gather of elements that are words themselves, as whole rows mostly are.
  element_tiles,    ///< Tiles of single elements or 4-byte words.
  composite_tiles,  ///< Composite matrices of single narrow elements.
  input_runs,       ///< A run of the input per thread.
  boxes,            ///< Boxes: takes everything.
};

/// A row of the table.
struct Rule {
  bool (*holds)(const PermuteProblem&);
  Kernel kernel;
  const char* evidence;  ///< A case of chapter3.json that this rule decides; "" where no recorded case needs it.
};

//! [kernel]
/// Tried from the top on a simplified problem of rank 2 or more; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {predicates::is_wide_transpose, Kernel::wide_tiles, "shape=32,1024,1024 perm=0,2,1 dtype=float"},
    {predicates::prefers_input_order, Kernel::fixed_in_order, ""},
    {predicates::takes_wide_tiles, Kernel::wide_tiles, ""},
    {predicates::is_tiled_gather, Kernel::fixed_tiles, ""},
    {predicates::is_gather_of_words, Kernel::gathered_words, ""},
    {predicates::is_gather, Kernel::gather, "shape=32,2048,1024 perm=1,0,2 dtype=half"},
    {predicates::prefers_fixed_tiles, Kernel::fixed_tiles, ""},
    {predicates::takes_element_tiles, Kernel::element_tiles, ""},
    {predicates::takes_composite_words, Kernel::fixed_tiles, ""},
    {predicates::takes_composite_tiles, Kernel::composite_tiles, ""},
    {predicates::takes_runs_by_tiles, Kernel::fixed_tiles, ""},
    {predicates::takes_input_runs, Kernel::input_runs, ""},
    {predicates::has_long_columns, Kernel::fixed_tiles, ""},
    {predicates::always, Kernel::boxes, ""},
};

/// The rule for a simplified problem of rank 2 or more with elements.
inline const Rule& choose(const PermuteProblem& q) {
  return *std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(q); });
}
//! [kernel]

/// Runs a kernel on a simplified problem that it takes.
inline cudaError_t run_kernel(Kernel kernel, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  switch (kernel) {
  case Kernel::wide_tiles:
    return fitted_tile::run_tiles(q, src, dst, stream);
  case Kernel::fixed_in_order:
    return fixed_tile::run_in_input_order(q, src, dst, stream);
  case Kernel::fixed_tiles:
    return fixed_tile::run_tiles(q, src, dst, stream);
  case Kernel::gathered_words:
    return gathered_words::run_words(q, src, dst, stream);
  case Kernel::gather:
    return gather::run_words(q, src, dst, stream);
  case Kernel::element_tiles:
    return element_tiles::run_tiles(q, src, dst, stream);
  case Kernel::composite_tiles:
    return composite_tile::run_tiles(q, src, dst, stream);
  case Kernel::input_runs:
    return input_runs::run_runs(q, src, dst, stream);
  case Kernel::boxes:
    return boxes::run_boxes(q, src, dst, stream);
  }
  return cudaErrorInvalidValue;
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p);
  if (q.rank <= 1) {  // Nothing moves.
    const auto bytes = static_cast<std::size_t>(q.count() * q.element_bytes);
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  return run_kernel(choose(q).kernel, q, src, dst, stream);
}

}  // namespace warpbook::chapter3::v9
