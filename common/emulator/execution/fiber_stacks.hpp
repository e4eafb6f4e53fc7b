/// \file
/// Memory for the stacks of one worker's fibers.
#pragma once

#include <cstddef>
#include <span>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Reserves stacks for `kMaxStacks` fibers, backed by memory as they are used. Below each lies a guard page, so that a
/// CUDA thread that needs more local memory than a stack holds faults instead of writing over its neighbour.
class FiberStacks {
public:
  static constexpr unsigned kMaxStacks = 1024;                        ///< One for each thread of a block.
  static constexpr std::size_t kStackBytes = std::size_t{640} << 10;  ///< A thread's stack.

  FiberStacks();
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  /// The highest address of a stack, and the bytes below it.
  struct Stack {
    std::byte* top;     ///< Where the stack begins; it grows downwards.
    std::size_t bytes;  ///< Its size.
  };
  /// Stack number `index`, and all before it, behind their guard pages.
  Stack stack(unsigned index);

  /// The stack that an address lies in, from its lowest byte on; empty where it lies in none.
  std::span<const std::byte> stack_around(const void* address) const;

  /// The top of the stack that an address lies in.
  const std::byte* top_of(const void* address) const;

  /// Which stack an address lies in; kMaxStacks or more where it lies in none.
  std::size_t index_of(const void* address) const;

  /// All stacks together.
  AddressRange range() const;

private:
  std::byte* memory_ = nullptr;
  bool guards_ = false;   ///< Each stack in use has a guard page.
  unsigned guarded_ = 0;  ///< Stacks that have it.
};

}  // namespace warpbook::emulator
