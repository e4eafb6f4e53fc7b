/// \file
/// The driver's virtual memory: addresses are reserved, memory is created, and the one is mapped to the other. Pieces
/// that lie side by side and may be accessed are one allocation of the arena, as a program takes them for one array.
/// What a piece holds while no kernel may see it is kept beside.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "common/emulator/execution/arena.hpp"
#include "common/emulator/runtime/driver_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

/// What cuMemCreate made.
struct Piece {
  CUmemAllocationProp properties;
  std::size_t bytes;
  unsigned handles = 1;
  bool mapped = false;
  std::vector<std::byte> kept = {};  ///< empty: nobody has written it
};

struct Mapping {
  std::size_t bytes;
  std::shared_ptr<Piece> piece;
  CUmemGenericAllocationHandle handle;
  CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};

struct VirtualMemory {
  std::map<std::byte*, std::size_t> reserved;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Piece>> pieces;
  std::map<std::byte*, Mapping> mappings;
  std::map<std::byte*, std::size_t> runs;  ///< allocations of the arena
  CUmemGenericAllocationHandle last = 0;
};

VirtualMemory& memory() {
  static VirtualMemory& instance = *new VirtualMemory;
  return instance;
}

std::byte* place(CUdeviceptr pointer) {
  return reinterpret_cast<std::byte*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

bool is_whole(std::size_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

bool is_on_device(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties->location.id == 0;
}

/// The mappings that make up a range; none where it has gaps, or cuts one.
std::vector<std::byte*> mappings_in(std::byte* begin, std::size_t bytes) {
  std::vector<std::byte*> found;
  std::byte* at = begin;
  while (at < begin + bytes) {
    const auto next = memory().mappings.find(at);
    if (next == memory().mappings.end()) return {};
    found.push_back(at);
    at += next->second.bytes;
  }
  return at == begin + bytes ? found : std::vector<std::byte*>{};
}

/// Takes what kernels see out of the arena's allocations, and gives them others as the mappings say now.
cudaError_t renew(const void* pc) {
  std::map<std::byte*, std::size_t> runs;
  for (const auto& [begin, mapping] : memory().mappings) {
    if (mapping.access == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    const auto last = runs.empty() ? runs.end() : std::prev(runs.end());
    const bool goes_on =
        last != runs.end() && last->first + last->second == begin && !memory().reserved.contains(begin);
    if (goes_on)
      last->second += mapping.bytes;
    else
      runs.emplace(begin, mapping.bytes);
  }
  const std::map<std::byte*, std::size_t> before = std::exchange(memory().runs, runs);
  const auto is_in = [](const auto& run, const auto& all) {
    const auto found = all.find(run.first);
    return found != all.end() && found->second == run.second;
  };
  for (const auto& run : before) {
    if (is_in(run, runs)) continue;
    for (auto& [begin, mapping] : memory().mappings)
      if (begin >= run.first && begin < run.first + run.second)
        mapping.piece->kept.assign(begin, begin + mapping.bytes);
    arena_release(run.first, pc);
  }
  for (const auto& run : runs) {
    if (is_in(run, before)) continue;
    if (!arena_allocate_at(run.first, run.second, pc)) {
      memory().runs.erase(run.first);
      return cudaErrorMemoryAllocation;
    }
    for (auto& [begin, mapping] : memory().mappings) {
      std::vector<std::byte>& kept = mapping.piece->kept;
      if (begin < run.first || begin >= run.first + run.second || kept.empty()) continue;
      std::memcpy(begin, kept.data(), std::min(kept.size(), mapping.bytes));
      observer().memory_written(begin, mapping.bytes);
      kept = {};
    }
  }
  return cudaSuccess;
}

cudaError_t unmap(std::byte* begin, std::size_t bytes, const void* pc) {
  const std::vector<std::byte*> found = mappings_in(begin, bytes);
  if (found.empty()) return cudaErrorInvalidValue;
  host_waits_for_all();
  for (std::byte* const each : found) memory().mappings.at(each).access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const cudaError_t error = renew(pc);
  for (std::byte* const each : found) {
    memory().mappings.at(each).piece->mapped = false;
    memory().mappings.erase(each);
  }
  return error;
}

}  // namespace

bool is_mapped(const void* pointer) {
  auto* const address = static_cast<std::byte*>(const_cast<void*>(pointer));
  const auto& runs = memory().runs;
  const auto after = runs.upper_bound(address);
  return after != runs.begin() && address < std::prev(after)->first + std::prev(after)->second;
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return driver_call(WARPBOOK_CALLER, [&] {
    if (bytes == nullptr || !is_on_device(properties)) return remember(cudaErrorInvalidValue);
    *bytes = kGranularity;
    return remember(cudaSuccess);
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, std::size_t bytes, std::size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    if (pointer == nullptr || !is_whole(bytes) || flags != 0 || (alignment & (alignment - 1)) != 0)
      return remember(cudaErrorInvalidValue);
    if (alignment > kGranularity) return remember(cudaErrorNotSupported);
    std::byte* const begin = arena_reserve(bytes);
    if (begin == nullptr) return remember(cudaErrorMemoryAllocation);
    memory().reserved[begin] = bytes;
    *pointer = reinterpret_cast<CUdeviceptr>(begin);
    return remember(device_state());
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const auto found = memory().reserved.find(place(pointer));
    if (found == memory().reserved.end() || found->second != bytes) return remember(cudaErrorInvalidValue);
    const auto inside = memory().mappings.lower_bound(found->first);
    if (inside != memory().mappings.end() && inside->first < found->first + bytes) {
      ApiCall::explain("invalid_free", "Memory is still mapped there: cuMemUnmap comes first.");
      return remember(cudaErrorInvalidValue);
    }
    arena_give_up(found->first);
    memory().reserved.erase(found);
    return remember(cudaSuccess);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    if (handle == nullptr || !is_whole(bytes) || flags != 0 || !is_on_device(properties))
      return remember(cudaErrorInvalidValue);
    if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
      ApiCall::explain("api_error", "The emulator shares no memory between processes.");
      return remember(cudaErrorNotSupported);
    }
    if (bytes > device_memory_bytes() - std::min(device_memory_bytes(), arena_bytes_in_use()))
      return remember(cudaErrorMemoryAllocation);
    *handle = ++memory().last;
    memory().pieces[*handle] = std::make_shared<Piece>(Piece{*properties, bytes});
    return remember(device_state());
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const auto found = memory().pieces.find(handle);
    if (found == memory().pieces.end()) return remember(cudaErrorInvalidValue);
    if (--found->second->handles == 0) memory().pieces.erase(found);  // What is mapped stays until it is unmapped.
    return remember(cudaSuccess);
  });
}

CUresult cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    std::byte* const begin = place(pointer);
    const auto found = memory().pieces.find(handle);
    const auto above = memory().reserved.upper_bound(begin);
    if (found == memory().pieces.end() || above == memory().reserved.begin() || !is_whole(bytes) ||
        pointer % kGranularity != 0 || offset != 0 || flags != 0 || bytes > found->second->bytes)
      return remember(cudaErrorInvalidValue);
    const auto [range, size] = *std::prev(above);
    const auto next = memory().mappings.upper_bound(begin);
    const bool meets_next = next != memory().mappings.end() && next->first < begin + bytes;
    const bool meets_last =
        next != memory().mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin;
    if (begin + bytes > range + size || meets_next || meets_last) return remember(cudaErrorInvalidValue);
    if (found->second->mapped) {
      ApiCall::explain("api_error", "The emulator maps memory to one place at a time.");
      return remember(cudaErrorNotSupported);
    }
    found->second->mapped = true;
    memory().mappings.emplace(begin, Mapping{bytes, found->second, handle});
    return remember(device_state());
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    return remember(unmap(place(pointer), bytes, ApiCall::pc()));
  });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const std::vector<std::byte*> found = mappings_in(place(pointer), bytes);
    if (found.empty() || access == nullptr || count == 0) return remember(cudaErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return remember(cudaErrorNotSupported);
      if (access[i].location.id != 0) return remember(cudaErrorInvalidDevice);
      for (std::byte* const each : found) memory().mappings.at(each).access = access[i].flags;
    }
    return remember(renew(ApiCall::pc()));
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const auto after = memory().mappings.upper_bound(place(pointer));
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id != 0 ||
        after == memory().mappings.begin() ||
        std::prev(after)->first + std::prev(after)->second.bytes <= place(pointer))
      return remember(cudaErrorInvalidValue);
    *flags = std::prev(after)->second.access;
    return remember(cudaSuccess);
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    const auto found = memory().pieces.find(handle);
    if (properties == nullptr || found == memory().pieces.end()) return remember(cudaErrorInvalidValue);
    *properties = found->second->properties;
    return remember(cudaSuccess);
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  return driver_call(WARPBOOK_CALLER, [&] {
    const RuntimeLock lock;
    auto* const address = static_cast<std::byte*>(pointer);
    const auto after = memory().mappings.upper_bound(address);
    if (handle == nullptr || after == memory().mappings.begin() ||
        std::prev(after)->first + std::prev(after)->second.bytes <= address)
      return remember(cudaErrorInvalidValue);
    const Mapping& mapping = std::prev(after)->second;
    *handle = mapping.handle;
    if (!memory().pieces.emplace(*handle, mapping.piece).second)
      ++mapping.piece->handles;
    else
      mapping.piece->handles = 1;
    return remember(cudaSuccess);
  });
}
