/// \file
/// What the compiler driver includes into each file with kernels of a program: CUDA's header, and what the emulator adds.
#pragma once

#include <cstdlib>

#include "cuda_runtime.h"
#include "warpbook_chevrons.h"
#include "warpbook_emulator.h"

namespace warpbook::emulator {

/// The program is checked in full unless its environment says otherwise.
__attribute__((weak, constructor(101), no_sanitize("thread", "coverage"))) void check_in_full() {
  if (std::getenv("WARPBOOK_CHECK") == nullptr) set_checks("all");
  if (std::getenv("WARPBOOK_TRACE") == nullptr) set_trace(TraceMode::first);
}

}  // namespace warpbook::emulator
