/// \file
/// Steps from a chapter's own functions: the harness knows cases and arrays, a chapter its problems and pointers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/float_elements.hpp"

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

/// A chapter's steps, a line or two each; `run` and `refuse` as in `make_step`.
template <class CaseType> struct StepsOf {
  /// The names of the counters that a step's story is about.
  using Counters = std::vector<std::string>;

  /// A step of the ladder.
  template <class Run, class Refuse = decltype(kTakesAll)>
  static Step step(const char* version, const char* name, const char* base, const char* idea, Counters counters,
                   Run run, Refuse refuse = kTakesAll) {
    return make_step<CaseType>({version, name, base, idea, std::move(counters)}, run, refuse);
  }
  /// A step that gains nothing by itself, and what it prepares.
  template <class Run, class Refuse = decltype(kTakesAll)>
  static Step preparing(const char* what, const char* version, const char* name, const char* base, const char* idea,
                        Counters counters, Run run, Refuse refuse = kTakesAll) {
    return make_step<CaseType>({version, name, base, idea, std::move(counters), StepKind::step, what}, run, refuse);
  }
  /// An experiment beside the ladder, called by its name.
  template <class Run, class Refuse = decltype(kTakesAll)>
  static Step aside(const char* name, const char* base, const char* idea, Counters counters, Run run,
                    Refuse refuse = kTakesAll) {
    return make_step<CaseType>({name, name, base, idea, std::move(counters), StepKind::aside}, run, refuse);
  }
  /// A kernel behind the header.
  template <class Run, class Refuse = decltype(kTakesAll)>
  static Step library(const char* name, const char* idea, Run run, Refuse refuse = kTakesAll) {
    return make_step<CaseType>({name, name, "", idea, {}, StepKind::library}, run, refuse);
  }
  /// A plain copy or fill.
  template <class Run, class Refuse = decltype(kTakesAll)>
  static Step yardstick(const char* name, const char* idea, Run run, Refuse refuse = kTakesAll) {
    return make_step<CaseType>({name, name, "", idea, {}, StepKind::yardstick}, run, refuse);
  }
};

/// Calls `f` with a value of the C++ type that a FloatType stands for; float64 is none of these chapters'.
template <class F> auto with_type(FloatType type, F&& f) {
  switch (type) {
  case FloatType::half:
    return f(__half{});
  case FloatType::bfloat16:
    return f(__nv_bfloat16{});
  default:
    return f(float{});
  }
}

/// `Chapter::make_case` of a chapter whose cases are of `CaseType`.
template <class CaseType> std::unique_ptr<Case> make_case(const Parameters& parameters) {
  return std::make_unique<CaseType>(parameters);
}

}  // namespace warpbook
