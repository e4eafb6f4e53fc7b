#include "common/emulator/execution/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace warpbook::emulator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFirst{10};

/// The launch under way: one at a time.
struct Running {
  std::mutex mutex;
  const LaunchInfo* launch = nullptr;  ///< null: none is
  std::uint64_t blocks = 0;
  const std::atomic<std::uint64_t>* taken = nullptr;
  Clock::time_point begin;
  std::chrono::seconds next = kFirst;  ///< when to tell of it
};

Running& running() {
  static Running& instance = *new Running;  // NOLINT(cppcoreguidelines-owning-memory): its thread never ends
  return instance;
}

void tell(const Running& launch, std::chrono::seconds seconds) {
  const std::string faster = observer().faster_option();
  std::fprintf(stderr, "========= %s: %llu of %llu blocks have begun after %lld seconds%s%s\n", launch.launch->name,
               static_cast<unsigned long long>(std::min(launch.blocks, launch.taken->load())),
               static_cast<unsigned long long>(launch.blocks), static_cast<long long>(seconds.count()),
               faster.empty() ? "" : "; faster with ", faster.c_str());
}

[[noreturn]] void watch() {
  for (Running& launch = running();;) {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    const std::lock_guard lock(launch.mutex);
    if (launch.launch == nullptr) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - launch.begin);
    if (seconds < launch.next) continue;
    tell(launch, seconds);
    launch.next *= 2;
  }
}

/// Whether somebody watches: a thread of its own, where there is a terminal.
bool is_watched() {
  static const bool there = [] {
    if (isatty(STDERR_FILENO) == 0) return false;
    try {
      std::thread(watch).detach();
    } catch (const std::system_error&) {  // at a limit of threads
      return false;
    }
    return true;
  }();
  return there;
}

}  // namespace

LaunchProgress::LaunchProgress(const LaunchInfo& launch, std::uint64_t blocks,
                               const std::atomic<std::uint64_t>& taken) {
  if (!is_watched()) return;
  Running& watch = running();
  const std::lock_guard lock(watch.mutex);
  watch.launch = &launch;
  watch.blocks = blocks;
  watch.taken = &taken;
  watch.begin = Clock::now();
  watch.next = kFirst;
}

LaunchProgress::~LaunchProgress() {
  if (!is_watched()) return;
  const std::lock_guard lock(running().mutex);
  running().launch = nullptr;
}

}  // namespace warpbook::emulator
