// Every step of chapter 4 against the reference, through the harness's own verification; and the take-away functions'
// judgement of their arguments.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "chapters/chapter4_atomic_add/atomic_add.cuh"
#include "chapters/chapter4_atomic_add/sums_case.hpp"
#include "common/harness/device.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter4 {

Chapter chapter();  // chapter.cu

namespace {

/// The same numbers from a seed with every standard library.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::int64_t uniform(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  /// One of lo to hi, each power of two as likely as the next.
  std::int64_t log_uniform(std::int64_t lo, std::int64_t hi) {
    std::int64_t top = lo;
    const std::int64_t doublings = static_cast<std::int64_t>(63 - __builtin_clzll(static_cast<std::uint64_t>(hi / lo)));
    for (std::int64_t k = uniform(0, doublings); k > 0; --k) top *= 2;
    return uniform(top, std::min(hi, 2 * top - 1));
  }
  template <class T> T pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(uniform(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

private:
  std::mt19937_64 engine_;
};

/// The take-away functions as a step. Of the inner product the part that adds to what the output holds, as cases do.
Step take_away_step() {
  Step step;
  step.version = "atomic_add.cuh";
  step.refusal = [](const Case& c) {
    const auto& sums = static_cast<const SumsCase&>(c);
    const bool rounds_once = sums.is_inner() || v9::rounds_once(v9::choose(sums.scatter()));
    const char* reason = !rounds_once ? sums.refuse_narrow_sums() : nullptr;
    return std::string(reason == nullptr ? "" : reason);
  };
  step.run = [](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const auto& sums = static_cast<const SumsCase&>(c);
    return with_element(sums.type(), [&]<class T>() {
      auto* const dst = static_cast<T*>(arrays.output);
      const auto* const first = static_cast<const T*>(arrays.inputs[0]);
      if (sums.is_inner()) {
        return v8::inner_product_as<T>(sums.inner(), {dst, first, arrays.inputs[1], arrays.scratch}, true, stream);
      }
      const ScatterProblem p = sums.scatter();
      const auto add = [&]<class Index>(Index) {
        const auto* const index = static_cast<const Index*>(arrays.inputs[1]);
        std::size_t bytes = 0;
        const cudaError_t error = scatter_add<T, Index>(nullptr, bytes, dst, first, index, p.count, p.places, stream);
        if (error != cudaSuccess) return error;
        if (bytes > std::max<std::size_t>(1, static_cast<std::size_t>(c.scratch_bytes()))) return cudaErrorUnknown;
        return scatter_add(arrays.scratch, bytes, dst, first, index, p.count, p.places, stream);
      };
      return p.index_bytes == 4 ? add(std::int32_t{}) : add(std::int64_t{});
    });
  };
  return step;
}

std::string scatter(std::int64_t count, std::int64_t places, const std::string& skew, const std::string& dtype,
                    const std::string& index, std::int64_t offset) {
  return "count=" + std::to_string(count) + " places=" + std::to_string(places) + " skew=" + skew + " dtype=" + dtype +
         " index=" + index + (offset == 0 ? "" : " offset=" + std::to_string(offset));
}

std::string inner(std::int64_t count, const std::string& dtype, std::int64_t offset) {
  return "problem=inner count=" + std::to_string(count) + " dtype=" + dtype +
         (offset == 0 ? "" : " offset=" + std::to_string(offset));
}

const std::vector<std::string> kTypes = {"half", "bfloat16", "float"};
const std::vector<std::string> kIndices = {"int32", "int64"};
const std::vector<std::string> kSkews = {"uniform", "zipf", "head", "same", "sorted", "stray"};

/// Sizes that are awkward for a reason.
std::vector<std::string> awkward_cases() {
  std::vector<std::string> cases;
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {0, 0},    {0, 5},     {5, 0},       {1, 1},       {1, 2},        {2, 1},      {31, 1},     {33, 2},
      {255, 3},  {257, 255}, {1025, 1},    {4097, 33},   {8191, 8},     {8192, 256}, {8193, 257}, {3000, 1023},
      {3000, 2}, {5000, 56}, {5000, 1777}, {4096, 4096}, {100, 70'001}, {20'000, 7}, {4099, 255}, {700, 300},
  };
  std::size_t k = 0;
  for (const auto& [count, places] : sizes) {
    for (const std::string& dtype : kTypes) {
      cases.push_back(scatter(count, places, kSkews[k % kSkews.size()], dtype, kIndices[k % 2], 0));
      cases.push_back(scatter(count, places, kSkews[(k + 3) % kSkews.size()], dtype, kIndices[(k + 1) % 2],
                              static_cast<std::int64_t>(k % 9)));
      ++k;
    }
  }
  for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 63, 1000, 4097, 20'000, 60'000}) {
    for (const std::string& dtype : kTypes) {
      for (const std::int64_t offset : {0, 1, 2}) cases.push_back(inner(count, dtype, offset));
    }
  }
  return cases;
}

/// Cases for the paths that few values do not take: bins, bins with places beyond, tiles, cut tiles, long runs.
std::vector<std::string> larger_cases() {
  return {
      scatter(66'000, 3000, "zipf", "float", "int64", 0),
      scatter(66'000, 66'000, "uniform", "half", "int64", 1),
      scatter(70'000, 69'999, "head", "bfloat16", "int32", 0),
      scatter(70'000, 65'536, "sorted", "half", "int64", 0),
      scatter(70'000, 60'000, "stray", "float", "int32", 3),
      scatter(80'000, 131'072, "uniform", "half", "int32", 0),
      scatter(80'000, 150'001, "sorted", "float", "int64", 5),
      scatter(150'000, 140'000, "same", "float", "int64", 0),
      scatter(150'000, 140'000, "head", "half", "int64", 7),
      scatter(90'000, 600'000, "stray", "bfloat16", "int64", 0),
      scatter(600'000, 69'997, "uniform", "half", "int64", 0),  // Rounds of two tiles: a half each,
      scatter(600'000, 69'997, "head", "float", "int32", 0),    // four places in turn.
      scatter(300'000, 700, "zipf", "half", "int32", 0),        // Rounds of v6c,
      scatter(200'000, 3, "stray", "float", "int64", 2),        // a sum for every thread,
      scatter(1'100'000, 300, "zipf", "float", "int32", 0),     // and two rounds.
      inner(300'000, "half", 0),
      inner(300'001, "float", 1),
  };
}

std::string random_case(Dice& dice) {
  const std::string dtype = dice.pick(kTypes);
  const std::int64_t offset = dice.uniform(0, 2) == 0 ? dice.uniform(1, 255) : 0;
  if (dice.uniform(0, 9) == 0) return inner(dice.log_uniform(1, 30'000), dtype, offset);
  return scatter(dice.log_uniform(1, 12'000), dice.log_uniform(1, 8000), dice.pick(kSkews), dtype, dice.pick(kIndices),
                 offset);
}

constexpr int kRandomCases = 320;

}  // namespace

TEST_CASE("every step of chapter 4 agrees with the reference") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  for (int i = 0; i < random_case_count(kRandomCases); ++i) cases.push_back(random_case(dice));
  if (!fuzzing()) {
    for (const std::string& parameters : larger_cases()) cases.push_back(parameters);
  }

  std::vector<Step> steps = chapter().steps;
  steps.push_back(take_away_step());
  StepVerifier verifier(chapter(), steps);
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);
  std::cout << cases.size() << " cases" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": right " << tally.ran - tally.failed << std::endl;
    INFO(version);
    CHECK(tally.ran >= least_runs(20, cases.size()));
  }
}

TEST_CASE("v9 sends a problem where it belongs") {
  const auto kernel = [](std::int64_t count, std::int64_t places, ElementType type = ElementType::half) {
    return v9::choose({type, 8, count, places});
  };
  using enum v9::Kernel;
  constexpr std::int64_t kMany = 16 << 20;
  CHECK(kernel(1000, 10) == atomics);
  CHECK(kernel(100'000, 65'536) == atomics);
  CHECK(kernel(100'000, 255) == loads_ahead);
  CHECK(kernel(100'000, 256) == lane_sums);
  CHECK(kernel(1 << 20, 1024) == lane_sums);
  CHECK(kernel((1 << 20) + 1, 1024) == loads_ahead);
  CHECK(kernel(1 << 20, 1) == loads_ahead);
  CHECK(kernel(kMany, 1) == loads_ahead);
  CHECK(kernel(kMany, 256) == loads_ahead);
  CHECK(kernel(kMany, v6a::floats_limit() / 32) == loads_ahead);
  CHECK(kernel(kMany, v6a::floats_limit() / 32 + 1) == any_skew_bins);
  CHECK(kernel(kMany, 65'536) == any_skew_bins);
  CHECK(kernel(kMany, 1 << 20) == passes);
  CHECK(kernel(kMany, kMany) == passes);
  CHECK(kernel(1 << 20, kMany) == passes);
  CHECK(kernel(512 << 10, kMany) == passes);
  CHECK(kernel((512 << 10) - 1, kMany) == atomics);
}

TEST_CASE("each of v9's rules decides the case that it names") {
  for (const v9::Rule& rule : v9::kRules) {
    const std::unique_ptr<Case> c = chapter().make_case(Parameters::parse(rule.evidence));
    INFO(rule.evidence);
    CHECK(v9::choose(static_cast<const SumsCase&>(*c).scatter()) == rule.kernel);
    const std::vector<CaseSpec> recorded = chapter().cases;
    CHECK(std::ranges::any_of(recorded, [&](const CaseSpec& spec) { return spec.parameters == rule.evidence; }));
  }
}

TEST_CASE("v6b has as many sums per place as fit and as its values are worth") {
  CHECK(v6b::copies_for(1, 1000) == 32);
  CHECK(v6b::copies_for(1024, 1024) == 2);
  CHECK(v6b::copies_for(1024, 1023) == 1);
  CHECK(v6b::copies_for(256, 4096) == 32);
  CHECK(v6b::copies_for(256, 4095) == 16);
  const std::int64_t half_of_the_room = (v6a::floats_limit() - 1) / 2;
  CHECK(v6b::copies_for(half_of_the_room / 8, 1 << 20) == 8);
  CHECK(v6b::copies_for(half_of_the_room / 8 + 1, 1 << 20) == 4);
}

TEST_CASE("passes go over parts that the L2 has room for, where that is worth it") {
  constexpr std::int64_t kMany = 1 << 24;
  CHECK(passes::passes_for({ElementType::float32, 8, kMany, 1 << 20}) == 1);    // 4 MiB.
  CHECK(passes::passes_for({ElementType::half, 8, kMany, kMany}) == 2);         // 32 MiB.
  CHECK(passes::passes_for({ElementType::float32, 8, kMany, kMany}) == 3);      // 64 MiB.
  CHECK(passes::passes_for({ElementType::float32, 8, kMany / 4, kMany}) == 1);  // Two values per sector.
}

namespace {

/// Arrays for the take-away functions, and calls with one thing wrong.
struct ArgumentTest {
  DeviceBuffer dst{4096};
  DeviceBuffer value{4096};
  DeviceBuffer index{8192};
  DeviceBuffer workspace{1 << 20};
  std::size_t bytes = 1 << 20;

  ArgumentTest() {
    for (const DeviceBuffer* buffer : {&dst, &value, &index}) {
      check(cudaMemset(buffer->data(), 0, buffer->bytes()), "clearing");
    }
  }

  cudaError_t scatter(std::int64_t count, std::int64_t places, std::size_t dst_off = 0, std::size_t value_off = 0,
                      std::size_t index_off = 0, std::size_t workspace_off = 0) {
    return scatter_add(workspace.data() + workspace_off, bytes, reinterpret_cast<float*>(dst.data() + dst_off),
                       reinterpret_cast<const float*>(value.data() + value_off),
                       reinterpret_cast<const std::int64_t*>(index.data() + index_off), count, places, nullptr);
  }
};

}  // namespace

TEST_CASE("the take-away functions refuse what they cannot do") {
  ArgumentTest test;
  const auto kInvalid = cudaErrorInvalidValue;
  CHECK(test.scatter(100, 10) == cudaSuccess);
  CHECK(test.scatter(-1, 10) == kInvalid);
  CHECK(test.scatter(100, -1) == kInvalid);
  CHECK(test.scatter((std::int64_t{1} << 40) + 1, 10) == kInvalid);
  CHECK(test.scatter(100, (std::int64_t{1} << 40) + 1) == kInvalid);
  CHECK(test.scatter(100, 10, 2) == kInvalid);
  CHECK(test.scatter(100, 10, 0, 2) == kInvalid);
  CHECK(test.scatter(100, 10, 0, 0, 4) == kInvalid);
  CHECK(test.scatter(100, 10, 0, 0, 0, 16) == kInvalid);
  CHECK(test.scatter(100, 10, 4, 4, 8) == cudaSuccess);

  float* const no_floats = nullptr;
  const std::int64_t* const no_indices = nullptr;
  void* const workspace = test.workspace.data();
  CHECK(scatter_add(workspace, test.bytes, no_floats, no_floats, no_indices, 5, 0, nullptr) == kInvalid);
  CHECK(scatter_add(workspace, test.bytes, no_floats, no_floats, no_indices, 0, 5, nullptr) == kInvalid);
  CHECK(scatter_add(workspace, test.bytes, no_floats, no_floats, no_indices, 0, 0, nullptr) == cudaSuccess);

  auto* const halves = reinterpret_cast<__half*>(test.value.data());
  CHECK(inner_product(workspace, test.bytes, halves, halves, halves, 10, nullptr) == cudaSuccess);
  CHECK(inner_product(workspace, test.bytes, halves, halves, halves, -1, nullptr) == kInvalid);
  CHECK(inner_product<__half>(workspace, test.bytes, nullptr, halves, halves, 10, nullptr) == kInvalid);
  CHECK(inner_product<__half>(workspace, test.bytes, halves, nullptr, halves, 10, nullptr) == kInvalid);

  // A workspace that is too small, by one byte.
  for (const std::int64_t places : {300, 70'000}) {
    std::size_t needed = 0;
    CHECK(scatter_add<__half, int>(nullptr, needed, nullptr, nullptr, nullptr, 8 << 20, places, nullptr) ==
          cudaSuccess);
    CHECK(needed > 1);
    --needed;
    CHECK(scatter_add(workspace, needed, halves, halves, reinterpret_cast<const int*>(test.index.data()), 8 << 20,
                      places, nullptr) == kInvalid);
  }
  std::size_t bytes = 0;
  CHECK(inner_product<float>(nullptr, bytes, nullptr, nullptr, nullptr, 10, nullptr) == cudaSuccess);
  CHECK(bytes == kInnerScratchBytes);
  --bytes;
  CHECK(inner_product(workspace, bytes, halves, halves, halves, 10, nullptr) == kInvalid);
  // A refusal leaves no error behind, and CUDA goes on.
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("the inner product replaces what its output held") {
  const std::vector<float> a = {1, 2, 3};
  const std::vector<float> was = {99};
  const DeviceBuffer at(sizeof(float) * 3);
  const DeviceBuffer dst(sizeof(float));
  const DeviceBuffer workspace(kInnerScratchBytes);
  check(cudaMemcpy(at.data(), a.data(), at.bytes(), cudaMemcpyHostToDevice), "copying");
  std::size_t bytes = workspace.bytes();
  for (const auto& [count, expected] : std::vector<std::pair<std::int64_t, float>>{{3, 14.0F}, {0, 0.0F}}) {
    check(cudaMemcpy(dst.data(), was.data(), dst.bytes(), cudaMemcpyHostToDevice), "copying");
    CHECK(inner_product(workspace.data(), bytes, reinterpret_cast<float*>(dst.data()),
                        reinterpret_cast<const float*>(at.data()), reinterpret_cast<const float*>(at.data()), count,
                        nullptr) == cudaSuccess);
    float result = -1;
    check(cudaMemcpy(&result, dst.data(), sizeof(float), cudaMemcpyDeviceToHost), "copying");
    CHECK(result == expected);
  }
}

}  // namespace warpbook::chapter4
