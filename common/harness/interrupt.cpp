#include "common/harness/interrupt.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace warpbook {
namespace {

// `timeout` signals twice, to the process and to its group: what comes within this time is one signal.
constexpr std::int64_t kOneSignalNanoseconds = 1'000'000'000;

std::atomic<std::int64_t> first_came = 0;  // Nanoseconds on a steady clock; 0: none came.
std::atomic<int> held = 0;                 // How many `NoSuddenEnd` there are.
std::atomic<bool> end_wanted = false;      // A second Ctrl-C came while one was there.

void end_now() {
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

void on_signal(int signal) {
  const int error = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t time = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t first = 0;
  if (!first_came.compare_exchange_strong(first, time) && signal == SIGINT && time - first > kOneSignalNanoseconds) {
    end_wanted = true;
    if (held == 0) end_now();
  }
  errno = error;
}

/// The system kills at the hard limit of CPU time and warns at the soft one. `ulimit -t` sets both alike: this makes
/// room for a warning.
void ask_for_a_warning() {
  rlimit limit{};
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY || limit.rlim_cur < limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max - std::min<rlim_t>(limit.rlim_max / 2, 5);
  static_cast<void>(setrlimit(RLIMIT_CPU, &limit));
}

}  // namespace

void catch_interrupts() {
  first_came = 0;
  end_wanted = false;
  ask_for_a_warning();
  struct sigaction action{};
  action.sa_handler = on_signal;  // No SA_RESTART: reads end.
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXCPU}) sigaction(signal, &action, nullptr);
  struct sigaction hangup{};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() noexcept { return first_came != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

NoSuddenEnd::NoSuddenEnd() noexcept { ++held; }

NoSuddenEnd::~NoSuddenEnd() {
  if (--held == 0 && end_wanted) end_now();
}

}  // namespace warpbook
