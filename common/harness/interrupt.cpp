#include "common/harness/interrupt.hpp"

#include <csignal>

namespace warpbook {
namespace {

volatile std::sig_atomic_t signal_came = 0;

void on_signal(int /*signal*/) { signal_came = 1; }

}  // namespace

void catch_interrupts() {
  signal_came = 0;
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // The second one has its usual effect. No SA_RESTART: reads end.
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return signal_came != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

}  // namespace warpbook
