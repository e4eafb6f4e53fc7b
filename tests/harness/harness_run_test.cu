/// \file
/// Whole runs, in this process, of a chapter with right, wrong, trapping and refusing steps: exit status, table, files.

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "common/harness/device.hpp"
#include "common/harness/plan.hpp"
#include "tests/catch.hpp"
#include "tests/copying.cuh"

namespace warpbook {

TEST_CASE("a run in which all is right ends with 0 and writes its files") {
  const TemporaryFolder folder;
  const Outcome r = run(make_chapter(), {"--json", folder.file("a.json"), "--csv", folder.file("a.csv"), "--svg",
                                         folder.file("a.svg"), "--seed", "0x10", "--samples", "30"});
  CAPTURE(r.out, r.error);
  CHECK(r.status == 0);
  CHECK(folder.names() == std::vector<std::string>{"a.csv", "a.json", "a.svg"});
  const auto json = read_json(folder.file("a.json"));
  CHECK(json["run"]["seed"] == 16);
  CHECK(json["partial"] == false);
  REQUIRE(json["cases"].size() == 3);
  const auto& steps = json["cases"][0]["steps"];
  REQUIRE(steps.size() == 3);  // The ladder.
  CHECK(steps[0]["speedup_vs_first"] == 1.0);
  CHECK(steps[1]["kind"] == "step");
  CHECK(steps[1]["base"] == "v1");
  CHECK(steps[1]["gain_over"] == "v1");
  CHECK(steps[2]["status"] == "skipped");
  CHECK(steps[2]["reason"] == "only empty cases");
  CHECK(steps[0]["modelled"] == device_emulated());
  CHECK(steps[0]["samples"] == (device_emulated() ? 1 : 30));
  CHECK(steps[0]["seconds"]["median"].get<double>() > 0);
  CHECK(json["cases"][0]["copy_seconds"].get<double>() > 0);
  CHECK(json["cases"][1]["copy_seconds"].is_null());        // Nothing to copy,
  CHECK(json["cases"][1]["steps"][1]["status"] == "pass");  // and nothing done wrong.
}

TEST_CASE("every kind of step is run where it is asked for, the ladder first") {
  Chapter chapter = make_chapter();
  chapter.steps.push_back(make_step("x", 0, 0));
  chapter.steps.back().kind = StepKind::aside;
  chapter.steps.push_back(make_step("k", 0, 0));
  chapter.steps.back().kind = StepKind::library;
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--all-steps", "--json", folder.file("a.json")});
  CAPTURE(r.out);
  const auto steps = read_json(folder.file("a.json"))["cases"][0]["steps"];
  std::vector<std::string> kinds;
  for (const auto& step : steps) kinds.push_back(step["kind"]);
  CHECK(kinds == std::vector<std::string>{"step", "step", "step", "aside", "library", "yardstick"});
  CHECK(steps[5]["status"] == "pass");
  CHECK_FALSE(steps[5].contains("speedup_vs_first"));
  for (const char* heading : {"\nasides\n", "\nlibrary kernels\n", "\nyardsticks\n"}) {
    CAPTURE(heading);
    CHECK(r.out.find(heading) != std::string::npos);
  }
  CHECK(run(chapter, {"--quick"}).out.find("asides") == std::string::npos);
}

TEST_CASE("a run ends with how far the ladder climbed on each case") {
  const Outcome r = run(make_chapter(), {"--quick"});
  CAPTURE(r.out);
  CHECK(r.out.find("v1 step to v2 step: ") != std::string::npos);
  CHECK(r.out.find("% of a copy\n") != std::string::npos);
}

TEST_CASE("samples that leave the median in doubt are followed by more, unless their number was given") {
  Chapter chapter = make_chapter();
  chapter.samples = 2;  // Never enough.
  const TemporaryFolder folder;
  const auto samples = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--quick", "--json", folder.file("a.json")});
    REQUIRE(run(chapter, more).status == 0);
    const auto json = read_json(folder.file("a.json"));
    return json["cases"][0]["steps"][0]["samples"].get<int>();
  };
  const int settled = samples({});
  CHECK((device_emulated() ? settled == 1 : settled >= 6));  // A modelled time is never in doubt.
  CHECK(samples({"--samples", "2"}) == (device_emulated() ? 1 : 2));
}

TEST_CASE("a wrong step makes the status 1, and gets no time") {
  Chapter chapter = make_chapter();
  chapter.steps.push_back(make_step("v4", 1, 0));
  chapter.steps.back().base = "v3";
  chapter.steps.push_back(make_step("v5", 0, 0));
  chapter.steps.back().base = "v4";
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--json", folder.file("a.json")});
  CAPTURE(r.out);
  CHECK(r.status == 1);
  CHECK(r.out.find("FAIL") != std::string::npos);
  CHECK(r.out.find("first wrong at [999]") != std::string::npos);
  const auto steps = read_json(folder.file("a.json"))["cases"][0]["steps"];
  CHECK(steps[3]["status"] == "fail");
  CHECK_FALSE(steps[3].contains("seconds"));
  CHECK(steps[3]["reason"].get<std::string>().find("dropped tail") != std::string::npos);
  CHECK(steps[4]["status"] == "pass");
  CHECK(steps[4]["gain_over"] == "v2");  // v4 is wrong, and v3 refused the case.
  CHECK(r.out.find("base: v2, as v4 is not here") != std::string::npos);
}

TEST_CASE("after a step that traps the others run if the device comes back", kTraps) {
  Chapter chapter = make_chapter();
  chapter.steps.push_back(make_step("v4", 0, std::int64_t{1} << 40));  // Far outside of any allocation.
  chapter.steps.push_back(make_step("v5", 0, 0));
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--json", folder.file("a.json")});
  CAPTURE(r.out);
  CHECK(r.status == 1);
  const auto steps = read_json(folder.file("a.json"))["cases"][0]["steps"];
  CHECK(steps[3]["status"] == "fail");
  CHECK(steps[3]["reason"].get<std::string>().find("cudaErrorIllegalAddress") != std::string::npos);
#ifdef WARPBOOK_EMULATED
  CHECK(steps[4]["status"] == "pass");
#else
  CHECK(steps[4]["status"] == "skipped");
  CHECK(steps[4]["reason"] == "the device did not come back after v4 failed");
#endif
}

TEST_CASE("whatever asks the run to end, it ends with 130 and writes what there is") {
  // `timeout` sends SIGTERM twice; the system sends SIGPIPE and SIGXCPU again and again.
  const int end = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU);
  CAPTURE(end);
  Chapter chapter = make_chapter();
  Step interrupting = make_step("v4", 0, 0);
  interrupting.run = [=](const Case& c, const Arrays& a, cudaStream_t s) {
    raise(end);
    raise(end);
    return copy(c, a, s, 0, 0);
  };
  chapter.steps.push_back(interrupting);
  chapter.steps.push_back(make_step("v5", 0, 0));
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--json", folder.file("a.json"), "--csv", folder.file("a.csv"), "--svg",
                                  folder.file("a.svg"), "--benchmark_out=" + folder.file("b.json")});
  CAPTURE(r.out, r.error);
  CHECK(r.status == 130);
  CHECK(folder.names() == std::vector<std::string>{"a.csv", "a.json", "a.svg", "b.json"});
  const auto json = read_json(folder.file("a.json"));
  CHECK(json["partial"] == true);
  REQUIRE(json["cases"].size() == 1);
  CHECK(json["cases"][0]["steps"][1]["status"] == "pass");
  CHECK(json["cases"][0]["steps"].size() <= 4);  // v5 never ran.
  CHECK(read_json(folder.file("b.json"))["benchmarks"].size() >= 2);
  CHECK(run(make_chapter(), {"--quick"}).status == 0);
}

TEST_CASE("what is done is in the files while the run goes on") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.json")) << "old";
  Chapter chapter = make_chapter();
  Step last = make_step("v4", 0, 0);
  nlohmann::json seen;
  std::size_t lines = 0;
  last.run = [&](const Case& c, const Arrays& a, cudaStream_t s) {
    seen = read_json(folder.file("a.json"));
    std::ifstream csv(folder.file("a.csv"));
    for (std::string line; std::getline(csv, line);) ++lines;
    return copy(c, a, s, 0, 0);
  };
  chapter.steps.push_back(last);
  const Outcome r = run(chapter, {"--quick", "--samples", "1", "--step", "v1,v2,v4", "--json", folder.file("a.json"),
                                  "--csv", folder.file("a.csv")});
  CAPTURE(r.out, r.error);
  CHECK(r.status == 0);
  CHECK(seen["partial"] == true);
  CHECK(seen["cases"][0]["steps"].size() == 2);
  CHECK(lines >= 3);
  CHECK(read_json(folder.file("a.json"))["partial"] == false);
  CHECK(folder.names() == std::vector<std::string>{"a.csv", "a.json"});  // Nothing is left beside them.
}

TEST_CASE("a disk that fills up while the run goes on leaves the old file") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.json")) << "old";
  Chapter chapter = make_chapter();
  Step last = make_step("v4", 0, 0);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  last.run = [&](const Case& c, const Arrays& a, cudaStream_t s) {
    const rlimit full{.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    return copy(c, a, s, 0, 0);
  };
  chapter.steps.push_back(last);
  const Outcome r = run(chapter, {"--quick", "--json", folder.file("a.json")});
  setrlimit(RLIMIT_FSIZE, &before);
  CAPTURE(r.out, r.error);
  CHECK(r.status == 4);
  CHECK(r.error == "run_all: cannot write " + folder.file("a.json") + ": File too large\n");
  CHECK(folder.names() == std::vector<std::string>{"a.json"});
  std::string text;
  std::getline(std::ifstream(folder.file("a.json")), text);
  CHECK(text == "old");
}

TEST_CASE("what fails outside of steps ends the run, and leaves what was done") {
  struct Threadless : CopyCase {
    using CopyCase::CopyCase;
    void reference(std::span<const std::span<const std::byte>>, std::span<std::byte>) const override {
      throw std::system_error(EAGAIN, std::generic_category(), "no thread");
    }
  };
  Chapter chapter = make_chapter();
  chapter.make_case = [make = chapter.make_case](const Parameters& p) -> std::unique_ptr<Case> {
    if (p.integer("n", 0) == 300000) return std::make_unique<Threadless>(300000);
    return make(p);
  };
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--json", folder.file("a.json")});
  CAPTURE(r.out, r.error);
  CHECK(r.status == 3);
  CHECK(std::count(r.error.begin(), r.error.end(), '\n') == 1);
  const auto json = read_json(folder.file("a.json"));
  CHECK(json["partial"] == true);
  CHECK(json["cases"].size() == 3);
  CHECK(json["cases"][1]["steps"].size() == 3);
}

TEST_CASE("files that cannot be written are told before the run") {
  const Outcome nowhere = run(make_chapter(), {"--json", "/nonexistent/folder/a.json"});
  CHECK(nowhere.status == 4);
  CHECK(nowhere.out.empty());
  CHECK(nowhere.error.find("/nonexistent/folder/a.json") != std::string::npos);
  const TemporaryFolder folder;
  CHECK(run(make_chapter(), {"--svg", folder.file(".")}).status == 4);
  const Outcome full = run(make_chapter(), {"--quick", "--csv", folder.file("a.csv"), "--json", "/dev/full"});
  CHECK(full.status == 4);  // Known only when it is written; the other file is there.
  CHECK(folder.names() == std::vector<std::string>{"a.csv"});
}

TEST_CASE("a file is replaced as a whole") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("old.json")) << "old";
  std::filesystem::create_symlink(folder.file("old.json"), folder.file("link.json"));
  CHECK(run(make_chapter(), {"--quick", "--json", folder.file("link.json")}).status == 0);
  CHECK(std::filesystem::is_symlink(folder.file("link.json")));
  CHECK(read_json(folder.file("old.json"))["chapter"] == 9);
  CHECK(folder.names() == std::vector<std::string>{"link.json", "old.json"});

  std::filesystem::permissions(folder.file("old.json"),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  CHECK(run(make_chapter(), {"--quick", "--json", folder.file("link.json")}).status == 0);
  const auto rights = std::filesystem::status(folder.file("old.json")).permissions();
  CHECK(rights == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));

  std::filesystem::remove(folder.file("old.json"));  // The link stays one, and the file comes where it points.
  CHECK(run(make_chapter(), {"--quick", "--json", folder.file("link.json")}).status == 0);
  CHECK(std::filesystem::is_symlink(folder.file("link.json")));
  CHECK(folder.names() == std::vector<std::string>{"link.json", "old.json"});
}

TEST_CASE("a case beyond the memory is status 3 when it was asked for") {
  const Outcome r = run(make_chapter(), {"--case", "n=100000000000000"});
  CAPTURE(r.error);
  CHECK(r.status == 3);
  CHECK(r.error.find("needs ") != std::string::npos);
  CHECK(r.error.find("free") != std::string::npos);
  CHECK(std::count(r.error.begin(), r.error.end(), '\n') == 1);

  Chapter chapter = make_chapter();
  chapter.cases.push_back({"n=100000000000000"});
  const Outcome left_out = run(chapter, {"--full", "--step", "v1"});
  CAPTURE(left_out.out);
  CHECK(left_out.status == 0);
  CHECK(left_out.out.find("left out: copy of 100000000000000: ") != std::string::npos);
}

TEST_CASE("memory is added up without overflow") {
  const Memory needed = needed_memory(CopyCase(std::int64_t{1} << 60));
  CHECK_FALSE(does_not_fit(needed, {.device_bytes = 1, .host_bytes = 1, .shared = false}).empty());
  const Memory small = needed_memory(CopyCase(1000));
  CHECK(does_not_fit(small, {.device_bytes = std::size_t{1} << 40, .host_bytes = std::size_t{1} << 40, .shared = false})
            .empty());
}

#ifdef WARPBOOK_EMULATED
TEST_CASE("a step's counters are those of all its kernels") {
  Chapter chapter = make_chapter();
  Step twice = make_step("v4", 0, 0);
  twice.counters = {"requests"};
  twice.run = [](const Case& c, const Arrays& a, cudaStream_t s) {
    const cudaError_t error = copy(c, a, s, 0, 0);
    return error != cudaSuccess ? error : copy(c, a, s, 500, 0);
  };
  chapter.steps.push_back(twice);
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--step", "v1,v4", "--counters", "--json", folder.file("a.json")});
  CAPTURE(r.out);
  CHECK(r.out.find("the sums of the step's 2 kernels") != std::string::npos);
  const auto steps = read_json(folder.file("a.json"))["cases"][0]["steps"];
  CHECK(steps[0]["launches"] == 1);
  CHECK(steps[1]["launches"] == 2);
  const char* const requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
  CHECK(steps[0]["counters"][requests] == 32);  // 1000 elements, 32 a warp.
  CHECK(steps[1]["counters"][requests] == 32 + 16);
}
#endif

TEST_CASE("Google Benchmark's flags reach it") {
  const TemporaryFolder folder;
  const Outcome filtered =
      run(make_chapter(), {"--benchmark_filter=copy of 1000/v[13]", "--benchmark_out=" + folder.file("b.json")});
  CAPTURE(filtered.out, filtered.error);
  CHECK(filtered.status == 0);
  CHECK(filtered.out.find("v1    step") != std::string::npos);
  CHECK(filtered.out.find("v2    step") == std::string::npos);
  CHECK(filtered.out.find("copy of 300000") == std::string::npos);
  CHECK(read_json(folder.file("b.json"))["benchmarks"].size() >= 2);
  const Outcome listed = run(make_chapter(), {"--benchmark_list_tests", "--benchmark_filter=-v2|of 0|300000"});
  CHECK(listed.out == "copying/copy of 1000/v1_step\ncopying/copy of 1000/v3_step\n");

  const Outcome nothing = run(make_chapter(), {"--benchmark_filter=no such thing"});
  CHECK(nothing.status == 2);
  CHECK(nothing.out.empty());
  CHECK(std::count(nothing.error.begin(), nothing.error.end(), '\n') == 1);
}

TEST_CASE("Google Benchmark's report has the table's medians, and what failed") {
  Chapter chapter = make_chapter();
  chapter.steps.push_back(make_step("v4", 1, 0));
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--samples", "7", "--json", folder.file("a.json"),
                                  "--benchmark_out=" + folder.file("b.json"), "--benchmark_time_unit=ns"});
  CHECK(r.status == 1);
  const auto ours = read_json(folder.file("a.json"))["cases"][0];
  std::map<std::string, double> medians;
  std::map<std::string, std::string> errors;
  const auto theirs = read_json(folder.file("b.json"));
  for (const auto& row : theirs["benchmarks"]) {
    const std::string name = row["run_name"].get<std::string>();
    const std::string step = name.substr(0, name.find("/iterations"));
    if (row.value("error_occurred", false)) errors[step] = row["error_message"];
    if (device_emulated() || row.value("aggregate_name", "") == "median") medians[step] = row["real_time"];
  }
  const auto same = [](const nlohmann::json& seconds, double nanoseconds) {
    return seconds.get<double>() * 1e9 == Approx(nanoseconds).epsilon(1e-4);
  };
  CHECK(same(ours["copy"]["median"], medians["copying/copy of 1000/cudaMemcpyAsync"]));
  CHECK(same(ours["steps"][0]["seconds"]["median"], medians["copying/copy of 1000/v1_step"]));
  CHECK(same(ours["steps"][1]["seconds"]["median"], medians["copying/copy of 1000/v2_step"]));
  CHECK(errors["copying/copy of 1000/v3_step"] == "only empty cases");
  CHECK(errors["copying/copy of 1000/v4_step"].find("dropped tail") != std::string::npos);
}

}  // namespace warpbook
