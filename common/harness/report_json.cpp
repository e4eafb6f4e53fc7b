#include <nlohmann/json.hpp>

#include <cmath>

#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json summary_json(const std::optional<Summary>& s) {
  if (!s) return nullptr;
  return {{"median", s->median}, {"p25", s->p25}, {"p75", s->p75}, {"min", s->min}};
}

Json counters_json(const StepResult& step) {
  Json result = Json::object();
  for (const Counter& counter : step.counters) {
    const bool whole = counter.value == std::floor(counter.value) && std::abs(counter.value) < 9e15;
    result[counter.name] = whole ? Json(static_cast<std::int64_t>(counter.value)) : Json(counter.value);
  }
  return result;
}

Json step_json(const StepResult& s, bool emulated) {
  Json step{{"version", s.version},
            {"name", s.name},
            {"yardstick", s.yardstick},
            {"status", to_string(s.status)},
            {"reason", s.reason},
            {"seconds", summary_json(s.seconds)},
            {"samples", s.seconds ? s.seconds->samples : 0},
            {"method", s.method},
            {"bytes_per_second", s.seconds ? Json(s.bytes_per_second) : Json(nullptr)},
            {"fraction_of_copy", optional_number(s.fraction_of_copy)},
            {"speedup_vs_first", optional_number(s.speedup_vs_first)},
            {"speedup_vs_first_is_noise", s.first_is_noise},
            {"speedup_vs_previous", optional_number(s.speedup_vs_previous)},
            {"speedup_vs_previous_is_noise", s.previous_is_noise},
            {"previous", s.previous.empty() ? Json(nullptr) : Json(s.previous)},
            {"modelled", emulated},
            {"counters", counters_json(s)}};
  if (!s.counters.empty()) {
    step["counters_extrapolated"] = s.counters_extrapolated;
    step["limited_by"] = s.limited_by;
  }
  return step;
}

}  // namespace

std::string json_report(const ChapterResult& run) {
  Json cases = Json::array();
  for (const CaseResult& c : run.cases) {
    Json steps = Json::array();
    for (const StepResult& s : c.steps) steps.push_back(step_json(s, run.device.emulated));
    cases.push_back({{"name", c.title},
                     {"parameters", c.parameters},
                     {"bytes_moved", c.bytes_moved},
                     {"copy_seconds", c.copy ? Json(c.copy->median) : Json(nullptr)},
                     {"copy", summary_json(c.copy)},
                     {"copy_method", c.copy_method},
                     {"steps", std::move(steps)}});
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
                      {"copy_bytes_per_second", run.copy_bytes_per_second}}},
                    {"timing",
                     {{"event_gap_seconds", run.timing.event_gap_seconds},
                      {"highest_clock_hertz", run.timing.highest_clock_hertz},
                      {"lowest_clock_hertz", run.timing.lowest_clock_hertz},
                      {"throttled", run.timing.throttled()}}},
                    {"cases", std::move(cases)},
                    {"left_out", std::move(left_out)}};
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warpbook
