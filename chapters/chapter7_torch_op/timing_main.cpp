/// \file
/// The timing study as a program: the C++ half of ./chapter7/run_all. Its options are those of every chapter, as far as
/// they have a meaning here.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "chapters/chapter7_torch_op/timing.hpp"
#include "common/cuda/error.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"
#include "common/harness/options.hpp"
#include "common/harness/output_file.hpp"
#include "common/harness/statistics.hpp"

#ifndef WARPBOOK_COMMIT
#define WARPBOOK_COMMIT "unknown"  // The build defines it where it can tell.
#endif

namespace warpbook::chapter7 {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, Type> kTypes[] = {
    {"float", Type::float32}, {"half", Type::half}, {"bfloat16", Type::bfloat16}};
constexpr std::int64_t kMostElements = std::int64_t{1} << 32;

/// What is timed.
struct Input {
  std::string parameters;
  std::int64_t count = 0;
  Type type = Type::float32;
};

Input parse_input(const std::string& text) {
  const Parameters parameters = Parameters::parse(text);
  Input input{text, parameters.integer("n", std::int64_t{1} << 20), Type::float32};
  if (input.count < 1 || input.count > kMostElements) {
    throw BadInput(fmt::format("n={}: accepted is 1 to {}", input.count, kMostElements));
  }
  if (parameters.has("dtype")) {
    const std::string name = parameters.word("dtype");
    const auto* const found =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& entry) { return entry.first == name; });
    if (found == std::end(kTypes)) throw BadInput(fmt::format("dtype={}: accepted are float, half, bfloat16", name));
    input.type = found->second;
  }
  parameters.refuse_unknown();
  return input;
}

/// The chapter as the command line needs it.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 7;
  chapter.name = "torch_op";
  chapter.title = "A PyTorch op: ways to time add2, right and wrong";
  chapter.samples = 10;
  chapter.case_help = "n=N        elements of each array (1048576)\ndtype=T    float, half, bfloat16 (float)";
  chapter.cases = {{"n=1048576 dtype=float", kHeadline}, {"n=67108864 dtype=float"}};
  for (const Way& way : ways()) {
    Step step;
    step.version = way.version;
    step.name = way.name;
    step.base = way.base;
    step.idea = way.idea;
    chapter.steps.push_back(step);
  }
  return chapter;
}

/// The cases that `--case` gives, or the selection's: the first headline case, the headline cases, all.
std::vector<Input> select_inputs(const Chapter& chapter, const Options& options) {
  std::vector<Input> inputs;
  for (const std::string& text : options.cases) inputs.push_back(parse_input(text));
  if (!inputs.empty()) return inputs;
  for (const CaseSpec& spec : chapter.cases) {
    if (options.selection != Selection::full && !spec.headline) continue;
    inputs.push_back(parse_input(spec.parameters));
    if (options.selection == Selection::quick) break;
  }
  return inputs;
}

void refuse_what_has_no_meaning(const Options& o) {
  const bool benchmark = !o.benchmark_flags.empty() || !o.benchmark_filter.empty() || o.benchmark_list;
  const std::pair<const char*, bool> given[] = {{"--csv", !o.csv.empty()},
                                                {"--svg", !o.svg.empty()},
                                                {"--counters", o.counters != Counters::none},
                                                {"--predict", o.predict},
                                                {"--profile", o.profile},
                                                {"--access-map", !o.access_map.empty()},
                                                {"--benchmark_...", benchmark}};
  for (const auto& [option, is_given] : given) {
    if (is_given) {
      throw BadInput(fmt::format("{} has no meaning in chapter 7 (accepted: --help, --list, --device-info, --step, "
                                 "--case, --quick, --full, --seed, --samples, --json)",
                                 option));
    }
  }
}

std::string micro(double seconds) { return fmt::format("{:.2f}", seconds * 1e6); }

const char* type_name(Type type) {
  for (const auto& [name, value] : kTypes) {
    if (value == type) return name;
  }
  return "";
}

/// True where a reading is the device's, or the model's, and not the emulator's own slowness.
bool says_something(const Way& way, const DeviceInfo& device) { return !device.emulated || !way.host_clock; }

void print_study(const Study& study, const std::vector<const Step*>& steps, const DeviceInfo& device) {
  std::cout << fmt::format("\ncase n={} {}  moves {}  result {}\n", format_count(study.count), type_name(study.type),
                           format_bytes(study.bytes()),
                           study.wrong == 0 ? "ok" : fmt::format("WRONG in {} elements", study.wrong));
  std::cout << fmt::format("{:<24} {:>9} {:>9} {:>9}  {:<58} {}\n", "way to time", "reads", "first", "off by",
                           "measures", "the samples, us");
  for (const Reading& reading : study.readings) {
    const Way& way = *reading.way;
    if (std::none_of(steps.begin(), steps.end(), [&](const Step* s) { return s->version == way.version; })) continue;
    const double median = summarize(reading.seconds).median;
    const bool counts = says_something(way, device);
    std::string samples;
    for (const double s : reading.seconds) samples += (samples.empty() ? "" : " ") + fmt::format("{:.1f}", s * 1e6);
    std::cout << fmt::format("{:<24} {:>9} {:>9} {:>9}  {:<58} {}\n", way.version + " " + way.name, micro(median),
                             micro(reading.seconds.front()),
                             counts ? fmt::format("{:+.0f}%", (median / study.cold_seconds - 1) * 100) : "-",
                             counts ? way.measures : "the emulator, which is no GPU", samples);
  }
  std::cout
      << "Off by: from v7b, the time of a launch that finds nothing in the L2. The right way is v6 for one launch\n"
         "of 20 us and more, and v7b below.\n";
}

Json study_json(const Study& study, const Input& input, const std::vector<const Step*>& steps,
                const DeviceInfo& device) {
  Json rows = Json::array();
  for (const Reading& reading : study.readings) {
    const Way& way = *reading.way;
    if (std::none_of(steps.begin(), steps.end(), [&](const Step* s) { return s->version == way.version; })) continue;
    const Summary s = summarize(reading.seconds);
    const bool counts = says_something(way, device);
    rows.push_back({{"version", way.version},
                    {"name", way.name},
                    {"base", way.base},
                    {"idea", way.idea},
                    {"status", study.wrong == 0 ? "pass" : "fail"},
                    {"reason", counts ? "" : "the host's clock times the emulator, which is no GPU"},
                    {"clock", way.host_clock ? "host" : "device"},
                    {"cold", way.cold},
                    {"measures", way.measures},
                    {"seconds", {{"median", s.median}, {"p25", s.p25}, {"p75", s.p75}, {"min", s.min}}},
                    {"samples", s.samples},
                    {"samples_seconds", reading.seconds},
                    {"off", counts ? Json(s.median / study.cold_seconds - 1) : Json(nullptr)},
                    {"modelled", device.emulated && !way.host_clock}});
  }
  return {{"name", fmt::format("add2 n={} {}", study.count, type_name(study.type))},
          {"parameters", input.parameters},
          {"bytes_moved", study.bytes()},
          {"warm_seconds", study.warm_seconds},
          {"cold_seconds", study.cold_seconds},
          {"steps", std::move(rows)}};
}

int run(int argc, const char* const* argv) {
  const Chapter about = chapter();
  const Options options = parse_options(about, argc, argv);
  if (options.help) {
    std::cout << help_text(about);
    return 0;
  }
  refuse_what_has_no_meaning(options);
  const std::vector<const Step*> steps = select_steps(about, options.steps, options.all_steps);
  const std::vector<Input> inputs = select_inputs(about, options);
  if (options.list) {
    std::cout << fmt::format("Chapter {}: {}\n\nWays to time, each with the one that it was made from\n", about.number, about.title);
    for (const Way& way : ways()) std::cout << fmt::format("  {:<5} {:<20} {:<5} {}\n", way.version, way.name, way.base, way.idea);
    std::cout << "\nCases (headline cases are run without an option, all with --full)\n";
    for (const CaseSpec& spec : about.cases) {
      std::cout << fmt::format("  {:<9} --case '{}'\n", spec.headline ? "headline" : "", spec.parameters);
    }
    return 0;
  }
  const DeviceInfo device = query_device();
  if (options.device_info) {
    std::cout << fmt::format("device               {}{}\n", device.name,
                             device.emulated ? " (emulated, times are modelled)" : "");
    return 0;
  }
  if (!options.json.empty()) check_writable(options.json);
  std::cout << fmt::format("Chapter 7 · torch_op · {} ({}) · CUDA {} · seed {}\n", device.name,
                           device.emulated ? "emulated, the device's times are modelled" : "measured", device.toolkit,
                           options.seed);

  Json cases = Json::array();
  bool wrong = false;
  for (const Input& input : inputs) {
    const Study result = study(input.count, input.type, options.samples, options.seed, device);
    wrong = wrong || result.wrong != 0;
    print_study(result, steps, device);
    cases.push_back(study_json(result, input, steps, device));
  }
  if (!options.json.empty()) {
    const Json document{
        {"chapter", about.number},
        {"name", about.name},
        {"title", about.title},
        {"run",
         {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"driver", device.driver},
          {"toolkit", device.toolkit},
          {"commit", WARPBOOK_COMMIT},
          {"seed", options.seed}}},
        {"device", {{"name", device.name}, {"emulated", device.emulated}, {"l2_bytes", device.l2_bytes}}},
        {"cases", std::move(cases)}};
    write_file(options.json, document.dump(2) + "\n");
  }
  return wrong ? 1 : 0;
}

int report(const std::exception& error, int status) {
  std::cout.flush();
  std::cerr << "run_all: " << one_line(error.what()) << '\n';
  return status;
}

}  // namespace
}  // namespace warpbook::chapter7

int main(int argc, char** argv) {
  using namespace warpbook;
  try {
    return chapter7::run(argc, argv);
  } catch (const BadInput& error) {
    return chapter7::report(error, 2);
  } catch (const NoDevice& error) {
    return chapter7::report(error, 3);
  } catch (const OutputError& error) {
    return chapter7::report(error, 4);
  } catch (const std::exception& error) {
    return chapter7::report(error, 3);
  }
}
