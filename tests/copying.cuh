/// \file
/// A chapter of copies, right and wrong ones, and whole runs of it in this process: for the harness's tests.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/harness/chapter.hpp"

namespace warpbook {

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
inline cudaError_t copy(const Case& problem, const Arrays& arrays, cudaStream_t stream, std::int64_t missing,
                        std::int64_t shift) {
  const std::int64_t n = static_cast<const CopyCase&>(problem).n - missing;
  if (n <= 0) return cudaSuccess;
  return launch(copy_elements, {.grid = ceil_div<std::int64_t>(n, 256), .block = 256, .stream = stream},
                static_cast<std::uint32_t*>(arrays.output), static_cast<const std::uint32_t*>(arrays.inputs[0]), n,
                shift);
}

inline Step make_step(const std::string& version, std::int64_t missing, std::int64_t shift) {
  Step step;
  step.version = version;
  step.name = "step";
  step.idea = "An idea.";
  step.run = [=](const Case& c, const Arrays& a, cudaStream_t s) { return copy(c, a, s, missing, shift); };
  return step;
}

inline Chapter make_chapter() {
  Chapter chapter;
  chapter.number = 9;
  chapter.name = "copying";
  chapter.title = "Copying";
  chapter.cases = {{"n=1000", kHeadline}, {"n=0", kHeadline}, {"n=300000", kHeadline}};
  chapter.case_help = "n=N  elements";
  chapter.make_case = [](const Parameters& p) -> std::unique_ptr<Case> {
    const std::int64_t n = p.integer("n", 0);
    p.refuse_unknown();
    return std::make_unique<CopyCase>(n);
  };
  Step yardstick = make_step("copy", 0, 0);
  yardstick.kind = StepKind::yardstick;
  Step refusing = make_step("v3", 0, 0);
  refusing.refusal = [](const Case& c) { return static_cast<const CopyCase&>(c).n == 0 ? "" : "only empty cases"; };
  Step second = make_step("v2", 0, 0);
  second.base = "v1";
  refusing.base = "v2";
  chapter.steps = {yardstick, make_step("v1", 0, 0), second, refusing};
  return chapter;
}

struct Outcome {
  int status = 0;
  std::string out;
  std::string error;
};

inline Outcome run(const Chapter& chapter, const std::vector<std::string>& words) {
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

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace warpbook
