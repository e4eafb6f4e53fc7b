/// \file
/// v7 vector atomics: four floats an atomic operation, and two tiles of places.
///
/// v6b's blocks end by adding their sums to dst, each by an atomic operation of its own, each rounded to T; with 50,000
/// places that is 6.6 million operations for 16.8 million values. But a block's places are neighbours, and Hopper's RED
/// takes a vector: .v4.f32 adds four floats at once, each of them atomically. So sums stay floats to the end: they are
/// added to dst itself where T is float, else to floats in scratch that a last kernel rounds once, as in v2. Clearing
/// them overlaps the additions: the kernel begins with the clearing one and waits for it before it passes on. So does
/// the last one, which has dst's elements at hand when the sums are there.
///
/// 65,536 places do not fit a block. Two neighbouring blocks share them: both read the same values, at about the same
/// time, so that the second reads from the L2, and each adds what falls to it: to a half of the places. Where the
/// sample says that most values go to one half (the popular places come first, say), they take four places in turn
/// instead, a vector each, so that both have as much to do; that costs two instructions a value. As half of the lanes
/// have nothing to add, instructions count now: values are added four at a time (`add_together`).
///
/// Expect the flush to shrink by four; and of 65,536 places less than twice the time of 16,384. (Sending the places
/// that do not fit to the L2 instead, by a RED each, was slower: the L2 adds to a small region slower than to a large
/// one.)
///
/// Source: PTX ISA 8.1, "red" with .v4.
#pragma once

#include "chapters/chapter4_atomic_add/v6b_spread_bins.cuh"

namespace warpbook::chapter4::v7 {

/// Tiles for p.places.
inline int tiles_for(const ScatterProblem& p) { return p.places <= room_for_bins() ? 1 : 2; }

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= 2 * room_for_bins() ? nullptr : "the places do not fit in two blocks' shared memory";
}

/// Bytes of scratch: a float a place, unless dst has floats.
inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) {
  return p.type == ElementType::float32 ? 0 : static_cast<std::size_t>(p.places) * sizeof(float);
}

/// Clears the sums; the next launch need not wait for that before it adds to them.
template <class Sum> __global__ void clear_sums_kernel(Sum* sums, std::int64_t places) {
  let_next_launch_begin();
  const std::int64_t p = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p < places) sums[p] = 0;
}

//! [kernel]
/// For the types of p, which is not empty and not refused. The kernel is v6b's.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  const BinPlan plan = plan_bins(p, tiles_for(p));
  if constexpr (std::is_same_v<T, float>) {
    return v6b::run_as<T, Index>(p, at, plan, static_cast<float*>(at.dst), false, stream);
  } else {
    auto* const sums = static_cast<float*>(at.scratch);
    const LaunchConfig each_place{.grid = ceil_div<std::int64_t>(p.places, 256), .block = 256, .stream = stream};
    const cudaError_t cleared = launch(clear_sums_kernel<float>, each_place, sums, p.places);
    if (cleared != cudaSuccess) return cleared;
    const cudaError_t added = v6b::run_as<T, Index>(p, at, plan, sums, true, stream);
    if (added != cudaSuccess) return added;
    return launch_early(add_sums_kernel<T>, each_place, static_cast<T*>(at.dst), sums, p.places);
  }
}
//! [kernel]

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

}  // namespace warpbook::chapter4::v7
