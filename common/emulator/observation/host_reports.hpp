/// \file
/// Mistakes of the host's part of a program: calls that fail, memory that is never freed.
#pragma once

#include <cstddef>
#include <string>

#include "common/emulator/execution/async_work.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/findings.hpp"

namespace warpbook::emulator {

/// Reports a call to the runtime that failed.
void report_api_error(const ApiError& error);

/// Reports the allocations that still live, those of one line of the program together.
void report_leaks();

/// The host and the device touch one place, and nothing makes the host wait.
struct HostRace {
  const void* address;    ///< Where.
  bool host_writes;       ///< or reads
  const void* host_pc;    ///< The host's access.
  const void* device_pc;  ///< The kernel's access, or the call that asked for the copy.
  bool device_writes;     ///< or reads
  const char* device;     ///< "kernel", "copy" or "memset"
  const char* kernel;     ///< Its name, where it is a kernel.
};

/// Reports it.
void report_host_race(const HostRace& race);

/// A copy or a memset, and work of another stream that nothing orders before it.
struct CopyRace {
  const void* address;    ///< Where both are.
  const AsyncWork& copy;  ///< The later one.
  const void* other_pc;   ///< The kernel's access, or the call that asked for the other copy.
  bool other_writes;      ///< or reads
  const char* other;      ///< "kernel", "copy" or "memset"
  const char* kernel;     ///< Its name, where it is a kernel.
};

/// Reports it.
void report_copy_race(const CopyRace& race);

/// A wait for an event that was not recorded by then, and not waited for later.
void report_early_wait(const void* pc);

/// Warns of a memset with a value of which it uses the lowest `bytes` alone.
void report_cut_fill(double value, unsigned bytes, const void* pc);

/// A copy to the host of device memory that nobody wrote in parts.
struct UnwrittenCopy {
  const void* pc;       ///< The call that asked for it.
  std::size_t bytes;    ///< How many are copied.
  std::size_t missing;  ///< How many of them nobody wrote.
  const void* first;    ///< The first of these.
};

/// Warns of it.
void report_unwritten_copy(const UnwrittenCopy& copy);

/// Says which line of the host ends the program, tells what was found, and ends it.
void end_program(int signal, const void* pc);

/// The same where there is a report on what the line did: the mistake and the end count as one.
void end_program(int signal, Finding mistake);

/// Where an address lies beside an allocation, as reports say it.
std::string beside_allocation(const Allocation& allocation, const void* address);

/// The host touches memory of the arena: where that is the device's own, reports it and ends the program, as a GPU's
/// host would be. Beyond what the host shares with the device, too, which ends the program where no page is there.
void host_access(const void* address, std::size_t bytes, Operation operation, const void* pc);

}  // namespace warpbook::emulator
