/// \file
/// v7a any permutation: boxes instead of tiles.
///
/// The tiles of v4 to v6 transpose matrices. Most permutations that move the last dimension are no matrix even after
/// merging, and a matrix with a side of 3 wastes most of a 32 x 32 tile. The idea stays: read runs that are contiguous
/// in the input, write runs that are contiguous in the output, and let shared memory reorder between them. But a run
/// may now span several dimensions: the input's fastest ones on one side, the output's fastest on the other, until each
/// side has some 256 bytes. Together they span a box (box_plan.hpp); a block moves one.
///
/// Each element's place is computed by divisions, on the way in and on the way out. Expect few sectors at any
/// permutation, and the time to go into arithmetic: the next steps are about that. A problem whose last dimension stays
/// goes to v6b's rows, unless these rows are short.
#pragma once

#include "chapters/chapter3_permute/box_plan.hpp"
#include "chapters/chapter3_permute/v6b_wide_rows.cuh"

namespace warpbook::chapter3 {

/// True where whole rows move and are long enough to be read and written as they are (v6b): at least two sectors.
inline bool moves_as_rows(const PermuteProblem& m) {
  return m.rank <= 1 || (keeps_last_dimension(m) && m.shape[m.rank - 1] * m.element_bytes >= 64);
}

namespace v7a {

inline constexpr int kThreads = 256;

/// One dimension along which a box extends.
template <template <class> class Divisor> struct Axis {
  Divisor<std::uint32_t> extent;  // Of the box.
  std::int64_t stride;            // In the tensor.
  int tile_stride;                // In shared memory.
  int dimension;                  // Of the input.
};

/// What the kernel needs to know of a plan. The first five arrays go by the input's dimensions; the axes are a side's,
/// fastest first.
template <template <class> class Divisor> struct Boxes {
  Divisor<std::uint32_t> parts[kMaxRank];
  std::int64_t extent[kMaxRank];
  std::int64_t shape[kMaxRank];
  std::int64_t src_stride[kMaxRank];
  std::int64_t dst_stride[kMaxRank];
  Axis<Divisor> src_axis[kMaxRank];
  Axis<Divisor> dst_axis[kMaxRank];
  int rank;
  int axes;    // Of the box: dimensions with an extent above 1.
  int volume;  // Elements.
};

/// An element's place in a tensor and in shared memory.
struct Place {
  std::int64_t offset;
  int tile;
  bool inside;  // The tensor's edge may cut a box.
};

/// Finds element `i` of the box that begins at `origin`, of which `left[d]` elements exist along dimension d.
template <template <class> class Divisor>
__device__ __forceinline__ Place locate(const Axis<Divisor> (&axis)[kMaxRank], int axes, std::int64_t origin,
                                        const int (&left)[kMaxRank], int i) {
  Place place{origin, 0, true};
  auto rest = static_cast<std::uint32_t>(i);
#pragma unroll
  for (int k = 0; k < kMaxRank; ++k) {
    if (k == axes) break;
    const auto [quotient, index] = axis[k].extent.divide(rest);
    place.offset += index * axis[k].stride;
    place.tile += static_cast<int>(index) * axis[k].tile_stride;
    place.inside = place.inside && static_cast<int>(index) < left[axis[k].dimension];
    rest = quotient;
  }
  return place;
}

//! [kernel]
template <class W, template <class> class Divisor>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ Boxes<Divisor> boxes) {
  W* tile = dynamic_shared<W>();
  __shared__ int left[kMaxRank];

  std::int64_t src_origin = 0;
  std::int64_t dst_origin = 0;
  std::uint32_t rest = blockIdx.x;
#pragma unroll
  for (int d = 0; d < kMaxRank; ++d) {
    if (d == boxes.rank) break;
    const auto [quotient, part] = boxes.parts[d].divide(rest);
    const std::int64_t first = part * boxes.extent[d];
    const std::int64_t remaining = boxes.shape[d] - first;
    if (threadIdx.x == 0) left[d] = static_cast<int>(remaining < boxes.extent[d] ? remaining : boxes.extent[d]);
    src_origin += first * boxes.src_stride[d];
    dst_origin += first * boxes.dst_stride[d];
    rest = quotient;
  }
  //! [exercise origin_barrier]
  __syncthreads();
  //! [exercise origin_barrier]

  for (int i = static_cast<int>(threadIdx.x); i < boxes.volume; i += kThreads) {
    const Place from = locate(boxes.src_axis, boxes.axes, src_origin, left, i);
    if (from.inside) tile[from.tile] = src[from.offset];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < boxes.volume; i += kThreads) {
    const Place to = locate(boxes.dst_axis, boxes.axes, dst_origin, left, i);
    if (to.inside) dst[to.offset] = tile[to.tile];
  }
}
//! [kernel]

/// Strides of the output by the input's dimensions.
inline Strides dst_strides_by_src(const PermuteProblem& p) {
  const Strides strides = dst_strides(p);
  Strides result{};
  for (int d = 0; d < p.rank; ++d) result[p.permutation[d]] = strides[d];
  return result;
}

/// The kernel's parameters for a plan.
template <template <class> class Divisor> Boxes<Divisor> make_boxes(const PermuteProblem& p, const BoxPlan& plan) {
  Boxes<Divisor> boxes{};
  boxes.rank = p.rank;
  boxes.volume = static_cast<int>(plan.volume());
  const Strides from = src_strides(p);
  const Strides to = dst_strides_by_src(p);
  for (int d = 0; d < p.rank; ++d) {
    boxes.parts[d] = Divisor<std::uint32_t>(static_cast<std::uint32_t>(plan.parts[d]));
    boxes.extent[d] = plan.extent[d];
    boxes.shape[d] = p.shape[d];
    boxes.src_stride[d] = from[d];
    boxes.dst_stride[d] = to[d];
  }
  const auto collect = [&](const std::array<int, kMaxRank>& order, const Strides& stride, auto& axis) {
    boxes.axes = 0;
    for (int k = 0; k < p.rank; ++k) {
      const int d = order[k];
      if (plan.extent[d] == 1) continue;
      axis[boxes.axes++] = {Divisor<std::uint32_t>(static_cast<std::uint32_t>(plan.extent[d])), stride[d],
                            plan.tile_stride[d], d};
    }
  };
  collect(src_order(p), from, boxes.src_axis);
  collect(dst_order(p), to, boxes.dst_axis);
  return boxes;
}

/// Moves any permutation, dividing by `Divisor`.
template <template <class> class Divisor>
cudaError_t run_with(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem m = merged(p);
  if (moves_as_rows(m)) return v6b::run_with<Divisor>(m, src, dst, stream);
  const PermuteProblem q = with_elements_of(m, movement_bytes(m, src, dst));
  const BoxPlan plan = plan_boxes(q);
  return with_word_bytes(q.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return launch(permute_kernel<W, Divisor>,
                  {.grid = plan.boxes,
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(plan.tile_elements) * bytes,
                   .stream = stream},
                  static_cast<W*>(dst), static_cast<const W*>(src), make_boxes<Divisor>(q, plan));
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_with<PlainDivisor>(p, src, dst, stream);
}

}  // namespace v7a
}  // namespace warpbook::chapter3
