/// \file
/// `--access-map`: a drawing of what a step's first warp touches in memory and in the banks of shared memory.
#pragma once

#include "common/harness/plan.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// Finds out whether the option can be had. \throws BadInput on a GPU, or where one file would get several steps.
void check_access_map(const Chapter& chapter, const std::vector<const Step*>& steps, const Options& options);

/// Runs each step of the plan on the first case that it accepts, and writes what it touched to access_map_VERSION.svg
/// in the current folder, or where `--svg` says. Prints a line a file.
/// \return whether every step that ran was right. \throws OutputError, CudaError
bool draw_access_maps(const Chapter& chapter, const Plan& plan, const DeviceInfo& device, const Options& options);

}  // namespace warpbook
