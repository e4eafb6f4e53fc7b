/// \file
/// The main function of an exercise's check: runs the reader's step on the cases that are named, as run_all runs a
/// step, and writes what came of each as a line of JSON. Who judges it is common/exercises/judge.py.
///
///     check --results FILE [--seed N] [--yardstick] [--time] CASE...
///
/// Exit status: 0 all cases were run, right or wrong; 2 bad arguments; 3 no usable device; 4 FILE cannot be written.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/exercises/check.hpp"
#include "common/harness/bench.hpp"
#include "common/harness/device.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/results.hpp"
#include "common/harness/statistics.hpp"
#include "common/harness/verify.hpp"

#ifdef WARPBOOK_EMULATED
#include <warpbook_emulator.h>
#endif

namespace warpbook::exercises {
namespace {

constexpr int kSamples = 30;

struct Arguments {
  std::string results;
  std::uint64_t seed = 1;
  bool yardstick = false;  // The step copies input 0.
  bool time = false;
  std::vector<std::string> cases;
};

Arguments parse(std::span<const char* const> words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--results" && has_value) {
      result.results = words[++i];
    } else if (word == "--seed" && has_value) {
      const std::string_view digits = words[++i];
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.seed);
      if (error != std::errc() || end != digits.data() + digits.size()) throw BadInput("--seed needs a number");
    } else if (word == "--yardstick") {
      result.yardstick = true;
    } else if (word == "--time") {
      result.time = true;
    } else if (!word.starts_with("--")) {
      result.cases.emplace_back(word);
    } else {
      throw BadInput("unknown option " + std::string(word) +
                     " (accepted: --results FILE, --seed N, --yardstick, --time, and cases)");
    }
  }
  if (result.results.empty()) throw BadInput("--results FILE is missing");
  return result;
}

/// Appends lines; each is on the disk before the next case begins, since the reader's code may end the program.
class Results {
public:
  explicit Results(const std::string& path) : file_(path, std::ios::app) {}

  bool write(const nlohmann::json& line) {
    file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    return static_cast<bool>(file_);
  }

private:
  std::ofstream file_;
};

/// The median of a right step's times; modelled times are the same each time.
double median_seconds(const Step& step, const Case& problem, const Arguments& arguments, const DeviceInfo& device) {
  Workbench workbench(device);
  CaseBench bench(problem, arguments.seed, false);
  Measurement measurement = bench.measure(step, workbench);
  std::vector<double> seconds(kSamples);
  for (double& s : seconds) s = measurement.sample();
  return summarize(seconds).median;
}

nlohmann::json check_case(const Step& step, const std::string& parameters, const Arguments& arguments,
                          const DeviceInfo& device) {
  const std::unique_ptr<Case> problem = make_exercise_case(Parameters::parse(parameters));
  if (device.emulated) {
    const Stream stream;
    check(mark_case(stream.get()), "launching");
    stream.synchronize();
  }
  const Verification found = verify_step(step, *problem, arguments.seed);
  nlohmann::json line{{"case", parameters},
                      {"title", problem->title()},
                      {"written_bytes", problem->updates_output() ? 1 : problem->output().bytes()},  // At least.
                      {"status", to_string(found.status)},
                      {"reason", found.reason}};
  if (found.status == Status::pass && arguments.time) {
    line["seconds"] = device.emulated ? found.seconds : median_seconds(step, *problem, arguments, device);
  }
  return line;
}

int run(const Arguments& arguments) {
  const DeviceInfo device = query_device();
#ifdef WARPBOOK_EMULATED
  emulator::set_trace(emulator::TraceMode::all);
#endif
  Step step;
  step.version = "exercise";
  step.name = "exercise";
  if (arguments.yardstick) step.kind = StepKind::yardstick;
  step.run = run_exercise;

  Results results(arguments.results);
  if (!results.write({{"device", device.name}, {"emulated", device.emulated}, {"seed", arguments.seed}})) return 4;
  for (const std::string& parameters : arguments.cases) {
    if (!results.write({{"begins", parameters}})) return 4;
    if (!results.write(check_case(step, parameters, arguments, device))) return 4;
    static_cast<void>(cudaDeviceReset());  // After a kernel that failed, the next case starts afresh.
    static_cast<void>(cudaGetLastError());
  }
  return results.write({{"complete", true}}) ? 0 : 4;
}

}  // namespace
}  // namespace warpbook::exercises

int main(int argc, char** argv) {
  using namespace warpbook;
  const auto fail = [](const std::exception& error, int status) {
    std::cerr << "check: " << error.what() << '\n';
    return status;
  };
  try {
    const std::vector<const char*> words(argv + std::min(1, argc), argv + argc);
    return exercises::run(exercises::parse(words));
  } catch (const BadInput& error) {
    return fail(error, 2);
  } catch (const std::exception& error) {
    return fail(error, 3);
  }
}
