/// \file
/// A host and a device on paper, each with a time of its own: what a clock reads is sums of a few numbers.
#pragma once

#include <algorithm>
#include <limits>

namespace warpbook::chapter7 {

/// What things take, in microseconds.
struct Costs {
  double dispatch;  ///< An operator's checks, before its launch; the host's time.
  double send;      ///< A launch; the host's time.
  double kernel;    ///< The device's time.
  double notice;    ///< From the device's end to the host's next line.
};

/// The device does what it is sent, in order. At the begin it has work of somebody else's for a while.
class Timeline {
public:
  explicit Timeline(const Costs& costs) : costs_(costs), device_(20 * (costs.kernel + costs.send)) {}

  /// The host's clock, in microseconds.
  double now() const { return host_; }

  /// Sends the kernel, and goes on.
  void launch() {
    host_ += costs_.send;
    device_ = std::max(device_, host_) + costs_.kernel;
    ++launches_;
  }

  /// The operator as Python calls it: checks, dispatch and launch.
  void call() {
    host_ += costs_.dispatch;
    launch();
  }

  /// Waits until the device has done everything.
  void synchronize() {
    host_ = std::max(host_, device_) + costs_.notice;
    heard_ = events_;
  }

  /// Sends an event: the device notes its time when it comes to it. \return the event's number; there are 8 at most
  int record() {
    if (events_ == kMostEvents) return -1;
    device_ = std::max(device_, host_);
    stamp_[events_] = device_;
    return events_++;
  }

  /// From one event to another, in microseconds; not a number before the host has waited for both.
  double elapsed(int begin, int end) const {
    const bool known = std::min(begin, end) >= 0 && std::max(begin, end) < heard_;
    return known ? stamp_[end] - stamp_[begin] : std::numeric_limits<double>::quiet_NaN();
  }

  int launches() const { return launches_; }

private:
  static constexpr int kMostEvents = 8;

  Costs costs_;
  double host_ = 0;
  double device_;  // When it will be done with all that it was sent.
  double stamp_[kMostEvents] = {};
  int events_ = 0;
  int heard_ = 0;
  int launches_ = 0;
};

}  // namespace warpbook::chapter7
