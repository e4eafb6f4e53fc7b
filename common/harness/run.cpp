#include "common/harness/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>

#include "common/harness/bench.hpp"
#include "common/harness/benchmark_report.hpp"
#include "common/harness/clock_probe.hpp"
#include "common/harness/compare.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/predict.hpp"

namespace warpbook {
namespace {

// So settled, the medians of two runs are well within the 2% that count as equal.
constexpr double kSettledShare = 0.004;
constexpr std::size_t kMostToSettle = 2000;
constexpr std::chrono::seconds kLongestToSettle{5};

/// One line on a terminal, overwritten by what comes next.
class Progress {
public:
  explicit Progress(bool on) : on_(on) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text) {
    if (!on_) return;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
  }

private:
  bool on_;
  bool shown_ = false;
};

/// Runs a plan: two loops, over the cases and over the steps.
class Runner {
public:
  Runner(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display, ChapterResult& result)
      : chapter_(chapter), options_(options), plan_(plan), table_(display.table), progress_(display.progress),
        keep_(std::move(display.keep)), result_(result), filter_(options.benchmark_filter),
        predictions_(std::cin, std::cout, isatty(STDIN_FILENO) != 0) {}

  void run();

private:
  void run_case(const Case& problem);
  StepResult run_step(const Step& step, const Case& problem);
  void calibrate();
  void measure_copy(const Case& problem);
  void verify(const Step& step, const Case& problem, StepResult& row);
  void measure(const Step& step, StepResult& row);
  std::vector<double> take_samples(const std::function<double()>& sample) const;
  void show(StepResult row);
  void failed(const CudaError& error, StepResult& row);
  void recover_device(const std::string& version);
  void watch_clock();
  void show_progress(const std::string& what) { progress_.show(case_->title + ": " + what); }
  Workbench& workbench();

  const Chapter& chapter_;
  const Options& options_;
  const Plan& plan_;
  TableReport* table_;
  Progress progress_;
  std::function<void()> keep_;
  ChapterResult& result_;
  BenchmarkFilter filter_;
  Predictions predictions_;

  // Destroyed from the last to the first: what is on the device goes before the stream it was made with.
  std::unique_ptr<Workbench> workbench_;
  std::unique_ptr<CaseBench> bench_;  // Of the case that runs now, once a step needs it.
  CaseResult* case_ = nullptr;        // The same case, of `result_`.
  bool in_graph_ = false;             // The case is a short one.
  std::string device_lost_;           // Why nothing can run on the device any more; empty: it can.
};

void Runner::run() {
  calibrate();
  if (table_ != nullptr) table_->begin(result_);
  for (const SelectedCase& selected : plan_.cases) run_case(*selected.problem);
  watch_clock();
  throw_if_interrupted();
  if (table_ != nullptr && !predictions_.summary().empty()) table_->note(predictions_.summary());
}

void Runner::run_case(const Case& problem) {
  const std::vector<const Step*> steps = wanted_steps(chapter_, plan_, problem, filter_);
  if (steps.empty()) return;
  case_ = &result_.cases.emplace_back();
  case_->title = problem.title();
  case_->parameters = problem.parameters();
  case_->bytes_moved = problem.bytes_moved();
  measure_copy(problem);
  progress_.clear();
  if (table_ != nullptr) table_->begin_case(*case_, result_.cases.size(), plan_.cases.size());
  for (const Step* step : steps) show(run_step(*step, problem));
  if (table_ != nullptr) table_->end_case(*case_);
  free_and_wait([this] { bench_.reset(); });
  watch_clock();
}

/// What is the same for all cases.
void Runner::calibrate() {
  if (table_ == nullptr) return;
  progress_.show("measuring the copy ceiling");
  result_.copy_bytes_per_second = large_copy_bytes_per_second(workbench());
  if (!result_.device.emulated) result_.timing.event_gap_seconds = sample_of_nothing_seconds(workbench());
  watch_clock();
  progress_.clear();
}

void Runner::measure_copy(const Case& problem) {
  throw_if_interrupted();
  in_graph_ = problem.bytes_moved() < 2;
  if (in_graph_ || !device_lost_.empty()) return;  // Nothing to copy, or nothing to copy with.
  show_progress("measuring the copy");
  try {
    auto copy = std::make_unique<CopyBench>(workbench(), problem.bytes_moved(), result_.copy_bytes_per_second);
    case_->samples = take_samples([&] { return copy->sample(); });
    case_->copy = summarize(case_->samples);
    case_->copy_method = copy->method();
    in_graph_ = copy->in_graph();
    free_and_wait([&] { copy.reset(); });  // Its memory is for the case now.
  } catch (const CudaError& error) {
    StepResult row;
    row.version = "cudaMemcpyAsync";
    failed(error, row);
    if (table_ != nullptr) table_->note(row.version + ": " + row.reason);
  }
}

StepResult Runner::run_step(const Step& step, const Case& problem) {
  throw_if_interrupted();
  StepResult row;
  static_cast<StepInfo&>(row) = step;
  if (!device_lost_.empty()) {
    row.reason = device_lost_;
    return row;
  }
  try {
    if (!bench_) {
      show_progress("making the data and the reference");
      bench_ = std::make_unique<CaseBench>(problem, options_.seed, in_graph_);
    }
    verify(step, problem, row);
    if (row.status == Status::pass) measure(step, row);
  } catch (const CudaError& error) {
    failed(error, row);
  } catch (const std::bad_alloc&) {
    row.status = Status::skipped;
    row.reason = "too little host memory";
    result_.short_of_memory = true;
  }
  return row;
}

void Runner::verify(const Step& step, const Case& problem, StepResult& row) {
  show_progress(fmt::format("verifying {} {}", step.version, step.name));
  Verification verification = bench_->verify(step, workbench());
  row.status = verification.status;
  row.reason = verification.reason;
  if (verification.device_lost) recover_device(step.version);
  if (row.status != Status::pass || !result_.device.emulated) return;
  row.samples = {verification.seconds};
  row.method = "model";
  if (problem.bytes_moved() == 0) return;
  row.launches = verification.counted.launches;
  row.counted = std::move(verification.counted.counters);
  row.counters_extrapolated = verification.counted.extrapolated;
  row.limited_by = std::move(verification.counted.limited_by);
}

/// Takes the samples of a step that is right, and looks whether it still was while they were taken.
void Runner::measure(const Step& step, StepResult& row) {
  if (!result_.device.emulated) {
    show_progress(fmt::format("timing {} {}", step.version, step.name));
    Measurement measurement = bench_->measure(step, workbench());
    row.samples = take_samples([&] { return measurement.sample(); });
    const Verification after = bench_->verify_after(step, workbench());
    if (after.status == Status::fail) {
      row.status = Status::fail;
      row.reason = "right at first, wrong after the timed launches: " + after.reason;
      return;
    }
    row.method = measurement.method();
  }
  row.seconds = summarize(row.samples);
  const double median = row.seconds->median;
  row.bytes_per_second = median > 0 ? static_cast<double>(case_->bytes_moved) / median : 0;
}

/// As many samples as were asked for; without a number, more where these leave the median in doubt.
std::vector<double> Runner::take_samples(const std::function<double()>& sample) const {
  std::vector<double> seconds;
  const auto take = [&] {
    throw_if_interrupted();
    seconds.push_back(sample());
  };
  for (int i = 0; i < (result_.device.emulated ? 1 : options_.samples); ++i) take();
  if (result_.device.emulated || !options_.settle) return seconds;
  const auto end = std::chrono::steady_clock::now() + kLongestToSettle;
  const auto may_go_on = [&] { return seconds.size() < kMostToSettle && std::chrono::steady_clock::now() < end; };
  while (may_go_on() && median_uncertainty(seconds) > kSettledShare) {
    for (std::size_t more = seconds.size() / 4 + 1; more > 0 && may_go_on(); --more) take();
  }
  return seconds;
}

void Runner::show(StepResult row) {
  progress_.clear();
  if (row.status != Status::pass) row.samples.clear();
  compare_step(row, *case_, chapter_);
  case_->steps.push_back(std::move(row));
  if (keep_) keep_();
  if (table_ == nullptr) return;

  const StepResult& step = case_->steps.back();
  const bool ask = options_.predict && step.status == Status::pass && step.kind != StepKind::yardstick;
  if (ask) predictions_.ask(step);
  table_->step(step);
  if (ask) predictions_.judge(step);
  if (options_.counters == Counters::story) table_->story(step, base_of(step, *case_, chapter_));
  if (options_.counters == Counters::all) table_->counters(step);
}

void Runner::failed(const CudaError& error, StepResult& row) {
  row.status = Status::fail;
  row.reason = one_line(error.what());
  if (error.code() == cudaErrorMemoryAllocation) {  // No fault of the step's.
    row.status = Status::skipped;
    result_.short_of_memory = true;
  }
  recover_device(row.version);
}

void Runner::recover_device(const std::string& version) {
  if (bench_) bench_->release_device();
  workbench_.reset();
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaDeviceReset());
  static_cast<void>(cudaGetLastError());
  try {
    workbench().stream.synchronize();
  } catch (const CudaError&) {
    workbench_.reset();
    device_lost_ = "the device did not come back after " + version + " failed";
  }
}

void Runner::watch_clock() {
  if (result_.device.emulated || table_ == nullptr || !device_lost_.empty()) return;
  try {
    result_.timing.saw_clock(measured_clock_hertz(workbench().stream));
  } catch (const CudaError&) {  // What went wrong is the steps' to tell.
    static_cast<void>(cudaGetLastError());
  }
}

Workbench& Runner::workbench() {
  if (!workbench_) workbench_ = std::make_unique<Workbench>(result_.device);
  return *workbench_;
}

}  // namespace

void run_plan(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display,
              ChapterResult& result) {
  Runner(chapter, options, plan, std::move(display), result).run();
}

}  // namespace warpbook
