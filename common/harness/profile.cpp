#include "common/harness/profile.hpp"

#include <iostream>

#include "common/harness/bench.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/step_marker.hpp"

namespace warpbook {

bool profile_plan(const Plan& plan, const DeviceInfo& device, std::uint64_t seed) {
  Workbench workbench(device);
  bool right = true;
  for (std::size_t c = 0; c < plan.cases.size(); ++c) {
    const Case& problem = *plan.cases[c].problem;
    CaseBench bench(problem, seed, false);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      throw_if_interrupted();
      const Step& step = *plan.steps[s];
      if (step.refusal && !step.refusal(problem).empty()) continue;
      if (step.prepare)
        continue;  // What it runs would stand under a mark, and under a profiler no time means anything.
      mark_launches(static_cast<unsigned>(c + 1), static_cast<unsigned>(s + 1), problem.parameters(), step.version);
      const Verification verification = bench.verify(step, workbench);
      if (verification.status != Status::fail) continue;
      right = false;
      std::cout << "FAIL\t" << step.version << '\t' << verification.reason << std::endl;
      if (verification.device_lost) throw CudaError(cudaErrorLaunchFailure, step.version);
    }
  }
  return right;
}

}  // namespace warpbook
