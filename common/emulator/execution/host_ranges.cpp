#include "common/emulator/execution/host_ranges.hpp"

#include <map>
#include <mutex>

namespace warpbook::emulator {
namespace {

/// Kernels look them up while the host changes them.
struct Registered {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> ranges;
};

Registered& registered() {
  static auto& instance = *new Registered;
  return instance;
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

AddressRange registered_range(const void* address) {
  const std::lock_guard lock(registered().mutex);
  const auto& ranges = registered().ranges;
  auto after = ranges.upper_bound(static_cast<const std::byte*>(address));
  if (after == ranges.begin()) return {};
  const auto& [begin, bytes] = *--after;
  const AddressRange range{begin, begin + bytes};
  return range.contains(address) ? range : AddressRange{};
}

}  // namespace warpbook::emulator
