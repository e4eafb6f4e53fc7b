/// \file
/// Medians, equality, comparisons and the reports that are made of them.
#include <nlohmann/json.hpp>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "common/harness/compare.hpp"
#include "common/harness/counter_names.hpp"
#include "common/harness/format.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/statistics.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

Summary around(double median, double spread) {
  return {.median = median,
          .p25 = median * (1 - spread),
          .p75 = median * (1 + spread),
          .min = median * (1 - spread),
          .samples = 30};
}

/// v1, v2 on v1, v3 on v2, v4 on v3, and a dispatch that is built on nothing.
Chapter small_chapter() {
  Chapter chapter;
  const auto add = [&](const StepInfo& info) { chapter.steps.push_back(Step{info}); };
  add({"v1", "name", "", ""});
  add({"v2", "name", "v1", ""});
  add({"v3", "name", "v2", ""});
  add({"v4", "name", "v3", ""});
  add({"v5", "dispatch", "", ""});
  add({"copy", "name", "", "", {}, StepKind::yardstick});
  return chapter;
}

/// A row of small_chapter()'s.
StepResult row_of(const std::string& version) {
  StepResult row;
  const Chapter chapter = small_chapter();
  static_cast<StepInfo&>(row) = *find_step(chapter, version);
  return row;
}

StepResult passed(const std::string& version, const Summary& seconds) {
  StepResult step = row_of(version);
  step.status = Status::pass;
  step.seconds = seconds;
  step.samples.assign(30, seconds.median);
  step.method = "launch";
  return step;
}

/// A run with a passing, a failing and a skipped step, and texts that need escaping.
ChapterResult sample_run() {
  ChapterResult run;
  run.number = 3;
  run.name = "permute";
  run.title = "Permute: \"a\" <b> & c";
  run.device.name = "A device";
  run.device.driver = "1.2";
  run.device.toolkit = "13.0";
  run.run = {.date = "2026-01-01T00:00:00Z", .commit = "abc", .seed = 7};
  CaseResult c;
  c.title = "(0,1)->(1,0), 2x3";
  c.parameters = "shape=2,3";
  c.bytes_moved = 48;
  c.copy = around(1e-6, 0.01);
  StepResult first = passed("v1", around(4e-6, 0.01));
  first.counted = {{"dram__bytes_read.sum", 24}};
  compare_step(first, c, small_chapter());
  c.steps.push_back(first);
  StepResult second = passed("v2", around(2e-6, 0.01));
  compare_step(second, c, small_chapter());
  c.steps.push_back(second);
  StepResult wrong = row_of("v3");
  wrong.status = Status::fail;
  wrong.reason = "first wrong at [0, 1]: expected \"1\", got 2";
  c.steps.push_back(wrong);
  StepResult skipped = row_of("v4");
  skipped.reason = "odd";
  c.steps.push_back(skipped);
  run.cases.push_back(c);
  run.left_out.push_back({"big", "needs more"});
  return run;
}

}  // namespace

TEST_CASE("quartiles interpolate") {
  const Summary one = summarize(std::array{3.0});
  CHECK(one.median == 3.0);
  CHECK(one.p25 == 3.0);
  CHECK(one.p75 == 3.0);
  CHECK(one.samples == 1);
  const Summary five = summarize(std::array{5.0, 1.0, 4.0, 2.0, 3.0});
  CHECK(five.median == 3.0);
  CHECK(five.p25 == 2.0);
  CHECK(five.p75 == 4.0);
  CHECK(five.min == 1.0);
  CHECK(five.spread() == Approx(1.0 / 3));
  const Summary four = summarize(std::array{1.0, 2.0, 3.0, 4.0});
  CHECK(four.median == 2.5);
  CHECK(four.p25 == 1.75);
  CHECK(summarize({}).samples == 0);
}

TEST_CASE("a median is in doubt by what lies around it, however the samples spread") {
  std::vector<double> samples(50, 1.0);
  CHECK(median_uncertainty(samples) == 0);
  CHECK(median_uncertainty({samples.data(), 5}) == 1);
  CHECK(median_uncertainty({samples.data(), 6}) == 0);
  for (std::size_t i = 0; i < 50; ++i) samples[i] = 100 + static_cast<double>(i);
  CHECK(median_uncertainty(samples) == Approx((132.0 - 117) / 2 / 124.5));  // The 18th and the 33rd: see any table.
  CHECK(median_uncertainty({samples.data(), 6}) == Approx((105.0 - 100) / 2 / 102.5));
  CHECK(median_uncertainty(std::vector<double>(50, 0.0)) == 0);

  // Two groups: the median is that of the larger one, and in doubt as long as chance could have made it so.
  const auto groups = [](std::size_t count, double share) {
    std::vector<double> times(count, 1.0);
    std::fill_n(times.begin(), static_cast<std::size_t>(share * static_cast<double>(count)), 1.02);
    return times;
  };
  CHECK(median_uncertainty(groups(50, 0.60)) > 0.009);
  CHECK(median_uncertainty(groups(50, 0.70)) == 0);
  CHECK(median_uncertainty(groups(1000, 0.60)) == 0);
  CHECK(median_uncertainty(groups(1000, 0.52)) > 0.009);
}

TEST_CASE("equal is less than 2% apart, or overlapping") {
  CHECK(equal(around(1.0, 0), around(1.019, 0)));
  CHECK_FALSE(equal(around(1.0, 0), around(1.021, 0)));
  CHECK(equal(around(1.021, 0), around(1.021, 0)));
  CHECK(equal(around(1.0, 0.06), around(1.1, 0.06)));
  CHECK_FALSE(equal(around(1.0, 0.04), around(1.1, 0.04)));
  CHECK(never_slower(around(1.0, 0), around(2.0, 0)));
  CHECK(never_slower(around(1.01, 0), around(1.0, 0)));
  CHECK_FALSE(never_slower(around(1.1, 0.01), around(1.0, 0.01)));
}

TEST_CASE("a step is compared with the limit, the first step, and its base") {
  const Chapter chapter = small_chapter();
  CaseResult c;
  c.copy = around(1e-6, 0);
  const auto add = [&](StepResult row) -> const StepResult& {
    compare_step(row, c, chapter);
    return c.steps.emplace_back(std::move(row));
  };
  const StepResult yardstick = add(passed("copy", around(1e-6, 0)));
  CHECK(*yardstick.fraction_of_limit == Approx(1));
  CHECK_FALSE(yardstick.over_first);
  CHECK_FALSE(yardstick.over_base);

  const StepResult v1 = add(passed("v1", around(8e-6, 0.01)));
  CHECK(v1.over_first->times == 1);
  CHECK_FALSE(v1.over_base);

  StepResult wrong = row_of("v2");
  wrong.status = Status::fail;
  add(wrong);
  const StepResult v3 = add(passed("v3", around(4e-6, 0.01)));  // Its base gave no time: its base's base did.
  CHECK(v3.over_first->times == Approx(2));
  CHECK(v3.over_base->times == Approx(2));
  CHECK(v3.over_base->over == "v1");
  CHECK_FALSE(v3.over_base->is_noise);
  CHECK(*v3.fraction_of_limit == Approx(0.25));

  const StepResult v4 = add(passed("v4", around(4.05e-6, 0.01)));
  CHECK(v4.over_base->over == "v3");
  CHECK(v4.over_base->is_noise);
  CHECK_FALSE(v4.over_first->is_noise);

  const StepResult dispatch = add(passed("v5", around(2e-6, 0.01)));
  CHECK(dispatch.over_first->times == Approx(4));
  CHECK_FALSE(dispatch.over_base);  // Nobody's gain.

  const auto climb = climb_of(c);
  CHECK(climb->from->version == "v1");
  CHECK(climb->to->version == "v5");
  CHECK(climb->gain == Approx(4));

  CaseResult without_first;
  StepResult alone = passed("v4", around(4e-6, 0.01));
  compare_step(alone, without_first, chapter);
  CHECK_FALSE(alone.over_first);
  CHECK_FALSE(alone.over_base);
  CHECK_FALSE(alone.fraction_of_limit);
  without_first.steps.push_back(alone);
  CHECK_FALSE(climb_of(without_first));
}

TEST_CASE("a chapter's data are checked") {
  Chapter chapter = small_chapter();
  chapter.make_case = [](const Parameters&) -> std::unique_ptr<Case> { throw BadInput("no such case"); };
  CHECK(defects(chapter) == std::vector<std::string>{"0 headline cases"});
  chapter.steps[2].base = "v4";  // Behind it.
  chapter.steps[3].counters = {"sectors/request", "sectors/minute"};
  chapter.cases = {{"n=1", kHeadline}};
  CHECK(defects(chapter) == std::vector<std::string>{"v3: its base v4 does not stand before it",
                                                     "v4: there is no counter sectors/minute", "n=1: no such case",
                                                     "n=1: no such case"});
}

TEST_CASE("a story's counters stand beside its base's, and say which is better") {
  const auto counting = [](const char* version, double sectors, double requests, double bytes) {
    StepResult row = passed(version, around(1e-6, 0));
    row.counters = {"sectors/request", "memory reads", "divisions-64"};
    row.counted = {{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors},
                   {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", requests},
                   {"dram__bytes_read.sum", bytes}};
    return row;
  };
  const StepResult base = counting("v1", 320, 10, 50);
  const auto printed = [&](const StepResult& step, const StepResult* beside) {
    std::ostringstream out;
    TableReport(out, false).story(step, beside);
    return one_line(out.str());
  };
  CHECK(printed(counting("v2", 40, 10, 60), &base) ==
        "sectors/request 4 v1 32 better memory reads 60 v1 50 worse");  // Divisions were not counted.
  CHECK(printed(counting("v2", 64, 2, 50), &base) ==
        "sectors/request 32 v1 32 the same memory reads 50 v1 50 the same");
  CHECK(printed(counting("v2", 40, 0, 50), nullptr) == "memory reads 50");  // No requests, no ratio.
}

TEST_CASE("numbers are printed as people read them") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_count(-1000) == "-1,000");
  CHECK(format_seconds(408.8e-6) == "408.8 us");
  CHECK(format_seconds(5.25e-6) == "5.25 us");
  CHECK(format_seconds(1.5e-3) == "1.500 ms");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(128 << 20) == "128 MiB");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bandwidth(4.21e12) == "4.21 TB/s");
  CHECK(format_quantity(1, "element") == "1 element");
  CHECK(one_line("a\n  b\t c \n") == "a b c");
}

TEST_CASE("the table says what passed, what failed and why") {
  const ChapterResult run = sample_run();
  std::ostringstream out;
  TableReport table(out, false);
  table.begin(run);
  table.begin_case(run.cases[0], 1, 1);
  for (const StepResult& step : run.cases[0].steps) table.step(step);
  table.end_case(run.cases[0]);
  table.end(run);
  const std::string text = out.str();
  CHECK(text.find('\033') == std::string::npos);
  for (const char* part : {"Chapter 3", "A device (measured)", "(0,1)->(1,0), 2x3", "cudaMemcpyAsync, the limit",
                           "2.00x", "FAIL", "expected \"1\", got 2", "not here: v4: odd\n", "left out: big: needs more",
                           "v1 name to v2 name: 2.00x, 50% of a copy\n", "1 case: 2 right, 1 WRONG, 1 skipped"}) {
    CAPTURE(part, text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a row shows its gain, or that there is none, and what it means") {
  const auto printed = [](const StepResult& step) {
    std::ostringstream out;
    TableReport(out, false).step(step);
    return one_line(out.str());
  };
  StepResult step = passed("v2", around(1e-6, 0.01));
  step.over_base = {.over = "v1", .times = 1.01, .is_noise = true};
  CHECK(printed(step) == "v2 name v1 1.00 us same");
  step.prepares = "the tiles";
  CHECK(printed(step) == "v2 name v1 1.00 us same prepares the tiles");
  step = passed("v3", around(1e-6, 0.03));
  step.over_base = {.over = "v1", .times = 1.5, .is_noise = false};
  CHECK(printed(step) == "v3 name v2 1.00 us ± 3% 1.50x base: v1, as v2 is not here");
}

TEST_CASE("steps that refuse a case share a line, and those of one reason its words") {
  CaseResult c;
  for (const auto& [version, reason] : {std::pair{"v2", "odd"}, {"v3", "no matrix"}, {"v4", "odd"}}) {
    StepResult row = row_of(version);
    row.reason = reason;
    c.steps.push_back(row);
  }
  std::ostringstream out;
  TableReport(out, false).end_case(c);
  CHECK(out.str() == "not here: v2, v4: odd; v3: no matrix\n");
}

TEST_CASE("a clock that falls while it is measured is told, one that wavers is not") {
  ChapterResult run = sample_run();
  run.timing.event_gap_seconds = 1.5e-6;
  const auto table = [&] {
    std::ostringstream out;
    TableReport(out, false).end(run);
    return out.str();
  };
  for (const double megahertz : {1980.0, 1965.0, 1950.0}) run.timing.saw_clock(megahertz * 1e6);
  CHECK_FALSE(run.timing.throttled());
  CHECK(table().find("a sample of nothing takes 1.5") != std::string::npos);
  CHECK(table().find("1950 MHz at its lowest, 1980 at its highest") != std::string::npos);
  CHECK(table().find("slowed down") == std::string::npos);
  run.timing.saw_clock(1400e6);
  CHECK(run.timing.throttled());
  CHECK(table().find("slowed down") != std::string::npos);
  CHECK(nlohmann::json::parse(json_report(run))["timing"]["throttled"] == true);
  CHECK(nlohmann::json::parse(json_report(sample_run()))["timing"]["throttled"] == false);  // Nothing was measured.
}

TEST_CASE("JSON holds the run") {
  ChapterResult run = sample_run();
  run.partial = true;
  const auto json = nlohmann::json::parse(json_report(run));
  CHECK(json["chapter"] == 3);
  CHECK(json["title"] == run.title);
  CHECK(json["partial"] == true);
  CHECK(json["run"]["seed"] == 7);
  CHECK(json["run"]["driver"] == "1.2");
  CHECK(json["run"]["commit"] == "abc");
  CHECK(json["device"]["emulated"] == false);
  const auto& c = json["cases"][0];
  CHECK(c["name"] == "(0,1)->(1,0), 2x3");
  CHECK(c["bytes_moved"] == 48);
  CHECK(c["copy_seconds"] == 1e-6);
  const auto& steps = c["steps"];
  CHECK(steps[0]["status"] == "pass");
  CHECK(steps[0]["counters"]["dram__bytes_read.sum"] == 24);
  CHECK(steps[0]["seconds"]["median"] == 4e-6);
  CHECK(steps[0]["samples"] == 30);
  CHECK(steps[1]["kind"] == "step");
  CHECK_FALSE(steps[0].contains("base"));
  CHECK(steps[1]["base"] == "v1");
  CHECK(steps[1]["gain_over_base"].get<double>() == Approx(2));
  CHECK(steps[1]["gain_over_base_is_noise"] == false);
  CHECK(steps[1]["gain_over"] == "v1");
  CHECK(steps[2]["status"] == "fail");
  CHECK_FALSE(steps[2].contains("seconds"));
  CHECK(steps[3]["status"] == "skipped");
  CHECK(steps[3]["reason"] == "odd");
  CHECK(json["left_out"][0]["reason"] == "needs more");
}

TEST_CASE("JSON has five significant digits, and a line for each case") {
  ChapterResult run = sample_run();
  run.cases[0].steps[0].seconds->median = 1.23456789e-5;
  run.cases.push_back(run.cases[0]);
  const std::string text = json_report(run);
  CHECK(text.find("\"median\":1.2346e-05") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("CSV quotes what needs it, and has one line a step") {
  const std::string csv = csv_report(sample_run());
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  CHECK(csv.find("\"(0,1)->(1,0), 2x3\"") != std::string::npos);
  CHECK(csv.find("\"first wrong at [0, 1]: expected \"\"1\"\", got 2\"") != std::string::npos);
}

TEST_CASE("every counter's short name stands for one") {
  for (const CounterName& name : counter_names()) {
    CAPTURE(name.name);
    CHECK(find_counter(name.name) == &name);
    CHECK(name.counter.find("__") != std::string::npos);
  }
}

TEST_CASE("the chart is well-formed and described") {
  const std::string svg = svg_report(sample_run());
  CHECK(svg.find("Permute: &quot;a&quot; &lt;b&gt; &amp; c") != std::string::npos);
  CHECK(svg.find("<title ") != std::string::npos);
  CHECK(svg.find("<desc ") != std::string::npos);
  CHECK(svg.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(svg.find("wrong result") != std::string::npos);
  CHECK(svg.find("2.00x v1") != std::string::npos);
  CHECK(svg.find(" & ") == std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("the chart tells the gain over the base and over v1, once where that is the base") {
  ChapterResult run = sample_run();
  StepResult& step = run.cases[0].steps[1];
  step.over_base = {.over = "v1b", .times = 2, .is_noise = false};
  step.over_first = {.over = "v1", .times = 3, .is_noise = false};
  CHECK(svg_report(run).find("2.00x v1b · 3.00x v1<") != std::string::npos);
  step.over_base->is_noise = true;
  CHECK(svg_report(run).find("· 3.00x v1<") != std::string::npos);
  step.over_first->is_noise = true;
  CHECK(svg_report(run).find("x v1") == std::string::npos);
  step.over_base = step.over_first = {.over = "v1", .times = 4, .is_noise = false};
  const std::string svg = svg_report(run);
  CHECK(svg.find("· 4.00x v1<") != std::string::npos);
  CHECK(svg.find("4.00x v1 ·") == std::string::npos);
}

}  // namespace warpbook
