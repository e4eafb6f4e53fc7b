/// \file
/// Whole runs, in this process, of a chapter with right, wrong, trapping and refusing steps: exit status, table, files.
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "common/harness/plan.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

/// y = x.
class CopyCase : public Case {
public:
  explicit CopyCase(std::int64_t n) : n(n) {}
  std::string title() const override { return "copy of " + std::to_string(n); }
  std::string parameters() const override { return "n=" + std::to_string(n); }
  std::vector<BufferLayout> inputs() const override { return {{"x", n, 4, 0}}; }
  BufferLayout output() const override { return {"y", n, 4, 0}; }
  std::int64_t bytes_moved() const override { return 8 * n; }
  void fill(std::size_t, std::uint64_t seed, std::span<std::byte> bytes) const override {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<std::uint32_t>(seed + static_cast<std::uint64_t>(i) * 2654435761U);
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
  }
  void reference(std::span<const std::span<const std::byte>> in, std::span<std::byte> out) const override {
    std::copy(in[0].begin(), in[0].end(), out.begin());
  }
  std::string coordinate(std::int64_t e) const override { return "[" + std::to_string(e) + "]"; }

  std::int64_t n;
};

__global__ void copy_elements(std::uint32_t* y, const std::uint32_t* x, std::int64_t n, std::int64_t shift) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i + shift] = x[i];
}

/// Copies n - missing elements, `shift` behind their place.
cudaError_t copy(const Case& problem, const Arrays& arrays, cudaStream_t stream, std::int64_t missing,
                 std::int64_t shift) {
  const std::int64_t n = static_cast<const CopyCase&>(problem).n - missing;
  if (n <= 0) return cudaSuccess;
  return launch(copy_elements, {.grid = ceil_div<std::int64_t>(n, 256), .block = 256, .stream = stream},
                static_cast<std::uint32_t*>(arrays.output), static_cast<const std::uint32_t*>(arrays.inputs[0]), n,
                shift);
}

Step make_step(const std::string& version, std::int64_t missing, std::int64_t shift) {
  Step step;
  step.version = version;
  step.name = "step";
  step.idea = "An idea.";
  step.run = [=](const Case& c, const Arrays& a, cudaStream_t s) { return copy(c, a, s, missing, shift); };
  return step;
}

Chapter make_chapter() {
  Chapter chapter;
  chapter.number = 9;
  chapter.name = "copying";
  chapter.title = "Copying";
  chapter.cases = {{"n=1000", Tier::quick}, {"n=0", Tier::standard}, {"n=300000", Tier::standard}};
  chapter.case_help = "n=N  elements";
  chapter.make_case = [](const Parameters& p) -> std::unique_ptr<Case> {
    const std::int64_t n = p.integer("n", 0);
    p.refuse_unknown();
    return std::make_unique<CopyCase>(n);
  };
  Step yardstick = make_step("copy", 0, 0);
  yardstick.yardstick = true;
  Step refusing = make_step("v3", 0, 0);
  refusing.refusal = [](const Case& c) { return static_cast<const CopyCase&>(c).n == 0 ? "" : "only empty cases"; };
  chapter.steps = {yardstick, make_step("v1", 0, 0), make_step("v2", 0, 0), refusing};
  return chapter;
}

struct Outcome {
  int status = 0;
  std::string out;
  std::string error;
};

Outcome run(const Chapter& chapter, const std::vector<std::string>& words) {
  std::vector<const char*> arguments{"run_all"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream error;
  auto* const old_out = std::cout.rdbuf(out.rdbuf());
  auto* const old_error = std::cerr.rdbuf(error.rdbuf());
  Outcome result;
  result.status = run_all(chapter, static_cast<int>(arguments.size()), arguments.data());
  std::cout.rdbuf(old_out);
  std::cerr.rdbuf(old_error);
  result.out = out.str();
  result.error = error.str();
  return result;
}

/// A folder that goes away with the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "warpbook-run-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  std::filesystem::path path_;
};

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace

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
  REQUIRE(steps.size() == 4);
  CHECK(steps[0]["status"] == "pass");
  CHECK(steps[0]["yardstick"] == true);
  CHECK(steps[0]["speedup_vs_first"].is_null());
  CHECK(steps[1]["speedup_vs_first"] == 1.0);
  CHECK(steps[2]["previous"] == "v1");
  CHECK(steps[3]["status"] == "skipped");
  CHECK(steps[3]["reason"] == "only empty cases");
  CHECK(steps[1]["modelled"] == device_emulated());
  CHECK(steps[1]["samples"] == (device_emulated() ? 1 : 30));
  CHECK(steps[1]["seconds"]["median"].get<double>() > 0);
  CHECK(json["cases"][0]["copy_seconds"].get<double>() > 0);
  CHECK(json["cases"][1]["copy_seconds"].is_null());        // Nothing to copy,
  CHECK(json["cases"][1]["steps"][1]["status"] == "pass");  // and nothing done wrong.
}

TEST_CASE("a wrong step makes the status 1, and gets no time") {
  Chapter chapter = make_chapter();
  chapter.steps.push_back(make_step("v4", 1, 0));
  chapter.steps.push_back(make_step("v5", 0, 0));
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--quick", "--json", folder.file("a.json")});
  CAPTURE(r.out);
  CHECK(r.status == 1);
  CHECK(r.out.find("FAIL") != std::string::npos);
  CHECK(r.out.find("first wrong at [999]") != std::string::npos);
  const auto steps = read_json(folder.file("a.json"))["cases"][0]["steps"];
  CHECK(steps[4]["status"] == "fail");
  CHECK(steps[4]["seconds"].is_null());
  CHECK(steps[4]["reason"].get<std::string>().find("dropped tail") != std::string::npos);
  CHECK(steps[5]["status"] == "pass");
  CHECK(steps[5]["previous"] == "v2");
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
  CHECK(steps[4]["status"] == "fail");
  CHECK(steps[4]["reason"].get<std::string>().find("cudaErrorIllegalAddress") != std::string::npos);
#ifdef WARPBOOK_EMULATED
  CHECK(steps[5]["status"] == "pass");
#else
  CHECK(steps[5]["status"] == "skipped");
  CHECK(steps[5]["reason"] == "the device did not come back after v4 failed");
#endif
}

TEST_CASE("an interrupt ends the run with 130, and writes what there is") {
  Chapter chapter = make_chapter();
  Step interrupting = make_step("v4", 0, 0);
  interrupting.run = [raised = false](const Case& c, const Arrays& a, cudaStream_t s) mutable {
    if (!raised) raise(SIGINT);  // Once: a second interrupt ends the process at once.
    raised = true;
    return copy(c, a, s, 0, 0);
  };
  chapter.steps.push_back(interrupting);
  chapter.steps.push_back(make_step("v5", 0, 0));
  const TemporaryFolder folder;
  const Outcome r = run(chapter, {"--json", folder.file("a.json")});
  CAPTURE(r.out, r.error);
  CHECK(r.status == 130);
  const auto json = read_json(folder.file("a.json"));
  CHECK(json["partial"] == true);
  REQUIRE(json["cases"].size() == 1);
  CHECK(json["cases"][0]["steps"][1]["status"] == "pass");
  CHECK(json["cases"][0]["steps"].size() <= 5);  // v5 never ran.
  CHECK(run(make_chapter(), {"--quick"}).status == 0);
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
}

TEST_CASE("a case beyond the memory is status 3 when it was asked for") {
  const Outcome r = run(make_chapter(), {"--case", "n=100000000000000"});
  CAPTURE(r.error);
  CHECK(r.status == 3);
  CHECK(r.error.find("needs ") != std::string::npos);
  CHECK(r.error.find("free") != std::string::npos);
  CHECK(std::count(r.error.begin(), r.error.end(), '\n') == 1);

  Chapter chapter = make_chapter();
  chapter.cases.push_back({"n=100000000000000", Tier::quick});
  const Outcome left_out = run(chapter, {"--full", "--step", "v1"});
  CAPTURE(left_out.out);
  CHECK(left_out.status == 0);
  CHECK(left_out.out.find("left out: copy of 100000000000000: needs ") != std::string::npos);
}

TEST_CASE("memory is added up without overflow") {
  const Memory needed = needed_memory(CopyCase(std::int64_t{1} << 60));
  CHECK_FALSE(does_not_fit(needed, {.device_bytes = 1, .host_bytes = 1, .shared = false}).empty());
  const Memory small = needed_memory(CopyCase(1000));
  CHECK(does_not_fit(small, {.device_bytes = std::size_t{1} << 40, .host_bytes = std::size_t{1} << 40, .shared = false})
            .empty());
}

TEST_CASE("Google Benchmark's flags reach it") {
  const TemporaryFolder folder;
  const Outcome filtered =
      run(make_chapter(), {"--benchmark_filter=copy of 1000/v[12]", "--benchmark_out=" + folder.file("b.json")});
  CAPTURE(filtered.out, filtered.error);
  CHECK(filtered.status == 0);
  CHECK(filtered.out.find("v1 step") != std::string::npos);
  CHECK(filtered.out.find("copy step") == std::string::npos);
  CHECK(read_json(folder.file("b.json"))["benchmarks"].size() >= 2);

  const Outcome nothing = run(make_chapter(), {"--benchmark_filter=no such thing"});
  CHECK(nothing.status == 2);
  CHECK(nothing.out.empty());
  CHECK(std::count(nothing.error.begin(), nothing.error.end(), '\n') == 1);
}

}  // namespace warpbook
