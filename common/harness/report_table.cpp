#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "common/harness/format.hpp"
#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

constexpr int kNameWidth = 28;
constexpr int kTableWidth = 94;
constexpr auto kGreen = "32";
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

std::string spread_text(const Summary& s) { return s.samples > 1 ? fmt::format("{:.1f}%", s.spread() * 100) : "-"; }

std::string bandwidth_text(double bytes_per_second) {
  const double gigabytes = bytes_per_second * 1e-9;
  return gigabytes > 0 ? fmt::format("{:.{}f}", gigabytes, gigabytes < 99.95 ? 1 : 0) : "-";
}

std::string speedup_text(const std::optional<double>& speedup, bool noise, bool modelled) {
  if (!speedup) return "-";
  if (noise) return modelled ? "same" : "noise";
  return fmt::format("{:.2f}x", *speedup);
}

std::string row_text(const std::string& name, const std::string& verified, const Summary& seconds,
                     double bytes_per_second, const std::optional<double>& of_copy, const std::string& vs_first,
                     const std::string& vs_previous) {
  return fmt::format("{} {} {:>10} {:>6} {:>8} {:>8} {:>8} {:>8}", pad_right(name, kNameWidth), verified,
                     format_seconds(seconds.median), spread_text(seconds), bandwidth_text(bytes_per_second),
                     of_copy ? percent(*of_copy) : "-", vs_first, vs_previous);
}

}  // namespace

std::string TableReport::colored(const char* code, const std::string& text) const {
  return color_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

void TableReport::begin(const ChapterResult& run) {
  std::string text = fmt::format("Chapter {} · {} · {} ({}) · CUDA {}", run.number, run.name, run.device.name,
                                 run.device.emulated ? "emulated, times are modelled" : "measured", run.device.toolkit);
  if (run.copy_bytes_per_second > 0) text += " · copy ceiling " + format_bandwidth(run.copy_bytes_per_second);
  text += fmt::format(" · seed {}", run.run.seed);
  out_ << colored(kBold, text) << std::endl;
}

void TableReport::begin_case(const CaseResult& result, std::size_t number, std::size_t total) {
  const std::string title = fmt::format("case {}  moves {}", result.title, format_bytes(result.bytes_moved));
  out_ << '\n'
       << colored(kBold, pad_right(title, kTableWidth - 8))
       << fmt::format(" {:>7}", fmt::format("{}/{}", number, total));
  out_ << '\n'
       << colored(kDim, fmt::format("{} verified {:>10} {} {:>8} {:>8} {:>8} {:>8}", pad_right("step", kNameWidth),
                                    "median", std::string(5, ' ') + "±", "GB/s", "of copy", "vs v1", "vs prev"))
       << '\n';
  if (result.copy) {
    const double rate = result.copy->median > 0 ? static_cast<double>(result.bytes_moved) / result.copy->median : 0;
    out_ << row_text("cudaMemcpyAsync", "   -    ", *result.copy, rate, 1.0, "-", "-") << std::endl;
  }
  out_.flush();
}

void TableReport::step(const StepResult& step) {
  const std::string name = step.version + " " + step.name;
  const bool modelled = step.method == "model";
  switch (step.status) {
  case Status::skipped:
    out_ << pad_right(name, kNameWidth) << ' ' << colored(kDim, "skipped ") << ' ' << step.reason << std::endl;
    return;
  case Status::fail:
    out_ << pad_right(name, kNameWidth) << ' ' << colored(kRed, "  FAIL  ") << ' ' << step.reason << std::endl;
    return;
  case Status::pass:
    out_ << row_text(name, colored(kGreen, "   ok   "), step.seconds.value_or(Summary{}), step.bytes_per_second,
                     step.fraction_of_copy, speedup_text(step.speedup_vs_first, step.first_is_noise, modelled),
                     speedup_text(step.speedup_vs_previous, step.previous_is_noise, modelled))
         << std::endl;
    return;
  }
}

void TableReport::counters(const StepResult& step) {
  if (!step.limited_by.empty()) {
    out_ << colored(kDim, fmt::format("    {:<62} {:>20}", "limited by", step.limited_by)) << '\n';
  }
  for (const Counter& counter : step.counters) {
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
  for (std::size_t i = 0;
       i < run.left_out.size();) {  // Those that follow one another for the same reason share a line.
    std::size_t end = i + 1;
    while (end < run.left_out.size() && run.left_out[end].reason == run.left_out[i].reason) ++end;
    const std::string what = end - i == 1 ? run.left_out[i].title : fmt::format("{} cases", end - i);
    out_ << "left out: " << what << ": " << run.left_out[i].reason << '\n';
    i = end;
  }

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
  out_ << text << std::endl;
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
