/// \file
/// Every step of a chapter against its reference, over many cases: what the chapters' steps tests share.
#pragma once

#include <cstdint>
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

namespace warpbook {

/// How often a step ran, failed, and refused a case.
struct Tally {
  int ran = 0;
  int failed = 0;
  int refused = 0;
};

/// Verifies steps over cases with one set of buffers for transfers.
class StepVerifier {
public:
  /// `steps` need not be the chapter's own: a test may verify forms of them that no table shows.
  StepVerifier(Chapter chapter, std::vector<Step> steps)
      : chapter_(std::move(chapter)), steps_(std::move(steps)), transfer_(stream_) {}

  /// One case, in the chapter's parameters. A step that failed several cases is not verified any more.
  void verify(const std::string& parameters, std::uint64_t seed) {
    constexpr int kFailuresShown = 5;
    const std::unique_ptr<Case> problem = chapter_.make_case(Parameters::parse(parameters));
    const HostCase host(*problem, seed);
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
    }
  }

  /// By version.
  const std::map<std::string, Tally>& tallies() const { return tallies_; }

private:
  Chapter chapter_;
  std::vector<Step> steps_;
  Stream stream_;
  Transfer transfer_;
  std::map<std::string, Tally> tallies_;
};

}  // namespace warpbook
