#include "common/emulator/execution/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/shared_memory.hpp"
#include "common/emulator/include/warpbook_emulator.h"

namespace warpbook::emulator {

constinit std::byte* arena_begin = nullptr;
constinit std::byte* arena_end = nullptr;

namespace {

constexpr std::size_t kGranuleBytes = std::size_t{64} << 10;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kPageBytes = 4096;
/// Between memory that comes with use and any other: 2^32 of the widest elements, so that no number of elements that was
/// cut to 32 bits leads from one array into another.
constexpr std::size_t kApartBytes = std::size_t{64} << 30;
constexpr std::size_t kArenaBytes = std::size_t{1} << 40;
constexpr std::size_t kLeastArenaBytes = std::size_t{1} << 32;
/// Of the arena's size: itself, and what observers reserve to keep what they know of each of its bytes.
constexpr std::size_t kRoom = 10;
/// Where the arena is asked to lie, so that addresses are the same from run to run.
constexpr std::uintptr_t kArenaHint = 0x200000000000;

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Which allocation each granule of the arena belongs to. Readers take no lock; a granule belongs to one allocation
/// alone.
class Arena {
public:
  Arena();
  /// `limited`: to what the card has.
  std::byte* allocate(std::size_t bytes, MemoryKind kind, const void* pc, std::byte* at = nullptr, bool limited = true);
  std::byte* reserve(std::size_t bytes);
  AddressRange reserved(const std::byte* address) const;
  void give_up(std::byte* begin);
  bool release(std::byte* begin, const void* pc);
  void clear();
  const Allocation* find(const std::byte* address) const;
  const Allocation* nearest(const std::byte* address) const;
  std::size_t in_use() const;
  FreedAllocation freed(const std::byte* address) const;
  std::vector<Allocation> live() const;

private:
  static constexpr std::size_t kMostRemembered = 4096;  ///< of those that were freed

  struct Entry {
    std::unique_ptr<Allocation> allocation;
    std::size_t mapped;
    std::size_t counted;  ///< bytes of the card
  };
  std::byte* find_room(std::size_t mapped, std::size_t alignment) const;
  void mark(std::byte* begin, std::size_t mapped, const Allocation* allocation);

  mutable std::mutex mutex_;
  std::map<std::byte*, Entry> live_;
  std::map<std::byte*, std::size_t> reserved_;  ///< bytes from there on
  std::map<const std::byte*, FreedAllocation> freed_;
  std::atomic<const Allocation*>* granules_ = nullptr;
  std::byte* next_ = nullptr;  ///< addresses are not used again before the range is used up
  std::uint64_t serial_ = 0;
  std::size_t in_use_ = 0;
};

Arena::Arena() {
  void* range = MAP_FAILED;
  std::size_t bytes = 0;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  // Some systems of arm64 have few addresses, and so has a process with a limit: an arena that takes all of them leaves
  // the observers none.
  for (const std::size_t room : {kRoom, std::size_t{1}})
    for (std::size_t size = kArenaBytes; size >= kLeastArenaBytes && range == MAP_FAILED; size /= 2) {
      range = mmap(reinterpret_cast<void*>(kArenaHint) /* NOLINT(performance-no-int-to-ptr) */, size * room, PROT_NONE,
                   kFlags, -1, 0);
      if (range == MAP_FAILED) continue;
      bytes = size;
      if (room > 1) munmap(static_cast<std::byte*>(range) + size, size * (room - 1));
    }
  const std::size_t table = bytes / kGranuleBytes * sizeof(std::atomic<const Allocation*>);
  void* granules = range == MAP_FAILED ? MAP_FAILED : mmap(nullptr, table, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (granules == MAP_FAILED) {
    std::fputs("the emulator found no range of addresses for device memory (is there a limit? ulimit -v)\n", stderr);
    std::_Exit(3);
  }
  granules_ = static_cast<std::atomic<const Allocation*>*>(granules);
  auto* const begin = static_cast<std::byte*>(range);
  arena_begin = begin + (kGranuleBytes - reinterpret_cast<std::uintptr_t>(begin) % kGranuleBytes) % kGranuleBytes;
  arena_end = arena_begin + (bytes - kGranuleBytes) / kGranuleBytes * kGranuleBytes;
  next_ = arena_begin + kGranuleBytes;
}

std::byte* Arena::find_room(std::size_t mapped, std::size_t alignment) const {
  const auto align = [&](std::byte* address) {
    return arena_begin + round_up(static_cast<std::size_t>(address - arena_begin), alignment);
  };
  const auto fits = [&](std::byte* address, std::byte* limit) {
    return address < limit && static_cast<std::size_t>(limit - address) >= mapped + kGranuleBytes;
  };
  if (std::byte* begin = align(next_); fits(begin, arena_end)) {
    return begin;
  }
  std::byte* candidate = align(arena_begin + kGranuleBytes);
  std::map<std::byte*, std::size_t> taken = reserved_;
  for (const auto& [begin, entry] : live_) taken[begin] = entry.mapped;
  for (const auto& [begin, taken_bytes] : taken) {
    if (fits(candidate, begin)) {
      return candidate;
    }
    candidate = align(begin + round_up(taken_bytes, kGranuleBytes) + kGranuleBytes);
  }
  return fits(candidate, arena_end) ? candidate : nullptr;
}

void Arena::mark(std::byte* begin, std::size_t mapped, const Allocation* allocation) {
  const std::size_t first = static_cast<std::size_t>(begin - arena_begin) / kGranuleBytes;
  for (std::size_t i = 0; i < round_up(mapped, kGranuleBytes) / kGranuleBytes; ++i) {
    granules_[first + i].store(allocation, std::memory_order_release);
  }
}

std::byte* Arena::allocate(std::size_t bytes, MemoryKind kind, const void* pc, std::byte* at, bool limited) {
  const std::lock_guard lock(mutex_);
  const std::size_t counted = limited && kind != MemoryKind::pinned_host ? bytes : 0;
  if (counted != 0 && (bytes > device_memory_bytes() || in_use_ > device_memory_bytes() - bytes)) {
    return nullptr;
  }
  if (bytes > static_cast<std::size_t>(arena_end - arena_begin) / 2 || (at != nullptr && live_.contains(at))) {
    return nullptr;
  }
  const bool huge = bytes >= kHugePageBytes;
  const std::size_t mapped = round_up(bytes, kPageBytes);
  const std::size_t apart = limited ? 0 : kApartBytes;
  std::byte* begin = at != nullptr ? at : find_room(mapped + 2 * apart, huge ? kHugePageBytes : kGranuleBytes);
  if (begin != nullptr) begin += apart;
  if (begin == nullptr || mprotect(begin, mapped, PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  // Fewer page faults; where it is refused, nothing is lost. Of memory that comes with use, little is to come.
  if (huge) madvise(begin, mapped, limited ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  // Fresh pages are zero, and so is managed memory as CUDA gives it.
  if (kind != MemoryKind::managed) std::memset(begin, kPoison, bytes);
  next_ = std::max(next_, begin + round_up(mapped, kGranuleBytes) + kGranuleBytes + apart);
  auto allocation = std::make_unique<Allocation>(Allocation{begin, bytes, ++serial_, kind, pc});
  mark(begin, mapped, allocation.get());
  live_.emplace(begin, Entry{std::move(allocation), mapped, counted});
  in_use_ += counted;
  return begin;
}

std::byte* Arena::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > static_cast<std::size_t>(arena_end - arena_begin) / 2) {
    return nullptr;
  }
  std::byte* const begin =
      find_room(round_up(bytes, kPageBytes), bytes >= kHugePageBytes ? kHugePageBytes : kGranuleBytes);
  if (begin == nullptr) {
    return nullptr;
  }
  next_ = std::max(next_, begin + round_up(bytes, kGranuleBytes) + kGranuleBytes);
  reserved_[begin] = bytes;
  return begin;
}

AddressRange Arena::reserved(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, bytes] : reserved_)
    if (address >= begin && address < begin + bytes) return {begin, begin + bytes};
  return {};
}

void Arena::give_up(std::byte* begin) {
  const std::lock_guard lock(mutex_);
  reserved_.erase(begin);
}

bool Arena::release(std::byte* begin, const void* pc) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end()) {
    return false;
  }
  const Entry& entry = found->second;
  observer().memory_freed(*entry.allocation);
  if (freed_.size() == kMostRemembered) freed_.erase(freed_.begin());
  freed_[begin] = {*entry.allocation, pc};
  mark(begin, entry.mapped, nullptr);
  // Gives the memory back and keeps the addresses.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  // NOLINTNEXTLINE(bugprone-unused-return-value): where it fails the memory stays, unused.
  static_cast<void>(mmap(begin, entry.mapped, PROT_NONE, kFlags, -1, 0));
  in_use_ -= entry.counted;
  live_.erase(found);
  return true;
}

void Arena::clear() {
  for (;;) {
    std::byte* begin = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (live_.empty()) {
        return;
      }
      begin = live_.begin()->first;
    }
    release(begin, nullptr);
  }
}

const Allocation* Arena::find(const std::byte* address) const {
  if (!in_arena(address)) {
    return nullptr;
  }
  const Allocation* allocation =
      granules_[static_cast<std::size_t>(address - arena_begin) / kGranuleBytes].load(std::memory_order_acquire);
  if (allocation == nullptr || address >= allocation->begin + allocation->bytes) {
    return nullptr;
  }
  return allocation;
}

const Allocation* Arena::nearest(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  const Allocation* best = nullptr;
  std::ptrdiff_t least = 0;
  for (const auto& [begin, entry] : live_) {
    const Allocation& allocation = *entry.allocation;
    const std::ptrdiff_t distance =
        address < begin ? begin - address : std::max<std::ptrdiff_t>(0, address - (begin + allocation.bytes) + 1);
    if (best == nullptr || distance < least) {
      best = &allocation;
      least = distance;
    }
  }
  return best;
}

FreedAllocation Arena::freed(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  auto after = freed_.upper_bound(address);
  if (after == freed_.begin()) {
    return {};
  }
  const FreedAllocation& found = (--after)->second;
  return address < found.allocation.begin + found.allocation.bytes ? found : FreedAllocation{};
}

std::vector<Allocation> Arena::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  for (const auto& [begin, entry] : live_) {
    all.push_back(*entry.allocation);
  }
  std::sort(all.begin(), all.end(), [](const Allocation& a, const Allocation& b) { return a.serial < b.serial; });
  return all;
}

std::size_t Arena::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

Arena& arena() {
  static Arena& instance = *new Arena;  // never destroyed: static destructors of programs free memory too
  return instance;
}

/// Bytes that this machine can spare now: what the kernel calls available, within the limit of the control group.
std::size_t available_bytes() {
  std::size_t available = std::size_t{8} << 30;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    unsigned long long kibibytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kibibytes) == 1) {
      available = static_cast<std::size_t>(kibibytes) << 10;
    }
  }
  std::size_t limit = 0;
  std::size_t used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && std::ifstream("/sys/fs/cgroup/memory.current") >> used) {
    available = std::min(available, limit > used ? limit - used : 0);
  }
  return available;
}

}  // namespace

std::byte* arena_allocate(std::size_t bytes, MemoryKind kind, const void* pc) {
  return arena().allocate(bytes, kind, pc);
}
std::byte* arena_reserve(std::size_t bytes) { return arena().reserve(bytes); }
bool arena_allocate_at(std::byte* begin, std::size_t bytes, const void* pc) {
  return arena().allocate(bytes, MemoryKind::device, pc, begin) != nullptr;
}
AddressRange arena_reserved(const void* address) { return arena().reserved(static_cast<const std::byte*>(address)); }
void arena_give_up(std::byte* begin) { arena().give_up(begin); }
bool arena_release(void* begin, const void* pc) { return arena().release(static_cast<std::byte*>(begin), pc); }
void arena_clear() { arena().clear(); }
std::size_t arena_bytes_in_use() { return arena().in_use(); }

const Allocation* find_allocation(const void* address) {
  static const Arena& instance = arena();
  return instance.find(static_cast<const std::byte*>(address));
}

FreedAllocation find_freed(const void* address) { return arena().freed(static_cast<const std::byte*>(address)); }

std::vector<Allocation> live_allocations() { return arena().live(); }

const Allocation* nearest_allocation(const void* address) {
  return arena().nearest(static_cast<const std::byte*>(address));
}

void* allocate_sparse(std::size_t bytes) {
  return arena().allocate(bytes, MemoryKind::managed, nullptr, nullptr, false);
}

std::size_t device_memory_bytes() {
  // Room is left for the program itself: reference results, copies of the inputs, the counters.
  static const std::size_t bytes =
      std::min<std::size_t>(static_cast<std::size_t>(device_table().memory_bytes), available_bytes() / 4 * 3);
  return bytes;
}

}  // namespace warpbook::emulator
