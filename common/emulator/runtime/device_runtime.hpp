/// \file
/// What kernels may ask of the runtime: launches and copies that follow them, errors, the device's heap.
///
/// A GPU runs what a kernel launches beside that kernel or after it, as it likes. Here it all comes after: nobody can
/// rely on more, as a kernel cannot wait for what it launched.
#pragma once

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/warpbook_launch.h"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {

/// Whether a kernel's thread makes the call.
inline bool in_kernel() { return current_block != nullptr; }

/// The last error of the running CUDA thread, which is its own; forgets it where `take` says so.
cudaError_t last_error_in_kernel(bool take);
/// Remembers an error for the running CUDA thread; returns it.
cudaError_t remember_in_kernel(cudaError_t error);

/// Adds work to what follows the running kernel in one of the kernel's streams.
cudaError_t submit_in_kernel(cudaStream_t stream, Work work);
/// How many kernels stand above what the running one launches: 1 where the host launched it.
unsigned nesting_in_kernel();

/// Runs what the kernel that ended has launched, and what that launches, in the order in which blocks asked for it: the
/// streams' work first, then what waits for its end (`cudaStreamTailLaunch`). Modelled seconds. Where the kernel
/// failed, nothing of it runs.
double run_followers(bool failed);

/// Makes a stream of the running kernel's grid; cudaErrorInvalidValue unless it is non-blocking.
cudaError_t create_stream_in_kernel(cudaStream_t* stream, unsigned flags);
/// Gives it up: what it holds still runs.
cudaError_t destroy_stream_in_kernel(cudaStream_t stream);
/// Whether a handle is none that kernels may use.
bool is_foreign_stream(cudaStream_t stream);

}  // namespace warpbook::emulator
