/// \file
/// Times of device work, with nothing of it in the L2 beforehand.
///
/// Before each launch a buffer of several times the L2 is written, so that the L2 holds none of the work's data. It is
/// written and not only read on purpose: it leaves the L2 full of changed lines, as a program that streams through
/// memory does, and each line the work brings in makes one go out. With a clean L2 the work's own last writes would
/// stay there unpaid, and arrays of about its size would seem to move faster than the memory can.
///
/// Work is timed alone, one launch between two events, behind a kernel that holds the stream until the host has
/// enqueued all of it. A sample is the mean of four launches or more, each timed so, because the times of launches may
/// come in groups with little between them, and no number of them would settle on a median. An H200's memory seems to
/// stand still for about 1.5 us every 100 us: of the launches of what takes 53 us half meet a pause, and are 2% longer.
/// The times of threads that contend for one place are grouped, too.
///
/// The work of short cases (`kShortSeconds`) is timed as a graph of many launches, because an event's own time of some
/// microseconds would count; the launches take turns on as many copies of the arrays as it takes to go three times
/// around the L2 (or on one copy each), so that each finds its data as cold as a launch alone does.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "common/cuda/resources.hpp"
#include "common/harness/blocking_kernel.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// A case is short, and timed in graphs, where a copy of its bytes takes less than this.
inline constexpr double kShortSeconds = 20e-6;
/// The same for its bytes over the speed of large copies, which leaves out a copy's start, its end and the events.
/// Where that speed is known it decides: the copy's own time is not the same in each run, and a case near the limit
/// would be timed in graphs in one and by launches in the next, 2 us apart.
inline constexpr double kShortAtFullSpeed = 13e-6;
/// Launches in a short case's graph, where a launch takes less than `kShortSeconds`.
inline constexpr int kGraphLaunches = 100;

/// Takes samples on one stream.
///
/// Each launch begins after a wait of its own and after up to seven kernels that do nothing. A loop that happened to be
/// in step with the memory's pauses would meet one in every launch, or in none; and on an H200 some kernels take longer
/// or shorter in one launch of four, which a loop that launches four kernels would see in every turn, or in none.
class Sampler {
public:
  /// \throws CudaError
  Sampler(const Stream& stream, const DeviceInfo& device);

  /// Seconds of what `enqueue` puts on the stream, once, with a cold L2. \throws CudaError
  double sample(const std::function<void(const Stream&)>& enqueue);

  /// True on the emulator: a time is modelled, and the same each time.
  bool modelled() const { return modelled_; }
  /// The L2's size in bytes.
  std::size_t l2_bytes() const { return l2_bytes_; }
  /// The stream that samples are taken on.
  const Stream& stream() const { return stream_; }
  /// Whether the stream is held while work is enqueued, so that the host's time stays out of samples. Off for the first
  /// launches of a kernel: CUDA may load its code then, and wait for the device.
  void hold(bool on) { hold_ = on; }

private:
  void flush_l2();
  void shift_turn();
  void wait_a_while();

  const Stream& stream_;
  bool modelled_;
  std::size_t l2_bytes_;
  DeviceBuffer flush_;
  std::unique_ptr<BlockingKernel> blocking_;  // Not on the emulator.
  bool hold_ = true;
  std::minstd_rand random_;
  Event start_;
  Event stop_;
};

/// Something to time.
struct TimedWork {
  /// Enqueues one launch on copy number `set` of the arrays; throws on errors.
  std::function<void(std::size_t set, cudaStream_t)> launch;
  /// Enqueues what has to be done to a copy before a launch, outside the time; may be empty.
  std::function<void(std::size_t set)> restore;
  /// Copies of the arrays.
  std::size_t sets = 1;
  /// True where `restore` has to be called before every single launch.
  bool restore_each = false;
};

/// How many copies of arrays of `bytes` a graph's launches should take turns on.
std::size_t sets_for_cold_launches(std::size_t bytes, std::size_t l2_bytes, bool restore_each);

/// Samples of one piece of work, all taken in one way.
class Measurement {
public:
  /// Warms up and decides. `in_graph`: the case is a short one, and is timed in graphs where the work can be captured.
  /// \throws CudaError when the work fails.
  Measurement(Sampler& sampler, TimedWork work, bool in_graph);

  /// Seconds of one launch. \throws CudaError
  double sample();
  /// Seconds of one launch by itself, as found while warming up.
  double pilot_seconds() const { return pilot_; }
  /// What a sample is: "mean of 4 launches", "graph of 100" or "model".
  std::string method() const;

private:
  double single();
  bool capture(int launches);

  Sampler& sampler_;
  TimedWork work_;
  double pilot_ = 0;
  int launches_ = 1;  // In a sample: of the graph, or one by one.
  std::optional<Graph> graph_;
};

}  // namespace warpbook
