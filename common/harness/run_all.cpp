#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "common/harness/access_map.hpp"
#include "common/harness/benchmark_report.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/options.hpp"
#include "common/harness/output_file.hpp"
#include "common/harness/plan.hpp"
#include "common/harness/profile.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/run.hpp"

#ifndef WARPBOOK_COMMIT
#define WARPBOOK_COMMIT "unknown"  // The build defines it where it can tell.
#endif

namespace warpbook {
namespace {

enum ExitStatus : int {
  kRight = 0,
  kWrong = 1,
  kBadArguments = 2,
  kNoDevice = 3,
  kNotWritten = 4,
  kInterrupted = 130,
};

bool wants_color() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

bool wants_progress() { return isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

void print_steps(const Chapter& chapter, StepKind kind, const char* title) {
  const auto is = [kind](const Step& step) { return step.kind == kind; };
  if (std::none_of(chapter.steps.begin(), chapter.steps.end(), is)) return;
  std::cout << '\n' << title << '\n';
  for (const Step& step : chapter.steps) {
    if (!is(step)) continue;
    const std::string base = step.base.empty() ? "" : "on " + step.base;
    const std::string prepares = step.prepares.empty() ? "" : " (prepares " + step.prepares + ")";
    std::cout << fmt::format("  {:<28} {:<8} {}{}\n", format_step(step.version, step.name), base, step.idea, prepares);
  }
}

void print_list(const Chapter& chapter) {
  std::cout << fmt::format("Chapter {}: {}\n", chapter.number, chapter.title);
  print_steps(chapter, StepKind::step, "The ladder, and what each step is built on");
  print_steps(chapter, StepKind::aside, "Asides (--all-steps)");
  print_steps(chapter, StepKind::library, "Library kernels (--all-steps)");
  print_steps(chapter, StepKind::yardstick, "Yardsticks (--all-steps)");
  std::cout << "\nCases (headline cases are run without an option, all with --full)\n";
  for (const CaseSpec& spec : chapter.cases) {
    const auto problem = chapter.make_case(Parameters::parse(spec.parameters));
    std::cout << fmt::format("  {:<9} {}  moves {}\n            --case '{}'\n", spec.headline ? "headline" : "",
                             problem->title(), format_bytes(problem->bytes_moved()), spec.parameters);
    if (!spec.emulated.empty()) std::cout << fmt::format("            on the emulator: '{}'\n", spec.emulated);
  }
}

void print_device(const DeviceInfo& device) {
  const auto line = [](const char* name, const std::string& value) {
    std::cout << fmt::format("{:<20} {}\n", name, value);
  };
  line("device", device.name + (device.emulated ? " (emulated, times are modelled)" : ""));
  line("compute capability", fmt::format("{}.{}", device.major, device.minor));
  line("multiprocessors", std::to_string(device.multiprocessors));
  if (device.clock_hertz > 0) line("clock", fmt::format("{:.0f} MHz", device.clock_hertz * 1e-6));
  line("L2", format_bytes(static_cast<std::int64_t>(device.l2_bytes)));
  line("memory", fmt::format("{}, {} free", format_bytes(static_cast<std::int64_t>(device.memory_bytes)),
                             format_bytes(static_cast<std::int64_t>(device.free_bytes))));
  line("driver", device.driver);
  line("toolkit", "CUDA " + device.toolkit);
  line("warpbook", WARPBOOK_VERSION_TEXT);
}

/// The files that were asked for. They have what was done by now, whatever ends the program.
class ReportFiles {
public:
  explicit ReportFiles(const Options& options) : benchmark_out_(options.benchmark_out) {
    const auto add = [this](const std::string& path, std::string (*text)(const ChapterResult&)) {
      if (!path.empty()) files_.emplace_back(KeptFile(path), text);
    };
    add(options.json, json_report);
    add(options.csv, csv_report);
    add(options.svg, svg_report);
  }

  void keep(const ChapterResult& result) {
    for (auto& [file, text] : files_) file.keep([&] { return text(result); });
  }

  /// One that fails does not keep the others from being written. \throws OutputError
  void finish(const ChapterResult& result, const Options& options) {
    std::string failure;
    const auto write = [&](const auto& one) {
      try {
        one();
      } catch (const OutputError& error) {
        failure += (failure.empty() ? "" : "; ") + std::string(error.what());
      }
    };
    for (auto& [file, text] : files_) write([&, &file = file, &text = text] { file.finish(text(result)); });
    write([&] {
      const std::string text = report_by_google_benchmark(result, options);
      if (!benchmark_out_.empty()) write_file(benchmark_out_, text);
    });
    if (!failure.empty()) throw OutputError(failure);
  }

private:
  std::vector<std::pair<KeptFile, std::string (*)(const ChapterResult&)>> files_;
  std::string benchmark_out_;
};

int status_of(const ChapterResult& result) {
  if (result.partial) return kInterrupted;
  for (const CaseResult& c : result.cases) {
    for (const StepResult& s : c.steps) {
      if (s.status == Status::fail) return kWrong;
    }
  }
  return result.short_of_memory ? kNoDevice : kRight;
}

/// Runs a plan. Whatever ends the run, what was done by then is reported.
void run_and_report(const Chapter& chapter, const Options& options, const Plan& plan, ChapterResult& result) {
  TableReport table(std::cout, wants_color());
  ReportFiles files(options);
  std::exception_ptr failure;
  result.partial = true;
  try {
    run_plan(chapter, options, plan,
             {.table = options.benchmark_table ? &table : nullptr,
              .progress = wants_progress(),
              .keep = [&] { files.keep(result); }},
             result);
    result.partial = false;
  } catch (const Interrupted&) {
  } catch (...) {
    const bool nothing_done =
        std::all_of(result.cases.begin(), result.cases.end(), [](const CaseResult& c) { return c.steps.empty(); });
    if (nothing_done) throw;
    failure = std::current_exception();
  }
  if (options.benchmark_table) table.end(result);
  files.finish(result, options);
  if (failure) std::rethrow_exception(failure);
}

int run(const Chapter& chapter, const Options& options) {
  if (options.help) {
    std::cout << help_text(chapter);
    return kRight;
  }
  if (!options.access_map.empty() && !options.steps.empty())
    throw BadInput("--access-map names its steps itself: leave --step out");
  std::vector<const Step*> steps =
      select_steps(chapter, options.access_map.empty() ? options.steps : options.access_map, options.all_steps);
  std::vector<SelectedCase> cases = select_cases(chapter, options);
  if (options.counters != Counters::none && !device_emulated()) {
    throw BadInput(
        fmt::format("--counters: the counters are the emulator's (`make chapter{} DEVICE=emulator`); on a GPU "
                    "Nsight Compute reads them (ncu)",
                    chapter.number));
  }
  if (!options.access_map.empty()) check_access_map(chapter, steps, options);
  if (options.list) {
    print_list(chapter);
    return kRight;
  }

  catch_interrupts();
  ChapterResult result;
  result.number = chapter.number;
  result.name = chapter.name;
  result.title = chapter.title;
  result.device = query_device();
  if (options.device_info) {
    print_device(result.device);
    return kRight;
  }
  for (const std::string& path : {options.json, options.csv, options.svg, options.benchmark_out}) {
    if (!path.empty()) check_writable(path);  // Now, and not after a long run.
  }
  result.run = {.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                .commit = WARPBOOK_COMMIT,
                .seed = options.seed};

  const Plan plan = make_plan(std::move(steps), std::move(cases));
  result.left_out = plan.left_out;
  result.smaller_cases =
      std::any_of(plan.cases.begin(), plan.cases.end(), [](const SelectedCase& c) { return c.stands_in; });
  if (!options.access_map.empty()) return draw_access_maps(chapter, plan, result.device, options) ? kRight : kWrong;
  if (options.profile) return profile_plan(plan, result.device, options.seed) ? kRight : kWrong;
  const std::vector<std::string> names = benchmark_names(chapter, plan, options.benchmark_filter);
  if (names.empty() && !plan.cases.empty()) {
    throw BadInput(
        fmt::format("--benchmark_filter={} fits nothing (names: --benchmark_list_tests)", options.benchmark_filter));
  }
  if (options.benchmark_list) {
    for (const std::string& name : names) std::cout << name << '\n';
    return kRight;
  }
  run_and_report(chapter, options, plan, result);
  return status_of(result);
}

int report(const std::exception& error, int status) {
  std::cout.flush();
  std::cerr << "run_all: " << one_line(error.what()) << '\n';
  return status;
}

}  // namespace

int run_all(const Chapter& chapter, int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // A file beyond the limit is an error of writing it, not the program's end.
  try {
    const int status = run(chapter, parse_options(chapter, argc, argv));
    std::cout.flush();
    if (!std::cout && status != kInterrupted) throw OutputError("cannot write to the standard output");
    return status;
  } catch (const BadInput& error) {
    return report(error, kBadArguments);
  } catch (const NoDevice& error) {
    return report(NoDevice(fmt::format("{}; `make chapter{} DEVICE=emulator` builds it for a machine without a GPU",
                                       error.what(), chapter.number)),
                  kNoDevice);
  } catch (const TooLittleMemory& error) {
    return report(error, kNoDevice);
  } catch (const OutputError& error) {
    return report(error, kNotWritten);
  } catch (const Interrupted& error) {
    return report(error, kInterrupted);
  } catch (const std::bad_alloc&) {
    return report(TooLittleMemory("too little memory (--list shows smaller cases)"), kNoDevice);
  } catch (const std::system_error& error) {
    return report(TooLittleMemory(fmt::format("{} (is there a limit? ulimit -a)", error.what())), kNoDevice);
  } catch (const CudaError& error) {
    return report(error, kNoDevice);
  }
}

}  // namespace warpbook
