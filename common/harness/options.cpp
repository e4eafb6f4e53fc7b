#include "common/harness/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <span>

#include "common/harness/benchmark_flags.hpp"
#include "common/harness/format.hpp"

namespace warpbook {
namespace {

constexpr int kMostSamples = 100'000;

/// Decimal, or hexadecimal after "0x".
std::uint64_t parse_seed(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars is given the end.
  const auto [stopped, error] = std::from_chars(digits.data(), end, value, hexadecimal ? 16 : 10);
  if (error != std::errc() || stopped != end) {
    throw BadInput(
        fmt::format("--seed {}: accepted is a number of up to 64 bits, decimal or hexadecimal (0x...)", text));
  }
  return value;
}

int parse_samples(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars is given the end.
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < 1 || value > kMostSamples) {
    throw BadInput(fmt::format("--samples {}: accepted is 1 to {}", text, kMostSamples));
  }
  return value;
}

Counters parse_counters(const std::string& text) {
  if (text == "story") return Counters::story;
  if (text == "all") return Counters::all;
  throw BadInput(fmt::format("--counters={}: accepted is --counters or --counters=all", one_line(text)));
}

/// Names between commas. \throws BadInput for an empty one
std::vector<std::string> split_names(const std::vector<std::string>& texts, const char* option) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    while (true) {
      const std::size_t comma = text.find(',', begin);
      const std::string name = text.substr(begin, comma - begin);
      if (name.empty()) throw BadInput(fmt::format("{} '{}' has an empty name (accepted: v1,v4)", option, text));
      names.push_back(name);
      if (comma == std::string::npos) break;
      begin = comma + 1;
    }
  }
  return names;
}

/// Values as CLI11 fills them in.
struct RawOptions {
  Options options;
  bool quick = false;
  bool full = false;
  std::string counters;
  std::string seed;
  std::string samples;
};

std::unique_ptr<CLI::App> make_app(const Chapter& chapter, RawOptions& raw) {
  Options& o = raw.options;
  o.samples = chapter.samples;
  auto app = std::make_unique<CLI::App>(
      fmt::format(
          "Chapter {}: {}\nRuns the chapter's steps on its cases: verifies each, times it, and prints what it gained.",
          chapter.number, chapter.title),
      "run_all");
  app->set_help_flag();  // Ours is an ordinary flag: it must not hide errors in what follows it.
  app->allow_extras();   // Told apart below, with a line of our own.

  constexpr auto kShow = "Show, and do nothing else";
  app->add_flag("--help,-h", o.help, "this text")->group(kShow);
  app->add_flag("--list", o.list, "the ladder with its ideas and bases, asides, library kernels, and the cases")
      ->group(kShow);
  app->add_flag("--device-info", o.device_info, "the device that would be used")->group(kShow);

  constexpr auto kWhat = "What to run";
  app->add_option("--step", o.steps, "only these steps, of any kind: --step v1,v4 (v4 is v4a, v4b, ..., too)")
      ->type_name("V,V")
      ->allow_extra_args(false)
      ->group(kWhat);
  app->add_option("--case", o.cases,
                  "only the cases whose title fits a regular expression; with '=', a case of your own (keys below). "
                  "May be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group(kWhat);
  app->add_flag("--all-steps", o.all_steps, "asides, library kernels and yardsticks, too")->group(kWhat);
  app->add_flag("--quick", raw.quick, "only the first headline case")->group(kWhat);
  app->add_flag("--full", raw.full, "every case")->group(kWhat);
  app->add_option("--seed", raw.seed, fmt::format("of the inputs, decimal or 0x... ({})", o.seed))
      ->type_name("N")
      ->group(kWhat);
  app->add_option(
         "--samples", raw.samples,
         fmt::format("samples of each step, no more and no fewer (without it {}, and more where they leave the "
                     "median in doubt; one of a modelled time)",
                     o.samples))
      ->type_name("N")
      ->group(kWhat);

  constexpr auto kOut = "Results";
  app->add_option("--json", o.json, "write them as JSON")->type_name("FILE")->group(kOut);
  app->add_option("--csv", o.csv, "write them as a table of comma-separated values")->type_name("FILE")->group(kOut);
  app->add_option("--svg", o.svg, "write a chart of the steps")->type_name("FILE")->group(kOut);
  CLI::Option* const counters =
      app->add_flag("--counters{story}", raw.counters,
                    "the emulator's counters that each step's story is about, beside its base's (--counters=all: every "
                    "counter)")
          ->group(kOut);
  app->add_option("--access-map", o.access_map,
                  "draw what a warp of these steps touches in memory, as access_map_V.svg (of one step, --svg names "
                  "the file); nothing is timed")
      ->type_name("V,V")
      ->allow_extra_args(false)
      ->group(kOut);
  app->add_flag("--profile", o.profile, "each step once, behind a kernel that marks it, untimed: for ncu and the like")
      ->group(kOut);
  app->add_flag("--predict", o.predict, "ask for your guess before each step's result is shown")->group(kOut);
  for (CLI::Option* option : app->get_options({})) {
    if (option->get_type_name().empty() && option != counters) option->disable_flag_override();  // --quick=3.
  }
  return app;
}

std::string accepted_options(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    text += (text.empty() ? "" : ", ") + ("--" + option->get_lnames().at(0));
  }
  return text;
}

using ResultFile = std::pair<const char*, const std::string*>;

/// Each option that names one, and what it says.
std::array<ResultFile, 4> result_files(const Options& o) {
  return {ResultFile{"--json", &o.json}, {"--csv", &o.csv}, {"--svg", &o.svg}, {"--benchmark_out", &o.benchmark_out}};
}

/// Refuses files that nothing would be written to.
void refuse_files_without_results(const Options& o) {
  const char* const instead = o.list                  ? "--list"
                              : o.device_info         ? "--device-info"
                              : o.profile             ? "--profile"
                              : o.benchmark_list      ? "--benchmark_list_tests"
                              : !o.access_map.empty() ? "--access-map"
                                                      : nullptr;
  if (instead == nullptr || o.help) return;
  for (const auto& [option, file] : result_files(o)) {
    const bool drawing = file == &o.svg && !o.access_map.empty();
    if (!file->empty() && !drawing) throw BadInput(fmt::format("{} and {} exclude each other", instead, option));
  }
}

/// Refuses reports that would overwrite one another. What is no ordinary file, such as /dev/stdout, may take several.
void refuse_same_files(const Options& o) {
  std::map<std::filesystem::path, const char*> taken;
  for (const auto& [option, file] : result_files(o)) {
    if (file->empty()) continue;
    std::error_code none;
    if (std::filesystem::exists(*file, none) && !std::filesystem::is_regular_file(*file, none)) continue;
    const auto [other, first] =
        taken.emplace(std::filesystem::weakly_canonical(std::filesystem::absolute(*file, none), none), option);
    if (!first) throw BadInput(fmt::format("{} and {} name the same file: {}", other->second, option, *file));
  }
}

/// Whether a name on the command line means a step.
bool fits(const Step& step, const std::string& name) {
  if (name == step.version || name == step.name || name == step.version + "_" + step.name ||
      name == step.version + " " + step.name) {
    return true;
  }
  // "v2" is every lettered version of it.
  return step.version.size() == name.size() + 1 && step.version.starts_with(name) && step.version.back() >= 'a' &&
         step.version.back() <= 'z' && !name.empty() && name.back() >= '0' && name.back() <= '9';
}

}  // namespace

Options parse_options(const Chapter& chapter, int argc, const char* const* argv) {
  RawOptions raw;
  Options& o = raw.options;
  const auto app = make_app(chapter, raw);

  std::vector<std::string> ours;
  std::vector<std::string> benchmark;
  for (const char* argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0)) {
    const std::string_view text = argument;
    (text.starts_with("--benchmark_") ? benchmark : ours).emplace_back(text);
  }
  check_benchmark_flags(benchmark, o);

  std::reverse(ours.begin(), ours.end());  // CLI11 takes them from the back.
  try {
    app->parse(ours);
  } catch (const CLI::ParseError& error) {
    const std::string message = one_line(error.what());
    std::string accepted = accepted_options(*app);
    for (const CLI::Option* option : app->get_options()) {
      const std::string& name = option->get_lnames().at(0);
      if (message.starts_with("--" + name + ":")) accepted = fmt::format("--{} {}", name, option->get_type_name());
      if (message.starts_with(name + " ")) accepted = "--" + name;  // A value for what takes none.
    }
    throw BadInput(fmt::format("{} (accepted: {})", message, accepted));
  }
  if (const auto extras = app->remaining(); !extras.empty()) {
    const bool option = extras[0].starts_with("-");
    throw BadInput(fmt::format("{} '{}' (accepted: {}, --benchmark_...)",
                               option ? "unknown option" : "unexpected argument", extras[0], accepted_options(*app)));
  }
  if (raw.quick && raw.full) throw BadInput("--quick and --full exclude each other");
  if (raw.quick) o.selection = Selection::quick;
  if (raw.full) o.selection = Selection::full;
  if (!raw.counters.empty()) o.counters = parse_counters(raw.counters);
  if (app->count("--seed") > 0) o.seed = parse_seed(raw.seed);
  if (app->count("--samples") > 0) {
    o.samples = parse_samples(raw.samples);
    o.settle = false;
  }
  for (const auto& [option, file] : {std::pair{"--json", &o.json}, {"--csv", &o.csv}, {"--svg", &o.svg}}) {
    if (app->get_option(option)->count() > 0 && file->empty())
      throw BadInput(std::string(option) + " needs a file's name");
  }
  refuse_files_without_results(o);
  refuse_same_files(o);
  o.steps = split_names(o.steps, "--step");
  o.access_map = split_names(o.access_map, "--access-map");
  return o;
}

std::string help_text(const Chapter& chapter) {
  RawOptions raw;
  std::string text = make_app(chapter, raw)->help();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text += "\n\nA case's keys:\n";
  std::istringstream lines(chapter.case_help);
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  text += "\nGoogle Benchmark's flags, as far as they have a meaning where the harness makes the samples:\n";
  std::istringstream flags(accepted_benchmark_flags());
  for (std::string flag; flags >> flag;) text += "  " + flag + "\n";
  text +=
      "\nColumns: time: the median of the samples, with half the distance between their quartiles where that is 2% or\n"
      "more of it; of limit: the time of a device-to-device copy of as many bytes, by the step's; over base: the gain\n"
      "over the step that it is built on, or the nearest below that ran. Two times are the same when they differ by\n"
      "less than 2% or their quartiles overlap.\n"
      "\nExit status: 0 every step that ran is right; 1 a step is wrong; 2 bad arguments; 3 no usable device, or too\n"
      "little memory or threads; 4 a file could not be written, and the old one is as it was; 130 interrupted.\n"
      "SIGINT (Ctrl-C), SIGTERM (timeout), SIGHUP, SIGPIPE (| head) and SIGXCPU (a limit of CPU time) interrupt. A second\n"
      "Ctrl-C, a second later, ends the program at once. Whatever ends a run, the files have what was done, marked\n"
      "partial: they are written after each step. Where a run is killed, FILE.before-N beside it is the old file.\n";
  return text;
}

std::vector<const Step*> select_steps(const Chapter& chapter, const std::vector<std::string>& names, bool all) {
  for (const std::string& name : names) {
    if (std::any_of(chapter.steps.begin(), chapter.steps.end(), [&](const Step& s) { return fits(s, name); })) continue;
    std::string accepted;
    for (const Step& step : chapter.steps) accepted += (accepted.empty() ? "" : ", ") + step.version;
    throw BadInput(fmt::format("unknown step '{}' (accepted: {})", name, accepted));
  }
  const auto wanted = [&](const Step& step) {
    if (names.empty()) return all || step.kind == StepKind::step;
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return fits(step, name); });
  };
  std::vector<const Step*> result;
  for (const StepKind kind : {StepKind::step, StepKind::aside, StepKind::library, StepKind::yardstick}) {
    for (const Step& step : chapter.steps) {
      if (step.kind == kind && wanted(step)) result.push_back(&step);
    }
  }
  return result;
}

}  // namespace warpbook
