/// \file
/// A host and a device on paper, each with a time of its own: what a clock reads is sums of a few numbers.
#pragma once

#include <cstdint>

namespace warpbook::chapter7 {

/// What things take is not known here: the clocks are to find it out. There is one timeline at a time. The device does
/// what it is sent, in order; at the begin it has work of somebody else's for a while.
class Timeline {
public:
  Timeline() = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// The host's clock, in microseconds.
  double now() const;

  /// Sends the kernel, and goes on.
  void launch();

  /// The operator as Python calls it: checks, dispatch and launch.
  void call();

  /// Waits until the device has done everything.
  void synchronize();

  /// Sends an event: the device notes its time when it comes to it. \return the event's number; there are 8 at most
  int record();

  /// From one event to another, in microseconds; not a number before the host has waited for both.
  double elapsed(int begin, int end) const;
};

using Clock = double (*)(Timeline&);

/// Reads each clock on a timeline of its own, whose costs `n` decides. \return what is wrong; nullptr for nothing
const char* wrong_clock(Clock time_of_launch, Clock time_until_done, Clock time_of_kernel, Clock time_of_call,
                        std::int64_t n);

}  // namespace warpbook::chapter7
