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
#include "chapters/chapter4_atomic_add/v8a_binned.cuh"
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
    const bool rounds = !sums.is_inner() && v9::choose(sums.scatter()) != v9::Way::bins;
    const char* reason = rounds ? sums.refuse_narrow_sums() : nullptr;
    return std::string(reason == nullptr ? "" : reason);
  };
  step.run = [](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const auto& sums = static_cast<const SumsCase&>(c);
    return with_element(sums.type(), [&]<class T>() {
      auto* const dst = static_cast<T*>(arrays.output);
      const auto* const first = static_cast<const T*>(arrays.inputs[0]);
      if (sums.is_inner()) {
        return v9::inner_product_as<T>(sums.inner().count, {dst, first, arrays.inputs[1], arrays.scratch}, true,
                                       stream);
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
      scatter(600'000, 69'997, "uniform", "half", "int64", 0),  // Rounds of v7's two tiles: a half each,
      scatter(600'000, 69'997, "head", "float", "int32", 0),    // four places in turn.
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
  const auto way = [](std::int64_t count, std::int64_t places, ElementType type = ElementType::half) {
    return v9::choose({type, 8, count, places});
  };
  constexpr std::int64_t kMany = 16 << 20;
  CHECK(way(1000, 10) == v9::Way::atomics);
  CHECK(way(100'000, 65'536) == v9::Way::atomics);
  CHECK(way(100'000, 256) == v9::Way::bins);
  CHECK(way(kMany, 1) == v9::Way::bins);
  CHECK(way(kMany, 256) == v9::Way::bins);
  CHECK(way(kMany, 65'536) == v9::Way::bins);
  CHECK(way(kMany, 1 << 20) == v9::Way::passes);
  CHECK(way(kMany, kMany) == v9::Way::passes);
  CHECK(way(1 << 20, kMany) == v9::Way::passes);
  CHECK(way(300'000, kMany) == v9::Way::atomics);
}

TEST_CASE("v8b passes over parts that the L2 has room for, where that is worth it") {
  constexpr std::int64_t kMany = 1 << 24;
  CHECK(v8b::passes_for({ElementType::float32, 8, kMany, 1 << 20}) == 1);    // 4 MiB.
  CHECK(v8b::passes_for({ElementType::half, 8, kMany, kMany}) == 2);         // 32 MiB.
  CHECK(v8b::passes_for({ElementType::float32, 8, kMany, kMany}) == 3);      // 64 MiB.
  CHECK(v8b::passes_for({ElementType::float32, 8, kMany / 4, kMany}) == 1);  // Two values a sector.
}

TEST_CASE("v8a cuts tiles that get more than their share") {
  const ScatterProblem p{ElementType::float32, 8, 16 << 20, 16 << 20};
  const v8a::Plan plan = v8a::plan_scatter(p, 132);
  CHECK(std::int64_t{plan.tiles} << plan.tile_bits >= p.places);
  CHECK(plan.tiles <= v8a::kMostTiles);
  CHECK(plan.part * plan.most_split <= p.count);
  CHECK(plan.bytes > plan.split_sums);
  CHECK(v8a::plan_scatter({ElementType::half, 4, 0, 5}, 132).bytes == 0);
  CHECK(v8a::plan_scatter({ElementType::half, 4, 5, std::int64_t{1} << 26}, 132).tiles == 0);
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
