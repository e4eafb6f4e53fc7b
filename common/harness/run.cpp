#include "common/harness/run.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <new>

#include "common/harness/bench.hpp"
#include "common/harness/clock_probe.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/predict.hpp"

namespace warpbook {
namespace {

constexpr int kCopy = -1;  // In place of a step's number.

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

/// Runs a plan under Google Benchmark. Each step on each case is one benchmark, each sample one repetition of it; what
/// has to happen before the first sample (data, verification, warm-up) happens inside that repetition, outside its
/// time. As the library's reporter it hears when a benchmark's repetitions are over.
class Runner : public benchmark::BenchmarkReporter {
public:
  Runner(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display, ChapterResult& result)
      : chapter_(chapter), options_(options), plan_(plan), table_(display.table), progress_(display.progress),
        result_(result), predictions_(std::cin, std::cout, isatty(STDIN_FILENO) != 0) {}
  ~Runner() override { benchmark::ClearRegisteredBenchmarks(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void run();

  // Called by Google Benchmark.
  bool ReportContext(const Context& context) override { return !library_ || library_->ReportContext(context); }
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override {
    if (library_) library_->Finalize();
  }

private:
  void register_benchmarks();
  void repetition(std::size_t case_index, int step_index, benchmark::State& state);
  void begin_case(std::size_t case_index);
  void begin_copy();
  void begin_step(const Step& step);
  double next_sample();
  void settle(std::vector<double>& seconds);
  void finish_copy(const Summary& summary);
  void finish_step(const Summary& summary);
  void show_case_header();
  void device_failed(const CudaError& error);
  void recover_device();
  void watch_clock();
  Workbench& workbench();

  const Chapter& chapter_;
  const Options& options_;
  const Plan& plan_;
  TableReport* table_;
  Progress progress_;
  ChapterResult& result_;
  Predictions predictions_;
  std::unique_ptr<benchmark::BenchmarkReporter> library_;  // Where Google Benchmark is to print its own report.

  // Destroyed from the last to the first: what is on the device goes before the stream it was made with.
  std::unique_ptr<Workbench> workbench_;
  std::unique_ptr<CaseBench> case_bench_;
  std::unique_ptr<CopyBench> copy_bench_;
  std::optional<Measurement> measurement_;

  std::size_t case_index_ = static_cast<std::size_t>(-1);
  int step_index_ = kCopy - 1;
  CaseResult* case_ = nullptr;  // Of `result_`.
  StepResult step_;             // Of the benchmark that runs now.
  double modelled_seconds_ = 0;
  bool begun_ = false;  // The current benchmark began, and its result has not been shown.
  bool header_shown_ = false;
  std::string device_lost_;  // Why nothing can run on the device any more; empty: it can.
};

void Runner::run() {
  std::vector<std::string> arguments{"run_all"};
  arguments.insert(arguments.end(), options_.benchmark_flags.begin(), options_.benchmark_flags.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) throw BadInput(fmt::format("Google Benchmark does not accept {}", pointers[1]));
  if (!options_.benchmark_table) library_.reset(benchmark::CreateDefaultDisplayReporter());

  if (table_ != nullptr && !options_.benchmark_list) {
    progress_.show("measuring the copy ceiling");
    result_.copy_bytes_per_second = large_copy_bytes_per_second(workbench());
    if (!result_.device.emulated) result_.timing.event_gap_seconds = sample_of_nothing_seconds(workbench());
    watch_clock();
    progress_.clear();
  }
  register_benchmarks();
  std::ostream nowhere(nullptr);
  SetErrorStream(&nowhere);  // A filter that fits nothing is told below, in one line.
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks(this);
  progress_.clear();
  watch_clock();
  if (matched == 0 && !plan_.cases.empty()) {
    throw BadInput(
        fmt::format("--benchmark_filter={} fits nothing (names: --benchmark_list_tests)", options_.benchmark_filter));
  }
  result_.partial = interrupted();
  if (table_ != nullptr && !predictions_.summary().empty()) table_->note(predictions_.summary());
}

void Runner::register_benchmarks() {
  const int samples = result_.device.emulated ? 1 : options_.samples;
  for (std::size_t c = 0; c < plan_.cases.size(); ++c) {
    for (int s = kCopy; s < static_cast<int>(plan_.steps.size()); ++s) {
      if (s == kCopy && plan_.cases[c].problem->bytes_moved() < 2) continue;
      const Step* const step = s == kCopy ? nullptr : plan_.steps[static_cast<std::size_t>(s)];
      const std::string name = fmt::format("{}/{}/{}", chapter_.name, plan_.cases[c].problem->title(),
                                           step == nullptr ? "cudaMemcpyAsync" : step->version + "_" + step->name);
      benchmark::RegisterBenchmark(name.c_str(), [this, c, s](benchmark::State& state) { repetition(c, s, state); })
          ->UseManualTime()
          ->Iterations(1)
          ->Repetitions(samples);
    }
  }
}

Workbench& Runner::workbench() {
  if (!workbench_) workbench_ = std::make_unique<Workbench>(result_.device);
  return *workbench_;
}

void Runner::repetition(std::size_t case_index, int step_index, benchmark::State& state) {
  try {
    throw_if_interrupted();
    if (case_index != case_index_ || step_index != step_index_) {
      begun_ = false;
      if (case_index != case_index_) begin_case(case_index);
      case_index_ = case_index;
      step_index_ = step_index;
      step_ = {};
      if (step_index == kCopy) {
        begin_copy();
      } else {
        begin_step(*plan_.steps[static_cast<std::size_t>(step_index)]);
      }
      begun_ = true;
    }
    if (step_.status == Status::pass) {
      // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): this is how Google Benchmark counts.
      for (auto _ : state) state.SetIterationTime(next_sample());
      return;
    }
  } catch (const Interrupted&) {
    begun_ = false;
    step_.status = Status::skipped;
    step_.reason = "interrupted";
  } catch (const CudaError& error) {
    device_failed(error);
    begun_ = true;
  } catch (const std::bad_alloc&) {
    step_.status = Status::skipped;
    step_.reason = "too little host memory";
    result_.short_of_memory = true;
    begun_ = true;
  }
  // Inside the loop, because Google Benchmark ends the process when a step's samples differ in their iterations, and an
  // interrupt may come after some were taken.
  for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    state.SkipWithError(step_.reason.c_str());
    break;
  }
}

void Runner::begin_case(std::size_t case_index) {
  free_and_wait([this] {
    measurement_.reset();
    copy_bench_.reset();
    case_bench_.reset();
  });
  watch_clock();
  const Case& problem = *plan_.cases[case_index].problem;
  CaseResult entry;
  entry.title = problem.title();
  entry.parameters = problem.parameters();
  entry.bytes_moved = problem.bytes_moved();
  result_.cases.push_back(std::move(entry));
  case_ = &result_.cases.back();
  header_shown_ = false;
}

void Runner::begin_copy() {
  step_.version = "cudaMemcpyAsync";
  if (!device_lost_.empty()) {
    step_.status = Status::skipped;
    step_.reason = device_lost_;
    return;
  }
  progress_.show(case_->title + ": measuring the copy");
  copy_bench_ = std::make_unique<CopyBench>(workbench(), case_->bytes_moved, result_.copy_bytes_per_second);
  step_.status = Status::pass;
}

void Runner::begin_step(const Step& step) {
  step_.version = step.version;
  step_.name = step.name;
  step_.idea = step.idea;
  step_.yardstick = step.is_yardstick();
  if (!device_lost_.empty()) {
    step_.status = Status::skipped;
    step_.reason = device_lost_;
    return;
  }
  if (!case_bench_) {
    progress_.show(case_->title + ": making the data and the reference");
    const Case& problem = *plan_.cases[case_index_].problem;
    const bool tiny = problem.bytes_moved() < 2;
    const bool in_graph = copy_bench_ ? copy_bench_->in_graph() : tiny;
    free_and_wait([this] { copy_bench_.reset(); });  // Its memory is for the case now.
    case_bench_ = std::make_unique<CaseBench>(problem, options_.seed, in_graph);
  }
  progress_.show(fmt::format("{}: verifying {} {}", case_->title, step.version, step.name));
  const Verification verification = case_bench_->verify(step, workbench());
  step_.status = verification.status;
  step_.reason = verification.reason;
  if (verification.device_lost) recover_device();
  if (step_.status != Status::pass) return;

  modelled_seconds_ = verification.seconds;
  if (result_.device.emulated && case_->bytes_moved > 0) {
    const LaunchCounters seen = last_launch_counters();
    step_.counters = seen.counters;
    step_.counters_extrapolated = seen.extrapolated;
    step_.limited_by = seen.limited_by;
  }
  progress_.show(fmt::format("{}: timing {} {}", case_->title, step.version, step.name));
  if (result_.device.emulated) {
    step_.method = "model";
  } else {
    measurement_.emplace(case_bench_->measure(step, workbench()));
    step_.method = measurement_->method();
  }
}

double Runner::next_sample() {
  if (step_index_ == kCopy) return copy_bench_->sample();
  return measurement_ ? measurement_->sample() : modelled_seconds_;
}

/// Google Benchmark takes as many samples of one thing as of another. Where they leave the median in doubt, more are
/// taken here, which its own report does not have.
void Runner::settle(std::vector<double>& seconds) {
  if (step_.status != Status::pass || result_.device.emulated || !options_.settle) return;
  const auto end = std::chrono::steady_clock::now() + kLongestToSettle;
  const auto may_go_on = [&] {
    return seconds.size() < kMostToSettle && !interrupted() && std::chrono::steady_clock::now() < end;
  };
  try {
    while (may_go_on() && median_uncertainty(seconds) > kSettledShare) {
      for (std::size_t more = seconds.size() / 4 + 1; more > 0 && may_go_on(); --more) seconds.push_back(next_sample());
    }
  } catch (const CudaError& error) {
    device_failed(error);
  }
}

void Runner::device_failed(const CudaError& error) {
  step_.status = Status::fail;
  step_.reason = one_line(error.what());
  if (error.code() == cudaErrorMemoryAllocation) {  // No fault of the step's.
    step_.status = Status::skipped;
    result_.short_of_memory = true;
  }
  recover_device();
}

void Runner::recover_device() {
  measurement_.reset();
  copy_bench_.reset();
  if (case_bench_) case_bench_->release_device();
  workbench_.reset();
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaDeviceReset());
  static_cast<void>(cudaGetLastError());
  try {
    static_cast<void>(workbench());
    workbench_->stream.synchronize();
  } catch (const CudaError&) {
    workbench_.reset();
    device_lost_ = "the device did not come back after " + step_.version + " failed";
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

void Runner::ReportRuns(const std::vector<Run>& runs) {
  if (library_) library_->ReportRuns(runs);
  if (!begun_ || runs.empty() || runs[0].run_type != Run::RT_Iteration) return;  // Aggregates come a second time.
  begun_ = false;
  std::vector<double> seconds;
  for (const Run& run : runs) {
    if (run.run_type == Run::RT_Iteration) {
      seconds.push_back(run.real_accumulated_time /
                        static_cast<double>(std::max<benchmark::IterationCount>(1, run.iterations)));
    }
  }
  settle(seconds);
  const Summary summary = summarize(seconds);
  progress_.clear();
  try {
    if (step_index_ == kCopy) {
      finish_copy(summary);
    } else {
      finish_step(summary);
    }
  } catch (const Interrupted&) {
    step_ = {};  // While checking what was left behind: the step does not count.
  }
}

void Runner::show_case_header() {
  if (table_ != nullptr && !header_shown_) {
    if (result_.cases.size() == 1) table_->begin(result_);
    table_->begin_case(*case_, result_.cases.size(), plan_.cases.size());
  }
  header_shown_ = true;
}

void Runner::finish_copy(const Summary& summary) {
  if (step_.status == Status::pass) {
    case_->copy = summary;
    case_->copy_method = copy_bench_->method();
  }
  show_case_header();
  if (step_.status != Status::pass && table_ != nullptr)
    table_->step(step_);  // Or nobody would know why it is missing.
}

void Runner::finish_step(const Summary& summary) {
  show_case_header();
  measurement_.reset();
  if (step_.status == Status::pass && !result_.device.emulated) {
    const Step& step = *plan_.steps[static_cast<std::size_t>(step_index_)];
    try {
      if (const Verification after = case_bench_->verify_after(step, workbench()); after.status == Status::fail) {
        step_.status = Status::fail;
        step_.reason = "right at first, wrong after the timed launches: " + after.reason;
      }
    } catch (const CudaError& error) {
      device_failed(error);
    }
  }
  if (step_.status == Status::pass) {
    step_.seconds = summary;
    step_.bytes_per_second = summary.median > 0 ? static_cast<double>(case_->bytes_moved) / summary.median : 0;
    const auto first =
        std::find_if(chapter_.steps.begin(), chapter_.steps.end(), [](const Step& s) { return !s.is_yardstick(); });
    compare_step(step_, *case_, first == chapter_.steps.end() ? "" : first->version);
  } else {
    step_.method.clear();
    step_.counters.clear();
    step_.limited_by.clear();
  }
  case_->steps.push_back(step_);
  if (table_ == nullptr) return;

  const bool ask = options_.predict && step_.status == Status::pass && !step_.yardstick;
  if (ask) predictions_.ask(step_);
  table_->step(step_);
  if (ask) predictions_.judge(step_);
  if (options_.counters) table_->counters(step_);
}

}  // namespace

void compare_step(StepResult& step, const CaseResult& result, const std::string& first_version) {
  if (!step.seconds || step.seconds->median <= 0) return;
  if (result.copy) step.fraction_of_copy = result.copy->median / step.seconds->median;
  if (step.yardstick) return;

  const Summary* previous = nullptr;
  for (const StepResult& other : result.steps) {
    if (other.yardstick || other.status != Status::pass || !other.seconds) continue;
    if (other.version == first_version) {
      step.speedup_vs_first = other.seconds->median / step.seconds->median;
      step.first_is_noise = equal(*other.seconds, *step.seconds);
    }
    previous = &*other.seconds;
    step.previous = other.version;
  }
  if (step.version == first_version) step.speedup_vs_first = 1.0;
  if (previous != nullptr) {
    step.speedup_vs_previous = previous->median / step.seconds->median;
    step.previous_is_noise = equal(*previous, *step.seconds);
  }
}

void run_plan(const Chapter& chapter, const Options& options, const Plan& plan, RunDisplay display,
              ChapterResult& result) {
  Runner(chapter, options, plan, display, result).run();
}

}  // namespace warpbook
