/// \file
/// What the compiler pass calls for inline PTX (pass/ptx_emitter.hpp), and the functions of shared memory's addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpbook_export.h"

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): reserved names, which no program uses.

// Special registers.
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_warpid() noexcept __attribute__((const));
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_nwarpid() noexcept __attribute__((const));
/// The multiprocessor that a GPU might give the running block, and how many there are.
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_smid() noexcept __attribute__((const));
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_nsmid() noexcept __attribute__((const));
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_dynamic_smem_size() noexcept __attribute__((const));
/// Nanoseconds of the host's clock.
WARPBOOK_EXPORT std::uint64_t __warpbook_ptx_globaltimer() noexcept;

/// The address of a place in shared memory, in 32 bits: the lower half of the host's, so that it is aligned alike.
WARPBOOK_EXPORT std::uint64_t __warpbook_ptx_shared_address(const void* pointer) noexcept __attribute__((const));
/// The way back. An address outside of shared memory gives a place outside of it.
WARPBOOK_EXPORT void* __warpbook_ptx_shared_pointer(std::uint64_t address) noexcept __attribute__((const));

/// The same of a place in the shared memory of any block of the cluster.
WARPBOOK_EXPORT void* __warpbook_ptx_cluster_pointer(std::uint64_t address) noexcept;

/// Arithmetic of a half, a bfloat16, or a pair of them. Operations: add, sub, mul, fma, neg, abs, min, max, ex2, tanh;
/// flags: 1 bfloat16, 2 saturates, 4 keeps NaN, 8 negative results become 0.
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_narrow(std::uint32_t operation, std::uint32_t flags, std::uint32_t a,
                                                    std::uint32_t b, std::uint32_t c) noexcept __attribute__((const));
/// A float as a half (0), bfloat16 (1) or tf32 (2), rounded to nearest even (0), to zero (1), or to nearest with ties
/// away from zero (2).
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_narrowed(float value, std::uint32_t kind, std::uint32_t mode) noexcept
    __attribute__((const));
/// The sum of two pairs, for atomics.
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_sum_half2(std::uint32_t bits, std::uint32_t operand);
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_sum_bfloat162(std::uint32_t bits, std::uint32_t operand);

/// `redux.sync`: add, unsigned min, signed min, unsigned max, signed max, and, or, xor.
WARPBOOK_EXPORT std::uint32_t __warpbook_ptx_reduce(std::uint32_t operation, std::uint32_t value, std::uint32_t mask)
    __attribute__((convergent));
/// `bar.sync` and `bar.arrive` of one of 16 barriers, for so many threads; 0: for all of the block.
WARPBOOK_EXPORT void __warpbook_ptx_named_barrier(std::uint32_t barrier, std::uint32_t threads, bool waits)
    __attribute__((convergent));

/// `ldmatrix` and `stmatrix` of 1, 2 or 4 matrices.
WARPBOOK_EXPORT void __warpbook_ptx_load_matrix(void* registers, const void* row, std::uint32_t count, bool transposed)
    __attribute__((convergent));
WARPBOOK_EXPORT void __warpbook_ptx_store_matrix(void* row, const void* registers, std::uint32_t count, bool transposed)
    __attribute__((convergent));
/// `mma.sync`: d = a * b + c, by all lanes of a warp. `what`: see warpbook_matrices.h.
WARPBOOK_EXPORT void __warpbook_ptx_multiply_matrices(std::uint64_t what, void* d, const void* a, const void* b,
                                                      const void* c) __attribute__((convergent));

// NOLINTEND(readability-identifier-naming)
}
