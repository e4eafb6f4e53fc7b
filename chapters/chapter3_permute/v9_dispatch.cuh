/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No kernel is best on every input. v8 is as fast as a copy where the last dimensions of input and output are
/// multiples of 16 bytes. v3 is nearly so where rows stay whole. Odd sizes, short rows and narrow elements need
/// others, and those are library kernels (library/README.md). Which one runs is decided by a table: the first rule that
/// holds. A rule looks at nothing but shape, permutation, element size and alignment.
///
/// Expect the time of each case's best kernel. This is what `permute.cuh` calls: what is measured is what people use.
#pragma once

#include "chapters/chapter3_permute/library/gather.cuh"
#include "chapters/chapter3_permute/library/predicates.hpp"

namespace warpbook::chapter3::v9 {

/// What runs for a problem.
enum class Kernel {
  transpose,        ///< v7's tiles of matrices.
  wide_tiles,       ///< v8's tiles, at any rank.
  fixed_tiles,      ///< Tiles of a matrix whose sides are several dimensions together; their size is fixed.
  gathered_words,   ///< A thread collects the elements of one word of the output, wherever they are.
  gather,           ///< v3's walk along the output: each thread collects a few of its elements or words.
  element_tiles,    ///< v4c's tiles with more loads under way, of single elements or 4-byte words.
  composite_tiles,  ///< Tiles as in fixed_tiles, whose size is fitted to the problem when it runs.
  input_runs,       ///< A thread moves a short run of the input.
  placed_words,     ///< Tiles as in fixed_tiles; a table says where each word of a row goes.
};

struct Rule {
  bool (*holds)(const PermuteProblem&);
  Kernel kernel;
  const char* evidence;  ///< A recorded case that this rule decides.
};

//! [kernel]
/// Tried from the top on a simplified problem of rank 2 or more; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {predicates::is_wide_transpose, Kernel::transpose, "shape=32,1024,1024 perm=0,2,1 dtype=float"},
    {predicates::takes_wide_tiles, Kernel::wide_tiles, "shape=512,512,128 perm=2,1,0 dtype=float"},
    {predicates::is_small, Kernel::gather, "shape=3,255,511 perm=0,2,1 dtype=float"},
    {predicates::is_tiled_gather, Kernel::fixed_tiles, "shape=1000,1511,5 perm=1,0,2 dtype=float"},
    {predicates::is_gather_of_words, Kernel::gathered_words, "shape=64,512,512,3 perm=0,3,1,2 dtype=half"},
    {predicates::is_gather, Kernel::gather, "shape=32,2048,1024 perm=1,0,2 dtype=half"},
    {predicates::takes_runs_by_tiles, Kernel::fixed_tiles, "shape=812829,7 perm=1,0 dtype=float"},
    {predicates::takes_input_runs, Kernel::input_runs, "shape=6,5,7,8,9,10,11,12 perm=7,1,5,3,0,6,2,4 dtype=half"},
    {predicates::prefers_fixed_tiles, Kernel::fixed_tiles, "shape=4,10,12,8,6,24,16 perm=6,3,1,5,0,2,4 dtype=half"},
    {predicates::writes_placed_words, Kernel::placed_words, "shape=6,20,10,30,32 perm=3,1,4,0,2 dtype=half"},
    {predicates::loads_words, Kernel::fixed_tiles, "shape=3,31,23,2,5,19,194 perm=2,4,6,0,3,1,5 dtype=half"},
    {predicates::takes_element_tiles, Kernel::element_tiles, "shape=7,1023,2047 perm=0,2,1 dtype=half"},
    {predicates::takes_composite_tiles, Kernel::composite_tiles, "shape=8251,3647,5 perm=2,1,0 dtype=int8"},
    {predicates::fills_fixed_tiles, Kernel::fixed_tiles, "shape=1777545,9 perm=1,0 dtype=double"},
    {predicates::always, Kernel::placed_words, "shape=78,11,17,15,8,2,8,2 perm=1,4,6,3,0,5,7,2 dtype=int8"},
};

/// The rule for a simplified problem of rank 2 or more with elements.
inline const Rule& choose(const PermuteProblem& q) {
  return *std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(q); });
}
//! [kernel]

/// Runs a kernel on a simplified problem that it takes.
inline cudaError_t run_kernel(Kernel kernel, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  switch (kernel) {
  case Kernel::transpose:
    return v7::run(q, src, dst, stream);
  case Kernel::wide_tiles:
    return v8::run_wide(q, src_order(q), src, dst, stream);
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
  case Kernel::placed_words:
    return placed_words::run_tiles(q, src, dst, stream);
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
