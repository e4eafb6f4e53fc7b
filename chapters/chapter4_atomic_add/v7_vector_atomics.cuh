/// \file
/// v7 vector atomics: eight halves or four floats an atomic operation.
///
/// v6b's blocks end by adding their sums to dst, each place by an atomic operation of its own; with 65,536 places that
/// is 4.3 million operations for 16.8 million values. But a block's places are neighbours. Hopper's RED takes a
/// vector: .v4.f32, .v8 of halves as four pairs; each element is added atomically.
///
/// Expect the flush to shrink by four and eight, and to matter where places are many and values are few. Single
/// precision's sums stay floats; half's round once a block.
///
/// Source: PTX ISA 8.1, "red" with .v4 and packed types.
#pragma once

#include "chapters/chapter4_atomic_add/v6b_spread_bins.cuh"

namespace warpbook::chapter4::v7 {

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p, const void* dst) {
  if (const char* reason = v6b::refuse_scatter(p)) return reason;
  if (plan_bins(p).copies > 1) return "so few places are passed on by warps, one by one: the same as v6b";
  return reinterpret_cast<std::uintptr_t>(dst) % 16 == 0 ? nullptr : "dst must be aligned to 16 bytes";
}

//! [kernel]
inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p, at.dst) != nullptr) return cudaErrorInvalidValue;
  return with_types(p, [&]<class T, class Index>() {
    return v6b::run_as<T, Index>(p, at, nullptr, Flush::vectors, stream);  // flush_vectors in v6b_spread_bins.cuh
  });
}
//! [kernel]

}  // namespace warpbook::chapter4::v7
