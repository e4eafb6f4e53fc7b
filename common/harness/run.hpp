/// \file
/// The loop of a run: for each case its copy, then each step, verified, timed and reported.
#pragma once

#include "common/harness/options.hpp"
#include "common/harness/plan.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// Where a run tells what it is doing.
struct RunDisplay {
  TableReport* table = nullptr;  ///< Gets each row as it comes; nullptr: Google Benchmark prints its own report.
  bool progress = false;         ///< Shows on the terminal what takes long.
};

/// Runs the plan, and adds to `result` (which has its chapter, run and device filled in) what comes of it. Ends early,
/// with `result.partial` set, when the run is interrupted.
/// \throws BadInput where `--benchmark_filter` leaves nothing; CudaError where the device fails outside of steps
void run_plan(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display,
              ChapterResult& result);

/// Fills in what a step's time means beside the copy, the first and the previous step.
void compare_step(StepResult& step, const CaseResult& result, const std::string& first_version);

}  // namespace warpbook
