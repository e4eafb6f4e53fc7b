#include "common/emulator/execution/fiber_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kColours = 4096;
/// Of a guard: arm64 has systems with pages of 4, 16 and 64 KiB.
const std::size_t kPageBytes = std::max<std::size_t>(kColours, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
const std::size_t kSlotBytes = FiberStacks::kStackBytes + kPageBytes;
const std::size_t kTotalBytes = kSlotBytes * FiberStacks::kMaxStacks;

/// Each guard page is a mapping of its own, and Linux allows a process 65530: the stacks of the first workers get them.
constexpr int kGuardedSets = 20;
std::atomic<int> guarded_sets{0};

}  // namespace

FiberStacks::FiberStacks() {
  void* memory = mmap(nullptr, kTotalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  guards_ = guarded_sets.fetch_add(1) < kGuardedSets;
}

FiberStacks::~FiberStacks() {
  munmap(memory_, kTotalBytes);
  guarded_sets.fetch_sub(1);
}

namespace {

/// Stacks that all began at the same offset in a page would compete for the same few sets of the cache.
std::size_t colour(std::size_t index) { return index * 320 % kColours & ~std::size_t{63}; }

}  // namespace

FiberStacks::Stack FiberStacks::stack(unsigned index) {
  // Most kernels need few stacks, and a thousand guard pages for each worker take longer than a short launch.
  for (; guards_ && guarded_ <= index; ++guarded_) mprotect(memory_ + guarded_ * kSlotBytes, kPageBytes, PROT_NONE);
  std::byte* begin = memory_ + index * kSlotBytes + kPageBytes;
  return {begin + kStackBytes - colour(index), kStackBytes - colour(index)};
}

std::size_t FiberStacks::index_of(const void* address) const {
  return (reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_)) / kSlotBytes;
}

const std::byte* FiberStacks::top_of(const void* address) const {
  const std::span<const std::byte> all = stack_around(address);
  return all.data() + all.size() - colour(index_of(address));
}

std::span<const std::byte> FiberStacks::stack_around(const void* address) const {
  const std::size_t index = index_of(address);
  if (index >= kMaxStacks) return {};
  return {memory_ + index * kSlotBytes + kPageBytes, kStackBytes};
}

AddressRange FiberStacks::range() const { return {memory_, memory_ + kTotalBytes}; }

}  // namespace warpbook::emulator
