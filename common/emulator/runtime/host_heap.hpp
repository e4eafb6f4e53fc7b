/// \file
/// The host's own heap: how long its pieces are.
#pragma once

#include <cstddef>

namespace warpbook::emulator {

/// How many bytes follow an address in its piece of the host's heap, up to what the C library rounded it up to; the
/// highest number where it is in none, or where that is not certain.
std::size_t host_heap_rest(const void* address);

}  // namespace warpbook::emulator
