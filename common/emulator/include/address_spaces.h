/// \file
/// Addresses as inline PTX has them: of shared memory in 32 bits, all others as they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpbook_builtins.h"
#include "warpbook_ptx.h"

WARPBOOK_DEVICE_FUNCTION unsigned __isShared(const void* pointer) { return warpbook::emulator::is_shared(pointer); }
WARPBOOK_DEVICE_FUNCTION unsigned __isLocal(const void* pointer) { return warpbook::emulator::is_local(pointer); }
WARPBOOK_DEVICE_FUNCTION unsigned __isGlobal(const void* pointer) {
  return !__isShared(pointer) && !__isLocal(pointer);
}

WARPBOOK_DEVICE_FUNCTION std::size_t __cvta_generic_to_shared(const void* pointer) {
  return __warpbook_ptx_shared_address(pointer);
}
WARPBOOK_DEVICE_FUNCTION void* __cvta_shared_to_generic(std::size_t address) {
  return __warpbook_ptx_shared_pointer(address);
}
WARPBOOK_DEVICE_FUNCTION std::size_t __cvta_generic_to_global(const void* pointer) {
  return reinterpret_cast<std::size_t>(pointer);
}
WARPBOOK_DEVICE_FUNCTION void* __cvta_global_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
