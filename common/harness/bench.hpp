/// \file
/// The things that a run measures on, and what has to be set up for one case.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/case_data.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/measure.hpp"
#include "common/harness/results.hpp"
#include "common/harness/transfer.hpp"
#include "common/harness/verify.hpp"

namespace warpbook {

/// What belongs to the device, and is made anew after it was reset.
struct Workbench {
  /// \throws CudaError
  explicit Workbench(const DeviceInfo& device) : transfer(stream), sampler(stream, device) {}

  Stream stream;      ///< What everything is queued on.
  Transfer transfer;  ///< Copies between host and device.
  Sampler sampler;    ///< Takes the times.
};

/// Times a device-to-device copy that moves `bytes_moved`: half of them read, half written.
class CopyBench {
public:
  /// `full_speed`: bytes a second that large copies reach; 0 where that is not known. \throws CudaError
  CopyBench(Workbench& bench, std::int64_t bytes_moved, double full_speed = 0);
  CopyBench(const CopyBench&) = delete;
  CopyBench& operator=(const CopyBench&) = delete;

  /// Seconds of one copy. \throws CudaError
  double sample() { return measurement_->sample(); }
  /// How it is timed, as `Measurement::method`.
  std::string method() const { return measurement_->method(); }
  /// True where the case is so short that it is timed in graphs.
  bool in_graph() const { return in_graph_; }

private:
  DeviceBuffer from_;
  DeviceBuffer to_;
  bool in_graph_ = false;
  std::unique_ptr<Measurement> measurement_;
};

/// One case, with its arrays.
class CaseBench {
public:
  /// Makes the data and the reference. \throws std::bad_alloc, Interrupted
  CaseBench(const Case& problem, std::uint64_t seed, bool in_graph) : in_graph_(in_graph), host_(problem, seed) {}

  /// Verifies the step. After a failure the device's arrays are made anew, because the step may have damaged any.
  /// \throws CudaError, Interrupted
  Verification verify(const Step& step, Workbench& bench);
  /// Gets ready to take samples of a step that is right. \throws CudaError
  Measurement measure(const Step& step, Workbench& bench);
  /// Judges what the last sample left. \throws CudaError
  Verification verify_after(const Step& step, Workbench& bench);
  /// Gives the device's memory back; it is allocated again when it is needed.
  void release_device();

private:
  const DeviceCase& device(Workbench& bench);

  bool in_graph_;
  HostCase host_;
  std::unique_ptr<DeviceCase> device_;
  std::vector<std::unique_ptr<DeviceArrays>> copies_;  // For launches that take turns; the main arrays are number 0.
};

/// Calls `free`, and waits until the driver should have cleared the device memory that it gave back. It seems to do
/// that in the background, an H200's at some 400 GB/s, and copies take a tenth longer meanwhile: the one that the next
/// case begins with, above all.
void free_and_wait(const std::function<void()>& free);

/// The copy ceiling for large arrays, in bytes per second; 0 where the memory does not suffice to tell.
double large_copy_bytes_per_second(Workbench& bench);

/// What a sample holds beside the work: the median time between two events with nothing between them. \throws CudaError
double sample_of_nothing_seconds(Workbench& bench);

}  // namespace warpbook
