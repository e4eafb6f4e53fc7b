/// \file
/// What instrumented code adds to while it runs; see pass/struct_copy_pass.cpp.
#pragma once

#include <cstdint>

#include "common/emulator/include/warpbook_export.h"

/// Of this operating system thread, since it began: instructions, integer divisions of at most 32 bits, and of 64 bits;
/// and last 1 if nobody uses the result of the atomic to come.
// NOLINTNEXTLINE(readability-identifier-naming): the pass knows it by this name.
extern "C" WARPBOOK_EXPORT thread_local constinit std::uint64_t __warpbook_tally[4]
    __attribute__((tls_model("initial-exec")));
