/// \file
/// The loop of a run: for each case its copy, then each step, verified, timed and reported.
#pragma once

#include <functional>

#include "common/harness/options.hpp"
#include "common/harness/plan.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// Where a run tells what it is doing, and leaves what it did.
struct RunDisplay {
  TableReport* table = nullptr;  ///< Gets each row as it comes; nullptr: Google Benchmark prints its own report.
  bool progress = false;         ///< Shows on the terminal what takes long.
  std::function<void()> keep;    ///< Called when a row is done, before it is shown; empty: nothing is kept.
};

/// Runs the plan, and adds to `result` (which has its chapter, run and device filled in) what comes of it.
/// \throws Interrupted, CudaError where the device fails outside of steps
void run_plan(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display,
              ChapterResult& result);

}  // namespace warpbook
