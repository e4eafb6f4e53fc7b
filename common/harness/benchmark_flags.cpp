#include "common/harness/benchmark_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "common/harness/expression.hpp"

namespace warpbook {
namespace {

/// A flag that is passed on.
struct Flag {
  std::string_view name;
  std::string_view value;  // What it accepts: words between '|', or a placeholder.
};

constexpr std::array kFlags{
    Flag{"filter", "REGEX"},
    Flag{"list_tests", "true|false"},
    Flag{"repetitions", "N"},
    Flag{"out", "FILE"},
    Flag{"out_format", "json|csv|console"},
    Flag{"format", "console|json|csv"},
    Flag{"context", "KEY=VALUE"},
    Flag{"time_unit", "ns|us|ms|s"},
    Flag{"color", "auto|true|false"},
    Flag{"counters_tabular", "true|false"},
};

/// Flags that Google Benchmark has, and that have no meaning where a sample is one of ours.
constexpr std::array<std::string_view, 6> kMeaningless{"min_time",
                                                       "min_warmup_time",
                                                       "enable_random_interleaving",
                                                       "report_aggregates_only",
                                                       "display_aggregates_only",
                                                       "perf_counters"};

bool one_of(std::string_view value, std::string_view words) {
  while (true) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

}  // namespace

std::string accepted_benchmark_flags() {
  std::string text;
  for (const Flag& flag : kFlags) {
    text += fmt::format("{}--benchmark_{}={}", text.empty() ? "" : " ", flag.name, flag.value);
  }
  return text;
}

void check_benchmark_flags(const std::vector<std::string>& flags, Options& options) {
  constexpr std::string_view kPrefix = "--benchmark_";
  for (const std::string& text : flags) {
    const std::size_t equals = text.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name = text.substr(kPrefix.size(), has_value ? equals - kPrefix.size() : std::string::npos);
    const std::string value = has_value ? text.substr(equals + 1) : "";

    if (std::find(kMeaningless.begin(), kMeaningless.end(), name) != kMeaningless.end()) {
      throw BadInput(fmt::format("--benchmark_{} has no meaning where the harness makes the samples (accepted: {})",
                                 name, accepted_benchmark_flags()));
    }
    const auto* const flag = std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& f) { return f.name == name; });
    if (flag == kFlags.end()) {
      throw BadInput(fmt::format("unknown option '--benchmark_{}' (accepted: {})", name, accepted_benchmark_flags()));
    }
    const auto refuse = [&] {
      throw BadInput(fmt::format("{}: accepted is --benchmark_{}={}", text, flag->name, flag->value));
    };
    const bool boolean = flag->value == "true|false";
    if (!has_value && !boolean) refuse();  // "--benchmark_list_tests" alone is true.
    if (has_value && flag->value.find('|') != std::string_view::npos && !one_of(value, flag->value)) refuse();
    if (has_value && value.empty()) refuse();

    if (name == "repetitions") {
      int repetitions = 0;
      const auto [stopped, error] = std::from_chars(value.data(), value.data() + value.size(), repetitions);
      if (error != std::errc() || stopped != value.data() + value.size() || repetitions < 1) refuse();
      options.samples = repetitions;
      options.settle = false;
      continue;  // Each benchmark is registered with its number of samples.
    }
    if (name == "filter") {
      const std::string expression = value.starts_with("-") ? value.substr(1) : value;  // "-REGEX" leaves out.
      try {
        static_cast<void>(make_expression(expression, std::regex::extended));
      } catch (const std::regex_error&) {
        refuse();
      }
      options.benchmark_filter = value;
      continue;  // What does not fit is not run, so it is not handed over.
    }
    if (name == "context" && value.find('=') == std::string::npos) refuse();
    if (name == "out") {
      options.benchmark_out = value;
      continue;  // Google Benchmark would not notice a full disk.
    }
    if (name == "out_format") {
      options.benchmark_out_format = value;
      continue;
    }
    if (name == "format") options.benchmark_table = value == "console";
    if (name == "list_tests") {
      options.benchmark_list = !has_value || value == "true";
      continue;
    }
    options.benchmark_flags.push_back(text);
  }
}

}  // namespace warpbook
