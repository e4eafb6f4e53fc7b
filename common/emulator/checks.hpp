/// \file
/// Where an access may go, and what is said of one that went elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/engine.hpp"
#include "common/emulator/trace.hpp"

namespace warpbook::emulator {

/// The piece of memory that an address belongs to.
struct Home {
  Space space = Space::elsewhere;
  AddressRange range;     ///< all that may be touched with it
  bool bad = false;       ///< the access leaves what may be touched
  const char* what = "";  ///< for reports of shared memory: the array's name, or ""
};

/// Finds out what a kernel's access touches.
Home find_home(const BlockContext& block, const void* address, std::size_t bytes);

enum class BadAccess { out_of_bounds, misaligned };

/// Reports a bad access and ends the kernel with the error that CUDA gives for it.
[[noreturn]] void bad_access(const BlockContext& block, const Home& home, const void* address, std::size_t bytes,
                             Operation operation, const void* pc, BadAccess kind);

/// One side of a finding: an instruction and the thread that ran it.
struct Actor {
  const void* pc;
  unsigned thread;  ///< linear index
  Operation operation;
};

/// Reports two accesses to shared memory, at least one of them a write, with no barrier between them.
void report_race(const BlockContext& block, const Actor& one, const Actor& other, const void* address);

/// Reports a read of shared memory that no thread of the block has written.
void report_uninitialised(const BlockContext& block, const Actor& reader, std::size_t bytes, const void* address);

/// Publishes what was found in the launch that has ended: printed to standard error the first time, kept for
/// `take_reports` each time. What was found is held back until then, so that its order does not depend on the
/// emulator's threads.
void publish_findings();

/// Prints and keeps a text that the engine made.
void add_report(const std::string& text);

/// All published findings since the last call.
std::vector<std::string> take_reports();

}  // namespace warpbook::emulator
