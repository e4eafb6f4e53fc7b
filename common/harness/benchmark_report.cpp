#include "common/harness/benchmark_report.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "common/harness/expression.hpp"

namespace warpbook {
namespace {

/// Where the table stands on the terminal already.
class Silent : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

/// Two reports of one run, on the terminal and in a text.
class Both : public benchmark::BenchmarkReporter {
public:
  Both(std::unique_ptr<BenchmarkReporter> shown, std::unique_ptr<BenchmarkReporter> text)
      : shown_(std::move(shown)), text_(std::move(text)) {}
  bool ReportContext(const Context& context) override {
    const bool wanted = text_->ReportContext(context);
    return shown_->ReportContext(context) && wanted;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    text_->ReportRuns(runs);
    shown_->ReportRuns(runs);
  }
  void Finalize() override {
    text_->Finalize();
    shown_->Finalize();
  }

private:
  std::unique_ptr<BenchmarkReporter> shown_;
  std::unique_ptr<BenchmarkReporter> text_;
};

/// A reporter of a form that `--benchmark_out_format` accepts.
std::unique_ptr<benchmark::BenchmarkReporter> reporter(const std::string& form, std::ostream& out) {
  std::unique_ptr<benchmark::BenchmarkReporter> result;
  if (form == "console") {
    result = std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
  } else if (form == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // For years, and the flag still takes it.
    result = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  } else {
    result = std::make_unique<benchmark::JSONReporter>();
  }
  result->SetOutputStream(&out);
  result->SetErrorStream(&out);
  return result;
}

/// \throws BadInput
void initialize(const std::vector<std::string>& flags) {
  static char name[] = "run_all";  // Google Benchmark keeps the pointer.
  std::vector<std::string> arguments = flags;
  std::vector<char*> pointers{name};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) throw BadInput(fmt::format("Google Benchmark does not accept {}", pointers[1]));
}

void hand_over(const std::string& name, std::span<const double> samples) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [samples, next = std::size_t{0}](benchmark::State& state) mutable {
                                 for (auto _ : state) state.SetIterationTime(samples[next++]);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(static_cast<int>(samples.size()));
}

void hand_over_reason(const std::string& name, const std::string& reason) {
  benchmark::RegisterBenchmark(name.c_str(), [reason](benchmark::State& state) { state.SkipWithError(reason.c_str()); })
      ->UseManualTime()
      ->Iterations(1);
}

}  // namespace

std::string benchmark_name(const std::string& chapter, const std::string& title, const StepInfo& step) {
  return fmt::format("{}/{}/{}_{}", chapter, title, step.version, step.name);
}

std::vector<const Step*> wanted_steps(const Chapter& chapter, const Plan& plan, const Case& problem,
                                      const BenchmarkFilter& filter) {
  std::vector<const Step*> steps;
  for (const Step* step : plan.steps) {
    if (filter.fits(benchmark_name(chapter.name, problem.title(), *step))) steps.push_back(step);
  }
  return steps;
}

std::vector<std::string> benchmark_names(const Chapter& chapter, const Plan& plan, const std::string& filter) {
  std::vector<std::string> names;
  for (const SelectedCase& selected : plan.cases) {
    for (const Step* step : wanted_steps(chapter, plan, *selected.problem, BenchmarkFilter(filter))) {
      names.push_back(benchmark_name(chapter.name, selected.problem->title(), *step));
    }
  }
  return names;
}

BenchmarkFilter::BenchmarkFilter(const std::string& text)
    : all_(text.empty() || text == "all"), leaves_out_(text.starts_with("-")),
      expression_(make_expression(leaves_out_ ? text.substr(1) : text, std::regex::extended)) {}

bool BenchmarkFilter::fits(const std::string& name) const {
  return all_ || std::regex_search(name, expression_) != leaves_out_;
}

std::string report_by_google_benchmark(const ChapterResult& run, const Options& options) {
  if (options.benchmark_table && options.benchmark_out.empty()) return "";
  initialize(options.benchmark_flags);
  for (const CaseResult& c : run.cases) {
    if (!c.samples.empty()) hand_over(fmt::format("{}/{}/cudaMemcpyAsync", run.name, c.title), c.samples);
    for (const StepResult& step : c.steps) {
      const std::string name = benchmark_name(run.name, c.title, step);
      if (step.status == Status::pass) {
        hand_over(name, step.samples);
      } else {
        hand_over_reason(name, step.reason);
      }
    }
  }
  std::unique_ptr<benchmark::BenchmarkReporter> shown = std::make_unique<Silent>();
  if (!options.benchmark_table) shown.reset(benchmark::CreateDefaultDisplayReporter());
  std::ostringstream text;
  Both both(std::move(shown), reporter(options.benchmark_out_format, text));
  benchmark::RunSpecifiedBenchmarks(&both);
  benchmark::ClearRegisteredBenchmarks();
  return text.str();
}

}  // namespace warpbook
