/// \file
/// v9 dispatch: the right kernel for the view.
///
/// No kernel is best for every view. Rows want words, steps want few instructions, transposes want tiles. Broadcasts,
/// windows, short rows and bytes want kernels that the ladder does not teach: those are library kernels
/// (library/README.md). Which one runs is decided by a table: the first rule that holds. A rule looks at nothing but
/// sizes, strides, element size and alignment. A whole array in another order is chapter 3's permute.
///
/// Expect the time of each view's best kernel. This is what `strided_copy.cuh` gives away: what is measured is what
/// people take.
#pragma once

#include "chapters/chapter2_strided/library/predicates.hpp"
#include "chapters/chapter3_permute/permute.cuh"

namespace warpbook::chapter2::v9 {

/// What runs for a problem.
enum class Kernel {
  row_pieces,       ///< Short rows in pieces of 8 bytes.
  shifted_rows,     ///< v7b: long rows that begin anywhere.
  written_rows,     ///< The same, into a view.
  staged_steps,     ///< Bytes two apart, through shared memory.
  lone_elements,    ///< Elements alone in their sectors.
  short_rows,       ///< A few long rows, interleaved.
  offset_tables,    ///< Short dimensions, by tables.
  permute,          ///< Chapter 3.
  narrow_tile,      ///< Tiles of 1 and 2 bytes, in words.
  aligned_tile,     ///< v8b: tiles of 4 and 8 bytes.
  short_dims_tile,  ///< Tiles of several dimensions counted as one.
  few_dims,         ///< v7c: neighbours near to each other.
  repeats,          ///< Broadcasts and windows.
  wide_words,       ///< v7a, or v6 into a view: takes everything.
};

/// A row of the table.
struct Rule {
  bool (*holds)(const StridedProblem&);
  Kernel kernel;
  const char* evidence;  ///< A case of chapter2.json that this rule decides; "" where no recorded case needs it.
};

//! [kernel]
/// Tried from the top on a simplified problem that is not contiguous; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {predicates::prefers_pieces, Kernel::row_pieces, "shape=1048576,60 strides=64,1 offset=3 dtype=half"},
    {predicates::prefers_shifted_rows, Kernel::shifted_rows,
     "shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half"},
    {predicates::prefers_written_rows, Kernel::written_rows,
     "shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half into=1"},
    {predicates::prefers_staging, Kernel::staged_steps, "shape=64,1024,512 strides=1048576,1024,2 dtype=int8"},
    {predicates::prefers_lone, Kernel::lone_elements, "shape=64,1024,64 strides=1048576,1024,16 dtype=half"},
    {predicates::prefers_short_rows, Kernel::short_rows, "shape=128,80,494,15 strides=494,63232,1,5058560 dtype=int8"},
    {predicates::prefers_tables, Kernel::offset_tables,
     "shape=2,4,2,4,2,4,2,4,2,4,2,4 strides=131072,65536,16384,8192,2048,1024,256,128,32,16,4,2 dtype=float"},
    {predicates::prefers_permute, Kernel::permute, "shape=64,1024,1024 strides=1048576,1,1024 dtype=float"},
    {predicates::prefers_narrow_tiles, Kernel::narrow_tile,
     "shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=int8"},
    {predicates::prefers_aligned_tiles, Kernel::aligned_tile,
     "shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float"},
    {predicates::prefers_short_dims_tiles, Kernel::short_dims_tile,
     "shape=64,512,1024 strides=1048576,2,1024 dtype=half"},
    {predicates::prefers_few_dims, Kernel::few_dims, "shape=64,1024,512 strides=1048576,1024,2 dtype=half"},
    {predicates::prefers_repeats, Kernel::repeats, "shape=64,1024,1024 strides=1024,1,0 dtype=half"},
    {predicates::always, Kernel::wide_words, "shape=64,512,1024 strides=1048576,2048,1 dtype=float"},
};

/// The rule for a simplified problem that is not contiguous.
inline const Rule& choose(const StridedProblem& q) {
  return *std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(q); });
}
//! [kernel]

/// Runs a kernel on a simplified problem that it takes.
inline cudaError_t run_kernel(Kernel kernel, const Prepared& q, cudaStream_t stream) {
  switch (kernel) {
  case Kernel::row_pieces:
    return row_pieces::run_prepared(q, stream);
  case Kernel::shifted_rows:
    return v7b::run_prepared(q, stream);
  case Kernel::written_rows:
    return written_rows::run_prepared(q, stream);
  case Kernel::staged_steps:
    return staged_steps::run_prepared(q, stream);
  case Kernel::lone_elements:
    return lone_elements::run_prepared(q, stream);
  case Kernel::short_rows:
    return short_rows::run_prepared(q, stream);
  case Kernel::offset_tables:
    return offset_tables::run_prepared(q, stream);
  case Kernel::permute: {
    const predicates::Permutation m = predicates::as_permutation(q.problem);
    return warpbook::permute(q.dst, q.src, m.rank, m.shape.data(), m.order.data(), q.problem.element_bytes, stream);
  }
  case Kernel::narrow_tile:
    return narrow_tile::run_prepared(q, stream);
  case Kernel::aligned_tile:
    return v8b::run_prepared(q, stream);
  case Kernel::short_dims_tile:
    return short_dims_tile::run_prepared(q, stream);
  case Kernel::few_dims:
    return v7c::run_prepared(q, stream);
  case Kernel::repeats:
    return repeats::run_prepared(q, stream);
  case Kernel::wide_words:
    return v7a::run_prepared(q, stream);
  }
  return cudaErrorInvalidValue;
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_simplified(p, src, dst);
  const TensorView& view = q.problem.view;
  if (view.dims == 1 && view.strides[0] == 1) {  // Nothing is strided.
    const auto bytes = static_cast<std::size_t>(view.sizes[0] * q.problem.element_bytes);
    return cudaMemcpyAsync(q.dst, q.src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  return run_kernel(choose(q.problem).kernel, q, stream);
}

}  // namespace warpbook::chapter2::v9
