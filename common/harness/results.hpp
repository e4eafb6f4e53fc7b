/// \file
/// What a run found, as plain data: the reports are made from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  double value = 0;  ///< Of one launch.
};

/// One row of a table.
struct StepResult {
  std::string version;                        ///< "v2a".
  std::string name;                           ///< "index_type".
  std::string idea;                           ///< One sentence.
  bool yardstick = false;                     ///< As `Step::yardstick`.
  Status status = Status::skipped;            ///< What came of it.
  std::string reason;                         ///< Of a failure or a skip; empty otherwise.
  std::optional<Summary> seconds;             ///< Of one launch; only where the step passed.
  std::string method;                         ///< As `Measurement::method`.
  double bytes_per_second = 0;                ///< The case's `bytes_moved` by the median.
  std::optional<double> fraction_of_copy;     ///< The copy's time by this step's.
  std::optional<double> speedup_vs_first;     ///< The first step's median by this one's.
  std::optional<double> speedup_vs_previous;  ///< The median of the step before that ran, by this one's.
  std::string previous;                       ///< The version that `speedup_vs_previous` compares with.
  bool first_is_noise = false;                ///< The step and the first cannot be told apart.
  bool previous_is_noise = false;             ///< The step and the previous one cannot be told apart.
  std::vector<Counter> counters;              ///< On the emulator.
  bool counters_extrapolated = false;         ///< The counters come from a sample of the blocks.
  std::string limited_by;                     ///< On the emulator: the resource that the modelled time is made of.
};

/// One table.
struct CaseResult {
  std::string title;              ///< As `Case::title()`.
  std::string parameters;         ///< As `Case::parameters()`.
  std::int64_t bytes_moved = 0;   ///< As `Case::bytes_moved()`.
  std::optional<Summary> copy;    ///< A device-to-device copy of the same number of bytes.
  std::string copy_method;        ///< How the copy was timed, as `StepResult::method`.
  std::vector<StepResult> steps;  ///< In the chapter's order.
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
  bool partial = false;              ///< The run was interrupted.
  bool short_of_memory = false;      ///< A step was skipped because memory ran out while the run went on.
};

}  // namespace warpbook
