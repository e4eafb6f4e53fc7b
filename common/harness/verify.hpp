/// \file
/// Is a step right on a case? Made so that a wrong kernel cannot pass by luck.
///
/// Before the launch every element of the output holds something that is wrong there, and guard bands stand on both
/// sides. After it the output is compared with the reference, the guards with their pattern, and the inputs with their
/// copy.
#pragma once

#include <cstdint>
#include <string>

#include "common/cuda/resources.hpp"
#include "common/harness/case_data.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "common/harness/results.hpp"
#include "common/harness/transfer.hpp"

namespace warpbook {

/// What verifying found.
struct Verification {
  Status status = Status::pass;  ///< Pass, fail, or skipped where the step refuses the case.
  std::string reason;            ///< Of a failure, or the step's refusal; one line.
  Difference difference;   ///< Between the output and the reference; `count` 0 where the output was right or not read.
  std::string coordinate;  ///< Of the first wrong element: "[3, 0, 17]".
  std::string cause;       ///< The likely cause; empty where there is no hint.
  bool device_lost = false;  ///< CUDA refuses all work after the step's error, until the device is reset.
  LaunchCounters counted;    ///< By the step's kernels; nothing on a GPU.
  double seconds = 0;        ///< Between events around the launch. Of use where time is modelled: caches were warm.
};

/// Runs the step once on the case's main arrays and judges what it left there. `in_graph`: as a graph of one launch,
/// where it can be captured, so that its time is that of a launch in a graph.
/// \throws CudaError where the harness's own work fails; Interrupted.
Verification verify_step(const Step& step, const HostCase& host, const DeviceCase& device, const Stream& stream,
                         Transfer& transfer, bool in_graph = false);

/// Judges what is on the device now, after a step ran (again): for a check after timing. Same result as `verify_step`.
Verification verify_contents(const Step& step, const HostCase& host, const DeviceCase& device, Transfer& transfer);

/// The same from a case alone: makes data, arrays and stream for this one call. For tests and small cases.
/// \throws CudaError, std::bad_alloc
Verification verify_step(const Step& step, const Case& problem, std::uint64_t seed);

}  // namespace warpbook
