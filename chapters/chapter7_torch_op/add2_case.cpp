#include "chapters/chapter7_torch_op/add2_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "chapters/chapter7_torch_op/practice/two_clocks.hpp"

namespace warpbook::chapter7 {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 36;
constexpr std::int64_t kMostOffset = 64;

float load(const std::byte* at, bool half) {
  if (half) {
    __half value;
    std::memcpy(&value, at, sizeof(value));
    return __half2float(value);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store(std::byte* at, bool half, float value) {
  if (half) {
    const __half narrow = __float2half(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else {
    std::memcpy(at, &value, sizeof(value));
  }
}

}  // namespace

Add2Case::Add2Case(const Parameters& parameters) : count_(parameters.integer("n", 1024)) {
  const std::string dtype = parameters.has("dtype") ? parameters.word("dtype") : "float";
  if (dtype != "float" && dtype != "half") throw BadInput("dtype=" + dtype + ": accepted are float, half");
  half_ = dtype == "half";
  if (count_ < 0 || count_ > kMostElements) {
    throw BadInput(fmt::format("n={}: accepted is 0 to {}", count_, kMostElements));
  }
  const std::vector<std::int64_t> offsets =
      parameters.has("offset") ? parameters.integers("offset") : std::vector<std::int64_t>{0};
  for (std::size_t k = 0; k < offset_.size(); ++k) {
    offset_[k] = offsets[offsets.size() == 1 ? 0 : k % offsets.size()];
    if ((offsets.size() != 1 && offsets.size() != offset_.size()) || offset_[k] < 0 || offset_[k] > kMostOffset)
      throw BadInput(fmt::format("offset={}: accepted is 0 to {}, once for all arrays or three times: of c, a, b",
                                 fmt::join(offsets, ","), kMostOffset));
  }
  parameters.refuse_unknown();
}

std::string Add2Case::offsets_text(const char* before) const {
  const auto [c, a, b] = offset_;
  if (a == c && b == c) return c == 0 ? "" : fmt::format("{}{}", before, c);
  return fmt::format("{}{},{},{}", before, c, a, b);
}

std::string Add2Case::title() const {
  return fmt::format("add2  n={}  {}{}", count_, half_ ? "half" : "float", offsets_text("  offset "));
}

std::string Add2Case::parameters() const {
  return fmt::format("n={} dtype={}{}", count_, half_ ? "half" : "float", offsets_text(" offset="));
}

BufferLayout Add2Case::layout_of(const char* name, std::int64_t offset) const {
  return {name, count_, element_bytes(), offset * element_bytes()};
}

std::vector<BufferLayout> Add2Case::inputs() const { return {layout_of("a", offset_[1]), layout_of("b", offset_[2])}; }

BufferLayout Add2Case::output() const { return layout_of("c", offset_[0]); }

std::int64_t Add2Case::bytes_moved() const { return 3 * count_ * element_bytes(); }

void Add2Case::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + array + 1;
  const int bits = half_ ? 10 : 23;  // Numbers of all digits, large and small: no sum but the rounded one fits them.
  for (std::int64_t i = 0; i < count_; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const int digits = static_cast<int>((state >> 33U) % (2ULL << bits)) - (1 << bits);
    store(bytes.data() + i * element_bytes(), half_,
          std::ldexp(static_cast<float>(digits), -int((state >> 24U) % bits)));
  }
}

void Add2Case::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::int64_t at = i * element_bytes();
    store(expected.data() + at, half_, load(inputs[0].data() + at, half_) + load(inputs[1].data() + at, half_));
  }
}

std::string Add2Case::coordinate(std::int64_t element) const { return fmt::format("[{}]", element); }

// What clocks is checked with: here, where no file of a reader's reaches it.
namespace {

constexpr int kMostEvents = 8;

// What things take, in microseconds.
struct Costs {
  double dispatch;  // An operator's checks, before its launch; the host's time.
  double send;      // A launch; the host's time.
  double kernel;    // The device's time.
  double notice;    // From the device's end to the host's next line.
};

struct State {
  Costs costs{};
  double host = 3 * costs.kernel;  // No clock begins at 0.
  double device = host + 20 * (costs.kernel + costs.send);  // When it will be done with all that it was sent.
  double stamp[kMostEvents] = {};
  int events = 0;
  int heard = 0;
  int launches = 0;
};

State state;

// Four numbers that nobody who does not know n can guess.
Costs costs_of(std::int64_t n) {
  auto bits = static_cast<std::uint64_t>(n) + 1;
  const auto draw = [&](double least) {
    bits = (bits ^ (bits >> 29U)) * 0x9e3779b97f4a7c15U;
    return least * (1 + static_cast<double>(bits >> 44U) * 0x1p-20);
  };
  return {.dispatch = draw(2.5), .send = draw(3.25), .kernel = draw(40), .notice = draw(1.75)};
}

}  // namespace

double Timeline::now() const { return state.host; }

void Timeline::launch() {
  state.host += state.costs.send;
  state.device = std::max(state.device, state.host) + state.costs.kernel;
  ++state.launches;
}

void Timeline::call() {
  state.host += state.costs.dispatch;
  launch();
}

void Timeline::synchronize() {
  state.host = std::max(state.host, state.device) + state.costs.notice;
  state.heard = state.events;
}

int Timeline::record() {
  if (state.events == kMostEvents) return -1;
  state.device = std::max(state.device, state.host);
  state.stamp[state.events] = state.device;
  return state.events++;
}

double Timeline::elapsed(int begin, int end) const {
  const bool known = std::min(begin, end) >= 0 && std::max(begin, end) < state.heard;
  return known ? state.stamp[end] - state.stamp[begin] : std::numeric_limits<double>::quiet_NaN();
}

const char* wrong_clock(Clock time_of_launch, Clock time_until_done, Clock time_of_kernel, Clock time_of_call,
                        std::int64_t n) {
  static std::string wrong;
  const auto is_wrong = [n](const char* name, Clock clock, auto least, auto most) {
    state = State{.costs = costs_of(n)};
    Timeline timeline;
    const double read = clock(timeline);
    const Costs& costs = state.costs;  // As they are now: what the clock could reach has no part in what is expected.
    if (state.launches == 1 && read > least(costs) - 1e-6 && read < most(costs) + 1e-6) return false;
    wrong = state.launches != 1 ? fmt::format("{} launches {} times, and is to launch once", name, state.launches)
                                : fmt::format("{} reads {:.3g} times as much as it should", name, read / least(costs));
    return true;
  };
  const auto send = [](const Costs& c) { return c.send; };
  const auto done = [](const Costs& c) { return c.send + c.kernel + c.notice; };
  const auto kernel = [](const Costs& c) { return c.kernel; };
  const auto kernel_and_send = [](const Costs& c) { return c.kernel + c.send; };
  const auto call = [](const Costs& c) { return c.dispatch + c.send; };
  const bool found = is_wrong("time_of_launch", time_of_launch, send, send) ||
                     is_wrong("time_until_done", time_until_done, done, done) ||
                     is_wrong("time_of_kernel", time_of_kernel, kernel, kernel_and_send) ||
                     is_wrong("time_of_call", time_of_call, call, call);
  return found ? wrong.c_str() : nullptr;
}

}  // namespace warpbook::chapter7
