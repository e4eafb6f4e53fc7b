/// \file
/// v7 vector atomics: four floats an atomic operation, and what does not fit goes straight to the L2.
///
/// v6b's blocks end by adding their sums to dst, each by an atomic operation of its own, each rounded to T; with 50,000
/// places that is 6.6 million operations for 16.8 million values. But a block's places are neighbours, and Hopper's RED
/// takes a vector: .v4.f32 adds four floats at once, each of them atomically. So sums stay floats to the end: they are
/// added to dst itself where T is float, else to floats in scratch that a last kernel rounds once, as in v2.
///
/// And with floats to add to, places that have no bin need none: their values go to the L2 by a RED each, beside the
/// bins' work on the multiprocessors. 65,536 places fit in this way, which were too many for v6b.
///
/// Expect the flush to shrink by four, and two places of work, shared memory and L2, to share the additions.
///
/// Source: PTX ISA 8.1, "red" with .v4.
#pragma once

#include "chapters/chapter4_atomic_add/v6b_spread_bins.cuh"

namespace warpbook::chapter4::v7 {

/// Bins for p.places: all of them where they fit, else as many as leave the L2 a share that it gets done meanwhile.
inline std::int64_t bins_for(const ScatterProblem& p) {
  const std::int64_t room = room_for_bins();
  if (p.places <= room) return p.places;
  const std::int64_t balanced = p.places * 3 / 4 / 4 * 4;
  return balanced < room ? balanced : room;
}

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= 2 * room_for_bins() && p.places < kMostBinPlaces
             ? nullptr
             : "less than half of the places fit in a block's shared memory";
}

/// Bytes of scratch: a float a place, unless dst has floats.
inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) {
  return p.type == ElementType::float32 ? 0 : static_cast<std::size_t>(p.places) * sizeof(float);
}

//! [kernel]
/// For the types of p, which is not empty and not refused. The kernel is v6b's.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  const BinPlan plan = plan_bins(p, bins_for(p));
  if constexpr (std::is_same_v<T, float>) {
    return v6b::run_as<T, Index>(p, at, plan, static_cast<float*>(at.dst), stream);
  } else {
    return with_float_sums(static_cast<T*>(at.dst), p.places, at.scratch, stream,
                           [&](float* sums) { return v6b::run_as<T, Index>(p, at, plan, sums, stream); });
  }
}
//! [kernel]

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

}  // namespace warpbook::chapter4::v7
