#include "common/emulator/execution/host_ranges.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace warpbook::emulator {

constinit AddressRange managed_range;

namespace {

/// Kernels look them up while the host changes them.
struct Registered {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> ranges;
  std::map<const std::byte*, std::size_t> heap;       ///< of these, the device's heap
  std::map<const std::byte*, std::size_t> variables;  ///< the host's own, outside of functions
  std::size_t heap_bytes = 0;
  std::deque<AddressRange> freed;  ///< of the heap, the latest
};

Registered& registered() {
  static auto& instance = *new Registered;
  return instance;
}

AddressRange range_in(const std::map<const std::byte*, std::size_t>& ranges, const void* address) {
  auto after = ranges.upper_bound(static_cast<const std::byte*>(address));
  if (after == ranges.begin()) return {};
  const auto& [begin, bytes] = *--after;
  const AddressRange range{begin, begin + bytes};
  return range.contains(address) ? range : AddressRange{};
}

}  // namespace

void register_range(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(registered().mutex);
  registered().ranges[static_cast<const std::byte*>(begin)] = bytes;
}

bool unregister_range(const void* begin) {
  const std::lock_guard lock(registered().mutex);
  return registered().ranges.erase(static_cast<const std::byte*>(begin)) == 1;
}

void register_heap(const void* begin, std::size_t bytes) {
  register_range(begin, bytes);
  const std::lock_guard lock(registered().mutex);
  registered().heap[static_cast<const std::byte*>(begin)] = bytes;
  registered().heap_bytes += bytes;
}

bool unregister_heap(const void* begin) {
  constexpr std::size_t kMost = 4096;
  if (!unregister_range(begin)) return false;
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  if (const auto piece = all.heap.find(static_cast<const std::byte*>(begin)); piece != all.heap.end()) {
    if (all.freed.size() == kMost) all.freed.pop_front();
    all.freed.push_back({piece->first, piece->first + piece->second});
    all.heap_bytes -= piece->second;
    all.heap.erase(piece);
  }
  return true;
}

std::size_t heap_bytes() {
  const std::lock_guard lock(registered().mutex);
  return registered().heap_bytes;
}

HeapPiece heap_near(const void* address) {
  constexpr std::ptrdiff_t kNear = 64;  // bytes
  const auto* const at = static_cast<const std::byte*>(address);
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const auto freed = std::find_if(all.freed.rbegin(), all.freed.rend(), [&](const auto& r) { return r.contains(at); });
  if (freed != all.freed.rend()) return {*freed, true};
  const auto after = all.heap.upper_bound(at);
  if (after != all.heap.begin())
    if (const auto& [begin, bytes] = *std::prev(after); at - begin < static_cast<std::ptrdiff_t>(bytes) + kNear)
      return {{begin, begin + bytes}, false};
  if (after != all.heap.end() && after->first - at <= kNear)
    return {{after->first, after->first + after->second}, false};
  return {};
}

void note_host_variable(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(registered().mutex);
  registered().variables[static_cast<const std::byte*>(begin)] = bytes;
}

AddressRange host_variable_at(const void* address) {
  const std::lock_guard lock(registered().mutex);
  return range_in(registered().variables, address);
}

AddressRange registered_range(const void* address) {
  const std::lock_guard lock(registered().mutex);
  return range_in(registered().ranges, address);
}

}  // namespace warpbook::emulator
