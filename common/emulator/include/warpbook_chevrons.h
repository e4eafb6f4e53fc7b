/// \file
/// What `kernel<<<grid, block, shared, stream>>>(arguments)` becomes, and `extern __shared__` arrays, in programs that
/// launch_rewriter.py rewrites:
///
///     (::warpbook::emulator::configure(grid, block, shared, stream), kernel(arguments),
///     ::warpbook::emulator::launch())
///
/// The call is written as the reader wrote it, so that deduced template arguments, overloads, default arguments and
/// conversions are the compiler's own; pass/launch_pass.cpp then makes a launch of it.
#pragma once

#include <cstddef>

#include "driver_types.h"
#include "warpbook_export.h"

namespace warpbook::emulator {

/// Keeps the configuration for the launch that follows on this operating system thread.
WARPBOOK_EXPORT void configure(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr);

/// Marks the call before it as a launch. Nobody defines it: the compiler pass replaces it.
void launch();

}  // namespace warpbook::emulator

extern "C" {

/// Launches a kernel as last configured. `invoke` calls it once with the arguments, which lie in `bytes` bytes.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
WARPBOOK_EXPORT void __warpbook_launch(const void* kernel, void (*invoke)(const void* kernel, const void* arguments),
                                       const void* arguments, std::size_t bytes);

}  // extern "C"

/// Marks an array as the block's dynamic shared memory: the compiler pass puts its address wherever it is used.
#define WARPBOOK_DYNAMIC_SHARED __attribute__((section("warpbook_dynamic_shared")))
