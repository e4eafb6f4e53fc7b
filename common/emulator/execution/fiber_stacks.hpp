/// \file
/// Memory for the stacks of one worker's fibers.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

  /// From now on, sets of stacks have room for threads' arrays apart from the stacks: see `ArraysApart`.
  static void keep_arrays_apart();

  /// The highest address of a stack, and the bytes below it.
  struct Stack {
    std::byte* top;     ///< Where the stack begins; it grows downwards.
    std::size_t bytes;  ///< Its size.
  };
  /// Stack number `index`, and all before it, behind their guard pages. Its arrays begin anew.
  Stack stack(unsigned index);

  /// Where the arrays are kept that belong to the stack an address lies in.
  ArraysApart arrays_apart(const void* address) const;

  /// The stack that an address lies in, from its lowest byte on; empty where it lies in none.
  std::span<const std::byte> stack_around(const void* address) const {
    const std::size_t index = index_of(address);
    if (index >= kMaxStacks) return {};
    return {memory_ + index * kSlotBytes + kPageBytes, kStackBytes};
  }

  /// The top of the stack that an address lies in.
  const std::byte* top_of(const void* address) const {
    const std::size_t index = index_of(address);
    return memory_ + (index + 1) * kSlotBytes - colour(index);
  }

  /// Which stack an address lies in; kMaxStacks or more where it lies in none.
  std::size_t index_of(const void* address) const {
    return (reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_)) / kSlotBytes;
  }

  /// All stacks together.
  AddressRange range() const;

private:
  static constexpr std::size_t kColours = 4096;
  /// Of a guard. Each access of a kernel asks for its stack, so the size is a constant where it can be.
#ifdef __x86_64__
  static constexpr std::size_t kPageBytes = kColours;
#else  // arm64 has systems with pages of 4, 16 and 64 KiB.
  static inline const std::size_t kPageBytes =
      std::max<std::size_t>(kColours, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
#endif
  static inline const std::size_t kSlotBytes = kStackBytes + kPageBytes;
  static inline const std::size_t kTotalBytes = kMaxStacks * kSlotBytes;
  /// Between stacks and arrays: how far one function's arrays may reach below the range that its thread has.
  static inline const std::size_t kGapBytes = 2 * kSlotBytes;

  /// Stacks that all began at the same offset in a page would compete for the same few sets of the cache.
  static std::size_t colour(std::size_t index) { return index * 320 % kColours & ~std::size_t{63}; }

  std::size_t bytes() const;  ///< Of the memory.

  std::byte* memory_ = nullptr;
  /// How far each stack's arrays have come, downwards; empty where they are on the stacks.
  mutable std::vector<std::byte*> arrays_;
  bool guards_ = false;   ///< Each stack in use has a guard page.
  unsigned guarded_ = 0;  ///< Stacks that have it.
};

}  // namespace warpbook::emulator
