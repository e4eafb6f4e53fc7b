#include "common/harness/compare.hpp"

#include <algorithm>

namespace warpbook {
namespace {

bool has_time(const StepResult& step) {
  return step.status == Status::pass && step.seconds && step.seconds->median > 0;
}

Gain gain_over(const StepResult& other, const StepResult& step) {
  return {.over = other.version,
          .times = other.seconds->median / step.seconds->median,
          .is_noise = equal(*other.seconds, *step.seconds)};
}

/// The row of a version that ran.
const StepResult* row_of(const CaseResult& result, const std::string& version) {
  const auto found = std::find_if(result.steps.begin(), result.steps.end(),
                                  [&](const StepResult& row) { return row.version == version && has_time(row); });
  return found == result.steps.end() ? nullptr : &*found;
}

}  // namespace

const StepResult* base_of(const StepResult& step, const CaseResult& result, const Chapter& chapter) {
  for (std::string version = step.base; !version.empty();) {
    if (const StepResult* const row = row_of(result, version)) return row;
    const Step* const base = find_step(chapter, version);
    version = base == nullptr ? "" : base->base;
  }
  return nullptr;
}

void compare_step(StepResult& step, const CaseResult& result, const Chapter& chapter) {
  if (!has_time(step)) return;
  if (result.copy) step.fraction_of_limit = result.copy->median / step.seconds->median;
  if (step.kind == StepKind::yardstick) return;

  const auto first =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [](const Step& s) { return s.kind == StepKind::step; });
  if (first != chapter.steps.end()) {
    if (step.version == first->version) {
      step.over_first = {.over = step.version, .times = 1, .is_noise = false};
    } else if (const StepResult* const row = row_of(result, first->version)) {
      step.over_first = gain_over(*row, step);
    }
  }
  if (const StepResult* const base = base_of(step, result, chapter)) step.over_base = gain_over(*base, step);
}

std::optional<Climb> climb_of(const CaseResult& result) {
  Climb climb;
  for (const StepResult& step : result.steps) {
    if (step.kind != StepKind::step || !has_time(step)) continue;
    (climb.from == nullptr ? climb.from : climb.to) = &step;
  }
  if (climb.to == nullptr) return std::nullopt;
  climb.gain = climb.from->seconds->median / climb.to->seconds->median;
  return climb;
}

}  // namespace warpbook
