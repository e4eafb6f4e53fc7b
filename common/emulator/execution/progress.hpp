/// \file
/// Tells whoever sits at a terminal how far a long launch is.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// While it lives, a launch is under way. After ten seconds, and whenever it has taken twice as long, a line says so on
/// standard error, where that is a terminal.
class LaunchProgress {
public:
  /// `taken` counts the blocks that workers took; the last of them may not have begun.
  LaunchProgress(const LaunchInfo& launch, std::uint64_t blocks, const std::atomic<std::uint64_t>& taken);
  ~LaunchProgress();
  LaunchProgress(const LaunchProgress&) = delete;
  LaunchProgress& operator=(const LaunchProgress&) = delete;
};

}  // namespace warpbook::emulator
