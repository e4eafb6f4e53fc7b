/// \file
/// `--profile`: a run for programs that watch kernels, such as Nsight Compute.
#pragma once

#include "common/harness/plan.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// Runs each step of the plan once on each case, behind a mark (the case's number and the step's, both from 1; the
/// case's parameters; the step's version), and verifies it. Nothing is timed. Steps that cannot do a case are passed
/// over; of one that fails, a line "FAIL", version and reason follows.
/// \return whether every step that ran was right. \throws CudaError
bool profile_plan(const Plan& plan, const DeviceInfo& device, std::uint64_t seed);

}  // namespace warpbook
