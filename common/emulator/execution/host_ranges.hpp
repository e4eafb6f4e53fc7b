/// \file
/// Memory of the host that kernels may use: what the program registered, and the device's heap.
#pragma once

#include <atomic>
#include <cstddef>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Makes memory of the host known to kernels.
void register_range(const void* begin, std::size_t bytes);
/// Forgets a range that was registered. \return whether there was one.
bool unregister_range(const void* begin);
/// The registered range that holds the address; or an empty one.
AddressRange registered_range(const void* address);

/// A variable of the program, outside of functions, is the host's own.
void note_host_variable(const void* begin, std::size_t bytes);
/// The one that holds the address; or an empty range.
AddressRange host_variable_at(const void* address);

/// From the first `__managed__` variable to the last.
extern constinit AddressRange managed_range;

/// Memory that a kernel asked for by malloc or new.
struct HeapPiece {
  AddressRange range;  ///< Empty: there is none.
  bool freed = false;  ///< by free or delete, lately
};

/// The same as the two above for memory of the device's heap.
void register_heap(const void* begin, std::size_t bytes);
/// As `unregister_range`; remembers that it was there.
bool unregister_heap(const void* begin);
/// Bytes of the device's heap that are in use.
std::size_t heap_bytes();
/// How many there may be: cudaLimitMallocHeapSize.
extern std::atomic<std::size_t> heap_limit;
/// For reports: the piece of the heap that holds the address, or did, or that the address is right behind or before.
HeapPiece heap_near(const void* address);

}  // namespace warpbook::emulator
