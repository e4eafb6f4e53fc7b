#include <fmt/format.h>

#include <algorithm>

#include "common/harness/format.hpp"
#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

// Pixels.
constexpr int kWidth = 860;
constexpr int kMargin = 20;
constexpr int kBarsLeft = 230;
constexpr int kBarsRight = 540;
constexpr int kRowHeight = 22;
constexpr int kBarHeight = 14;
constexpr int kTitleHeight = 64;
constexpr int kCaseHeight = 46;  // Around a case's rows.

constexpr auto kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .case { font-weight: 600; }
  .muted { fill: #59636e; }
  .bar { fill: #0969da; }
  .yardstick { fill: #818b98; }
  .fail { fill: #cf222e; }
  .axis { stroke: #d1d9e0; stroke-width: 1; }
  .copy { stroke: #59636e; stroke-width: 1; stroke-dasharray: 4 3; }
  .background { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .muted { fill: #9198a1; }
    .bar { fill: #4493f8; }
    .yardstick { fill: #656c76; }
    .fail { fill: #f85149; }
    .axis { stroke: #3d444d; }
    .copy { stroke: #9198a1; }
    .background { fill: #0d1117; }
  }
</style>
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      if (static_cast<unsigned char>(c) >= 0x20U) result += c;  // XML has no other control characters.
    }
  }
  return result;
}

/// Steps that have a bar: those that ran.
std::vector<const StepResult*> rows_of(const CaseResult& result) {
  std::vector<const StepResult*> rows;
  for (const StepResult& step : result.steps) {
    if (step.status != Status::skipped) rows.push_back(&step);
  }
  return rows;
}

std::string value_text(const StepResult& step) {
  if (step.status == Status::fail || !step.seconds) return "wrong result";
  std::string text = format_seconds(step.seconds->median);
  if (step.fraction_of_limit) text += fmt::format(" · {:.0f}% of copy", *step.fraction_of_limit * 100);
  const auto add = [&](const Gain& gain) {
    if (!gain.is_noise) text += fmt::format(" · {:.2f}x {}", gain.times, gain.over);
  };
  if (step.over_base) add(*step.over_base);
  const bool is_first = step.over_first && step.over_first->over == step.version;
  const bool is_told = step.over_base && step.over_first && step.over_base->over == step.over_first->over;
  if (step.over_first && !is_first && !is_told) add(*step.over_first);
  return text;
}

}  // namespace

std::string svg_report(const ChapterResult& run) {
  // One scale for all: a copy's speed is the mark to reach, and something may be faster.
  double most = 1.05;
  int height = kTitleHeight;
  for (const CaseResult& c : run.cases) {
    const auto rows = rows_of(c);
    if (rows.empty()) continue;
    height += kCaseHeight + kRowHeight * static_cast<int>(rows.size());
    for (const StepResult* step : rows) most = std::max(most, step->fraction_of_limit.value_or(0) * 1.02);
  }
  height += kMargin;
  const auto x_of = [&](double share) { return kBarsLeft + share / most * (kBarsRight - kBarsLeft); };

  const std::string title = fmt::format("Chapter {}: {}", run.number, run.title);
  const std::string subtitle =
      fmt::format("{}, {}: speed of each step as a share of a device-to-device copy of as many bytes", run.device.name,
                  run.device.emulated ? "modelled" : "measured");
  std::string description = subtitle + ".";
  for (const CaseResult& c : run.cases) {
    description += " " + c.title + ":";
    for (const StepResult* step : rows_of(c))
      description += fmt::format(" {} {}, {};", step->version, step->name, value_text(*step));
  }

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title description\" viewBox=\"0 0 {0} "
      "{1}\" "
      "width=\"{0}\" height=\"{1}\">\n<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n",
      kWidth, height, escaped(title), escaped(description));
  svg += kStyle;
  svg += fmt::format("<rect class=\"background\" width=\"{}\" height=\"{}\"/>\n", kWidth, height);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"28\">{}</text>\n", kMargin, escaped(title));
  svg += fmt::format("<text class=\"muted\" x=\"{}\" y=\"48\">{}</text>\n", kMargin, escaped(subtitle));

  int y = kTitleHeight;
  for (const CaseResult& c : run.cases) {
    const auto rows = rows_of(c);
    if (rows.empty()) continue;
    svg += fmt::format("<text class=\"case\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, y + 22, escaped(c.title));
    const int top = y + 32;
    const int bottom = top + kRowHeight * static_cast<int>(rows.size());
    svg += fmt::format("<line class=\"axis\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n", kBarsLeft, top, bottom);
    if (c.copy) {
      svg += fmt::format("<line class=\"copy\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>\n", x_of(1), top,
                         bottom);
      svg += fmt::format("<text class=\"muted\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">copy</text>\n", x_of(1),
                         top - 4);
    }
    int row_top = top;
    for (const StepResult* step : rows) {
      const int baseline = row_top + kRowHeight / 2 + 5;
      svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kBarsLeft - 8, baseline,
                         escaped(step->version + " " + step->name));
      const bool failed = step->status == Status::fail;
      const double share = step->fraction_of_limit.value_or(0);
      const double end = failed ? kBarsLeft : x_of(share);
      if (end > kBarsLeft) {
        svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/>\n",
                           step->kind == StepKind::yardstick ? "yardstick" : "bar", kBarsLeft,
                           row_top + (kRowHeight - kBarHeight) / 2, end - kBarsLeft, kBarHeight);
      }
      svg += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", failed ? "fail" : "muted", end + 8,
                         baseline, escaped(value_text(*step)));
      row_top += kRowHeight;
    }
    y = bottom + (kCaseHeight - 32);
  }
  return svg + "</svg>\n";
}

}  // namespace warpbook
