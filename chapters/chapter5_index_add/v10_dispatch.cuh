/// \file
/// v10 dispatch: the right kernel for the problem. What index_add.cuh gives away.
///
/// Five kernels are left, and none is best everywhere. v8b reads and writes everything once, for few entries of long
/// rows; its glance at the index takes a microsecond or two. v8a is a sum at the speed of reading src, for one row or
/// two, and for more where a sort would not pay. v8c sorts a tile in shared memory, for rows that a tile names again
/// and again. v9 pays for a sort of everything and is then indifferent to duplicates, for types without sums in float
/// and where no atomics may be. v7b pays nothing beforehand and queues at popular rows. The rule goes by shape alone:
/// R, N, the row's bytes and the type; the index is on the device, and reading it back would cost more than any of the
/// kernels.
///
/// Expect each case's best step but where the index is not what its shape suggests: rows are taken to be drawn evenly.
#pragma once

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"
#include "chapters/chapter5_index_add/v8a_private_rows.cuh"
#include "chapters/chapter5_index_add/v8b_one_owner.cuh"
#include "chapters/chapter5_index_add/v8c_sorted_tiles.cuh"
#include "chapters/chapter5_index_add/v9_sorted_segments.cuh"

namespace warpbook::chapter5::v10 {

/// Which kernel takes a problem.
enum class Kernel { none, atomics, private_rows, one_owner, sorted_tiles, sorted_segments, unsupported };

/// With more rows than this, a tile seldom names one twice.
inline constexpr std::int64_t kTileRows = 4096;

//! [choose]
inline Kernel choose(const IndexAddProblem& p) {
  if (p.empty()) return Kernel::none;
  const std::int64_t rows = std::max<std::int64_t>(p.rows(), 1);
  const std::int64_t entries = p.entries();
  const std::int64_t row_bytes = p.row_elements() * element_bytes(p.type);
  const bool private_rows_fit = v8a::refuse(p) == nullptr;
  const bool major = index_is_major(p.dst, p.dim) || row_bytes == element_bytes(p.type);
  if (p.deterministic || v7b::refuse(p) != nullptr) {  // No atomics.
    if (rows <= 16 && entries >= 4096 && private_rows_fit) return Kernel::private_rows;
    const std::int64_t few = major ? 1024 : 64;
    if (v8b::refuse(p) == nullptr && (entries <= few || v9::refuse(p) != nullptr)) return Kernel::one_owner;
    return v9::refuse(p) == nullptr ? Kernel::sorted_segments : Kernel::unsupported;
  }
  // Below so many bytes v7b is over before the glance is.
  const bool long_enough = row_bytes >= 65536 && entries * row_bytes >= (8 << 20);
  if (major && long_enough && entries <= (v8b::is_by_row(p) ? 512 : 64)) return Kernel::one_owner;
  if (rows <= 2 && entries >= 1024 && private_rows_fit) return Kernel::private_rows;
  // A tile that hardly names a row twice is sorted for nothing, and so are few bytes, but where they queue.
  const bool narrow_type = element_bytes(p.type) == 2;
  const auto tiles_meet = [&] { return 4 * v8c::tile_entries(p) >= 3 * rows; };
  if (major && rows <= kTileRows && v8c::refuse(p) == nullptr &&
      (entries / rows >= (narrow_type ? 2048 : 512) || (entries * row_bytes >= (32 << 20) && tiles_meet()))) {
    return Kernel::sorted_tiles;
  }
  if (rows <= (narrow_type ? 64 : 16) && entries >= 4096 && private_rows_fit) return Kernel::private_rows;
  // Double and the integers have no sums in float: where many queue, the whole sort takes less.
  const bool queues = entries >= 256 * rows && entries >= (128 << 10);
  if (queues && v8c::refuse(p) != nullptr && v9::refuse(p) == nullptr) return Kernel::sorted_segments;
  return Kernel::atomics;
}
//! [choose]

/// True where no row is summed in half or bfloat16.
inline bool sums_in_float(const IndexAddProblem& p) {
  const Kernel kernel = choose(p);
  return element_bytes(p.type) > 2 ||
         (kernel == Kernel::sorted_tiles ? v8c::sums_in_float(p) : kernel != Kernel::atomics);
}

/// Bytes of workspace that the problem needs.
inline std::size_t workspace_bytes(const IndexAddProblem& p) {
  switch (choose(p)) {
  case Kernel::private_rows:
    return v8a::workspace_bytes(p);
  case Kernel::sorted_tiles:
    return v8c::workspace_bytes(p);
  case Kernel::sorted_segments:
    return v9::workspace_bytes(p);
  default:
    return 0;
  }
}

/// The problem's kernel for elements of T, which is what `p.type` says.
template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  switch (choose(p)) {
  case Kernel::none:
    return cudaSuccess;
  case Kernel::one_owner:
    return v8b::run_as<T>(p, a, stream);
  case Kernel::sorted_segments:
    return v9::run_as<T>(p, a, stream);
  case Kernel::atomics:
    if constexpr (kHasAtomics<T>) return v7b::run_as<T>(p, a, stream);
    break;
  case Kernel::private_rows:
    if constexpr (kSumsInFloat<T>) return v8a::run_as<T>(p, a, stream);
    break;
  case Kernel::sorted_tiles:
    if constexpr (kSumsInFloat<T>) return v8c::run_as<T>(p, a, stream);
    break;
  case Kernel::unsupported:
    break;
  }
  return cudaErrorNotSupported;
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return with_type(p.type, [&]<class T>() { return run_as<T>(p, a, stream); });
}

}  // namespace warpbook::chapter5::v10
