/// \file
/// v7b four exchanges: a thread's four values are added together, not one after another.
///
/// To add a float in shared memory is a loop: read the sum, add, exchange it if nobody was faster. v7a runs that loop
/// four times in a row, and half of the lanes have nothing to add each time. Here the loop is written out for all four
/// values of a batch: four reads, four additions, four exchanges (compare-and-swap). Those that came too late go round
/// again together. So four answers of shared memory are waited for at once.
///
/// Expect as many exchanges as before, and a third less time between two batches. Expect skewed indices to suffer: the
/// longer ago the read, the more often somebody was faster.
#pragma once

#include "chapters/chapter4_atomic_add/v7a_two_tiles.cuh"

namespace warpbook::chapter4::v7b {

using v6c::kBatch;
using v7a::Bin;

//! [add]
/// Adds a thread's values together.
struct Together {
  __device__ __forceinline__ void operator()(SharedAddress bins, const Bin (&to)[kBatch],
                                             const float (&x)[kBatch]) const {
    unsigned assumed[kBatch];
    bool waits[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      waits[k] = to[k].here;
      assumed[k] = 0;
      if (waits[k]) assumed[k] = load_relaxed(bins + to[k].number * 4);
    }
    bool any = false;
    do {
      unsigned found[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        found[k] = assumed[k];
        const unsigned desired = __float_as_uint(__uint_as_float(assumed[k]) + x[k]);
        if (waits[k]) found[k] = compare_and_swap(bins + to[k].number * 4, assumed[k], desired);
      }
      any = false;
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        waits[k] = found[k] != assumed[k];  // Somebody was faster.
        assumed[k] = found[k];
        any = any || waits[k];
      }
    } while (any);
  }
};
//! [add]

inline const char* refuse_scatter(const ScatterProblem& p) { return v7a::refuse_scatter(p); }

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  return v7a::run_tiles<Together>(p, at, stream);
}

}  // namespace warpbook::chapter4::v7b
