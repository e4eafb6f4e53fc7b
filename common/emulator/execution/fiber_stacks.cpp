#include "common/emulator/execution/fiber_stacks.hpp"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace warpbook::emulator {
namespace {

/// Each guard page is a mapping of its own, and Linux allows a process 65530: the stacks of the first workers get them.
constexpr int kGuardedSets = 20;
std::atomic<int> guarded_sets{0};

std::atomic<bool> arrays_are_apart{false};

}  // namespace

void FiberStacks::keep_arrays_apart() { arrays_are_apart = true; }

std::size_t FiberStacks::bytes() const { return arrays_.empty() ? kTotalBytes : 2 * kTotalBytes + kGapBytes; }

FiberStacks::FiberStacks() {
  if (arrays_are_apart) arrays_.resize(kMaxStacks);
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  guards_ = guarded_sets.fetch_add(1) < kGuardedSets;
}

FiberStacks::~FiberStacks() {
  munmap(memory_, bytes());
  guarded_sets.fetch_sub(1);
}

FiberStacks::Stack FiberStacks::stack(unsigned index) {
  // Most kernels need few stacks, and a thousand guard pages for each worker take longer than a short launch.
  for (; guards_ && guarded_ <= index; ++guarded_) mprotect(memory_ + guarded_ * kSlotBytes, kPageBytes, PROT_NONE);
  std::byte* begin = memory_ + index * kSlotBytes + kPageBytes;
  if (!arrays_.empty()) arrays_[index] = memory_ + kTotalBytes + kGapBytes + (index + 1) * kSlotBytes;
  return {begin + kStackBytes - colour(index), kStackBytes - colour(index)};
}

ArraysApart FiberStacks::arrays_apart(const void* address) const {
  const std::size_t index = index_of(address);
  if (arrays_.empty() || index >= kMaxStacks) return {};
  std::byte* const begin = memory_ + kTotalBytes + kGapBytes + index * kSlotBytes;
  return {{begin, begin + kSlotBytes}, &arrays_[index]};
}

AddressRange FiberStacks::range() const { return {memory_, memory_ + bytes()}; }

}  // namespace warpbook::emulator
