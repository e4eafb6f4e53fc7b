/// \file
/// Memory that graphs allocate and free. Its addresses are fixed when the node is made; what lies there comes when the
/// node runs, and goes when a graph or the program frees it.

#include <algorithm>
#include <map>
#include <set>

#include "common/emulator/execution/arena.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

struct AllGraphMemory {
  std::map<const void*, std::weak_ptr<GraphMemory>> by_address;
  std::map<const void*, std::uint64_t> allocated;  ///< each with its serial number
  std::uint64_t used_high = 0;
  std::uint64_t reserved = 0;  ///< A GPU keeps what was used until it is trimmed.
  std::uint64_t reserved_high = 0;

  std::uint64_t used() {
    std::uint64_t bytes = 0;
    for (auto each = allocated.begin(); each != allocated.end();) {
      const Allocation* known = find_allocation(each->first);
      const bool lives = known != nullptr && known->serial == each->second;
      if (lives) bytes += known->bytes;
      each = lives ? std::next(each) : allocated.erase(each);
    }
    return bytes;
  }
};

AllGraphMemory& all() {
  static AllGraphMemory& instance = *new AllGraphMemory;
  return instance;
}

bool is_live(const GraphMemory& memory) { return find_allocation(memory.begin) != nullptr; }

}  // namespace

GraphMemory::~GraphMemory() {
  all().by_address.erase(begin);
  arena_give_up(begin);
}

cudaError_t allocating_node(std::size_t bytes, GraphNode& node) {
  std::byte* const begin = bytes == 0 ? nullptr : arena_reserve(bytes);
  if (begin == nullptr) return bytes == 0 ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
  auto memory = std::make_shared<GraphMemory>(begin, bytes, ApiCall::pc());
  all().by_address[begin] = memory;
  const auto run = [memory](bool) {
    if (!arena_allocate_at(memory->begin, memory->bytes, memory->pc)) {
      set_sticky(cudaErrorMemoryAllocation);
      return 0.0;
    }
    AllGraphMemory& known = all();
    known.allocated[memory->begin] = find_allocation(memory->begin)->serial;
    const std::uint64_t used = known.used();
    known.used_high = std::max(known.used_high, used);
    known.reserved = std::max(known.reserved, used);
    known.reserved_high = std::max(known.reserved_high, known.reserved);
    return 0.0;
  };
  node = {cudaGraphNodeTypeMemAlloc, run, memory};
  return cudaSuccess;
}

cudaError_t freeing_node(void* pointer, GraphNode& node) {
  const auto found = all().by_address.find(pointer);
  const auto memory = found == all().by_address.end() ? nullptr : found->second.lock();
  if (memory == nullptr) {
    ApiCall::explain("invalid_free", "A graph frees what a node of a graph allocates, by its address.");
    return cudaErrorInvalidValue;
  }
  const auto run = [memory, pc = ApiCall::pc()](bool) {
    // What other branches may still do there is looked for as if it were written.
    const AddressRange range{memory->begin, memory->begin + memory->bytes};
    observer().copy_begins({.name = "cudaFreeAsync", .range = range, .writes = true, .pc = pc});
    if (!arena_release(memory->begin, pc)) set_sticky(cudaErrorInvalidValue);
    return 0.0;
  };
  node = {cudaGraphNodeTypeMemFree, run, memory};
  return cudaSuccess;
}

cudaError_t check_graph_memory(const std::vector<std::shared_ptr<GraphMemory>>& memory,
                               const std::vector<cudaGraphNodeType>& types, bool frees_first) {
  std::set<const GraphMemory*> there;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] == nullptr || !is_live(*memory[i])) continue;
    if (frees_first && types[i] == cudaGraphNodeTypeMemAlloc)
      arena_release(memory[i]->begin, ApiCall::pc());
    else
      there.insert(memory[i].get());
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] == nullptr) continue;
    const bool allocates = types[i] == cudaGraphNodeTypeMemAlloc;
    if (allocates != (there.count(memory[i].get()) == 0)) {
      ApiCall::explain("invalid_launch", allocates ? "What the graph allocates was not freed since its last launch."
                                                   : "What the graph frees is not allocated.");
      return cudaErrorInvalidValue;
    }
    if (allocates) {
      there.insert(memory[i].get());
      bytes += memory[i]->bytes;
    } else {
      there.erase(memory[i].get());
      bytes -= std::min(bytes, memory[i]->bytes);
    }
    if (bytes > device_memory_bytes() - std::min(device_memory_bytes(), arena_bytes_in_use()))
      return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  const ApiCall api("cudaDeviceGetGraphMemAttribute");
  const RuntimeLock lock;
  if (device != 0 || value == nullptr || attribute < cudaGraphMemAttrUsedMemCurrent ||
      attribute > cudaGraphMemAttrReservedMemHigh) {
    return remember(device != 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  }
  *static_cast<std::uint64_t*>(value) = attribute == cudaGraphMemAttrUsedMemCurrent       ? all().used()
                                        : attribute == cudaGraphMemAttrUsedMemHigh        ? all().used_high
                                        : attribute == cudaGraphMemAttrReservedMemCurrent ? all().reserved
                                                                                          : all().reserved_high;
  return remember(device_state());
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  const ApiCall api("cudaDeviceSetGraphMemAttribute");
  const RuntimeLock lock;
  const bool used = attribute == cudaGraphMemAttrUsedMemHigh;
  if (device != 0 || value == nullptr || *static_cast<std::uint64_t*>(value) != 0 ||
      (!used && attribute != cudaGraphMemAttrReservedMemHigh)) {
    return remember(device != 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  }
  (used ? all().used_high : all().reserved_high) = used ? all().used() : all().reserved;
  return remember(device_state());
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  const ApiCall api("cudaDeviceGraphMemTrim");
  const RuntimeLock lock;
  all().reserved = all().used();
  return remember(device != 0 ? cudaErrorInvalidDevice : device_state());
}
