#include "common/harness/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace warpbook {
namespace {

constexpr std::size_t kLeastFlushBytes = std::size_t{64} << 20U;
constexpr std::size_t kFlushFactor = 4;      // Times the L2: its sets are hashed and its replacement is not strict.
constexpr std::size_t kSetsFactor = 3;       // Times the L2, for launches that take turns.
constexpr double kMostWaitSeconds = 200e-6;  // Longer than any interval between pauses that was seen.
constexpr int kMostEmpty = 7;                // Kernels before a launch: what recurs every 2, 4 or 8 meets all alike.
constexpr double kMeantSeconds = 200e-6;     // Of launches in a mean together: two pauses, or more.
constexpr int kLeastMeant = 4;
constexpr int kMostMeant = 20;
constexpr int kWarmUps = 3;
constexpr int kPilots = 5;
constexpr double kGraphSeconds = 2e-3;  // Enough for a graph of slower launches: the events no longer count.

}  // namespace

Sampler::Sampler(const Stream& stream, const DeviceInfo& device)
    : stream_(stream), modelled_(device.emulated), l2_bytes_(device.l2_bytes) {
  if (modelled_) return;
  flush_ = DeviceBuffer(std::max(kLeastFlushBytes, kFlushFactor * l2_bytes_));
  blocking_ = std::make_unique<BlockingKernel>();
}

void Sampler::flush_l2() {
  // Lines that a kernel asked the L2 to keep would stay there through a flush.
  if (const cudaError_t freed = cudaCtxResetPersistingL2Cache(); freed != cudaErrorNotSupported) {
    check(freed, "freeing the L2's kept lines");
  } else {
    static_cast<void>(cudaGetLastError());  // Before compute capability 8.0 it keeps none.
  }
  check(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream_.get()), "flushing the L2");
}

void Sampler::wait_a_while() {
  const std::chrono::duration<double> wait(std::uniform_real_distribution<>(0, kMostWaitSeconds)(random_));
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < wait) continue;  // A sleeping thread would wake up much later.
}

void Sampler::shift_turn() { enqueue_empty_kernels(stream_, std::uniform_int_distribution<>(0, kMostEmpty)(random_)); }

double Sampler::sample(const std::function<void(const Stream&)>& enqueue) {
  if (modelled_) {
    start_.record(stream_);
    enqueue(stream_);
    stop_.record(stream_);
    stream_.synchronize();
    return stop_.seconds_since(start_);
  }
  while (true) {
    const bool hold = hold_;
    shift_turn();
    flush_l2();
    if (hold) blocking_->hold(stream_);
    try {
      start_.record(stream_);
      enqueue(stream_);
      stop_.record(stream_);
      if (hold) wait_a_while();
    } catch (...) {
      blocking_->release();  // Or the stream would stay held until the kernel gives up.
      throw;
    }
    blocking_->release();
    stream_.synchronize();
    // Work that waits for the device itself can't be held; its host time is part of what it is.
    if (!hold || !blocking_->timed_out()) return stop_.seconds_since(start_);
    hold_ = false;
  }  // Once more, then.
}

std::size_t sets_for_cold_launches(std::size_t bytes, std::size_t l2_bytes, bool restore_each) {
  constexpr auto kMost = static_cast<std::size_t>(kGraphLaunches);
  if (restore_each || bytes == 0) return kMost;
  return std::clamp<std::size_t>((kSetsFactor * l2_bytes + bytes - 1) / bytes + 1, 1, kMost);
}

Measurement::Measurement(Sampler& sampler, TimedWork work, bool in_graph) : sampler_(sampler), work_(std::move(work)) {
  if (sampler_.modelled()) {
    if (in_graph) capture(1);
    return;
  }
  sampler_.hold(false);
  for (int i = 0; i < kWarmUps; ++i) static_cast<void>(single());
  sampler_.hold(true);
  std::array<double, kPilots> pilots{};
  for (double& pilot : pilots) pilot = single();
  pilot_ = summarize(pilots).median;
  const auto launches_in = [this](double seconds, int most) {
    return std::max(1, static_cast<int>(std::ceil(seconds / std::max(pilot_, seconds / most))));
  };
  if (in_graph) {
    int launches = launches_in(kGraphSeconds, kGraphLaunches);
    if (work_.restore_each) launches = std::min(launches, static_cast<int>(work_.sets));
    if (capture(launches)) {
      static_cast<void>(sample());  // The first launch of a graph also uploads it.
      return;
    }
  }
  launches_ = std::max(kLeastMeant, launches_in(kMeantSeconds, kMostMeant));
}

bool Measurement::capture(int launches) {
  try {
    graph_ = Graph::capture(sampler_.stream(), [&](cudaStream_t stream) {
      for (int i = 0; i < launches; ++i) work_.launch(static_cast<std::size_t>(i) % work_.sets, stream);
      return cudaSuccess;
    });
  } catch (const CudaError&) {  // It allocates or waits, say: it is timed alone.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  launches_ = launches;
  return true;
}

double Measurement::single() {
  if (work_.restore) work_.restore(0);
  return sampler_.sample([&](const Stream& stream) { work_.launch(0, stream.get()); });
}

double Measurement::sample() {
  if (!graph_) {
    double seconds = 0;
    for (int i = 0; i < launches_; ++i) seconds += single();
    return seconds / launches_;
  }
  if (work_.restore && work_.restore_each) {
    for (std::size_t set = 0; set < work_.sets; ++set) work_.restore(set);
  }
  return sampler_.sample([&](const Stream& stream) { graph_->launch(stream); }) / launches_;
}

std::string Measurement::method() const {
  if (sampler_.modelled()) return "model";
  return graph_ ? "graph of " + std::to_string(launches_) : "mean of " + std::to_string(launches_) + " launches";
}

}  // namespace warpbook
