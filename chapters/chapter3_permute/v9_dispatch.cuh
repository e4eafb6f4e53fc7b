/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// No step is best everywhere. After merging dimensions there are these cases, in this order: nothing moves, which is a
/// copy; matrices are transposed and everything is aligned (v7g, v5a for very many halves, v7c where the rank is
/// higher, unless elements are narrow: v7l's, one after the other along the input); the caches make up for the disorder
/// of a gather (v7h, or v6b's kernel for elements that are wide words themselves, as whole rows mostly are); both fast
/// dimensions are long, so that tiles fit (v7i's); several dimensions together are long on the output's side (v7l,
/// which also takes what leaves v7i's tiles half empty, and nearly all that has no other place; single halves are
/// v7j's); a thread can take a short run of the input (v7e); and a rest (v7d's boxes, in v7i's order). The choice looks
/// at nothing but shape, permutation and alignment.
///
/// Expect each case's best step, nearly everywhere. This is what `permute.cuh` gives away, so what is measured is what
/// people take.
#pragma once

#include "chapters/chapter3_permute/v5a_half2.cuh"
#include "chapters/chapter3_permute/v7e_input_runs.cuh"
#include "chapters/chapter3_permute/v7g_fitted_tile.cuh"
#include "chapters/chapter3_permute/v7h_output_words.cuh"
#include "chapters/chapter3_permute/v7i_output_order.cuh"
#include "chapters/chapter3_permute/v7j_composite_tile.cuh"
#include "chapters/chapter3_permute/v7k_kept_input.cuh"
#include "chapters/chapter3_permute/v7l_fixed_tile.cuh"

namespace warpbook::chapter3::v9 {

/// How many times the bytes it needs a gather of 1024 neighbours of the output, about a block's, fetches from the input
/// in 32-byte sectors, if its L1 keeps each until the block is done. `p` is merged.
inline double gathered_excess(const PermuteProblem& p) {
  constexpr double kNeighbours = 1024;
  const Strides stride = src_strides(p);
  double left = kNeighbours;
  double sectors = 1;
  for (int k = p.rank - 1; k >= 0 && left > 1; --k) {
    const int d = p.permutation[k];
    const double taken = std::min(static_cast<double>(p.shape[d]), left);
    const double step = static_cast<double>(stride[d]) * p.element_bytes / 32;  // In sectors.
    sectors *= step >= 1 ? taken : std::max(1.0, taken * step);
    left /= taken;
  }
  return sectors * 32 / (kNeighbours * p.element_bytes);
}

/// Whether a gather is taken: below so much excess. These limits and the next were chosen on an H200, for each element
/// size, over 400 random problems: seeds 1 and 3 of tests/peers. Those sweeps are not kept; `chapter3_choices.txt` in
/// docs/results shows what the choice is worth by the times of all steps, and where the rules that give a reason come
/// from.
inline bool gathers(const PermuteProblem& p) {
  const bool rows = keeps_last_dimension(p);
  // v7h carries an index along two dimensions of the output: if a word is longer, it divides on and on. Runs do not.
  const std::int64_t carried = p.dst_shape(p.rank - 1) * p.dst_shape(p.rank - 2);
  if (!rows && p.rank > 2 && carried * p.element_bytes < 16) return false;
  // Three narrow elements in turn, as from pixels to planes: they share cache lines that a warp reads anyway.
  if (!rows && p.element_bytes <= 2 && gathered_excess(p) <= 3 && v7e::lines_touched(p) <= 2) return true;
  switch (p.element_bytes) {
  case 1:
    return gathered_excess(p) <= 2;
  case 2:
    return gathered_excess(p) <= (rows ? 4 : 2);
  case 4:
    return gathered_excess(p) <= 1.3;
  default:
    return gathered_excess(p) <= (rows ? 2.5 : 1.1);
  }
}

/// Up to how many cache lines a load, a thread takes a run of the input.
inline double most_lines(int element_bytes) {
  return element_bytes == 1 ? 31 : element_bytes == 2 ? 32 : element_bytes == 4 ? 20 : 12;
}

/// Of narrow elements, a tile takes so many that small matrices leave most of it empty.
inline bool fills_a_tile(const PermuteProblem& m, std::int64_t elements) {
  return m.element_bytes >= 4 || m.shape[m.rank - 1] * m.dst_shape(m.rank - 1) >= elements;
}

/// Whether v7i's tiles, whose sides are one dimension each, fall short of v7j's, where both fit: they write little in a
/// row, stand half empty, or, of bytes, read a line in two parts of which the second comes when the L2 has forgotten
/// the first. From a tile to its neighbour along the input it is a whole row of tiles: a line of each of the matrix's
/// rows.
inline bool tiles_fall_short(const PermuteProblem& m) {
  const std::int64_t rows = m.dst_shape(m.rank - 1);
  constexpr std::int64_t kLineBytes = 128;
  constexpr std::int64_t kL2Bytes = 40 << 20;  // Of an H200's 50 MB.
  if (m.element_bytes == 1) return v7i::filled(m) < 0.8 || rows * kLineBytes > kL2Bytes;
  return v7i::filled(m) < 0.5 || rows * m.element_bytes < 256;
}

/// Whether v7e's runs, of narrow elements, are whole words and fill the lines that a warp's loads touch: then it takes
/// a load a word where a tile takes one an element, and leaves nothing in the L1 for others to find. 32 lanes' runs
/// fill them exactly at 32 times a run's bytes; the half is room for rounding.
inline bool runs_fill_lines(const PermuteProblem& m) {
  if (m.element_bytes > 2 || v7e::refuse(m) != nullptr) return false;
  const std::int64_t run_bytes = v7e::plan_run(m).elements * m.element_bytes;
  return run_bytes % 4 == 0 && v7e::lines_touched(m) * 128 < 32.5 * static_cast<double>(run_bytes);
}

/// Whether v7l's tiles are full and read long runs: 256 bytes of columns, and runs of `least_run` bytes.
inline bool fills_fixed_tiles(const PermuteProblem& m, std::int64_t least_run) {
  const v7l::Fit fit = v7l::fit(m);
  return fit.column_bytes >= 256 && fit.run_bytes >= least_run;
}

/// Whether v7l's tiles take what a gather could: short rows, which a gather reads here and there, where several lie
/// side by side; and long runs of wide elements.
inline bool prefers_fixed_tiles(const PermuteProblem& m) {
  if (keeps_last_dimension(m)) {
    const std::int64_t row_bytes = m.shape[m.rank - 1] * m.element_bytes;
    return row_bytes <= (m.element_bytes == 8 ? 56 : 32) && v7l::fit(m).run_bytes >= 128;
  }
  return m.element_bytes >= 4 && fills_fixed_tiles(m, 64);
}

/// Whether tiles that follow each other along the input are better than v7c's, which do so along the output, where the
/// latter could move 16-byte words: of narrow elements, if the tiles are full. Chosen on an H200, over 12 shapes
/// (chapter3_trials_wide.txt): 64x1024x1024 halves reversed take 72.6 instead of 74.1 us, 320x24x48x160 bytes by
/// 3,1,0,2 36.4 instead of 62.7.
inline bool prefers_input_order(const PermuteProblem& m) {
  return m.element_bytes <= 2 && v7l::refuse(m) == nullptr && v7l::fit(m).rows >= 64;
}

/// The kernels that v9 sends problems to.
enum class Kernel {
  transpose,        ///< v7g's, of whole matrices.
  transpose_half2,  ///< v5a's.
  wide_tiles,       ///< v7c's tiles of 16-byte words.
  output_words,     ///< v7h's gather.
  gather,           ///< v6b's.
  tiles,            ///< v7i's tiles of single elements.
  composite_tiles,  ///< v7j's.
  fixed_tiles,      ///< v7l's.
  input_order,      ///< v7l's, that follow each other along the input.
  input_runs,       ///< v7e's.
  boxes,            ///< v7d's.
};

//! [kernel]
/// The kernel for a simplified problem of rank 2 or more with elements.
inline Kernel choose(const PermuteProblem& q, const void* src, const void* dst) {
  const bool tiles = v7c::refuse(q) == nullptr;
  // 8-byte elements gain more from v7l's runs than from 16-byte words.
  if (tiles && q.element_bytes != 8 && fills_a_tile(q, 2048)) {
    if (v6a::refuse(q, src, dst) == nullptr) {
      // From 256 MiB on, narrow accesses keep up better with the memory.
      const bool large = q.element_bytes == 2 && q.count() >= std::int64_t{1} << 27;
      return large ? Kernel::transpose_half2 : Kernel::transpose;
    }
    if (v7c::moves_wide_words(q, src, dst)) {
      return prefers_input_order(q) ? Kernel::input_order : Kernel::wide_tiles;
    }
  }
  const bool fixed = v7l::refuse(q) == nullptr;
  if (fixed && prefers_fixed_tiles(q)) {
    if (keeps_last_dimension(q) || gathers(q)) return Kernel::fixed_tiles;
  }
  const bool narrow_tiles = tiles && fills_a_tile(q, 4096);
  // Where each lane of a gathering warp reads another line, a tile reads as many for 32 times as much.
  if (gathers(q) && !(narrow_tiles && v7e::lines_touched(q) >= 32)) {
    return v7h::refuse(q) == nullptr ? Kernel::output_words : Kernel::gather;  // Or elements that are words themselves.
  }
  const bool grouped = fixed && v7l::rows_in_group(q, src) > 1;  // Narrow elements, by words.
  const bool composite = v7j::refuse(q) == nullptr && v7j::pays(q);
  if (narrow_tiles && !(composite && tiles_fall_short(q))) {
    const bool many_columns = q.element_bytes == 1 && q.dst_shape(q.rank - 1) >= 1 << 16;
    const bool better = q.element_bytes == 8 || (grouped && fills_fixed_tiles(q, 64)) || many_columns;
    return fixed && better ? Kernel::fixed_tiles : Kernel::tiles;
  }
  if (composite && !runs_fill_lines(q)) {
    // Single narrow elements gain nothing: v7j's tiles have more of them in flight.
    return q.element_bytes >= 4 || grouped ? Kernel::fixed_tiles : Kernel::composite_tiles;
  }
  if (v7e::refuse(q) == nullptr && v7e::lines_touched(q) <= most_lines(q.element_bytes)) {
    const bool floats = q.element_bytes == 4 && v7l::fit(q).rows >= 5;  // Of eight places for them.
    const bool better = floats || (grouped && fills_fixed_tiles(q, 64));
    return fixed && better ? Kernel::fixed_tiles : Kernel::input_runs;
  }
  return fixed && v7l::fit(q).column_bytes >= 128 ? Kernel::fixed_tiles : Kernel::boxes;
}

/// Moves v7l's tiles along the input: of halves its own, of bytes higher ones, whose rows are whole sectors of the
/// input (its own were slower than v7c's on 7 of the 12 shapes).
inline cudaError_t run_in_input_order(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const v7l::Arrangement arrangement{.least_bytes = v7l::least_bytes(m.element_bytes), .along_input = true};
  return m.element_bytes == 1 ? v7l::run_arranged<v7l::Tile<1, 4, 256, 128>>(m, src, dst, stream, arrangement)
                              : v7l::run_arranged<v7l::Tile<2, 2, 64, 256>>(m, src, dst, stream, arrangement);
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p, src, dst);
  if (q.rank <= 1) {
    const auto bytes = static_cast<std::size_t>(q.count() * q.element_bytes);
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  switch (choose(q, src, dst)) {
  case Kernel::transpose:
    return v7g::run_matrices<true>(q, src, dst, stream);
  case Kernel::transpose_half2:
    return v5a::run(q, src, dst, stream);
  case Kernel::wide_tiles:
    return v7c::run_tiles<true>(q, src, dst, stream);
  case Kernel::output_words:
    return v7h::run_words<true>(q, src, dst, stream);
  case Kernel::gather:
    return v6b::run_with<FastDivisor, true>(q, src, dst, stream);
  case Kernel::tiles:
    return v7i::run_tiles<true>(q, src, dst, stream);
  case Kernel::composite_tiles:
    return v7j::run_tiles(q, src, dst, stream);
  case Kernel::fixed_tiles:
    return v7l::run_tiles(q, src, dst, stream);
  case Kernel::input_order:
    return run_in_input_order(q, src, dst, stream);
  case Kernel::input_runs:
    return v7e::run_runs<true>(q, src, dst, stream);
  case Kernel::boxes:
    return v7d::run_boxes(q, dst_order(q), src, dst, stream);
  }
  return cudaErrorInvalidValue;
}
//! [kernel]

}  // namespace warpbook::chapter3::v9
