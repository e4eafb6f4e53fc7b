/// \file
/// PTX's special registers, for programs that launch_rewriter.py rewrites:
///
///     asm("mov.u32 %0, %%smid;" : "=r"(id));      (id) = ::warpbook::emulator::ptx::smid();
#pragma once

#include "device_launch_parameters.h"
#include "warp_functions.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator {

/// The multiprocessor that a GPU might give the running block, and how many there are.
WARPBOOK_EXPORT unsigned multiprocessor_index() noexcept;
WARPBOOK_EXPORT unsigned multiprocessor_count() noexcept;
/// Nanoseconds of the host's clock.
WARPBOOK_EXPORT unsigned long long nanoseconds() noexcept;

namespace ptx {

WARPBOOK_DEVICE_FUNCTION unsigned smid() { return multiprocessor_index(); }
WARPBOOK_DEVICE_FUNCTION unsigned nsmid() { return multiprocessor_count(); }
WARPBOOK_DEVICE_FUNCTION unsigned laneid() { return lane_index(); }
WARPBOOK_DEVICE_FUNCTION unsigned warpid() {
  return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) / 32;
}
WARPBOOK_DEVICE_FUNCTION unsigned lanemask_eq() { return 1U << lane_index(); }
WARPBOOK_DEVICE_FUNCTION unsigned lanemask_lt() { return lanemask_eq() - 1; }
WARPBOOK_DEVICE_FUNCTION unsigned lanemask_le() { return lanemask_eq() | lanemask_lt(); }
WARPBOOK_DEVICE_FUNCTION unsigned lanemask_ge() { return ~lanemask_lt(); }
WARPBOOK_DEVICE_FUNCTION unsigned lanemask_gt() { return ~lanemask_le(); }
WARPBOOK_DEVICE_FUNCTION unsigned clock() { return static_cast<unsigned>(clock64()); }
WARPBOOK_DEVICE_FUNCTION unsigned long long clock64() { return static_cast<unsigned long long>(::clock64()); }
WARPBOOK_DEVICE_FUNCTION unsigned long long globaltimer() { return nanoseconds(); }

}  // namespace ptx
}  // namespace warpbook::emulator
