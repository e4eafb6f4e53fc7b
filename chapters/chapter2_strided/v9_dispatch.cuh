/// \file
/// v9 dispatch: the right kernel for the view.
///
/// No step is best everywhere. After merging dimensions there are these cases, in this order: nothing is strided, which
/// is a copy; rows of narrow elements begin anywhere, short ones of whole pieces of 8 bytes (v7g) or longer ones (v7c);
/// bytes lie two apart in long rows (v7d); each element lies alone in its sector (v7h); a few long rows are interleaved
/// (v8c); the last dimensions are short, and neighbours near to each other all the same (v7e); the view is a whole
/// array in another order of dimensions, which is chapter 3's permute, unless it is of narrow elements in odd sizes;
/// going through the contiguous side in order would fetch many sectors for few elements, and a tile fewer (v8b, else
/// v8a); neighbours are near to each other in few dimensions (v7f); and all else (v7a, v7b). The choice looks at
/// nothing but sizes, strides and alignment.
///
/// Expect each case's best step, nearly everywhere. This is what `strided_copy.cuh` gives away, so what is measured is
/// what people take.
#pragma once

#include "chapters/chapter2_strided/v8c_short_rows.cuh"
#include "chapters/chapter3_permute/permute.cuh"

namespace warpbook::chapter2::v9 {

/// A permutation of a contiguous array's dimensions, as `warpbook::permute` takes it.
struct Permutation {
  int rank = 0;  ///< 0: the view is none.
  std::array<std::int64_t, 8> shape{};
  std::array<int, 8> order{};
};

/// The view of a collapsed problem as a permutation of a whole array's dimensions.
inline Permutation as_permutation(const StridedProblem& p) {
  const TensorView& view = p.view;
  Permutation result;
  if (view.dims < 2 || view.dims > 8) return result;
  std::array<int, 8> by_stride{};  // The view's dimensions as the array has them: the largest stride first.
  for (int d = 0; d < view.dims; ++d) by_stride[d] = d;
  std::sort(by_stride.begin(), by_stride.begin() + view.dims,
            [&](int a, int b) { return view.strides[a] > view.strides[b]; });
  std::int64_t contiguous = 1;
  for (int k = view.dims - 1; k >= 0; --k) {
    if (view.strides[by_stride[k]] != contiguous) return result;
    contiguous *= view.sizes[by_stride[k]];
  }
  result.rank = view.dims;
  for (int k = 0; k < view.dims; ++k) {
    if (p.into_view) {  // From the view's order to the array's.
      result.shape[k] = view.sizes[k];
      result.order[k] = by_stride[k];
    } else {
      result.shape[k] = view.sizes[by_stride[k]];
      result.order[by_stride[k]] = k;
    }
  }
  return result;
}

/// How many lines of 128 bytes a warp's 32 neighbours lie in on the view's side, and how many times the bytes that it
/// needs a block of v7 fetches from there, in sectors, and in the blocks of 64 bytes of the DRAM: for all its elements,
/// what they share meets in the L1; of narrow ones for 128, since their many requests are what costs.
struct Walked {
  double lines;
  double excess;
  double excess_blocks;
};
inline Walked walked_side(const StridedProblem& p) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  std::reverse(dimension.begin(), dimension.begin() + dims);
  const auto bytes = [&](const CopyDimension& d) {
    return static_cast<double>((p.into_view ? d.dst_stride : d.src_stride) * p.element_bytes);
  };
  const double elements = p.element_bytes < 4 ? 128 : std::min(2048.0, static_cast<double>(p.count()));
  const auto excess = [&](double piece) {
    return pieces_touched(dimension.data(), dims, elements, piece, bytes) * piece / (elements * p.element_bytes);
  };
  return {pieces_touched(dimension.data(), dims, 32, 128, bytes), excess(32), excess(64)};
}

/// How many times the bytes that it needs a tile of v8a fetches from the view's side, or writes there, in sectors.
inline double tiled_excess(const StridedProblem& p, double piece) {
  constexpr std::int64_t kSide = 64;
  const TilePlan plan = plan_tiles(p, kSide);
  const Space& space = p.into_view ? plan.along_dst : plan.along_src;
  if (space.dims == 0) return piece == 32 ? walked_side(p).excess : walked_side(p).excess_blocks;
  const auto bytes = [&](const CopyDimension& d) {
    return static_cast<double>((p.into_view ? d.dst_stride : d.src_stride) * p.element_bytes);
  };
  const auto elements = static_cast<double>(std::min(space.count, kSide));
  const double pieces = pieces_touched(space.dimension.data(), space.dims, elements, piece, bytes);
  return pieces * piece / (elements * p.element_bytes);
}

/// Whether tiles are worth their while: where v7 would fetch more than a tile, or in many more lines a request. A step
/// along the view's fastest dimension wastes as much in a tile, which is better still if it is not the last one and
/// each of a warp's elements has a line of its own. Chosen on an H200, of narrow elements over 75 views that v7 and v8
/// were both timed on in their first form, and 85 more (chapter2_trials_3.txt, chapter2_trials_4.txt); and of all over
/// 140 views of seeds 7 and 21 of tests/peers (chapter2_trials_7.txt): 18x713x329 of 8 bytes by 6,35203,107 take 65
/// instead of 99 us, 392x4287x3 by 1,394,1 23 instead of 26, and 2x757x25x229x8 halves by 1,2,1528,38200,2 59 instead
/// of 99. The same goes for narrow elements that lie alone in their sectors (2000x3x700 bytes by 64,89728000,128000:
/// 76 instead of 102; chapter2_trials_9.txt).
inline bool prefers_tiles(const StridedProblem& p) {
  const Walked walked = walked_side(p);
  const double sectors = tiled_excess(p, 32);
  const double blocks = tiled_excess(p, 64);
  const bool half = walked.excess >= 2 * sectors;
  if (walked.lines >= 4 && walked.excess >= 2 && half && walked.excess_blocks >= 4 * blocks) return true;
  const auto* const begin = p.view.strides.data();
  const auto* const last = begin + p.view.dims - 1;
  const bool last_is_nearest = std::none_of(begin, last, [&](std::int64_t s) { return s > 0 && s < *last; });
  const bool far_in_order = !last_is_nearest && walked.lines >= 24 && walked.excess >= std::max(3.0, sectors);
  if (p.element_bytes < 4) {
    if (((walked.lines > 12 && walked.excess >= 2) || walked.excess >= 8) && half) return true;
    if (far_in_order && v7h::refuse(p) == nullptr) return true;
    return walked.lines > 12 && walked.excess_blocks >= 8 && 3 * blocks <= 2 * walked.excess_blocks;
  }
  if (walked.lines >= 8 && walked.excess_blocks >= std::max(1.9, 2 * blocks)) return true;
  return far_in_order;
}

/// What decides which tiles fit a permutation: its sizes along the dimensions that are fastest on either side.
struct FastSizes {
  bool odd = false;       ///< One does not come in whole words of 16 bytes,
  bool is_short = false;  ///< one has few elements.
};
inline FastSizes fast_sizes(const StridedProblem& p) {
  constexpr std::int64_t kShort = 256;
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(p, dimension);
  FastSizes sizes;
  for (int d = 0; d < dims; ++d) {
    if (dimension[d].src_stride != 1 && dimension[d].dst_stride != 1) continue;
    sizes.odd = sizes.odd || dimension[d].size * p.element_bytes % 16 != 0;
    sizes.is_short = sizes.is_short || dimension[d].size < kShort;
  }
  return sizes;
}

/// Whether a permutation is better left to v8b's and v8a's tiles than to permute. Of 1 or 2 bytes: in odd sizes and
/// more than two dimensions, if v8b suits it or a fast one is short. Chosen on an H200, over seed 11 of tests/peers and
/// a few odd shapes (chapter2_trials_2.txt). Matrices not, as permute has narrow tiles of its own: 57524x126 halves
/// take 14.0 instead of v8a's 16.5 us, 3003x3001 bytes 14.6 instead of v8b's 16.8, 3004x3000 halves 16.6 instead of
/// 22.1 (chapter2_trials_7.txt). Of 4 or 8 bytes: matrices that suit v8b in odd sizes, or of 8 bytes with a short side:
/// 227x102666 floats take 58.0 instead of 63.1 us, 36x88310 of 8 bytes 18.4 instead of 22.1 (chapter2_trials_3.txt).
inline bool prefers_own_tiles(const Prepared& q) {
  const StridedProblem& p = q.problem;
  const bool matrix = p.view.dims == 2;
  if (p.element_bytes > 8 || matrix != (p.element_bytes >= 4) || v8a::refuse(p) != nullptr) return false;
  const auto [odd, is_short] = fast_sizes(p);
  const bool suits = v8b::refuse(p) == nullptr && v8b::suits(q);
  return matrix ? suits && (odd || (p.element_bytes == 8 && is_short)) : odd && (is_short || suits);
}

/// Whether v7c is best: rows are long and begin anywhere, and v7b does not write copies of what it has read once (28
/// copies of 16x27240 halves: 10.0 instead of 12.0 us; chapter2_trials_3.txt).
inline bool prefers_shifted_rows(const Prepared& q) {
  return v7c::pays(q) && (v7b::whole_copies(q) == 1 || !v7b::pays(q));
}

/// Whether v7g is best: rows of 8 to 128 bytes that it takes, windows among them (1048576 rows of 60 halves: 65.1
/// instead of v7a's 73.9 us, of which v7c makes 78.2; windows of 16 bytes 15.9 instead of v7b's 21.5;
/// chapter2_trials_6.txt; rows of 4 halves 3 apart 30.3 instead of v7b's 33.6; chapter2_trials_7.txt).
inline bool prefers_pieces(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const std::int64_t row = view.sizes[view.dims - 1] * q.problem.element_bytes;
  return v7g::refuse(q) == nullptr && row >= 8 && row <= 128 && v7b::whole_copies(q) == 1;
}

/// Whether v7f is better than v7a and v7b. Of elements of 4 and 8 bytes where neighbours lie at most four apart, in
/// rows of up to four at most 32 bytes, or those of the dimension before do, while the last one is short and lies far
/// apart; v7b reads long broadcasts by fewer loads, which counts against three divisions each. Of narrow ones for up to
/// three dimensions, unless v7b reads something again. Chosen on an H200, over 200 views (chapter2_trials_6.txt), and
/// 140 more (chapter2_trials_7.txt): 618149x7x2 floats by 11,0,7 take 21.0 instead of v7a's 22.8 us.
inline bool prefers_few_dims(const Prepared& q) {
  constexpr std::int64_t kNear = 4;
  constexpr std::int64_t kShort = 4;
  constexpr std::int64_t kNearBytes = 32;
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  const int bytes = q.problem.element_bytes;
  if (v7f::refuse(q.problem) != nullptr || v7b::whole_copies(q) > 1) return false;
  if (bytes < 4) return view.dims <= 3 && !v7b::reads_again(q.problem);
  const bool one_load = view.strides[last] == 0 && view.sizes[last] * bytes >= v7b::kPackBytes && view.dims > 3;
  int before = last - 1;  // What broadcasts lie between is the same neighbours again.
  while (before >= 0 && view.strides[before] == 0) --before;
  const bool near_before = before >= 0 && view.strides[before] <= kNear;
  const bool near = view.strides[last] <= kNear ||
                    (view.dims > 1 && view.sizes[last] <= kShort && view.strides[last] * bytes <= kNearBytes);
  return (near || near_before) && !one_load;
}

/// Whether v7d is faster than v7a: bytes two apart, by 12%. On an H200 it loses to it by 4% where they are three apart,
/// and by 9% where they are seven (chapter2_trials_3.txt).
inline bool prefers_staging(const StridedProblem& p) {
  return p.element_bytes == 1 && v7d::refuse(p) == nullptr && p.view.strides[p.view.dims - 1] == 2;
}

/// Whether v7h is best: elements lie alone in their sectors, and in a tile they would share no more.
inline bool prefers_lone(const StridedProblem& p) { return v7h::refuse(p) == nullptr && !prefers_tiles(p); }

/// Whether v7a would load halves again and again for a broadcast that is not the last dimension, and its neighbours are
/// near to each other: the memory is not the limit then, and v7e has fewer instructions (3x1187x21x282 by 1,846,0,3:
/// 20.9 instead of 24.3 us, 180x443x3x202x2 by 938896,1414,0,7,4: 112.9 instead of 127.4; but 111x35x2x658x6 by
/// 184200,4605,0,7,4605 53.8 instead of 50.1; chapter2_trials_3.txt, chapter2_trials_5.txt). Not where the last one is
/// long and its table large: 32x4x15x3x4756 by 57072,1,0,1788256,4 43.6 instead of 28.4 (chapter2_trials_7.txt).
inline bool reads_halves_anew(const StridedProblem& p) {
  const TensorView& view = p.view;
  const int last = view.dims - 1;
  constexpr std::int64_t kLong = 1024;
  if (p.element_bytes != 2 || view.strides[last] == 0 || view.strides[last] > 16) return false;
  if (view.sizes[last] > kLong) return false;
  if (v7b::reads_again(p) || v7e::refuse(p) != nullptr) return false;
  return std::find(view.strides.begin(), view.strides.begin() + last, 0) != view.strides.begin() + last;
}

/// Whether v7a would divide anew for every pack, and neither tiles nor v7b's copies of what is read once are better; of
/// a broadcast that is shorter than its packs v7b reads nothing but once (five halves each: 142.6 instead of 206.1 us;
/// chapter2_trials_4.txt). A permutation's neighbours must be near to each other besides.
inline bool prefers_tables(const Prepared& q, bool permutation) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  const bool fill = view.strides[last] == 0 && view.sizes[last] * q.problem.element_bytes >= v7b::kPackBytes;
  if (q.problem.element_bytes >= 4 && prefers_few_dims(q)) return false;
  return (v7e::pays(q.problem) || reads_halves_anew(q.problem)) && !fill && v7b::whole_copies(q) == 1 &&
         !prefers_tiles(q.problem) && (!permutation || walked_side(q.problem).lines <= 12);
}

/// Whether v8c is best for short rows: where else v8a would take them; and where v7b would for five or more that are no
/// multiple of a word's elements, so that v7a's words would begin in one column and end in the next, of halves only if
/// they lie far apart, as v7b's loads of windows meet in the L1. But not for rows of a broadcast, which v7b reads once,
/// nor of a permutation in even sizes, which is permute's, nor of one with many rows of less than 1 KiB. Chosen on an
/// H200 (chapter2_trials_4.txt): 5592168x7 halves take 36.9 instead of 45.8 us; windows of 8 halves 59 apart would
/// take 69.1 instead of 58.7, 6 rows of halves 165.2 instead of 143.5, 74 rows of 998 bytes 24.1 instead of 22.6.
inline bool prefers_short_rows(const Prepared& q, bool permutation) {
  constexpr std::int64_t kFarBytes = 16 << 10;
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  if (v8c::refuse(q.problem) != nullptr || view.strides[last] == 0 || v7b::whole_copies(q) > 1) return false;
  const v8c::Fit fit = v8c::fit_of(q.problem);
  if (!fit.suits) return false;
  if (permutation) {
    return (fit.rows <= 32 || fit.row_bytes >= 1024) && v8a::refuse(q.problem) == nullptr && fast_sizes(q.problem).odd;
  }
  const bool far = q.problem.element_bytes == 1 || view.strides[last] * 2 >= kFarBytes;
  const bool uneven = view.sizes[last] >= 5 && view.sizes[last] * q.problem.element_bytes % 4 != 0;
  return (uneven && far) || prefers_tiles(q.problem);
}

//! [kernel]
inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const Prepared q = prepare_collapsed(p, src, dst);
  const TensorView& view = q.problem.view;
  if (view.dims == 1 && view.strides[0] == 1) {
    const auto bytes = static_cast<std::size_t>(view.sizes[0] * p.element_bytes);
    return cudaMemcpyAsync(q.dst, q.src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  const Prepared wide = with_elements_of(q, movement_bytes(q));
  if (prefers_pieces(wide)) return v7g::run_pieces(wide, stream);
  if (prefers_shifted_rows(wide)) return v7c::run_shifted(wide, stream);
  if (prefers_staging(wide.problem)) return v7d::run_staged(wide, stream);
  if (prefers_lone(wide.problem)) return v7h::run_lone(wide, stream);
  const Permutation m = as_permutation(q.problem);
  if (prefers_short_rows(wide, m.rank > 0)) return v8c::run_rows(wide, stream);
  if (prefers_tables(wide, m.rank > 0)) return v7e::run_tables(wide, stream);
  if (m.rank > 0 && !prefers_own_tiles(wide)) {
    return permute(q.dst, q.src, m.rank, m.shape.data(), m.order.data(), p.element_bytes, stream);
  }
  if (m.rank > 0 || prefers_tiles(wide.problem)) {
    if (v8b::refuse(wide.problem) == nullptr && v8b::suits(wide)) return v8b::run_tiles(wide, stream);
    if (v8a::refuse(wide.problem) == nullptr) return v8a::run_tiles(wide, stream);
  }
  if (prefers_few_dims(wide)) return v7f::run_few_dims(wide, stream);
  return v7b::run_prepared(wide, stream);
}
//! [kernel]

}  // namespace warpbook::chapter2::v9
