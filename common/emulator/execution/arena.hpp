/// \file
/// The memory of the emulated device: allocations in one reserved range of addresses.
#pragma once

#include <cstddef>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Allocates `bytes` (at least 1) of poisoned memory for the program at `pc`; nullptr when there is none.
std::byte* arena_allocate(std::size_t bytes, MemoryKind kind, const void* pc);

/// Keeps addresses for an allocation that comes and goes; nullptr when there are none.
std::byte* arena_reserve(std::size_t bytes);
/// Allocates poisoned device memory at addresses that were reserved. Returns false where it is there or there is none.
bool arena_allocate_at(std::byte* begin, std::size_t bytes, const void* pc);
/// The reserved addresses that hold this one; none: {}.
AddressRange arena_reserved(const void* address);
/// Lets others have addresses that were reserved, once what is allocated there is freed.
void arena_give_up(std::byte* begin);

/// Frees an allocation by its begin, which the address must be. Returns false for any other address.
bool arena_release(void* begin, const void* pc);

/// Frees everything.
void arena_clear();

/// Bytes in live device and managed allocations.
std::size_t arena_bytes_in_use();

/// What the emulated device has in all: what its model has, or what this machine can spare, whichever is less.
std::size_t device_memory_bytes();

}  // namespace warpbook::emulator
