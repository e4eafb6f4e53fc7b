/// \file
/// v10 dispatch: the right kernel for the problem. What index_add.cuh gives away.
///
/// Four kernels are left, and none is best everywhere. v8b has the least overhead and reads and writes everything once,
/// for few entries with rows that fill the card. v8a is a sum at the speed of reading src, for rows that fit shared
/// memory several times. v9 pays for a sort and is then indifferent to duplicates. v7b pays nothing beforehand and
/// queues at popular rows. The rule goes by shape alone: R, N, the row's bytes and the type; the index is on the
/// device, and reading it back would cost more than any of the kernels.
///
/// Expect each case's best step but where the index is not what its shape suggests: rows are taken to be drawn evenly.
#pragma once

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"
#include "chapters/chapter5_index_add/v8a_private_rows.cuh"
#include "chapters/chapter5_index_add/v8b_one_owner.cuh"
#include "chapters/chapter5_index_add/v9_sorted_segments.cuh"

namespace warpbook::chapter5::v10 {

/// Which kernel takes a problem.
enum class Kernel { none, atomics, private_rows, one_owner, sorted_segments };

//! [choose]
inline Kernel choose(const IndexAddProblem& p) {
  if (p.empty()) return Kernel::none;
  const std::int64_t rows = std::max<std::int64_t>(p.rows(), 1);
  const std::int64_t entries = p.entries();
  const std::int64_t row_bytes = p.row_elements() * element_bytes(p.type);
  const bool major = index_is_major(p.dst, p.dim);
  const bool sorts = v9::refuse(p) == nullptr;
  if (v8b::refuse(p) == nullptr && row_bytes >= 512 && major) return Kernel::one_owner;
  if (v7b::refuse(p) != nullptr) return sorts ? Kernel::sorted_segments : Kernel::one_owner;
  if (rows <= 64 && entries >= 4096 && v8a::refuse(p) == nullptr) return Kernel::private_rows;
  if (sorts && major && entries >= 8192 && row_bytes >= 32 && entries >= 4 * rows) return Kernel::sorted_segments;
  return Kernel::atomics;
}
//! [choose]

/// Bytes of workspace that the problem needs.
inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  switch (choose(p)) {
  case Kernel::private_rows:
    return v8a::workspace_bytes(p);
  case Kernel::sorted_segments:
    return v9::workspace_bytes(p);
  default:
    return 0;
  }
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  switch (choose(p)) {
  case Kernel::none:
    return cudaSuccess;
  case Kernel::atomics:
    return v7b::run(p, a, stream);
  case Kernel::private_rows:
    return v8a::run(p, a, stream);
  case Kernel::one_owner:
    return v8b::run(p, a, stream);
  case Kernel::sorted_segments:
    return v9::run(p, a, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace warpbook::chapter5::v10
