/// \file
/// The operating system threads that run blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/warpbook_launch.h"

namespace warpbook::emulator {

/// What became of a launch.
struct LaunchResult {
  cudaError_t error = cudaSuccess;  ///< What the launch came to.
  double modelled_seconds = 0.0;    ///< What it would have taken on the device.
  std::uint64_t launch = 0;         ///< The launch's number.
};

/// Runs all blocks of a valid launch, and returns when they are done. The calling thread runs blocks too; one launch at
/// a time. `launch.id` is set here.
LaunchResult run_blocks(LaunchInfo& launch, const KernelCall& call);

/// The same of a launch that uses memory which the host can write meanwhile, on a thread of its own. Where all of its
/// blocks wait, this comes back with nothing: the host goes on beside the launch, whose arguments must stay.
std::optional<LaunchResult> run_blocks_beside(const LaunchInfo& launch, const KernelCall& call);

/// Whether such a launch is under way beside the host.
bool launch_is_beside();

/// Whether it is done within this time.
bool launch_beside_ends_within(std::chrono::milliseconds time);

/// The host waits until it is done. From now on nobody ends its blocks' waiting but the host's other threads.
LaunchResult finish_beside();

/// How often blocks of the running launch have come to a barrier of the whole grid.
extern std::atomic<std::uint64_t> grid_arrivals;

/// True once a block of the running launch has ended with an error: others will not be run.
bool launch_has_failed();

/// A value in memory that somebody waits for, until it is another one.
struct Watched {
  const void* address = nullptr;  ///< null: it is not known
  unsigned bytes = 0;             ///< at most 8 count
  std::uint64_t value = 0;        ///< what was there

  Watched() = default;
  /// As it is now.
  Watched(const void* at, unsigned width) : address(at), bytes(width), value(now()) {}

  /// What is there now.
  std::uint64_t now() const {
    std::uint64_t found = 0;
    std::memcpy(&found, address, std::min<std::size_t>(bytes, sizeof found));
    return found;
  }
  /// The same place with the same value.
  bool operator==(const Watched&) const = default;
};

/// What the threads of a block that waits have seen since it waited last.
enum class Waiting : std::uint8_t {
  moves,   ///< something new
  stands,  ///< the same as before
  blind,   ///< what they look at is not known
};

/// What became of a block that waited.
struct Turn {
  /// How its wait ended.
  enum class Outcome : std::uint8_t { go_on, launch_ended, standstill };
  Outcome outcome = Outcome::go_on;  ///< `standstill`: all blocks of the launch wait, and nothing changes any more.
  std::uint64_t left = 0;            ///< Blocks that have not begun, at a standstill.
};

/// The block that this operating system thread runs waits for others: they have their turn, and new blocks begin as far
/// as the card holds them. `watched`: what its threads wait for; empty where that is not known.
Turn let_others_run(Waiting waiting, std::uint64_t block, std::vector<Watched> watched);

/// More workers than there are in any launch.
unsigned most_workers();

/// Threads that run blocks: what `WARPBOOK_WORKERS` says, else one for each core this process may use.
WARPBOOK_EXPORT unsigned worker_count();

/// Has the calling operating system thread handle signals on a stack of their own, which lives as long as the thread.
void give_signal_stack();

}  // namespace warpbook::emulator
