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
#include "chapters/chapter2_strided/v7_wide_words.cuh"
#include "chapters/chapter3_permute/permute.cuh"

namespace warpbook::chapter2::v9 {

/// A whole array in another order of dimensions is chapter 3's.
inline cudaError_t run_permute(const Prepared& q, cudaStream_t stream) {
  const predicates::Permutation m = predicates::as_permutation(q.problem);
  return permute(q.dst, q.src, m.rank, m.shape.data(), m.order.data(), q.problem.element_bytes, stream);
}

/// Few elements take v5's one per thread.
inline cudaError_t run_singles(const Prepared& q, cudaStream_t stream) {
  return v5::run(q.problem, q.src, q.dst, stream);
}

struct Rule {
  bool (*holds)(const StridedProblem&);
  cudaError_t (*run)(const Prepared&, cudaStream_t);
  const char* evidence;  ///< A case of chapter2.json that this rule decides.
};

//! [kernel]
/// Tried from the top on a simplified problem that is not contiguous; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {predicates::is_small, run_singles, "shape=2,4,2 strides=16,4,2 dtype=float"},
    {predicates::prefers_pieces, row_pieces::run_prepared, "shape=1048576,60 strides=64,1 offset=3 dtype=half"},
    {predicates::prefers_shifted_rows, shifted_rows::run_prepared,
     "shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half"},
    {predicates::prefers_written_rows, shifted_rows::run_prepared,
     "shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half into=1"},
    {predicates::prefers_staging, staged_steps::run_prepared, "shape=64,1024,512 strides=1048576,1024,2 dtype=int8"},
    {predicates::prefers_lone, lone_elements::run_prepared, "shape=64,1024,64 strides=1048576,1024,16 dtype=half"},
    {predicates::prefers_short_rows, short_rows::run_prepared,
     "shape=128,80,494,15 strides=494,63232,1,5058560 dtype=int8"},
    {predicates::prefers_tables, offset_tables::run_prepared,
     "shape=2,4,2,4,2,4,2,4,2,4,2,4 strides=131072,65536,16384,8192,2048,1024,256,128,32,16,4,2 dtype=float"},
    {predicates::is_permutation, run_permute, "shape=64,1024,1024 strides=1048576,1,1024 dtype=float"},
    {predicates::prefers_narrow_tiles, narrow_tile::run_prepared,
     "shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=int8"},
    {predicates::prefers_strided_tiles, v8::run_prepared,
     "shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float"},
    {predicates::prefers_short_dims_tiles, short_dims_tile::run_prepared,
     "shape=64,512,1024 strides=1048576,2,1024 dtype=half"},
    {predicates::prefers_few_dims, few_dims::run_prepared, "shape=64,1024,512 strides=1048576,1024,2 dtype=half"},
    {predicates::prefers_repeats, repeats::run_prepared, "shape=64,1024,1024 strides=1024,1,0 dtype=half"},
    {predicates::always, v7::run_prepared, "shape=64,512,1024 strides=1048576,2048,1 dtype=float"},
};

/// The rule for a simplified problem that is not contiguous.
inline const Rule& choose(const StridedProblem& q) {
  return *std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(q); });
}
//! [kernel]

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_simplified(p, src, dst);
  const TensorView& view = q.problem.view;
  if (view.dims == 1 && view.strides[0] == 1) {  // Nothing is strided.
    const auto bytes = static_cast<std::size_t>(view.sizes[0] * q.problem.element_bytes);
    return cudaMemcpyAsync(q.dst, q.src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  return choose(q.problem).run(q, stream);
}

}  // namespace warpbook::chapter2::v9
