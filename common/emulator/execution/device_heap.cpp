/// \file
/// Functions of the C and C++ libraries that mean something else in a kernel: the compiler pass calls these instead, in
/// programs that it launches kernels for. On the host they are the library's own.

#include "common/emulator/execution/device_heap.hpp"

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <new>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/host_ranges.hpp"

namespace warpbook::emulator {

void* heap_allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes);  // NOLINT(cppcoreguidelines-*): this is malloc
  if (memory != nullptr) register_heap(memory, bytes);
  return memory;
}

bool heap_free(void* memory) {
  if (memory == nullptr || !unregister_heap(memory)) return false;
  std::free(memory);  // NOLINT(cppcoreguidelines-*): this is free
  return true;
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

// NOLINTBEGIN(readability-identifier-naming): the pass knows these names.
extern "C" {

/// In kernels: clock cycles.
WARPBOOK_EXPORT std::clock_t __warpbook_clock() {
  return current_block == nullptr ? std::clock() : static_cast<std::clock_t>(__builtin_readcyclecounter());
}

WARPBOOK_EXPORT void* __warpbook_malloc(std::size_t bytes) {
  return current_block == nullptr ? std::malloc(bytes) : heap_allocate(bytes);  // NOLINT(cppcoreguidelines-*)
}

WARPBOOK_EXPORT void* __warpbook_new(std::size_t bytes) {
  return current_block == nullptr ? ::operator new(bytes) : heap_allocate(bytes);
}

// On the host, too, a pointer may be of the device's heap.
WARPBOOK_EXPORT void __warpbook_free(void* memory) {
  if (!heap_free(memory)) std::free(memory);  // NOLINT(cppcoreguidelines-*)
}
WARPBOOK_EXPORT void __warpbook_delete(void* memory) {
  if (!heap_free(memory)) ::operator delete(memory);
}
WARPBOOK_EXPORT void __warpbook_delete_sized(void* memory, std::size_t /*bytes*/) { __warpbook_delete(memory); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
