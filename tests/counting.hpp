/// \file
/// What the emulator counts of one step on one case, for tests against values that were worked out by hand.
#pragma once

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"

namespace warpbook {

/// Verifies a step of `chapter` on a case, every block traced, and returns what was seen of its last launch.
inline emulator::LaunchReport count_launch(const Chapter& chapter, const std::string& version,
                                           const std::string& parameters) {
  INFO(version << " on " << parameters);
  const auto step =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [&](const Step& s) { return s.version == version; });
  REQUIRE(step != chapter.steps.end());
  const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse(parameters));
  emulator::set_trace(emulator::TraceMode::all);
  const Verification found = verify_step(*step, *problem, 1);
  emulator::set_trace(emulator::TraceMode::sample);
  INFO(found.reason);
  REQUIRE(found.status == Status::pass);
  const emulator::LaunchReport seen = emulator::last_launch();
  REQUIRE_FALSE(seen.extrapolated);
  return seen;
}

}  // namespace warpbook
