/// \file
/// The problem of chapter 3: what a permutation of a tensor's dimensions is, and the rules that make it simpler.
///
/// Every step has the signature `cudaError_t run(const PermuteProblem&, const void* src, void* dst, cudaStream_t)`.
/// `refuse` says why one does not take a problem, or nullptr; from v8 on, and in the library, a simplified problem.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/cuda/alignment.hpp"

namespace warpbook::chapter3 {

inline constexpr int kMaxRank = 8;

/// dst[i_p[0], i_p[1], ...] = src[i_0, i_1, ...]: dimension d of the output is dimension permutation[d] of the input.
/// Both are contiguous and row-major: the last dimension is the fastest.
struct PermuteProblem {
  int rank = 0;                                ///< 0 to kMaxRank; rank 0 is one element.
  int element_bytes = 4;                       ///< 1, 2, 4, 8 or 16: moving data needs no type.
  int alignment = 16;                          ///< Both arrays begin at multiples of so many bytes: 1, 2, 4, 8 or 16.
  std::array<std::int64_t, kMaxRank> shape{};  ///< Sizes of the input's dimensions.
  std::array<int, kMaxRank> permutation{};     ///< As in `torch.permute`.

  std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
  std::int64_t dst_shape(int d) const { return shape[permutation[d]]; }
};

/// True where offsets, and the offset of the last thread of a grid that covers them, fit 32 bits.
inline bool fits_32_bits(std::int64_t count) { return count <= std::numeric_limits<std::int32_t>::max(); }

using Strides = std::array<std::int64_t, kMaxRank>;

/// Elements between neighbours along each dimension of the input.
inline Strides src_strides(const PermuteProblem& p) {
  Strides strides{};
  std::int64_t n = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    strides[d] = n;
    n *= p.shape[d];
  }
  return strides;
}

/// Elements between neighbours along each dimension of the output, in the output's order.
inline Strides dst_strides(const PermuteProblem& p) {
  Strides strides{};
  std::int64_t n = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    strides[d] = n;
    n *= p.dst_shape(d);
  }
  return strides;
}

/// Elements of the output between neighbours along each dimension of the *input*.
inline Strides dst_strides_by_src(const PermuteProblem& p) {
  const Strides strides = dst_strides(p);
  Strides result{};
  for (int d = 0; d < p.rank; ++d) result[p.permutation[d]] = strides[d];
  return result;
}

/// The input's dimensions in some order, the first the fastest.
using DimensionOrder = std::array<int, kMaxRank>;

inline DimensionOrder src_order(const PermuteProblem& p) {
  DimensionOrder order{};
  for (int k = 0; k < p.rank; ++k) order[k] = p.rank - 1 - k;
  return order;
}

inline DimensionOrder dst_order(const PermuteProblem& p) {
  DimensionOrder order{};
  for (int k = 0; k < p.rank; ++k) order[k] = p.permutation[p.rank - 1 - k];
  return order;
}

//! [merged]
/// The same movement of data with the fewest dimensions: those of size 1 are dropped, and input dimensions that stand
/// side by side in the output too are merged. The identity becomes rank 1 (or 0, for one element).
inline PermuteProblem merged(const PermuteProblem& p) {
  // Walk the output's dimensions; a run of consecutive input dimensions becomes one.
  std::array<int, kMaxRank> first{};          // The run's first input dimension, by position in the output.
  std::array<std::int64_t, kMaxRank> size{};  // Its size.
  int runs = 0;
  int last = -1;  // The last input dimension of the current run.
  for (int d = 0; d < p.rank; ++d) {
    const int source = p.permutation[d];
    if (p.shape[source] == 1) continue;
    int next = last + 1;  // Which dimension would continue the run? Those of size 1 don't count.
    while (runs > 0 && next < p.rank && p.shape[next] == 1) ++next;
    if (runs > 0 && source == next) {
      size[runs - 1] *= p.shape[source];
    } else {
      first[runs] = source;
      size[runs] = p.shape[source];
      ++runs;
    }
    last = source;
  }

  PermuteProblem result;
  result.rank = runs;
  result.element_bytes = p.element_bytes;
  result.alignment = p.alignment;
  for (int d = 0; d < runs; ++d) {  // A run's place in the input is the number of runs that start before it.
    int place = 0;
    for (int other = 0; other < runs; ++other) place += first[other] < first[d] ? 1 : 0;
    result.permutation[d] = place;
    result.shape[place] = size[d];
  }
  return result;
}

//! [merged]

/// True where input and output have the same last dimension: whole runs of it move together.
inline bool keeps_last_dimension(const PermuteProblem& p) {
  return p.rank > 0 && p.permutation[p.rank - 1] == p.rank - 1;
}

//! [movement]
/// The largest of 1, 2, 4, 8 and 16 bytes that can be moved at a time: the last dimension must stay last and hold a
/// whole number of such words, and both arrays must be aligned to it. Otherwise one element.
inline int movement_bytes(const PermuteProblem& p) {
  if (!keeps_last_dimension(p)) return p.element_bytes;
  const std::int64_t row_bytes = p.shape[p.rank - 1] * p.element_bytes;
  for (int bytes = 16; bytes > p.element_bytes; bytes /= 2) {
    if (row_bytes % bytes == 0 && p.alignment % bytes == 0) return bytes;
  }
  return p.element_bytes;
}
//! [movement]

/// The same movement with elements of `bytes`, a multiple of the element's size that divides the last dimension.
inline PermuteProblem with_elements_of(const PermuteProblem& p, int bytes) {
  PermuteProblem result = p;
  if (bytes == p.element_bytes) return result;
  result.shape[p.rank - 1] = p.shape[p.rank - 1] * p.element_bytes / bytes;
  result.element_bytes = bytes;
  return merged(result);  // The last dimension may have become 1.
}

/// The same movement with the fewest dimensions, in the widest words.
inline PermuteProblem simplified(const PermuteProblem& p) {
  const PermuteProblem m = merged(p);
  return with_elements_of(m, movement_bytes(m));
}

/// Runs a kernel for simplified problems, `run(q)`, on a problem as it is given; nothing is to do without elements.
/// \return cudaErrorInvalidValue where `refuse(q)` tells a reason.
template <class Run>
cudaError_t run_simplified(const PermuteProblem& p, const char* (*refuse)(const PermuteProblem&), const Run& run) {
  if (p.count() == 0) return cudaSuccess;
  const PermuteProblem q = simplified(p);
  return refuse(q) == nullptr ? run(q) : cudaErrorInvalidValue;
}

/// Calls `f.template operator()<rank>()` for a rank from 1 to kMaxRank; rank 0, one element, counts as 1.
template <int rank = 1, class F> cudaError_t with_rank(int wanted, const F& f) {
  if constexpr (rank > kMaxRank) {
    return cudaErrorInvalidValue;
  } else {
    return wanted <= rank ? f.template operator()<rank>() : with_rank<rank + 1>(wanted, f);
  }
}

/// A batch of matrices, each transposed: src[batch][rows][columns] -> dst[batch][columns][rows].
struct BatchTranspose {
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Why a problem is not a batch of transposed matrices after merging; nullptr where it is, with `matrices` set.
inline const char* as_batch_transpose(const PermuteProblem& p, BatchTranspose& matrices) {
  const PermuteProblem m = merged(p);
  if (m.rank == 2 && m.permutation[0] == 1) {
    matrices = {1, m.shape[0], m.shape[1]};
  } else if (m.rank == 3 && m.permutation[0] == 0 && m.permutation[1] == 2) {
    matrices = {m.shape[0], m.shape[1], m.shape[2]};
  } else {
    return "not a batch of matrices to transpose";
  }
  // Kernels count rows and columns in 32 bits, with room for a tile beyond the edge.
  constexpr std::int64_t kLongest = 0x7fffffff - 128;
  return matrices.rows <= kLongest && matrices.columns <= kLongest ? nullptr
                                                                   : "a side of the matrix is too long for 32 bits";
}

}  // namespace warpbook::chapter3
