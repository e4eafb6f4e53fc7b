/// \file
/// The heap that kernels allocate from, by malloc, new and cudaMalloc.
#pragma once

#include <cstddef>

namespace warpbook::emulator {

/// Memory of the device's heap: the host's, known to kernels by its bounds. nullptr: there is none left.
void* heap_allocate(std::size_t bytes);

/// Frees memory of the device's heap; false where it is none.
bool heap_free(void* memory);

}  // namespace warpbook::emulator
