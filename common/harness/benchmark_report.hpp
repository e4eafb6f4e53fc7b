/// \file
/// The results of a run as Google Benchmark reports them.
///
/// The harness takes the samples. Google Benchmark gets them afterwards: each step on each case is a benchmark, each
/// sample a repetition of it with a manual time. So its console report, its JSON and its medians are those of the
/// table.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "common/harness/options.hpp"
#include "common/harness/plan.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// "permute/(0,1)->(1,0)  31x17  half/v4b_padded_tile".
std::string benchmark_name(const std::string& chapter, const std::string& title, const StepInfo& step);

/// `--benchmark_filter`: whether a name is asked for. An expression after "-" leaves out what it fits.
class BenchmarkFilter {
public:
  /// \param text as given; empty: everything fits.
  explicit BenchmarkFilter(const std::string& text);
  /// Whether the name is asked for.
  bool fits(const std::string& name) const;

private:
  bool all_;
  bool leaves_out_;
  std::regex expression_;
};

/// The plan's steps that a filter leaves of a case.
std::vector<const Step*> wanted_steps(const Chapter& chapter, const Plan& plan, const Case& problem,
                                      const BenchmarkFilter& filter);

/// The names of what a plan runs, as far as the filter lets them through.
std::vector<std::string> benchmark_names(const Chapter& chapter, const Plan& plan, const std::string& filter);

/// Hands the samples over, where `--benchmark_format` or `--benchmark_out` asks for Google Benchmark's report.
/// \return what the file of `--benchmark_out` gets. \throws BadInput for a flag that it does not accept
std::string report_by_google_benchmark(const ChapterResult& run, const Options& options);

}  // namespace warpbook
