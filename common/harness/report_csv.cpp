#include <fmt/format.h>

#include "common/harness/reports.hpp"

namespace warpbook {
namespace {

/// A field as RFC 4180 has it.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.5g}", *value) : ""; }

}  // namespace

std::string csv_report(const ChapterResult& run) {
  std::string text =
      "chapter,device,modelled,case,parameters,bytes_moved,copy_seconds,version,name,kind,base,status,reason,"
      "median_seconds,p25_seconds,p75_seconds,min_seconds,samples,bytes_per_second,fraction_of_limit,"
      "speedup_vs_first,gain_over_base,gain_is_noise,gain_over\n";
  for (const CaseResult& c : run.cases) {
    for (const StepResult& s : c.steps) {
      const auto part = [&](double Summary::*member) {
        return s.seconds ? number((*s.seconds).*member) : std::string();
      };
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", run.number,
          quoted(run.device.name), run.device.emulated, quoted(c.title), quoted(c.parameters), c.bytes_moved,
          c.copy ? number(c.copy->median) : "", quoted(s.version), quoted(s.name), kind_name(s.kind), quoted(s.base),
          to_string(s.status), quoted(s.reason), part(&Summary::median), part(&Summary::p25), part(&Summary::p75),
          part(&Summary::min), s.seconds ? s.seconds->samples : 0, s.seconds ? number(s.bytes_per_second) : "",
          number(s.fraction_of_limit), s.over_first ? number(s.over_first->times) : "",
          s.over_base ? number(s.over_base->times) : "", s.over_base ? fmt::format("{}", s.over_base->is_noise) : "",
          s.over_base ? quoted(s.over_base->over) : "");
    }
  }
  return text;
}

}  // namespace warpbook
