#include "common/harness/access_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "common/harness/bench.hpp"
#include "common/harness/device.hpp"
#include "common/harness/output_file.hpp"

namespace warpbook {

void check_access_map(const Chapter& chapter, const std::vector<const Step*>& steps, const Options& options) {
  if (!device_emulated()) {
    throw BadInput(fmt::format(
        "--access-map: only the emulator sees single accesses (`make chapter{} DEVICE=emulator`)", chapter.number));
  }
  if (!options.svg.empty() && steps.size() != 1) {
    throw BadInput(
        fmt::format("--svg {}: one file, but --access-map names {} steps (accepted: one, or leave --svg out)",
                    options.svg, steps.size()));
  }
}

bool draw_access_maps(const Chapter& chapter, const Plan& plan, const DeviceInfo& device, const Options& options) {
  Workbench workbench(device);
  std::vector<std::unique_ptr<CaseBench>> benches(plan.cases.size());
  bool right = true;
  for (const Step* step : plan.steps) {
    const auto accepts = [&](const SelectedCase& c) { return !step->refusal || step->refusal(*c.problem).empty(); };
    const auto found = std::find_if(plan.cases.begin(), plan.cases.end(), accepts);
    if (found == plan.cases.end()) {
      std::cout << fmt::format("{:<5} not drawn: none of the cases is for it\n", step->version);
      continue;
    }
    const Case& problem = *found->problem;
    auto& own = benches[static_cast<std::size_t>(found - plan.cases.begin())];
    if (!own) own = std::make_unique<CaseBench>(problem, options.seed, false);
    CaseBench& bench = *own;
    map_accesses();
    const Verification verification = bench.verify(*step, workbench);
    const std::string drawing = take_access_map(
        fmt::format("Chapter {}, {} {}: {}", chapter.number, step->version, step->name, problem.title()));
    if (verification.status != Status::pass) {
      right = false;
      std::cout << fmt::format("{:<5} FAIL: {}\n", step->version, verification.reason);
      continue;
    }
    const std::string path = options.svg.empty() ? fmt::format("access_map_{}.svg", step->version) : options.svg;
    write_file(path, drawing);
    std::cout << fmt::format("{:<5} {}: {}\n", step->version, problem.title(), path);
  }
  return right;
}

}  // namespace warpbook
