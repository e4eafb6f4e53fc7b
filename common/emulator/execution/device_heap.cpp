/// \file
/// Functions of the C and C++ libraries that mean something else in a kernel: the compiler pass calls these instead, in
/// programs that it launches kernels for. On the host they are the library's own.

#include "common/emulator/execution/device_heap.hpp"

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/host_ranges.hpp"

namespace warpbook::emulator {

std::atomic<std::size_t> heap_limit = std::size_t{8} << 20;

void* heap_allocate(std::size_t bytes) {
  if (heap_bytes() + bytes > heap_limit) return nullptr;
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

namespace {

/// In a kernel: says that it frees what it does not have.
[[gnu::noinline]] void report_free(void* memory, const void* pc) {
  const HeapPiece piece = heap_near(memory);
  const bool twice = piece.freed && piece.range.begin == memory;
  const std::string place = observer().locate(pc);
  observer().report(twice ? "double_free" : "invalid_free", pc,
                    std::string("========= Malloc/Free error encountered: ") +
                        (twice ? "Double free" : "Invalid pointer to free") + "\n=========     at " +
                        current_block->launch->name + " in " + (place.empty() ? "an unknown line" : place) +
                        "\n=========     by " + describe_thread(*current_block) +
                        (twice ? "\n=========     What malloc() or new gave is freed once.\n"
                               : "\n=========     A kernel frees what its malloc() or new gave, and nothing else.\n"));
}

[[noreturn]] void refuse_free(void* memory, const void* pc) {
  report_free(memory, pc);
  abort_kernel(cudaErrorLaunchFailure);
}

}  // namespace

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
  if (heap_free(memory) || memory == nullptr) return;
  if (current_block != nullptr) refuse_free(memory, __builtin_return_address(0));
  std::free(memory);  // NOLINT(cppcoreguidelines-*)
}
WARPBOOK_EXPORT void __warpbook_delete(void* memory) {
  if (heap_free(memory) || memory == nullptr) return;
  if (current_block != nullptr) refuse_free(memory, __builtin_return_address(0));
  ::operator delete(memory);
}
WARPBOOK_EXPORT void __warpbook_delete_sized(void* memory, std::size_t /*bytes*/) {
  if (heap_free(memory) || memory == nullptr) return;
  if (current_block != nullptr) refuse_free(memory, __builtin_return_address(0));
  ::operator delete(memory);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
