/// \file
/// The operating system threads that run blocks.
#pragma once

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/warpbook_launch.h"

namespace warpbook::emulator {

/// What became of a launch.
struct LaunchResult {
  cudaError_t error = cudaSuccess;  ///< What the launch came to.
  double modelled_seconds = 0.0;    ///< What it would have taken on the device.
};

/// Runs all blocks of a valid launch, and returns when they are done. The calling thread runs blocks too; one launch at
/// a time. `launch.id` is set here.
LaunchResult run_blocks(LaunchInfo& launch, const KernelCall& call);

/// True once a block of the running launch has ended with an error: others will not be run.
bool launch_has_failed();

/// Threads that run blocks: what `WARPBOOK_WORKERS` says, else one for each core this process may use.
WARPBOOK_EXPORT unsigned worker_count();

/// Has the calling operating system thread handle signals on a stack of their own, which lives as long as the thread.
void give_signal_stack();

}  // namespace warpbook::emulator
