/// \file
/// Steps from a chapter's own functions: the harness knows cases and arrays, a chapter its problems and pointers.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "common/harness/chapter.hpp"

namespace warpbook {

/// For steps that take every case.
constexpr auto kTakesAll = [](const auto&) -> const char* { return nullptr; };

/// Makes a step of a chapter whose cases are of `CaseType`.
///
/// `run` is called as `run(case, arrays, stream)`, or, where it takes that, as
/// `run(case.problem(), input 0, output, stream)`. `refuse(case)`, or `refuse(case.problem())`, says why the step does
/// not take a case: a std::string (empty where it does) or a `const char*` (nullptr where it does).
template <class CaseType, class Run, class Refuse = decltype(kTakesAll)>
Step make_step(StepInfo info, Run run, Refuse refuse = kTakesAll) {
  Step step{std::move(info)};
  step.run = [run](const Case& any, const Arrays& arrays, cudaStream_t stream) -> cudaError_t {
    const auto& c = static_cast<const CaseType&>(any);
    if constexpr (std::invocable<Run, const CaseType&, const Arrays&, cudaStream_t>) {
      return run(c, arrays, stream);
    } else {
      return run(c.problem(), arrays.inputs[0], arrays.output, stream);
    }
  };
  step.refusal = [refuse](const Case& any) -> std::string {
    const auto& c = static_cast<const CaseType&>(any);
    const auto reason = [&] {
      if constexpr (std::invocable<Refuse, const CaseType&>) {
        return refuse(c);
      } else {
        return refuse(c.problem());
      }
    }();
    if constexpr (std::same_as<decltype(reason), const std::string>) {
      return reason;
    } else {
      return reason == nullptr ? "" : reason;
    }
  };
  return step;
}

}  // namespace warpbook
