/// \file
/// What a step's time means: beside the limit, the first step, and the step that it is built on.
#pragma once

#include <optional>

#include "common/harness/chapter.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// The row that a step's gain is counted from: its base's, or where that did not run or was refused, its base's base's,
/// and so on; nullptr where none of them ran.
const StepResult* base_of(const StepResult& step, const CaseResult& result, const Chapter& chapter);

/// Fills in a step's share of the limit and its gains, once the rows before it are in `result`.
void compare_step(StepResult& step, const CaseResult& result, const Chapter& chapter);

/// A ladder on one case, from its lowest step that ran to its highest.
struct Climb {
  const StepResult* from = nullptr;  ///< Of kind StepKind::step.
  const StepResult* to = nullptr;    ///< The same, and not `from`.
  double gain = 0;                   ///< `from`'s median by `to`'s.
};

/// Nothing where fewer than two steps of the ladder ran.
std::optional<Climb> climb_of(const CaseResult& result);

}  // namespace warpbook
