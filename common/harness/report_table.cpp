#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "common/harness/compare.hpp"
#include "common/harness/counter_names.hpp"
#include "common/harness/format.hpp"
#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

constexpr std::size_t kTitleWidth = 84;
constexpr auto kRed = "1;31";
constexpr auto kDim = "2";
constexpr auto kBold = "1";

/// The text's width on a terminal: every byte that begins a UTF-8 character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string pad_right(const std::string& text, std::size_t width) {
  const std::size_t has = width_of(text);
  return has >= width ? text : text + std::string(width - has, ' ');
}

std::string percent(double share) { return fmt::format("{:.{}f}%", share * 100, share < 0.0995 ? 1 : 0); }

/// Only where it is as large as what counts as equal.
std::string spread_text(const Summary& s) {
  return s.spread() < kEqualShare ? "" : fmt::format("± {:.0f}%", s.spread() * 100);
}

std::string gain_text(const std::optional<Gain>& gain) {
  if (!gain) return "";
  return gain->is_noise ? "same" : fmt::format("{:.2f}x", gain->times);
}

/// The start of every line of a case's table.
std::string name_text(const std::string& version, const std::string& name, const std::string& base) {
  return pad_right(format_step(version, name), 30) + pad_right(base, 9);
}

std::string time_text(const std::optional<Summary>& seconds, const std::optional<double>& of_limit) {
  return fmt::format("{:>10} {} {:>8}", seconds ? format_seconds(seconds->median) : "",
                     pad_right(seconds ? spread_text(*seconds) : "", 6), of_limit ? percent(*of_limit) : "");
}

/// "v1 naive to v9 dispatch: 3.46x, 101% of a copy".
std::string climb_text(const Climb& climb) {
  std::string text = fmt::format("{} {} to {} {}: {:.2f}x", climb.from->version, climb.from->name, climb.to->version,
                                 climb.to->name, climb.gain);
  if (climb.to->fraction_of_limit) text += fmt::format(", {} of a copy", percent(*climb.to->fraction_of_limit));
  return text;
}

/// Cases that follow one another for the same reason share a line.
std::string left_out_text(const std::vector<LeftOut>& left_out) {
  std::string text;
  for (std::size_t i = 0; i < left_out.size();) {
    std::size_t end = i + 1;
    while (end < left_out.size() && left_out[end].reason == left_out[i].reason) ++end;
    const std::string what = end - i == 1 ? left_out[i].title : fmt::format("{} cases", end - i);
    text += "left out: " + what + ": " + left_out[i].reason + '\n';
    i = end;
  }
  return text;
}

std::string launches_text(const StepResult& step) {
  return fmt::format("      the sums of the step's {} kernels", step.launches);
}

constexpr const char* heading(StepKind kind) {
  switch (kind) {
  case StepKind::aside:
    return "asides";
  case StepKind::library:
    return "library kernels";
  case StepKind::yardstick:
    return "yardsticks";
  default:
    return "";
  }
}

}  // namespace

std::string TableReport::colored(const char* code, const std::string& text) const {
  return color_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

void TableReport::begin(const ChapterResult& run) {
  std::string text = fmt::format("Chapter {} · {} · {} ({}) · CUDA {}", run.number, run.name, run.device.name,
                                 run.device.emulated ? "emulated, times are modelled" : "measured", run.device.toolkit);
  if (run.copy_bytes_per_second > 0) text += " · copies " + format_bandwidth(run.copy_bytes_per_second);
  text += fmt::format(" · seed {}", run.run.seed);
  out_ << colored(kBold, text) << std::endl;
}

void TableReport::begin_case(const CaseResult& result, std::size_t number, std::size_t total) {
  const std::string title = fmt::format("{}  moves {}", result.title, format_bytes(result.bytes_moved));
  out_ << '\n'
       << colored(kBold, pad_right(title, kTitleWidth - 7))
       << fmt::format("{:>7}\n", fmt::format("{}/{}", number, total));
  out_ << colored(kDim, name_text("step", "", "built on") + fmt::format("{:>10} {:6} {:>8} {:>9} {:>9}", "time", "",
                                                                        "of limit", "over base", "over v1"))
       << '\n';
  if (result.copy) out_ << name_text("cudaMemcpyAsync, the limit", "", "") << time_text(result.copy, 1.0) << std::endl;
  out_.flush();
  kind_ = StepKind::step;
}

void TableReport::step(const StepResult& step) {
  if (step.status == Status::skipped) return;  // end_case() says why.
  if (step.kind != kind_) out_ << colored(kDim, heading(step.kind)) << '\n';
  kind_ = step.kind;
  out_ << name_text(step.version, step.name, step.base);
  if (step.status == Status::fail) {
    out_ << colored(kRed, "FAIL ") << step.reason << std::endl;
    return;
  }
  const bool elsewhere = step.over_base && step.over_base->over != step.base;
  out_ << time_text(step.seconds, step.fraction_of_limit)
       << fmt::format(" {:>9} {:>9}", gain_text(step.over_base), gain_text(step.over_first))
       << (elsewhere ? "  base: " + step.over_base->over + ", as " + step.base + " is not here" : "")
       << (step.prepares.empty() ? "" : "  prepares " + step.prepares) << std::endl;
}

void TableReport::end_case(const CaseResult& result) {
  std::vector<std::pair<std::string, std::string>> reasons;  // With the steps that have each.
  for (const StepResult& step : result.steps) {
    if (step.status != Status::skipped) continue;
    const auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == step.reason; });
    if (known == reasons.end()) {
      reasons.emplace_back(step.reason, step.version);
    } else {
      known->second += ", " + step.version;
    }
  }
  std::string text;
  for (const auto& [reason, steps] : reasons) text += (text.empty() ? "not here: " : "; ") + steps + ": " + reason;
  if (!text.empty()) out_ << text << std::endl;
}

void TableReport::story(const StepResult& step, const StepResult* base) {
  if (step.launches > 1 && !step.counters.empty()) out_ << colored(kDim, launches_text(step)) << '\n';
  for (const std::string& name : step.counters) {
    const CounterName* const known = find_counter(name);
    const std::optional<double> value = known == nullptr ? std::nullopt : value_of(*known, step);
    if (!value) continue;
    std::string text = fmt::format("      {:<24} {:>14}", name, format_counter(*value));
    const std::optional<double> before = base == nullptr ? std::nullopt : value_of(*known, *base);
    if (before) {
      const char* const verdict = *value == *before ? "the same" : *value < *before ? "better" : "worse";
      text += fmt::format("   {} {:>14}   {}", base->version, format_counter(*before), verdict);
    }
    out_ << colored(kDim, text) << '\n';
  }
  out_.flush();
}

void TableReport::counters(const StepResult& step) {
  if (!step.limited_by.empty()) {
    out_ << colored(kDim, fmt::format("    {:<62} {:>20}", "limited by", step.limited_by)) << '\n';
  }
  if (step.launches > 1) out_ << colored(kDim, launches_text(step)) << '\n';
  for (const Counter& counter : step.counted) {
    if (counter.value == 0) continue;
    out_ << colored(kDim, fmt::format("    {:<62} {:>20}{}", counter.name, format_counter(counter.value),
                                      step.counters_extrapolated ? " (extrapolated)" : ""))
         << '\n';
  }
  out_.flush();
}

void TableReport::note(const std::string& text) { out_ << text << std::endl; }

void TableReport::end(const ChapterResult& run) {
  out_ << '\n';
  for (const CaseResult& c : run.cases) {
    if (const auto climb = climb_of(c)) out_ << pad_right(c.title, 42) << "  " << climb_text(*climb) << '\n';
  }
  out_ << left_out_text(run.left_out);
  if (run.smaller_cases) out_ << "The emulator ran smaller cases of the same kind as the headline cases (--list).\n";

  const TimingCheck& timing = run.timing;
  if (timing.event_gap_seconds > 0) {
    out_ << fmt::format(
        "timing: a sample of nothing takes {}; the clock was {:.0f} MHz at its lowest, {:.0f} at its highest\n",
        format_seconds(timing.event_gap_seconds), timing.lowest_clock_hertz * 1e-6, timing.highest_clock_hertz * 1e-6);
  }
  if (timing.throttled()) {
    out_ << colored(kRed, "The device slowed down while it was measured (heat, or the limit of power): do not trust "
                          "these times, let it cool and run again.")
         << '\n';
  }
  out_ << totals(run) << std::endl;
}

/// "3 cases: 36 right, 1 WRONG, 2 not here".
std::string TableReport::totals(const ChapterResult& run) const {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
  for (const CaseResult& c : run.cases) {
    for (const StepResult& s : c.steps) {
      (s.status == Status::pass ? passed : s.status == Status::fail ? failed : skipped) += 1;
    }
  }
  std::string text = fmt::format("{}: {} right", format_quantity(static_cast<std::int64_t>(run.cases.size()), "case"),
                                 format_count(passed));
  text += failed > 0 ? ", " + colored(kRed, format_count(failed) + " WRONG") : "";
  text += skipped > 0 ? fmt::format(", {} skipped", format_count(skipped)) : "";
  text += run.partial ? ", " + colored(kRed, "interrupted") : "";
  return text;
}

std::string to_string(Status status) {
  switch (status) {
  case Status::pass:
    return "pass";
  case Status::fail:
    return "fail";
  case Status::skipped:
    return "skipped";
  }
  return "?";
}

std::string format_counter(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return format_count(static_cast<std::int64_t>(value));
  return fmt::format("{:.3f}", value);
}

}  // namespace warpbook
