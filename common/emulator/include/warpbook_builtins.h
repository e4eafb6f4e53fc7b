/// \file
/// The functions of the emulator's library that the device functions in these headers are made of. Not for kernels.
#pragma once

#ifndef __clang__
#pragma GCC system_header  // Attributes and words that other compilers warn of.
#endif

#include <cstddef>
#include <cstdint>

#include "vector_types.h"
#include "warpbook_export.h"

/// A device function that leaves no trace: what it touches counts for the line that calls it.
#ifdef __clang__
#define WARPBOOK_DEVICE_FUNCTION static inline __attribute__((always_inline, nodebug, unused))
#else
#define WARPBOOK_DEVICE_FUNCTION static inline __attribute__((always_inline, unused))
#endif

namespace warpbook::emulator {

// Constant for a CUDA thread, which is what the attribute promises the compiler.
WARPBOOK_EXPORT unsigned thread_index_x() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned thread_index_y() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned thread_index_z() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_index_x() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_index_y() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_index_z() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_extent_x() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_extent_y() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned block_extent_z() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned grid_extent_x() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned grid_extent_y() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned grid_extent_z() noexcept __attribute__((const));

/// Whether an address leads to shared memory, or to what is a thread's own.
WARPBOOK_EXPORT bool is_shared(const void* address) noexcept __attribute__((pure));
WARPBOOK_EXPORT bool is_local(const void* address) noexcept __attribute__((pure));

/// Whether a kernel is running, and not the host's code: for functions of both.
WARPBOOK_EXPORT bool in_kernel() noexcept __attribute__((pure));

/// The lane of the running thread.
WARPBOOK_EXPORT unsigned lane_index() noexcept __attribute__((const));

/// The block's dynamic shared memory, aligned to 1024 bytes.
WARPBOOK_EXPORT void* dynamic_shared() noexcept __attribute__((const));
/// Its size, as launched.
WARPBOOK_EXPORT std::size_t dynamic_shared_bytes() noexcept __attribute__((const));

/// Waits for all live threads of the block; how many came with a true predicate, and how many came.
struct BarrierResult {
  unsigned predicates;
  unsigned threads;
};
WARPBOOK_EXPORT BarrierResult block_barrier(bool predicate) __attribute__((convergent));

/// The warp-level operations: each waits for the live lanes of the mask.
WARPBOOK_EXPORT void warp_barrier(unsigned mask) __attribute__((convergent));
/// The same for operations on matrices, which want all 32 lanes.
WARPBOOK_EXPORT void warp_barrier_of_all() __attribute__((convergent));
/// Reports a matrix in memory that begins, or whose rows begin, where `<mma.h>` does not allow it.
WARPBOOK_EXPORT void check_matrix(const void* memory, std::size_t row_bytes, unsigned element_bytes);
/// Reports a shuffle whose width is no power of two up to 32.
WARPBOOK_EXPORT void invalid_shuffle_width(int width);
WARPBOOK_EXPORT std::uint64_t warp_shuffle(unsigned mask, std::uint64_t value, unsigned source_lane)
    __attribute__((convergent));
/// The live lanes that came with a true predicate in the lower half, all live lanes of the mask in the upper.
WARPBOOK_EXPORT std::uint64_t warp_ballot(unsigned mask, bool predicate) __attribute__((convergent));
WARPBOOK_EXPORT unsigned warp_match_any(unsigned mask, std::uint64_t value) __attribute__((convergent));
WARPBOOK_EXPORT unsigned warp_active_mask() __attribute__((convergent));

/// Orders the caller's memory accesses before it and after it, for all who look.
WARPBOOK_EXPORT void memory_fence();
/// The same, for the threads of a block alone.
WARPBOOK_EXPORT void memory_fence_block();

/// Waits for all threads of the grid, which has to be launched cooperatively.
WARPBOOK_EXPORT void grid_barrier() __attribute__((convergent));
/// Whether it was.
WARPBOOK_EXPORT bool is_cooperative_launch();

/// Blocks of the running block's cluster.
WARPBOOK_EXPORT unsigned cluster_extent_x() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned cluster_extent_y() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned cluster_extent_z() noexcept __attribute__((const));
/// How many there are, and the running block's rank among them.
WARPBOOK_EXPORT unsigned cluster_size() noexcept __attribute__((const));
WARPBOOK_EXPORT unsigned cluster_rank() noexcept __attribute__((const));
/// The barrier of all threads of the cluster, in its two halves.
WARPBOOK_EXPORT void cluster_arrive() __attribute__((convergent));
WARPBOOK_EXPORT void cluster_wait() __attribute__((convergent));
/// Where the cluster's block of this rank has what the running block has at this address in shared memory.
WARPBOOK_EXPORT void* map_to_cluster(const void* address, unsigned rank);
/// The rank of the block in whose shared memory an address lies.
WARPBOOK_EXPORT unsigned cluster_rank_of(const void* address);

/// One operation on `x`, on `x` and `y`, or on all three.
enum class Rounding : int { nearest, down, up, to_zero };
enum class Rounded : int { add, subtract, multiply, divide, root, multiply_add };
WARPBOOK_EXPORT float rounded(Rounding rounding, Rounded operation, float x, float y, float z) noexcept
    __attribute__((const));
WARPBOOK_EXPORT double rounded(Rounding rounding, Rounded operation, double x, double y, double z) noexcept
    __attribute__((const));
/// The same of a conversion.
WARPBOOK_EXPORT float rounded_float(Rounding rounding, double x) noexcept __attribute__((const));
WARPBOOK_EXPORT float rounded_float(Rounding rounding, long long x) noexcept __attribute__((const));
WARPBOOK_EXPORT float rounded_float(Rounding rounding, unsigned long long x) noexcept __attribute__((const));
WARPBOOK_EXPORT double rounded_double(Rounding rounding, long long x) noexcept __attribute__((const));
WARPBOOK_EXPORT double rounded_double(Rounding rounding, unsigned long long x) noexcept __attribute__((const));

/// Lets the other threads of the block run.
WARPBOOK_EXPORT void yield_thread() __attribute__((convergent));
/// Waits until a block that began before this one has set one of these bits of a word. Nobody sees the wait: how often
/// a thread looks depends on the host, and is not counted.
WARPBOOK_EXPORT void wait_for_block(const unsigned* word, unsigned bits);

/// Ends the kernel with an error.
[[noreturn]] WARPBOOK_EXPORT void trap_thread();

/// Tells the observer of an access that no instrumentation sees.
WARPBOOK_EXPORT void observe_read(const void* address, unsigned bytes);
WARPBOOK_EXPORT void observe_write(const void* address, unsigned bytes);

}  // namespace warpbook::emulator
