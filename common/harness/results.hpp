/// \file
/// What a run found, as plain data: the reports are made from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/statistics.hpp"

namespace warpbook {

/// The device that a run used.
struct DeviceInfo {
  std::string name;              ///< As the driver has it: "NVIDIA H200".
  bool emulated = false;         ///< True: the device is the emulator's, and times are modelled.
  int major = 0;                 ///< Compute capability.
  int minor = 0;                 ///< Of the compute capability.
  int multiprocessors = 0;       ///< How many.
  double clock_hertz = 0;        ///< 0 where the driver does not tell.
  std::size_t memory_bytes = 0;  ///< Device memory.
  std::size_t free_bytes = 0;    ///< When it was asked.
  std::size_t l2_bytes = 0;      ///< Size of the L2.
  std::string driver;            ///< "580.159.04", or the CUDA version that the driver supports.
  std::string toolkit;           ///< CUDA's version: "13.0".
};

/// When and from what a run was made.
struct RunInfo {
  std::string date;        ///< UTC, ISO 8601.
  std::string commit;      ///< Of the sources; "unknown" where the build could not tell.
  std::uint64_t seed = 0;  ///< Of the data.
};

/// What came of a step on a case.
enum class Status { pass, fail, skipped };

/// A counter under Nsight Compute's name.
struct Counter {
  std::string name;  ///< "smsp__inst_executed.sum".
  double value = 0;  ///< Of all kernels that a step launches, together.
};

/// How much faster a step is than another.
struct Gain {
  std::string over;       ///< The other's version.
  double times = 1;       ///< The other's median by the step's.
  bool is_noise = false;  ///< The two cannot be told apart.
};

/// One row of a table.
struct StepResult : StepInfo {
  Status status = Status::skipped;          ///< What came of it.
  std::string reason;                       ///< Of a failure or a skip; empty otherwise.
  std::vector<double> samples;              ///< Seconds of one launch each, as they were taken; none unless it passed.
  std::optional<Summary> seconds;           ///< Of the samples.
  std::string method;                       ///< As `Measurement::method`.
  double bytes_per_second = 0;              ///< The case's `bytes_moved` by the median.
  std::optional<double> fraction_of_limit;  ///< The copy's time by this step's.
  std::optional<Gain> over_first;           ///< Over the ladder's first step.
  std::optional<Gain> over_base;            ///< Over the step that it is built on, or the nearest below that ran.
  unsigned launches = 0;                    ///< On the emulator: of how many kernels the counters are the sums.
  std::vector<Counter> counted;             ///< On the emulator: every counter.
  bool counters_extrapolated = false;       ///< The counters come from a sample of the blocks.
  std::string limited_by;                   ///< On the emulator: the resource that the modelled time is made of.
};

/// One table.
struct CaseResult {
  std::string title;              ///< As `Case::title()`.
  std::string parameters;         ///< As `Case::parameters()`.
  std::int64_t bytes_moved = 0;   ///< As `Case::bytes_moved()`.
  std::vector<double> samples;    ///< Seconds of a device-to-device copy of the same number of bytes: the limit.
  std::optional<Summary> copy;    ///< Of these samples.
  std::string copy_method;        ///< How the copy was timed, as `StepResult::method`.
  std::vector<StepResult> steps;  ///< In the order in which they were run.
};

/// A case that was not run.
struct LeftOut {
  std::string title;   ///< The case's.
  std::string reason;  ///< Why it was not run, for people.
};

/// What a run found out about its own times. Of no meaning where times are modelled: all 0 then.
struct TimingCheck {
  double event_gap_seconds = 0;    ///< Between two events with nothing between them: what each single sample holds.
  double highest_clock_hertz = 0;  ///< Of the multiprocessors, measured before the first case and after each.
  double lowest_clock_hertz = 0;   ///< The same.

  /// Takes note of one more measurement.
  void saw_clock(double hertz) {
    highest_clock_hertz = std::max(highest_clock_hertz, hertz);
    lowest_clock_hertz = lowest_clock_hertz == 0 ? hertz : std::min(lowest_clock_hertz, hertz);
  }
  /// The clock fell by more than 5% while the run went on: too hot, or at the limit of power.
  bool throttled() const { return lowest_clock_hertz < 0.95 * highest_clock_hertz; }
};

/// All of a run.
struct ChapterResult {
  int number = 0;                    ///< The chapter's.
  std::string name;                  ///< The chapter's: "permute".
  std::string title;                 ///< The chapter's, one line.
  RunInfo run;                       ///< When, and from what.
  DeviceInfo device;                 ///< On what.
  double copy_bytes_per_second = 0;  ///< The copy ceiling for large arrays; 0 where it was not measured.
  TimingCheck timing;                ///< Of the run's own times.
  std::vector<CaseResult> cases;     ///< In the order in which they were run.
  std::vector<LeftOut> left_out;     ///< Those that were not.
  bool smaller_cases = false;        ///< The emulator ran smaller cases of the same kind as the headline cases.
  bool partial = false;              ///< The run was interrupted, or goes on.
  bool short_of_memory = false;      ///< A step was skipped because memory ran out while the run went on.
};

}  // namespace warpbook
