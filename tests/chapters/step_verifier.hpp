/// \file
/// Every step of a chapter against its reference, over many cases: what the chapters' steps tests share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/cuda/resources.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/transfer.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/queued_cases.hpp"

namespace warpbook {

/// How often a step ran, failed, and refused a case.
struct Tally {
  int ran = 0;
  int failed = 0;
  int refused = 0;
};

/// Verifies steps over cases with one set of buffers for transfers.
///
/// With WARPBOOK_TEST_QUEUED=1, cases are queued by tens, and those with a step that is wrong are verified once more,
/// which tells what is: on a GPU that is several times as fast. With WARPBOOK_TEST_PROGRESS=N, every N cases a line on
/// stderr says how many were verified, and where the time went: what stops the program does not take that back.
class StepVerifier {
public:
  /// `steps` need not be the chapter's own: a test may verify forms of them that no table shows. `look` judges what a
  /// step that is right left in the scratch memory.
  StepVerifier(Chapter chapter, std::vector<Step> steps, QueuedCases::Look look = {})
      : chapter_(std::move(chapter)), steps_(std::move(steps)), look_(std::move(look)), transfer_(stream_) {
    CHECK(defects(chapter_) == std::vector<std::string>());
    const char* queued = std::getenv("WARPBOOK_TEST_QUEUED");
    if (queued != nullptr && std::string(queued) == "1") queued_ = std::make_unique<QueuedCases>(steps_, look_);
    const char* progress = std::getenv("WARPBOOK_TEST_PROGRESS");
    if (progress != nullptr) said_every_ = std::strtoll(progress, nullptr, 10);
  }

  /// One case, in the chapter's parameters. A step that failed several cases is not verified any more.
  void verify(const std::string& parameters, std::uint64_t seed) {
    std::unique_ptr<Case> problem = chapter_.make_case(Parameters::parse(parameters));
    if (!queued_) return verify_now(*problem, parameters, seed);
    if (!queued_->add(std::move(problem), parameters, seed)) {
      verify_now(*chapter_.make_case(Parameters::parse(parameters)), parameters, seed);
    }
    count_queued();
  }

  /// By version. Waits for what is queued.
  const std::map<std::string, Tally>& tallies() {
    if (queued_) {
      queued_->flush();
      count_queued();
    }
    return tallies_;
  }

private:
  static constexpr int kFailuresShown = 5;  // Of a step.

  void verify_now(const Case& problem, const std::string& parameters, std::uint64_t seed) {
    verify_steps(problem, parameters, seed);
    say_progress();
  }

  void verify_steps(const Case& problem, const std::string& parameters, std::uint64_t seed) {
    const HostCase host(problem, seed);
    const DeviceCase device(host, device_fences(), transfer_);
    for (const Step& step : steps_) {
      Tally& tally = tallies_[step.version];
      if (tally.failed == kFailuresShown) continue;
      const Verification found = verify_step(step, host, device, stream_, transfer_);
      INFO(step.version << ": --case '" << parameters << "' --seed " << seed << ": " << found.reason);
      CHECK(found.status != Status::fail);
      REQUIRE_FALSE(found.device_lost);
      tally.failed += found.status == Status::fail ? 1 : 0;
      ++(found.status == Status::skipped ? tally.refused : tally.ran);
      if (look_ && found.status == Status::pass) CHECK(look_(problem, scratch_of(device, problem)));
    }
  }

  /// The first bytes of the scratch memory.
  std::vector<std::byte> scratch_of(const DeviceCase& device, const Case& problem) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min<std::int64_t>(QueuedCases::kLookedAt, problem.scratch_bytes())));
    transfer_.download(device.main().scratch().data(), bytes);
    return bytes;
  }

  void count_queued() {
    for (const QueuedCases::Ran& ran : queued_->take()) {
      if (!ran.wrong.empty()) {
        INFO("--case '" << ran.parameters << "' --seed " << ran.seed
                        << ": wrong where it was queued: " << steps_[ran.wrong.front()].version);
        CHECK(ran.wrong.empty());
        verify_now(*chapter_.make_case(Parameters::parse(ran.parameters)), ran.parameters, ran.seed);
        continue;
      }
      for (const std::size_t s : ran.right) ++tallies_[steps_[s].version].ran;
      for (const std::size_t s : ran.refused) ++tallies_[steps_[s].version].refused;
      say_progress();
    }
  }

  /// One more case is verified.
  void say_progress() {
    ++verified_;
    if (said_every_ <= 0 || verified_ % said_every_ != 0) return;
    int wrong = 0;
    for (const auto& [version, tally] : tallies_) wrong += tally.failed;
    std::cerr << "progress: " << verified_ << " cases, " << (wrong == 0 ? "right" : std::to_string(wrong) + " WRONG");
    if (queued_) {
      const QueuedCases::Spent& spent = queued_->spent();
      std::cerr << "; making inputs and references " << spent.making << " s, queueing " << spent.queueing
                << " s, waiting for the device " << spent.waiting << " s, comparing " << spent.judging << " s";
    }
    std::cerr << std::endl;
  }

  Chapter chapter_;
  std::vector<Step> steps_;
  QueuedCases::Look look_;
  Stream stream_;
  Transfer transfer_;
  std::unique_ptr<QueuedCases> queued_;
  std::map<std::string, Tally> tallies_;
  std::int64_t said_every_ = 0;  // 0: never.
  std::int64_t verified_ = 0;
};

}  // namespace warpbook
