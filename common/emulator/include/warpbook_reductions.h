/// \file
/// PTX's reductions of packed halves and bfloat16s, for common/cuda/reductions.cuh: CUDA's atomicAdd on them returns
/// the value before, and has no vectors.
#pragma once

#include <cstdint>

#include "warpbook_export.h"

namespace warpbook::emulator {

/// One access of `pairs` pairs at an address, aligned to all of them; each pair is added to by `update(bits, operand)`.
WARPBOOK_EXPORT void reduce_pairs(void* address, const void* operands, unsigned pairs,
                                  std::uint32_t (*update)(std::uint32_t bits, std::uint32_t operand));

}  // namespace warpbook::emulator
