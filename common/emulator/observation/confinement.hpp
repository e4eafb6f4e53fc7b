/// \file
/// Code that nobody trusts, such as a student's: what it may touch beside what kernels may touch anyway.
#pragma once

#include <cstddef>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/observation/checks.hpp"

namespace warpbook::emulator {

/// Whether this thread's host code is confined.
extern thread_local constinit bool host_is_confined __attribute__((tls_model("initial-exec")));

/// Ends the program where a confined thread's host code may not touch this.
void check_host_access(const void* address, std::size_t bytes, Operation operation, const void* pc);

/// Ends the program because confined host code leaves an array of its own stack.
[[noreturn]] void end_for_local_bounds(const void* pc);

/// A kernel's access to the program's own variables: where the program is confined, it is bad unless it stays in one
/// that the confined code brought and the host has not touched, or reads what is no variable.
void confine_access(Home& home, const void* address, std::size_t bytes, Operation operation);

}  // namespace warpbook::emulator
