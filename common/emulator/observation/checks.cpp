#include "common/emulator/observation/checks.hpp"

#include <link.h>

#include <algorithm>
#include <mutex>

#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/execution/shared_memory.hpp"
#include "common/emulator/execution/symbols.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::ptrdiff_t kNear = 64 << 10;  // this close to the shared arrays, an address was meant to be in one

AddressRange range_of(const std::byte* begin, std::size_t bytes) { return {begin, begin + bytes}; }

/// True when the access lies in the range from its first byte to its last.
bool holds(const AddressRange& range, const void* address, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(address);
  return at >= range.begin && at < range.end && bytes <= static_cast<std::size_t>(range.end - at);
}

/// Where the program and its libraries lie: constants, and variables outside of functions.
std::vector<AddressRange> loaded_segments() {
  std::vector<AddressRange> segments;
  const auto visit = [](dl_phdr_info* info, std::size_t, void* data) {
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const auto& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as integers.
      const auto* begin = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
      static_cast<std::vector<AddressRange>*>(data)->push_back(range_of(begin, header.p_memsz));
    }
    return 0;
  };
  dl_iterate_phdr(visit, &segments);
  return segments;
}

/// The loaded segment that holds the address, or an empty range.
AddressRange segment_of(const void* address) {
  static std::mutex mutex;
  static std::vector<AddressRange> segments;
  const std::lock_guard lock(mutex);
  const auto find = [&]() -> AddressRange {
    for (const AddressRange& segment : segments)
      if (segment.contains(address)) return segment;
    return {};
  };
  AddressRange found = find();
  if (found.begin == nullptr) {
    segments = loaded_segments();  // a library may have come since
    found = find();
  }
  return found;
}

}  // namespace

bool is_near_shared(const void* address, const AddressRange& shared) {
  const auto* at = static_cast<const std::byte*>(address);
  return shared.begin != nullptr && at >= shared.begin - kNear && at < shared.end + kNear;
}

const SharedArray* array_at(const void* address, const AddressRange& all) {
  std::size_t count = 0;
  const SharedArray* arrays = shared_arrays(count);
  const auto offset = static_cast<const std::byte*>(address) - all.begin;
  const SharedArray* next =
      std::upper_bound(arrays, arrays + count, offset, [](std::ptrdiff_t value, const SharedArray& array) {
        return value < static_cast<std::ptrdiff_t>(array.offset);
      });
  return next == arrays ? nullptr : next - 1;
}

Home find_home(const BlockContext& block, const void* address, std::size_t bytes) {
  Home home;
  const auto settle = [&](Space space, AddressRange range) {
    home.space = space;
    home.range = range;
    home.bad = !holds(range, address, bytes);
  };
  if (in_arena(address)) {
    const Allocation* allocation = find_allocation(address);
    settle(Space::global, allocation == nullptr ? AddressRange{} : range_of(allocation->begin, allocation->bytes));
    if (allocation != nullptr) home.kind = allocation->kind;
    return home;
  }
  if (block.dynamic_shared != nullptr && range_of(block.dynamic_shared, kMaxDynamicShared).contains(address)) {
    settle(Space::shared, range_of(block.dynamic_shared, block.launch->dynamic_shared_bytes));
    return home;
  }
  if (local_range().contains(address)) {
    settle(Space::local, own_stack(address));
    return home;
  }
  if (const ClusterPlace place = find_in_cluster(block, address); place.block != nullptr) {
    settle(Space::cluster, place.range);
    home.bad |= place.block->state == ClusterBlock::State::ended;
    return home;
  }
  if (const AddressRange all = shared_range(); all.contains(address)) {
    std::size_t count = 0;
    shared_arrays(count);
    const SharedArray* array = array_at(address, all);
    if (count == 0) {  // a stripped program: no bounds but these
      settle(Space::shared, all);
      return home;
    }
    settle(Space::shared, array == nullptr ? AddressRange{} : range_of(all.begin + array->offset, array->bytes));
    if (!home.bad) learn_shared_array(array->offset, array->bytes);
    return home;
  }
  if (const AddressRange range = registered_range(address); range.begin != nullptr) {
    settle(Space::global, range);
    return home;
  }
  if (const AddressRange range = host_variable_at(address); range.begin != nullptr) {
    home.space = Space::global;
    home.bad = true;
    return home;
  }
  if (const AddressRange segment = segment_of(address); segment.begin != nullptr) {
    const Variable variable = variable_near(address);
    settle(Space::elsewhere, variable.name.empty() ? segment : variable.range);
    return home;
  }
  // A wild address: near a shared array it is one that left it, also by an index that became 2^32 - 1 instead of -1.
  const bool shared = is_near_shared(address, shared_range()) ||
                      is_near_shared(static_cast<const std::byte*>(address) - (bytes << 32), shared_range());
  home.space = shared ? Space::shared : Space::global;
  home.bad = true;
  return home;
}

}  // namespace warpbook::emulator
