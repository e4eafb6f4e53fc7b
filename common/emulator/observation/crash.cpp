// Says where a program was when a signal ends it.

#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "common/emulator/base/text.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/fiber_stacks.hpp"
#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/host_reports.hpp"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct Place {
  const void* pc;
  const std::byte* stack;
};

Place place_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
  // NOLINTBEGIN(performance-no-int-to-ptr): registers are integers.
#if defined(__x86_64__)
  return {reinterpret_cast<const void*>(machine.gregs[REG_RIP]),
          reinterpret_cast<const std::byte*>(machine.gregs[REG_RSP])};
#else
  return {reinterpret_cast<const void*>(machine.pc), reinterpret_cast<const std::byte*>(machine.sp)};
#endif
  // NOLINTEND(performance-no-int-to-ptr)
}

/// True for a line of the program's own: the sources of libraries are not there, or are the system's.
bool is_own(const std::string& line) {
  std::error_code error;
  return line.find("common/emulator/") == std::string::npos && !line.starts_with("/usr/") &&
         std::filesystem::exists(line.substr(0, line.rfind(':')), error);
}

/// The line of the instruction; of one in a library, that of whoever called it; "" where unknown.
std::string line_of(const void* pc) {
  std::string line = source_location(static_cast<const std::byte*>(pc) + 1);
  constexpr int kMost = 32;
  void* callers[kMost];
  const int count = is_own(line) ? 0 : backtrace(callers, kMost);
  for (int i = 0; i < count && !is_own(line); ++i) line = source_location(callers[i]);
  return is_own(line) ? line : std::string{};
}

std::string ended(const char* what, int signal, const char* why, const std::string& line) {
  return formatted("========= {} ended by signal {} ({}{})\n=========     at {}\n", what, signal, strsignal(signal),
                   why, line.empty() ? "an unknown line" : line);
}

void stop_handling(int signal) {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

void tell(int signal, siginfo_t* info, void* context) {
  stop_handling(signal);
  // What was interrupted may hold a lock: then there is no report, but an end.
  ::signal(SIGALRM, SIG_DFL);
  alarm(5);
  const Place place = place_of(context);
  const BlockContext* block = current_block;
  constexpr std::ptrdiff_t kNear = 1 << 20;
  const std::ptrdiff_t below = static_cast<const std::byte*>(info->si_addr) - place.stack;
  const bool overflow = signal == SIGSEGV && below > -kNear && below < kNear;
  const AddressRange stacks = local_range();
  {
    const Unwatched unwatched;
    Finding crash{.kind = "crash", .place = line_of(place.pc)};
    crash.text =
        ended(block == nullptr ? "Program" : "Kernel", signal, overflow ? ": the stack is used up" : "", crash.place);
    if (block != nullptr)
      crash.text += formatted("=========     in kernel {}, {}\n", block->launch->name, describe_thread(*block));
    if (overflow && block != nullptr && stacks.begin != nullptr)
      crash.text += formatted(
          "=========     A thread's own arrays, and functions that call themselves, have to fit on its stack: {} KiB "
          "here, 512 KiB at most on a GPU.\n",
          FiberStacks::kStackBytes >> 10);
    publish_finding(crash);
    observer().crashing();
  }
  // Done again, what it did ends the program as if nobody had looked; or the signal comes again.
  if (info->si_code <= 0) raise(signal);
}

std::atomic<bool> asked{false};  ///< all threads, where they are
std::atomic<bool> somebody_told{false};

/// Asks the other threads where they are: one of them may be in a kernel.
void ask_others(int signal) {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const long thread = std::strtol(task.path().filename().c_str(), nullptr, 10);
    if (thread != gettid()) syscall(SYS_tgkill, getpid(), thread, signal);
  }
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !somebody_told.load(); ++i) usleep(10'000);
}

/// Says where a kernel is that somebody has enough of: it may be in a loop that does not end.
void interrupted(int signal, siginfo_t* /*info*/, void* context) {
  const bool is_first = !asked.exchange(true);
  const BlockContext* block = current_block;
  if (block != nullptr && !somebody_told.load()) {
    ::signal(SIGALRM, SIG_DFL);  // As above.
    alarm(5);
    const Unwatched unwatched;
    Finding end{.kind = "interrupted", .place = line_of(place_of(context).pc)};
    end.text = ended("Kernel", signal, "", end.place) +
               formatted("=========     in kernel {}, {}\n", block->launch->name, describe_thread(*block));
    if (!somebody_told.exchange(true)) {
      publish_finding(end);
      observer().crashing();
    }
  } else if (block == nullptr && is_first) {
    ask_others(signal);
  }
  if (!is_first) return;
  stop_handling(signal);
  raise(signal);
}

/// On a stack of its own, as that of the program may be what is used up.
[[maybe_unused]] const bool installed = [] {
  give_signal_stack();
  for (const int signal : kSignals) {
    struct sigaction action{};
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = tell;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action{};
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = interrupted;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
  return true;
}();

}  // namespace

void end_program(int signal, const void* pc) { end_program(signal, {.kind = "crash", .place = source_location(pc)}); }

void end_program(int signal, Finding mistake) {
  mistake.text += ended("Program", signal, "", mistake.place);
  publish_finding(mistake);
  observer().crashing();
  stop_handling(signal);
  raise(signal);
}

}  // namespace warpbook::emulator
