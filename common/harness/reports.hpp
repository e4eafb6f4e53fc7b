/// \file
/// A run's results as a table for people, and as JSON, CSV and a chart for programs and pages.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "common/harness/results.hpp"

namespace warpbook {

/// Prints a run as it goes: one line a result.
class TableReport {
public:
  /// \param out where lines go. \param color whether it is a terminal that shows colours.
  TableReport(std::ostream& out, bool color) : out_(out), color_(color) {}

  /// The line that opens a run.
  void begin(const ChapterResult& run);
  /// The lines above a case's rows; `number` of `total` cases. The copy's row follows where it was measured.
  void begin_case(const CaseResult& result, std::size_t number, std::size_t total);
  /// A step's row; of a failure, with its reason. A step that was skipped has none.
  void step(const StepResult& step);
  /// The counters that a step's story is about, below its row, beside those of `base` where that is not nullptr.
  void story(const StepResult& step, const StepResult* base);
  /// All counters of a step, below its row.
  void counters(const StepResult& step);
  /// One line, where steps were skipped: which, and why.
  void end_case(const CaseResult& result);
  /// A line in between.
  void note(const std::string& text);
  /// How far the ladder climbed on each case, what was left out, and how it went.
  void end(const ChapterResult& run);

private:
  std::string colored(const char* code, const std::string& text) const;
  std::string totals(const ChapterResult& run) const;

  std::ostream& out_;
  bool color_;
  StepKind kind_ = StepKind::step;  // Of the last row.
};

/// The run as JSON, in the form that docs/results holds: a line per case. What a row has no value for is left out, and so are
/// counters that are zero.
std::string json_report(const ChapterResult& run);

/// The run as comma-separated values: a line for each step and case, under a line of names.
std::string csv_report(const ChapterResult& run);

/// The run as a chart in SVG: for each case a bar for each step, its length the share of the copy's speed. Readable on
/// light and dark backgrounds.
std::string svg_report(const ChapterResult& run);

/// "pass", "fail", "skipped".
std::string to_string(Status status);

/// A counter's value: whole numbers without a point.
std::string format_counter(double value);

}  // namespace warpbook
