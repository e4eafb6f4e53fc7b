#include "chapters/chapter7_torch_op/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>

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

/// Takes samples in one way after another.
class Timer {
public:
  Timer(const Arrays& arrays, std::size_t sets, const DeviceInfo& device)
      : arrays_(arrays), sets_(sets), emulated_(device.emulated) {
    if (emulated_) return;
    flush_ = DeviceBuffer(std::max<std::size_t>(std::size_t{64} << 20U, 4 * device.l2_bytes));
    blocking_ = std::make_unique<BlockingKernel>();
  }

  //! [host_clock]
  /// The host's clock around a launch.
  std::vector<double> by_host(int samples, bool wait_before, bool wait_after) {
    warm_up();
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) {
      if (wait_before) stream_.synchronize();
      const auto start = std::chrono::steady_clock::now();
      arrays_.launch(0, stream_.get());
      if (wait_after) stream_.synchronize();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    stream_.synchronize();
    return seconds;
  }
  //! [host_clock]

  //! [events]
  /// Events around one launch. `hold`: the device waits in front of the first event until the host has enqueued both
  /// events and the launch, so that no host time lies between them. `cold`: the L2 is written full of something else.
  std::vector<double> by_events(int samples, bool hold, bool cold) {
    warm_up();
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) {
      stream_.synchronize();
      if (cold) flush();
      if (hold && blocking_ != nullptr) blocking_->hold(stream_);
      start_.record(stream_);
      arrays_.launch(0, stream_.get());
      stop_.record(stream_);
      if (blocking_ != nullptr) blocking_->release();
      stream_.synchronize();
      seconds.push_back(stop_.seconds_since(start_));
    }
    return seconds;
  }
  //! [events]

  //! [graph]
  /// Events around a graph of many launches, divided by their number. `cold`: the launches take turns on as many copies
  /// of the arrays as it takes to leave nothing of them in the L2.
  std::vector<double> by_graph(int samples, bool cold) {
    const int launches = emulated_ ? 1 : kGraphLaunches;
    const Graph graph = Graph::capture(stream_, [&](cudaStream_t stream) {
      for (int i = 0; i < launches; ++i) arrays_.launch(cold ? static_cast<std::size_t>(i) % sets_ : 0, stream);
      return cudaSuccess;
    });
    std::vector<double> seconds;
    for (int i = -1; i < samples; ++i) {  // The first launch of a graph also uploads it.
      if (cold) flush();
      start_.record(stream_);
      graph.launch(stream_);
      stop_.record(stream_);
      stream_.synchronize();
      if (i >= 0) seconds.push_back(stop_.seconds_since(start_) / launches);
    }
    return seconds;
  }
  //! [graph]

private:
  void warm_up() {
    for (int i = 0; i < kWarmUps; ++i) arrays_.launch(0, stream_.get());
  }
  void flush() {
    if (emulated_) return;  // There is one time there, and it is modelled.
    check(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream_.get()), "flushing the L2");
  }

  const Arrays& arrays_;
  std::size_t sets_;
  bool emulated_;
  Stream stream_;
  Event start_;
  Event stop_;
  DeviceBuffer flush_;
  std::unique_ptr<BlockingKernel> blocking_;
};

std::vector<double> take(const Way& way, Timer& timer, int samples) {
  const std::string& v = way.version;
  if (v == "v1") return timer.by_host(samples, true, true);
  if (v == "v2") return timer.by_host(samples, true, false);
  if (v == "v3") return timer.by_host(samples, false, true);
  if (v == "v4") return timer.by_host(samples, false, false);
  if (v == "v5a") return timer.by_events(samples, false, false);
  if (v == "v5b") return timer.by_events(samples, true, false);
  if (v == "v6") return timer.by_events(samples, true, true);
  return timer.by_graph(samples, v == "v7b");
}

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
      {"v1", "synchronize_twice", "wait, clock, launch, wait, clock", "launch + kernel (warm L2) + wait", true, false},
      {"v2", "synchronize_before", "wait, clock, launch, clock", "the call that launches", true, false},
      {"v3", "synchronize_after", "clock, launch, wait, clock",
       "as v1; the first sample also the work that was under way", true, false},
      {"v4", "no_synchronization", "clock, launch, clock", "the call that launches", true, false},
      {"v5a", "events", "event, launch, event, on an idle stream", "kernel (warm L2) + the launch's way to the device",
       false, false},
      {"v5b", "events_held", "the same, enqueued while the device is kept waiting",
       "kernel (warm L2) + the events' own time", false, false},
      {"v6", "cold_events", "the same, the L2 flushed beforehand", "kernel (cold L2) + the events' own time", false,
       true},
      {"v7a", "graph", "events around a graph of 100 launches, divided", "kernel (warm L2)", false, false},
      {"v7b", "cold_graph", "the same, launches taking turns on more memory than the L2 holds", "kernel (cold L2)",
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
  for (const Way& way : ways()) result.readings.push_back({&way, take(way, timer, samples)});
  result.warm_seconds = median_of(result, "v7a");
  result.cold_seconds = median_of(result, "v7b");
  result.wrong = count_wrong(arrays, count, type, seed);
  return result;
}

}  // namespace warpbook::chapter7
