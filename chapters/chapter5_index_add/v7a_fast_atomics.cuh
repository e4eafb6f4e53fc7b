/// \file
/// v7a fast atomics: a half is added as a pair whose other half adds nothing.
///
/// No instruction adds one half to memory: `atomicAdd(half*)` loops over a compare and swap until nobody came between,
/// two trips to the L2 at least. Chapter 4's fast_atomic_add adds a pair of halves, which the L2 does itself, and gives
/// the neighbour -0.0.
///
/// Expect the same time for float, whose atomic was a single instruction before, and for half the speed of float, with
/// half its bytes.
#pragma once

#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"

namespace warpbook::chapter5::v7a {

/// Adds by chapter 4's device function.
struct FastAdd {
  template <class T> __device__ void operator()(T* dst, std::int64_t offset, std::int64_t length, T value) const {
    fast_atomic_add(dst, offset, length, value);
  }
};

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return v5::run_as<FastDivisor>(p, a, FastAdd{}, stream);
}

}  // namespace warpbook::chapter5::v7a
