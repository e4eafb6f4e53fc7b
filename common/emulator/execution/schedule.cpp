#include "common/emulator/execution/schedule.hpp"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace warpbook::emulator {
namespace {

Schedule from_environment() {
  Schedule chosen;
  if (const char* text = std::getenv("WARPBOOK_SCHEDULE"); text != nullptr && !parse_schedule(text, chosen)) {
    std::fprintf(stderr, "WARPBOOK_SCHEDULE: \"%s\" is none of forward, reverse, random:SEED\n", text);
    std::exit(2);
  }
  return chosen;
}

struct State {
  std::mutex mutex;
  Schedule chosen = from_environment();
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

bool parse_schedule(const std::string& text, Schedule& schedule) {
  constexpr std::string_view kRandom = "random:";
  if (text == "forward" || text == "reverse") {
    schedule = {text == "forward" ? Schedule::Order::forward : Schedule::Order::reverse, 0};
    return true;
  }
  if (!text.starts_with(kRandom)) {
    return false;
  }
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + kRandom.size(), end, seed);
  if (error != std::errc{} || rest != end) {
    return false;
  }
  schedule = {Schedule::Order::random, seed};
  return true;
}

Schedule schedule() {
  const std::lock_guard lock(state().mutex);
  return state().chosen;
}

void set_schedule(Schedule schedule) {
  const std::lock_guard lock(state().mutex);
  state().chosen = schedule;
}

}  // namespace warpbook::emulator
