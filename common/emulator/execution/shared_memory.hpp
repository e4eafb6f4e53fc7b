/// \file
/// The shared memory of the block that runs on an operating system thread.
#pragma once

#include <cstddef>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// What uninitialised memory holds: NaN in every floating-point format, -1 in every signed integer.
inline constexpr int kPoison = 0xff;

/// The most dynamic shared memory that any emulated device gives a block, and some room to fault in.
inline constexpr std::size_t kMaxDynamicShared = std::size_t{256} << 10;

/// Fills a new block's shared memory, as far as it is known to belong to the launch, with the poison. Returns its
/// dynamic shared memory, aligned to 1024 bytes.
std::byte* poison_shared_memory(const LaunchInfo& launch);

/// Tells that the block that runs here touches this array, which its kernel may not have declared itself: the launch's
/// next blocks begin with poison there.
void learn_shared_array(std::size_t offset, std::size_t bytes);

/// Bytes of `__shared__` arrays that a kernel declares itself; 0 where unknown.
std::size_t static_shared_bytes(const void* kernel);

}  // namespace warpbook::emulator
