/// \file
/// Mistakes of the host's part of a program: calls that fail, memory that is never freed.
#pragma once

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Reports a call to the runtime that failed.
void report_api_error(const ApiError& error);

/// Reports the allocations that still live, those of one line of the program together.
void report_leaks();

}  // namespace warpbook::emulator
