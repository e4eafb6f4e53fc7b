#include "chapters/chapter7_torch_op/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>

#include "common/cuda/resources.hpp"
#include "common/harness/blocking_kernel.hpp"
#include "common/harness/device.hpp"
#include "common/harness/measure.hpp"
#include "common/harness/statistics.hpp"

namespace warpbook::chapter7 {
namespace {

constexpr int kWarmUps = 10;  // As the article has it, and as there: nobody waits for the last of them.

std::size_t bytes_of(Type type) { return type == Type::float32 ? 4 : 2; }

/// The arrays of one launch, several times over where launches take turns on them.
class Arrays {
public:
  Arrays(std::int64_t count, Type type, std::size_t sets)
      : count_(count), type_(type), pitch_((static_cast<std::size_t>(count) * bytes_of(type) + 255) / 256 * 256) {
    for (DeviceBuffer& buffer : buffers_) buffer = DeviceBuffer(sets * pitch_);
  }

  void launch(std::size_t set, cudaStream_t stream) const {
    check(launch_add2(at(0, set), at(1, set), at(2, set), type_, count_, stream), "launching add2");
  }
  /// Array 0 is c, 1 and 2 are a and b.
  std::byte* at(std::size_t array, std::size_t set) const { return buffers_[array].data() + set * pitch_; }

private:
  std::int64_t count_;
  Type type_;
  std::size_t pitch_;
  DeviceBuffer buffers_[3];
};

/// 0.5, 0.75, 1, ...: numbers whose sum every type holds.
std::uint32_t bits_of(double value, Type type) {
  const auto f = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof(bits));
  if (type == Type::float32) return bits;
  if (type == Type::bfloat16) return bits >> 16U;
  const std::uint32_t exponent = ((bits >> 23U) & 0xffU) - 127 + 15;
  return value == 0 ? 0 : exponent << 10U | ((bits >> 13U) & 0x3ffU);
}

double value_at(std::size_t array, std::int64_t i, std::uint64_t seed) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + seed * 977) * (2 * array + 1);
  return 0.5 + 0.25 * static_cast<double>(mixed % 13);
}

using HostClock = std::chrono::steady_clock;

double seconds_since(HostClock::time_point start) {
  return std::chrono::duration<double>(HostClock::now() - start).count();
}

/// Takes samples in one way after another. What a way does for one sample stands between marks of its version.
class Timer {
public:
  Timer(const Arrays& arrays, std::size_t sets, const DeviceInfo& device)
      : arrays_(arrays), sets_(sets), emulated_(device.emulated), launches_(device.emulated ? 1 : kGraphLaunches) {
    if (emulated_) return;
    flush_ = DeviceBuffer(std::max<std::size_t>(std::size_t{64} << 20U, 4 * device.l2_bytes));
    blocking_ = std::make_unique<BlockingKernel>();
  }

  std::vector<double> take(const std::string& version, int samples) {
    if (version == "v7a") return replays(graph(), false, samples);
    if (version == "v7b") return replays(cold_graph(), true, samples);
    const auto sample = kSamples.at(version);
    for (int i = 0; i < kWarmUps; ++i) launch();
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) seconds.push_back((this->*sample)());
    stream_.synchronize();
    return seconds;
  }

private:
  //! [v1]
  double synchronize_twice() {
    stream_.synchronize();
    const auto start = HostClock::now();
    launch();
    stream_.synchronize();
    return seconds_since(start);
  }
  //! [v1]

  //! [v2]
  double synchronize_before() {
    stream_.synchronize();
    const auto start = HostClock::now();
    launch();
    return seconds_since(start);
  }
  //! [v2]

  //! [v3]
  double synchronize_after() {
    const auto start = HostClock::now();
    launch();
    stream_.synchronize();
    return seconds_since(start);
  }
  //! [v3]

  //! [v4]
  double no_synchronization() {
    const auto start = HostClock::now();
    launch();
    return seconds_since(start);
  }
  //! [v4]

  //! [v5a]
  double events() {
    stream_.synchronize();
    start_.record(stream_);
    launch();
    stop_.record(stream_);
    stream_.synchronize();
    return stop_.seconds_since(start_);
  }
  //! [v5a]

  //! [v5b]
  double events_held() {
    stream_.synchronize();
    hold();
    start_.record(stream_);
    launch();
    stop_.record(stream_);
    release();
    stream_.synchronize();
    return stop_.seconds_since(start_);
  }
  //! [v5b]

  //! [v6]
  double cold_events() {
    stream_.synchronize();
    flush();
    hold();
    start_.record(stream_);
    launch();
    stop_.record(stream_);
    release();
    stream_.synchronize();
    return stop_.seconds_since(start_);
  }
  //! [v6]

  //! [v7a]
  Graph graph() {
    return Graph::capture(stream_, [&](cudaStream_t stream) {
      for (std::size_t i = 0; i < launches_; ++i) arrays_.launch(0, stream);
      return cudaSuccess;
    });
  }
  //! [v7a]

  //! [v7b]
  Graph cold_graph() {
    return Graph::capture(stream_, [&](cudaStream_t stream) {
      for (std::size_t i = 0; i < launches_; ++i) arrays_.launch(i % sets_, stream);
      return cudaSuccess;
    });
  }
  //! [v7b]

  //! [replay]
  double replay(const Graph& graph) {
    start_.record(stream_);
    graph.launch(stream_);
    stop_.record(stream_);
    stream_.synchronize();
    return stop_.seconds_since(start_) / static_cast<double>(launches_);
  }
  //! [replay]

  std::vector<double> replays(const Graph& graph, bool cold, int samples) {
    std::vector<double> seconds;
    for (int i = -1; i < samples; ++i) {  // The first launch of a graph also uploads it.
      if (cold) flush();
      const double sample = replay(graph);
      if (i >= 0) seconds.push_back(sample);
    }
    return seconds;
  }

  void launch() { arrays_.launch(0, stream_.get()); }
  /// The device waits here until the host lets go: then no host time lies between what is enqueued meanwhile.
  void hold() {
    if (blocking_ != nullptr) blocking_->hold(stream_);
  }
  void release() {
    if (blocking_ != nullptr) blocking_->release();
  }
  /// The L2 is written full of something else.
  void flush() {
    if (emulated_) return;  // There is one time there, and it is modelled.
    check(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream_.get()), "flushing the L2");
  }

  static const std::map<std::string, double (Timer::*)()> kSamples;
  const Arrays& arrays_;
  std::size_t sets_;
  bool emulated_;
  std::size_t launches_;  // Of a graph.
  Stream stream_;
  Event start_;
  Event stop_;
  DeviceBuffer flush_;
  std::unique_ptr<BlockingKernel> blocking_;
};

const std::map<std::string, double (Timer::*)()> Timer::kSamples = {
    {"v1", &Timer::synchronize_twice}, {"v2", &Timer::synchronize_before},
    {"v3", &Timer::synchronize_after}, {"v4", &Timer::no_synchronization},
    {"v5a", &Timer::events},           {"v5b", &Timer::events_held},
    {"v6", &Timer::cold_events}};

void fill(const Arrays& arrays, std::int64_t count, Type type, std::size_t sets, std::uint64_t seed) {
  const std::size_t width = bytes_of(type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  for (const std::size_t array : {std::size_t{1}, std::size_t{2}}) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t bits = bits_of(value_at(array, i, seed), type);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * width, &bits, width);
    }
    for (std::size_t set = 0; set < sets; ++set) {
      check(cudaMemcpy(arrays.at(array, set), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "filling an array");
    }
  }
  for (std::size_t set = 0; set < sets; ++set) {
    check(cudaMemset(arrays.at(0, set), 0xff, bytes.size()), "poisoning the result");
  }
}

std::int64_t count_wrong(const Arrays& arrays, std::int64_t count, Type type, std::uint64_t seed) {
  const std::size_t width = bytes_of(type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  check(cudaMemcpy(bytes.data(), arrays.at(0, 0), bytes.size(), cudaMemcpyDeviceToHost), "reading the result");
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t expected = bits_of(value_at(1, i, seed) + value_at(2, i, seed), type);
    wrong += std::memcmp(bytes.data() + static_cast<std::size_t>(i) * width, &expected, width) != 0 ? 1 : 0;
  }
  return wrong;
}

double median_of(const Study& study, const char* version) {
  const auto found = std::find_if(study.readings.begin(), study.readings.end(),
                                  [&](const Reading& r) { return r.way->version == version; });
  return summarize(found->seconds).median;
}

}  // namespace

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"v1", "synchronize_twice", "", "wait, clock, launch, wait, clock", "launch + kernel (warm L2) + wait", true, false},
      {"v2", "synchronize_before", "v1", "wait, clock, launch, clock", "the call that launches", true, false},
      {"v3", "synchronize_after", "v1", "clock, launch, wait, clock",
       "as v1; the first sample also the work that was under way", true, false},
      {"v4", "no_synchronization", "v2", "clock, launch, clock", "the call that launches", true, false},
      {"v5a", "events", "v1", "event, launch, event, on an idle stream", "kernel (warm L2) + the launch's way to the device",
       false, false},
      {"v5b", "events_held", "v5a", "the same, enqueued while the device is kept waiting",
       "kernel (warm L2) + the events' own time", false, false},
      {"v6", "cold_events", "v5b", "the same, the L2 flushed beforehand", "kernel (cold L2) + the events' own time", false,
       true},
      {"v7a", "graph", "v5b", "events around a graph of 100 launches, divided", "kernel (warm L2)", false, false},
      {"v7b", "cold_graph", "v7a", "the same, launches taking turns on more memory than the L2 holds", "kernel (cold L2)",
       false, true},
  };
  return all;
}

std::int64_t Study::bytes() const { return 3 * count * static_cast<std::int64_t>(bytes_of(type)); }

Study study(std::int64_t count, Type type, int samples, std::uint64_t seed, const DeviceInfo& device) {
  Study result;
  result.count = count;
  result.type = type;
  const auto one = static_cast<std::size_t>(result.bytes());
  const std::size_t sets = device.emulated ? 1 : sets_for_cold_launches(one, device.l2_bytes, false);
  const Arrays arrays(count, type, sets);
  fill(arrays, count, type, sets, seed);
  Timer timer(arrays, sets, device);
  for (const Way& way : ways()) result.readings.push_back({&way, timer.take(way.version, samples)});
  result.warm_seconds = median_of(result, "v7a");
  result.cold_seconds = median_of(result, "v7b");
  result.wrong = count_wrong(arrays, count, type, seed);
  return result;
}

}  // namespace warpbook::chapter7
