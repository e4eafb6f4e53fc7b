/// \file
/// Memory pools, and what several processes would share. A pool keeps nothing: what is freed goes back at once.

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/emulator/execution/arena.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

struct CUmemPoolHandle_st {
  std::map<const void*, std::uint64_t> allocations;  ///< each with its serial number: another may follow at its address
  int reuse[3] = {1, 1, 1};
  std::uint64_t threshold = 0;
  std::uint64_t used_high = 0;
  std::uint64_t reserved_high = 0;

  std::uint64_t used() {
    std::uint64_t bytes = 0;
    for (auto each = allocations.begin(); each != allocations.end();) {
      const warpbook::emulator::Allocation* known = warpbook::emulator::find_allocation(each->first);
      const bool lives = known != nullptr && known->serial == each->second;
      if (lives) bytes += known->bytes;
      each = lives ? std::next(each) : allocations.erase(each);
    }
    return bytes;
  }
  /// A GPU's pool keeps what its threshold allows.
  std::uint64_t reserved() { return std::max(used(), std::min(threshold, reserved_high)); }
};

namespace warpbook::emulator {
namespace {

struct Pools {
  CUmemPoolHandle_st standard;
  std::map<cudaMemPool_t, std::unique_ptr<CUmemPoolHandle_st>> created;
  cudaMemPool_t current = &standard;
};

Pools& pools() {
  static Pools& instance = *new Pools;
  return instance;
}

bool is_pool(cudaMemPool_t pool) { return pool == &pools().standard || pools().created.contains(pool); }

cudaError_t pool_of_device(cudaMemPool_t* pool, int device, cudaMemPool_t which) {
  if (pool == nullptr || device != 0) {
    return remember(pool == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  }
  *pool = which;
  return remember(device_state());
}

cudaError_t not_between_processes() {
  ApiCall::explain("api_error", "The emulator shares no memory and no events between processes.");
  return remember(cudaErrorNotSupported);
}

}  // namespace

void pool_allocated(const void* pointer) {
  CUmemPoolHandle_st& owner = *pools().current;
  if (const Allocation* known = find_allocation(pointer)) owner.allocations[pointer] = known->serial;
  owner.used_high = std::max(owner.used_high, owner.used());
  owner.reserved_high = std::max(owner.reserved_high, owner.used());
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  const ApiCall api("cudaDeviceGetDefaultMemPool");
  const RuntimeLock lock;
  return pool_of_device(pool, device, &pools().standard);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  const ApiCall api("cudaDeviceGetMemPool");
  const RuntimeLock lock;
  return pool_of_device(pool, device, pools().current);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  const ApiCall api("cudaDeviceSetMemPool");
  const RuntimeLock lock;
  if (device != 0 || !is_pool(pool)) {
    return remember(device != 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  }
  pools().current = pool;
  return remember(device_state());
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  const ApiCall api("cudaMemPoolCreate");
  const RuntimeLock lock;
  if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice || properties->location.id != 0) {
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUmemPoolHandle_st>();
  *pool = created.get();
  pools().created.emplace(*pool, std::move(created));
  return remember(device_state());
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const ApiCall api("cudaMemPoolDestroy");
  const RuntimeLock lock;
  if (pools().current == pool) pools().current = &pools().standard;
  return remember(pools().created.erase(pool) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const ApiCall api("cudaMemPoolSetAttribute");
  const RuntimeLock lock;
  if (!is_pool(pool) || value == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  if (attribute >= cudaMemPoolReuseFollowEventDependencies && attribute < cudaMemPoolAttrReleaseThreshold) {
    pool->reuse[attribute - 1] = *static_cast<const int*>(value);
    return remember(cudaSuccess);
  }
  const std::uint64_t number = *static_cast<const std::uint64_t*>(value);
  if (attribute == cudaMemPoolAttrReleaseThreshold) {
    pool->threshold = number;
  } else if (attribute == cudaMemPoolAttrReservedMemHigh && number == 0) {
    pool->reserved_high = pool->reserved();
  } else if (attribute == cudaMemPoolAttrUsedMemHigh && number == 0) {
    pool->used_high = pool->used();
  } else {
    return remember(cudaErrorInvalidValue);
  }
  return remember(cudaSuccess);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const ApiCall api("cudaMemPoolGetAttribute");
  const RuntimeLock lock;
  if (!is_pool(pool) || value == nullptr || attribute < cudaMemPoolReuseFollowEventDependencies ||
      attribute > cudaMemPoolAttrUsedMemHigh) {
    return remember(cudaErrorInvalidValue);
  }
  if (attribute < cudaMemPoolAttrReleaseThreshold) {
    *static_cast<int*>(value) = pool->reuse[attribute - 1];
  } else {
    *static_cast<std::uint64_t*>(value) = attribute == cudaMemPoolAttrReleaseThreshold     ? pool->threshold
                                          : attribute == cudaMemPoolAttrReservedMemCurrent ? pool->reserved()
                                          : attribute == cudaMemPoolAttrReservedMemHigh    ? pool->reserved_high
                                          : attribute == cudaMemPoolAttrUsedMemCurrent     ? pool->used()
                                                                                           : pool->used_high;
  }
  return remember(cudaSuccess);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  const ApiCall api("cudaMemPoolTrimTo");
  const RuntimeLock lock;
  if (!is_pool(pool)) {
    return remember(cudaErrorInvalidValue);
  }
  pool->reserved_high = std::max<std::uint64_t>(pool->used(), std::min<std::uint64_t>(bytes, pool->reserved_high));
  return remember(cudaSuccess);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, std::size_t count) {
  const ApiCall api("cudaMemPoolSetAccess");
  const RuntimeLock lock;
  const bool known = is_pool(pool) && (list != nullptr || count == 0) &&
                     std::all_of(list, list + count, [](const cudaMemAccessDesc& each) {
                       return each.location.type == cudaMemLocationTypeDevice && each.location.id == 0 &&
                              each.flags == cudaMemAccessFlagsProtReadWrite;
                     });
  return remember(known ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  const ApiCall api("cudaMemPoolGetAccess");
  const RuntimeLock lock;
  if (flags == nullptr || !is_pool(pool) || location == nullptr || location->type != cudaMemLocationTypeDevice ||
      location->id != 0) {
    return remember(cudaErrorInvalidValue);
  }
  *flags = cudaMemAccessFlagsProtReadWrite;
  return remember(cudaSuccess);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const ApiCall api("cudaMallocFromPoolAsync");
  const RuntimeLock lock;
  if (!is_pool(pool)) {
    return remember(cudaErrorInvalidValue);
  }
  const cudaMemPool_t before = std::exchange(pools().current, pool);
  const cudaError_t error = allocate_device_async(pointer, bytes, stream);
  pools().current = before;
  return error;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  const ApiCall api("cudaIpcGetMemHandle");
  return not_between_processes();
}

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  const ApiCall api("cudaIpcOpenMemHandle");
  return not_between_processes();
}

cudaError_t cudaIpcCloseMemHandle(void*) {
  const ApiCall api("cudaIpcCloseMemHandle");
  return not_between_processes();
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  const ApiCall api("cudaIpcGetEventHandle");
  return not_between_processes();
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  const ApiCall api("cudaIpcOpenEventHandle");
  return not_between_processes();
}
