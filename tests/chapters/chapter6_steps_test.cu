// Every step of chapter 6 against the reference, through the harness's own verification; and the take-away functions'
// judgement of their arguments.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"
#include "chapters/chapter6_upsample_nearest/upsample_nearest.cuh"
#include "common/cuda/resources.hpp"
#include "common/harness/device.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter6 {

Chapter chapter();  // chapter.cu

namespace {

const std::vector<std::string> kTypes = {"float", "half", "bfloat16"};

/// Shapes that are awkward for a reason, in both directions and every type.
std::vector<std::string> awkward_cases() {
  const std::vector<std::string> shapes = {
      "shape=0,3,4,5",
      "shape=2,0,4,5",
      "shape=1,1,1,1",
      "shape=3,1,1,1",
      "shape=1,1,1,64",
      "shape=1,1,64,1",
      // Widths around packs, alone and with rows to be mixed up with.
      "shape=1,2,3,2",
      "shape=1,2,3,3",
      "shape=1,2,3,4",
      "shape=1,2,3,5",
      "shape=1,2,3,6",
      "shape=1,2,3,7",
      "shape=1,2,3,8",
      "shape=2,3,5,12",
      "shape=1,1,7,127",
      "shape=1,1,7,128",
      "shape=1,1,7,129",
      "shape=1,1,3,1030",
      // Packs around a block's, and around four blocks'.
      "shape=1,1,32,32",
      "shape=1,1,33,32",
      "shape=2,2,16,64",
      "shape=2,2,17,64",
      // Views.
      "shape=1,2,3,8 offset=1",
      "shape=1,2,3,8 offset=2",
      "shape=1,2,3,8 offset=4",
      "shape=1,2,5,32 offset=3",
      // Channels last: packs of channels, and not.
      "shape=2,8,5,7 layout=nhwc",
      "shape=2,16,5,7 layout=nhwc",
      "shape=2,3,5,7 layout=nhwc",
      "shape=1,1,5,7 layout=nhwc",
      "shape=1,8,5,7 layout=nhwc offset=1",
      "shape=1,24,9,1 layout=nhwc size=13,4",
      // Other scales: up, down, not at all, a given one that disagrees with the sizes.
      "shape=1,2,5,7 scale=3",
      "shape=1,2,5,7 scale=1.5",
      "shape=1,2,5,8 scale=2.1",
      "shape=1,2,9,16 scale=0.5",
      "shape=1,2,4,4 size=2,3",
      "shape=1,2,5,7 scale=1",
      "shape=1,2,5,7 size=5,7",
      "shape=1,2,4,4 size=8,8 scale=1.5",
      "shape=1,2,4,4 size=6,6 scale=1.6",
      "shape=1,2,5,8 size=10,15",
      "shape=1,2,5,8 size=11,16",
      "shape=1,2,49,3 size=98,16",
      "shape=1,1,1,1 size=33,71",
      "shape=1,1,40,50 size=1,1",
      "shape=1,2,8,8 scale=2,1",
      "shape=1,2,8,8 scale=1,2",
      "shape=1,2,6,9 size=17,32",
      "shape=1,8,6,9 size=17,32 layout=nhwc",
      "shape=1,8,6,9 scale=0.4 layout=nhwc",
      // Scales whose sources lie beyond every int, and are no number.
      "shape=1,1,4,4 size=3000,5 scale=1e-7",
      "shape=1,2,3,4 size=6,8 scale=1e-40",
      "shape=1,2,3,4 size=6,8 scale=1e30",
  };
  std::vector<std::string> cases;
  for (const std::string& shape : shapes) {
    for (const std::string& dtype : kTypes) {
      for (const std::string direction : {"forward", "backward"}) {
        std::string text = shape;
        text += " dir=";
        text += direction;
        cases.push_back(text + " dtype=" + dtype);
      }
    }
  }
  return cases;
}

std::string random_case(Dice& dice) {
  const bool channels_last = dice.one_in(3);
  const std::int64_t batch = dice.log_uniform(1, 4);
  const std::int64_t channels = channels_last && dice.one_in(2) ? 8 * dice.uniform(1, 4) : dice.log_uniform(1, 20);
  const std::int64_t most = std::max<std::int64_t>(1, 4000 / (batch * channels));
  const std::int64_t height = dice.log_uniform(1, std::min<std::int64_t>(most, 60));
  std::int64_t width = dice.log_uniform(1, std::max<std::int64_t>(1, most / height));
  if (dice.one_in(2)) width = 4 * ((width + 3) / 4);
  std::string text = "shape=" + std::to_string(batch) + "," + std::to_string(channels) + "," + std::to_string(height) +
                     "," + std::to_string(width) + " dtype=" + dice.pick(kTypes) +
                     (dice.one_in(2) ? " dir=forward" : " dir=backward") + (channels_last ? " layout=nhwc" : "");
  switch (dice.uniform(0, 3)) {
  case 0:  // A size, and no scale.
    text += " size=" + std::to_string(dice.log_uniform(1, 3 * height)) + "," +
            std::to_string(dice.log_uniform(1, 3 * width));
    break;
  case 1: {  // A scale that leaves at least one pixel of each side.
    const std::int64_t least = 100 / std::min(height, width) + 1;
    text += " scale=" + std::to_string(static_cast<double>(dice.log_uniform(least, 400)) / 100);
    break;
  }
  default:
    break;
  }
  if (dice.one_in(4)) text += " offset=" + std::to_string(dice.uniform(1, 9));
  return text;
}

constexpr int kRandomCases = 300;

/// The rule of v7 that decides a case: its predicate is the same for every type.
const v7::Rule<float>& rule_of(const Case& problem) {
  const auto& c = static_cast<const UpsampleCase&>(problem);
  const Images images = v7::in_best_layout(c.images());
  return c.backward() ? v7::choose<float>(v7::kBackwardRules<float>, images)
                      : v7::choose<float>(v7::kForwardRules<float>, images);
}

}  // namespace

TEST_CASE("chapter 6: every step agrees with the reference") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  for (int i = 0; i < random_case_count(kRandomCases); ++i) cases.push_back(random_case(dice));
  if (!fuzzing()) REQUIRE(cases.size() >= 600);

  StepVerifier verifier(chapter(), chapter().steps);
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);
  std::cout << cases.size() << " cases" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": ran " << tally.ran << std::endl;
    INFO(version);
    CHECK(tally.ran >= (version == "v7" ? static_cast<int>(cases.size()) : least_runs(20, cases.size())));
  }
}

TEST_CASE("chapter 6: v7 is right where problems are large enough for every kernel") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  const Chapter chapter = chapter6::chapter();
  const auto v7 =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [](const Step& s) { return s.version == "v7"; });
  REQUIRE(v7 != chapter.steps.end());
  for (const auto& [parameters, decides] : std::vector<std::pair<std::string, bool (*)(const Images&)>>{
           {"shape=1,16,512,513 dtype=float", predicates::is_doubled},
           {"shape=1,16,512,512 dtype=float", predicates::is_doubled},
           {"shape=1,17,256,252 dtype=half", predicates::is_doubled_in_flight},
           {"shape=2,2,128,130 dtype=half size=513,517", predicates::goes_as_one_array},
           {"shape=4200,3,12,10 dtype=half scale=0.63", predicates::goes_as_one_array},  // Two rows end in a word.
           {"shape=37500,2,2,3 dtype=float size=1,7", predicates::goes_as_one_array},    // Planes of one row.
           {"shape=131072,1,1,4 dtype=half size=4,1", predicates::goes_as_one_array},    // Eight rows a word.
           {"shape=2,2,128,130 dtype=half size=513,517 offset=3", predicates::goes_as_one_array},
           {"shape=3,1,71,31 dtype=half layout=nhwc", predicates::is_doubled},  // One channel: both layouts.
           {"shape=3,1,71,31 dtype=half layout=nhwc scale=3", predicates::goes_as_one_array},
           {"shape=3,2,71,31 dtype=half layout=nhwc scale=3", predicates::goes_as_one_array},
           {"shape=300,3,7,1 dtype=float layout=nhwc scale=1.5 offset=3", predicates::goes_as_one_array},
           {"shape=3,8,71,31 dtype=half layout=nhwc scale=3", predicates::has_wide_pixels},
           {"shape=1,4,123,131 dtype=half size=369,1024 offset=8", predicates::fits_launches},
           {"shape=2,3,17,31 dtype=half scale=3", predicates::fits_launches},  // Few outputs.
           {"shape=2,2,128,130 dtype=float size=128,192", predicates::goes_as_one_array},
           {"shape=2,2,128,130 dtype=float size=128,256", predicates::goes_as_one_array},
           {"shape=2,2,128,130 dtype=float size=128,260", predicates::fits_launches},
           {"shape=1,3,141,257 dtype=half", predicates::is_doubled_in_flight},  // Single halves.
           {"shape=1,3,141,258 dtype=half", predicates::is_doubled_in_flight},  // Pairs, and few bytes.
           {"shape=2,2,240,256 dtype=float dir=backward", predicates::is_doubled_in_cache},
           {"shape=2,2,240,256 dtype=half dir=backward", predicates::is_doubled_in_cache},
           {"shape=2,2,240,255 dtype=half dir=backward", predicates::is_doubled_by_narrow_packs},
           {"shape=2,2,240,254 dtype=half dir=backward", predicates::is_doubled},
           {"shape=1,4,512,513 dtype=float dir=backward", predicates::is_doubled_by_narrow_packs},
           {"shape=3,5,71,31 dtype=half layout=nhwc scale=0.6 dir=backward", predicates::is_channels_last},  // 1
           {"shape=3,5,71,31 dtype=half layout=nhwc dir=backward", predicates::is_channels_last},            // 2
           {"shape=3,6,71,31 dtype=half layout=nhwc scale=2.7 dir=backward", predicates::is_channels_last},  // 3
           {"shape=2,4,71,31 dtype=float layout=nhwc scale=4 dir=backward", predicates::is_channels_last},   // 4
           {"shape=2,6,31,71 dtype=float layout=nhwc scale=5 dir=backward", predicates::is_channels_last},   // Many.
           {"shape=2,2,362,380 dtype=half size=181,190 dir=backward", predicates::has_known_window},  // 1, packs.
           {"shape=2,2,363,381 dtype=float scale=1.5 dir=backward", predicates::has_known_window},    // 2, rows.
           {"shape=2,2,363,382 dtype=bfloat16 scale=2.5 dir=backward offset=2", predicates::has_known_window},
           {"shape=2,2,362,380 dtype=half scale=4 dir=backward", predicates::has_known_window},
           {"shape=2,2,362,380 dtype=half scale=4.1 dir=backward", predicates::fits_launches},
       }) {
    const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse(parameters));
    INFO(parameters);
    CHECK(rule_of(*problem).holds == decides);
    const Verification found = verify_step(*v7, *problem, seed);
    INFO(found.reason);
    CHECK(found.status == Status::pass);
  }
}

TEST_CASE("chapter 6: each rule decides the recorded case that it names") {
  const Chapter chapter = chapter6::chapter();
  std::vector<std::string> recorded;
  for (const CaseSpec& spec : chapter.cases) {
    recorded.push_back(chapter.make_case(Parameters::parse(spec.parameters))->parameters());
  }
  for (const auto& rules : {std::span<const v7::Rule<float>>(v7::kForwardRules<float>),
                            std::span<const v7::Rule<float>>(v7::kBackwardRules<float>)}) {
    for (const v7::Rule<float>& rule : rules.first(rules.size() - 1)) {
      INFO(rule.evidence);
      CHECK(std::count(recorded.begin(), recorded.end(), rule.evidence) == 1);
      CHECK(rule_of(*chapter.make_case(Parameters::parse(rule.evidence))).holds == rule.holds);
    }
    CHECK(rules.back().holds == predicates::always);
  }
}

TEST_CASE("work of 2^31 items goes in parts that meet") {
  // The bound itself is too large to run here; the parts are what it is about.
  std::int64_t next = 0;
  int parts = 0;
  const auto part = [&](std::int64_t first, std::int64_t rows) {
    CHECK(first == next);
    CHECK(rows * 1'000'003 <= kMostItems);
    next = first + rows;
    ++parts;
    return cudaSuccess;
  };
  CHECK(in_parts(10'000, 1'000'003, part) == cudaSuccess);
  CHECK(next == 10'000);
  CHECK(parts == 5);
  CHECK(in_parts(10, kMostItems / 4, [](std::int64_t first, std::int64_t) {
          return first == 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
        }) == cudaErrorInvalidConfiguration);
}

TEST_CASE("upsample_nearest refuses what it cannot do") {
  const DeviceBuffer small(64 * 4);
  const DeviceBuffer large(256 * 4);
  auto* const x = reinterpret_cast<float*>(small.data());
  auto* const y = reinterpret_cast<float*>(large.data());
  float* const none = nullptr;
  auto* const askew = reinterpret_cast<float*>(small.data() + 2);
  const UpsampleNearest good{
      .batch = 1, .channels = 1, .in_height = 8, .in_width = 8, .out_height = 16, .out_width = 16};
  const auto both = [&](const UpsampleNearest& p) {
    const cudaError_t forward = upsample_nearest(y, x, p, nullptr);
    return upsample_nearest_backward(x, y, p, nullptr) == forward ? forward : cudaErrorUnknown;
  };
  check(cudaMemset(x, 0, small.bytes()), "clearing");
  CHECK(both(good) == cudaSuccess);

  const auto with = [&](auto change) {
    UpsampleNearest p = good;
    change(p);
    return both(p);
  };
  CHECK(with([](UpsampleNearest& p) { p.in_height = 0; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.out_width = -1; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.out_height = std::int64_t{1} << 31; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.batch = -1; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.batch = std::int64_t{1} << 60; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.scale_height = -2; }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.scale_width = std::nan(""); }) == cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.scale_width = std::numeric_limits<double>::infinity(); }) ==
        cudaErrorInvalidValue);
  CHECK(with([](UpsampleNearest& p) { p.channels = 0; }) == cudaSuccess);
  CHECK(upsample_nearest(none, x, good, nullptr) == cudaErrorInvalidValue);
  CHECK(upsample_nearest(y, none, good, nullptr) == cudaErrorInvalidValue);
  CHECK(upsample_nearest(y, askew, good, nullptr) == cudaErrorInvalidValue);
  CHECK(upsample_nearest_backward(askew, y, good, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

}  // namespace warpbook::chapter6
