#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

using Json = nlohmann::ordered_json;

/// Five significant digits: more than any time is known to.
Json number(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Json summary_json(const Summary& s) {
  return {{"median", number(s.median)}, {"p25", number(s.p25)}, {"p75", number(s.p75)}, {"min", number(s.min)}};
}

/// Counters that are not zero.
Json counters_json(const StepResult& step) {
  Json result = Json::object();
  for (const Counter& counter : step.counted) {
    if (counter.value == 0) continue;
    const bool whole = counter.value == std::floor(counter.value) && std::abs(counter.value) < 9e15;
    result[counter.name] = whole ? Json(static_cast<std::int64_t>(counter.value)) : number(counter.value);
  }
  return result;
}

/// A row holds what there is: of a step that did not run, who it is and why.
Json step_json(const StepResult& s, bool emulated) {
  Json step{{"version", s.version}, {"name", s.name}, {"kind", kind_name(s.kind)}};
  if (!s.base.empty()) step["base"] = s.base;
  step["status"] = to_string(s.status);
  if (!s.reason.empty()) step["reason"] = s.reason;
  if (s.seconds) {
    step["seconds"] = summary_json(*s.seconds);
    step["samples"] = s.samples.size();
    step["method"] = s.method;
    step["modelled"] = emulated;
    step["bytes_per_second"] = number(s.bytes_per_second);
  }
  if (s.fraction_of_limit) step["fraction_of_limit"] = number(*s.fraction_of_limit);
  if (s.over_first) {
    step["speedup_vs_first"] = number(s.over_first->times);
    step["speedup_vs_first_is_noise"] = s.over_first->is_noise;
  }
  if (s.over_base) {
    step["gain_over_base"] = number(s.over_base->times);
    step["gain_over_base_is_noise"] = s.over_base->is_noise;
    step["gain_over"] = s.over_base->over;
  }
  if (!s.counted.empty()) {
    step["counters"] = counters_json(s);
    step["launches"] = s.launches;
    step["counters_extrapolated"] = s.counters_extrapolated;
    step["limited_by"] = s.limited_by;
  }
  return step;
}

std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string json_report(const ChapterResult& run) {
  std::string cases;  // A line each.
  for (const CaseResult& c : run.cases) {
    Json steps = Json::array();
    for (const StepResult& s : c.steps) steps.push_back(step_json(s, run.device.emulated));
    const Json one{{"name", c.title},
                   {"parameters", c.parameters},
                   {"bytes_moved", c.bytes_moved},
                   {"limit", "copy"},
                   {"copy_seconds", c.copy ? number(c.copy->median) : Json(nullptr)},
                   {"copy", c.copy ? summary_json(*c.copy) : Json(nullptr)},
                   {"copy_method", c.copy_method},
                   {"steps", std::move(steps)}};
    cases += (cases.empty() ? "\n" : ",\n") + text_of(one);
  }
  Json left_out = Json::array();
  for (const LeftOut& left : run.left_out) left_out.push_back({{"name", left.title}, {"reason", left.reason}});

  const Json result{{"chapter", run.number},
                    {"name", run.name},
                    {"title", run.title},
                    {"partial", run.partial},
                    {"run",
                     {{"date", run.run.date},
                      {"driver", run.device.driver},
                      {"toolkit", run.device.toolkit},
                      {"commit", run.run.commit},
                      {"seed", run.run.seed}}},
                    {"device",
                     {{"name", run.device.name},
                      {"emulated", run.device.emulated},
                      {"compute_capability", std::to_string(run.device.major) + "." + std::to_string(run.device.minor)},
                      {"multiprocessors", run.device.multiprocessors},
                      {"clock_hertz", run.device.clock_hertz},
                      {"memory_bytes", run.device.memory_bytes},
                      {"l2_bytes", run.device.l2_bytes},
                      {"copy_bytes_per_second", number(run.copy_bytes_per_second)}}},
                    {"timing",
                     {{"event_gap_seconds", number(run.timing.event_gap_seconds)},
                      {"highest_clock_hertz", number(run.timing.highest_clock_hertz)},
                      {"lowest_clock_hertz", number(run.timing.lowest_clock_hertz)},
                      {"throttled", run.timing.throttled()}}},
                    {"left_out", std::move(left_out)}};
  std::string text = text_of(result);
  text.pop_back();  // The brace.
  return text + ",\"cases\":[" + cases + "\n]}\n";
}

}  // namespace warpbook
