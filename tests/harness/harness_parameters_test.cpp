/// \file
/// A case's parameters, the command line, and what it selects.
#include <string>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "common/harness/options.hpp"
#include "common/harness/parameters.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NumberCase : public Case {
public:
  explicit NumberCase(std::int64_t n) : n_(n) {}
  std::string title() const override { return "(0,1)->(1,0)  " + std::to_string(n_) + "x2"; }
  std::string parameters() const override { return "n=" + std::to_string(n_); }
  std::vector<BufferLayout> inputs() const override { return {}; }
  BufferLayout output() const override { return {}; }
  std::int64_t bytes_moved() const override { return n_; }
  void fill(std::size_t, std::uint64_t, std::span<std::byte>) const override {}
  void reference(std::span<const std::span<const std::byte>>, std::span<std::byte>) const override {}
  std::string coordinate(std::int64_t) const override { return "[]"; }

private:
  std::int64_t n_;
};

Chapter small_chapter() {
  Chapter chapter;
  chapter.number = 9;
  chapter.name = "numbers";
  chapter.title = "Numbers";
  for (const char* version : {"copy", "v7", "v1", "v2a", "v2b", "v3", "x1", "v10"}) {
    Step step;
    step.version = version;
    step.kind = step.version == "copy" ? StepKind::yardstick
                : step.version == "v7" ? StepKind::library
                : step.version == "x1" ? StepKind::aside
                                       : StepKind::step;
    step.name = std::string("name_of_") + version;
    step.idea = "An idea.";
    chapter.steps.push_back(step);
  }
  chapter.cases = {{"n=1", kHeadline}, {"n=20", kHeadline, "n=2"}, {"n=300"}};
  chapter.case_help = "n=N  a number";
  chapter.make_case = [](const Parameters& p) -> std::unique_ptr<Case> {
    const std::int64_t n = p.integer("n", 0);
    p.refuse_unknown();
    if (n < 0) throw BadInput("n must not be negative");
    return std::make_unique<NumberCase>(n);
  };
  return chapter;
}

Options parse(const std::vector<const char*>& words) {
  std::vector<const char*> arguments{"run_all"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return parse_options(small_chapter(), static_cast<int>(arguments.size()), arguments.data());
}

std::vector<std::string> versions(const std::vector<std::string>& names, bool all = false) {
  const Chapter chapter = small_chapter();
  std::vector<std::string> result;
  for (const Step* step : select_steps(chapter, names, all)) result.push_back(step->version);
  return result;
}

std::vector<std::string> selected(const std::vector<const char*>& words) {
  std::vector<std::string> result;
  for (const SelectedCase& c : select_cases(small_chapter(), parse(words))) result.push_back(c.parameters);
  return result;
}

}  // namespace

TEST_CASE("parameters are read as they are written") {
  const Parameters p = Parameters::parse("  shape=31,17,63,129\tperm=3,1,0,2  dtype=half empty= ");
  CHECK(p.integers("shape") == std::vector<std::int64_t>{31, 17, 63, 129});
  CHECK(p.integers("perm") == std::vector<std::int64_t>{3, 1, 0, 2});
  CHECK(p.word("dtype") == "half");
  CHECK(p.integers("empty").empty());
  CHECK(p.integer("offset", 7) == 7);
  CHECK_FALSE(p.has("offset"));
  CHECK_NOTHROW(p.refuse_unknown());
  CHECK(Parameters::parse("n=-9223372036854775808").integer("n", 0) == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(Parameters::parse("").has("n"));
}

TEST_CASE("bad parameters are refused with a line that says why") {
  CHECK(contains(message_of([] { Parameters::parse("half"); }), "'half' is no key=value"));
  CHECK(contains(message_of([] { Parameters::parse("=3"); }), "no key"));
  CHECK(contains(message_of([] { Parameters::parse("n=1 n=2"); }), "n is given twice"));
  for (const char* bad : {"n=", "n=x", "n=1.5", "n=1,", "n=,1", "n=1,,2", "n=0x10", "n=+1", "n= 1"}) {
    CAPTURE(bad);
    const std::string text = message_of([&] {
      const Parameters p = Parameters::parse(bad);
      if (p.integers("n").empty()) throw BadInput("empty");
    });
    CHECK_FALSE(text.empty());
  }
  CHECK(
      contains(message_of([] { Parameters::parse("n=99999999999999999999").integers("n"); }), "does not fit 64 bits"));
  CHECK(contains(message_of([] { Parameters::parse("m=1").word("n"); }), "n= is missing"));
  const std::string unknown = message_of([] {
    const Parameters p = Parameters::parse("n=1 typo=2");
    p.integer("n", 0);
    p.integer("n", 0);
    p.refuse_unknown();
  });
  CHECK(unknown == "unknown key 'typo' (accepted: n)");
}

TEST_CASE("parameters are kept to what a key accepts") {
  constexpr Choice<int> kSides[] = {{"left", -1}, {"right", 1}};
  const Parameters p = Parameters::parse("n=9 offset=256 side=right word=up");
  CHECK(p.integer("n", 0, 0, 9, "0 to 9") == 9);
  CHECK(message_of([&] { p.integer("n", 0, 0, 8, "0 to 8"); }) == "n=9 must be 0 to 8");
  CHECK(message_of([&] { p.integer("n", 0, 10, 12, "10 to 12"); }) == "n=9 must be 10 to 12");
  CHECK(message_of([&] { p.offset(); }) == "offset=256 must be 0 to 255 elements");
  CHECK(p.offset("shift") == 0);
  CHECK(p.word("name", "none") == "none");
  CHECK(p.choice("side", kSides, -1) == 1);
  CHECK(p.choice("hand", kSides, -1) == -1);
  CHECK(message_of([&] { p.choice("word", kSides, -1); }) == "word=up is unknown; accepted are left, right");
  CHECK(p.one_of("word", {"down", "up"}) == "up");
  CHECK(p.one_of("other", {"down", "up"}) == "down");
  CHECK(std::string(name_of(kSides, 1)) == "right");
}

TEST_CASE("numbers and sizes are checked") {
  CHECK(parse_number("-1.5e3") == -1500);
  for (const char* bad : {"", "x", "1x", " 1", "inf", "nan", "1e999"}) CHECK_FALSE(parse_number(bad));
  CHECK_NOTHROW(check_sizes({2, 3}, {2, 3}, 6, "too much"));
  CHECK_NOTHROW(check_sizes({2, 0, 3}, {2, 0, 3}, 6, "too much"));
  CHECK_NOTHROW(check_sizes({2, 3}, {2, 3}, 12, "too much", 1));
  CHECK(message_of([] { check_sizes({2, 3}, {2, 3}, 5, "too much"); }) == "shape=2,3 has too much");
  CHECK(message_of([] { check_sizes({2, 3}, {2, 3}, 11, "too much", 1); }) == "shape=2,3 has too much");
  CHECK(message_of([] { check_sizes({2, -1}, {2, -1}, 6, "too much", 2); }) == "shape=2,-1 has a negative size");
}

TEST_CASE("braces in a chapter's cases stand for a case each") {
  const std::vector<CaseSpec> specs =
      expanded({{"n=1", kHeadline, "n=0"}, {"n={2|3,4} dtype={float|half}"}, {"n={5|6,7},8"}});
  std::vector<std::string> texts;
  for (const CaseSpec& spec : specs) texts.push_back(spec.parameters);
  CHECK(texts == std::vector<std::string>{"n=1", "n=2 dtype=float", "n=2 dtype=half", "n=3,4 dtype=float",
                                          "n=3,4 dtype=half", "n=5,8", "n=6,7,8"});
  CHECK(specs[0].headline);
  CHECK(specs[0].emulated == "n=0");
}

TEST_CASE("options are read") {
  CHECK(parse({}).selection == Selection::headline);
  CHECK(parse({"--quick"}).selection == Selection::quick);
  CHECK(parse({"--full", "--json", "a.json"}).json == "a.json");
  CHECK(parse({"--step", "v1,v2a"}).steps == std::vector<std::string>{"v1", "v2a"});
  CHECK(parse({"--case", "[0-9]", "--case", "n=4"}).cases == std::vector<std::string>{"[0-9]", "n=4"});
  CHECK(parse({"--seed", "0xffffffffffffffff"}).seed == 0xffffffffffffffffULL);
  CHECK(parse({"--seed=42"}).seed == 42);
  CHECK(parse({"--samples", "31"}).samples == 31);
  CHECK(parse({"--benchmark_repetitions=33"}).samples == 33);
  CHECK_FALSE(parse({}).all_steps);
  CHECK(parse({"--all-steps"}).all_steps);
  CHECK(parse({}).counters == Counters::none);
  CHECK(parse({"--counters"}).counters == Counters::story);
  CHECK(parse({"--counters=all", "--quick"}).counters == Counters::all);
  CHECK(parse({}).settle);
  CHECK_FALSE(parse({"--samples", "50"}).settle);  // As many as were asked for, and no more.
  CHECK_FALSE(parse({"--benchmark_repetitions=50"}).settle);
  CHECK(parse({"--benchmark_list_tests"}).benchmark_list);
  CHECK_FALSE(parse({"--benchmark_format=json"}).benchmark_table);
}

TEST_CASE("bad options are refused with a line that says what is accepted") {
  const auto refused = [](const std::vector<const char*>& words) { return message_of([&] { parse(words); }); };
  CHECK(contains(refused({"--frobnicate"}), "unknown option '--frobnicate' (accepted: --help, --list"));
  CHECK(contains(refused({"stray"}), "unexpected argument 'stray'"));
  CHECK(contains(refused({"--quick", "--full"}), "exclude each other"));
  CHECK(contains(refused({"--counters=some"}), "--counters=some: accepted is --counters or --counters=all"));
  CHECK(contains(refused({"--all-steps=2"}), "--all-steps"));
  CHECK(contains(refused({"--json", ""}), "--json needs a file's name"));
  CHECK(contains(refused({"--json"}), "--json"));
  CHECK(contains(refused({"--step", ""}), "--step"));
  for (const char* seed : {"", "x", "0x", "-1", "1.0", "18446744073709551616", "12 "}) {
    CAPTURE(seed);
    if (*seed != '\0') CHECK(contains(refused({"--seed", seed}), "accepted is a number of up to 64 bits"));
  }
  for (const char* samples : {"0", "-3", "x", "1e9"}) {
    CAPTURE(samples);
    CHECK(contains(refused({"--samples", samples}), "--samples"));
  }
  CHECK(contains(refused({"--benchmark_nonsense=1"}), "unknown option '--benchmark_nonsense'"));
  CHECK(contains(refused({"--benchmark_min_time=1"}), "no meaning"));
  CHECK(contains(refused({"--benchmark_repetitions=0"}), "accepted is --benchmark_repetitions=N"));
  CHECK(contains(refused({"--benchmark_format=xml"}), "console|json|csv"));
  CHECK(contains(refused({"--benchmark_filter=("}), "--benchmark_filter"));
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"--frobnicate"}, {"--samples", "x"}, {"--benchmark_x"}}) {
    CHECK_FALSE(contains(refused(words), "\n"));
  }
}

TEST_CASE("without a name the ladder is selected, or every kind") {
  CHECK(versions({}) == std::vector<std::string>{"v1", "v2a", "v2b", "v3", "v10"});
  CHECK(versions({}, true) == std::vector<std::string>{"v1", "v2a", "v2b", "v3", "v10", "x1", "v7", "copy"});
  CHECK(versions({"copy", "v7", "v1"}) == std::vector<std::string>{"v1", "v7", "copy"});
}

TEST_CASE("steps are selected by version, number or name") {
  CHECK(versions({"v2"}) == std::vector<std::string>{"v2a", "v2b"});
  CHECK(versions({"v3", "v1"}) == std::vector<std::string>{"v1", "v3"});
  CHECK(versions({"v1"}) == std::vector<std::string>{"v1"});
  CHECK(versions({"name_of_v2b"}) == std::vector<std::string>{"v2b"});
  CHECK(contains(message_of([] { versions({"v4"}); }),
                 "unknown step 'v4' (accepted: copy, v7, v1, v2a, v2b, v3, x1, v10)"));
  CHECK_FALSE(message_of([] { versions({"v"}); }).empty());
}

TEST_CASE("cases are the headline ones, all, those of an expression, or the user's own") {
  const std::string second = device_emulated() ? "n=2" : "n=20";  // The emulator runs a smaller one in its place,
  CHECK(selected({}) == std::vector<std::string>{"n=1", second});
  CHECK(selected({"--quick"}) == std::vector<std::string>{"n=1"});
  CHECK(selected({"--full"}) == std::vector<std::string>{"n=1", "n=20", "n=300"});  // but not where all are asked for.
  CHECK(selected({"--case", "x2$"}) == std::vector<std::string>{"n=1", second});    // Of the selection first.
  CHECK(selected({"--case", "300x"}) == std::vector<std::string>{"n=300"});         // Then of all.
  CHECK(selected({"--case", "(0,1)->(1,0)  20x2"}) == std::vector<std::string>{"n=20"});  // As it stands.
  CHECK(selected({"--case", "n=77"}) == std::vector<std::string>{"n=77"});
  CHECK(selected({"--case", "n=77", "--case", "20"}) == std::vector<std::string>{"n=77", "n=20"});
  CHECK(selected({"--case", "300", "--case", "00x"}) == std::vector<std::string>{"n=300"});
  CHECK(contains(message_of([] { selected({"--case", "nothing"}); }), "fits no case"));
  CHECK(contains(message_of([] { selected({"--case", "["}); }), "no regular expression"));
  CHECK(contains(message_of([] { selected({"--case", "n=-1"}); }), "n must not be negative"));
  CHECK(contains(message_of([] { selected({"--case", "m=1"}); }), "unknown key 'm' (accepted: n)"));
}

TEST_CASE("the help names every option and the case's keys") {
  const std::string help = help_text(small_chapter());
  for (const char* part : {"--list", "--step", "--case", "--all-steps", "--quick", "--full", "--json", "--csv", "--svg",
                           "--counters", "--predict", "--seed", "--samples", "--device-info", "--help",
                           "--benchmark_filter", "n=N  a number", "Exit status"}) {
    CAPTURE(part);
    CHECK(contains(help, part));
  }
}

}  // namespace warpbook
