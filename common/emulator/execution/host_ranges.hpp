/// \file
/// Memory of the host that kernels may use: what the program registered, and the device's heap.
#pragma once

#include <cstddef>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Makes memory of the host known to kernels.
void register_range(const void* begin, std::size_t bytes);
/// Forgets a range that was registered. \return whether there was one.
bool unregister_range(const void* begin);
/// The registered range that holds the address; or an empty one.
AddressRange registered_range(const void* address);

}  // namespace warpbook::emulator
