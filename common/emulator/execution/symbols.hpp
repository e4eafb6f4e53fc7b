/// \file
/// What the symbol tables of the running program, or of the library that holds the kernels, say of these.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Where a variable lies in the module's thread-local storage.
struct TlsVariable {
  std::string symbol;      ///< mangled
  std::size_t offset = 0;  ///< From the beginning of the thread's block of variables.
  std::size_t bytes = 0;   ///< Its size.
};

/// Says that there is a kernel at this address. The first decides which module, the program or a library that it
/// loaded, is the one whose thread-local variables count as `__shared__` arrays.
void note_kernel(const void* code);

/// The thread-local variables of the module with the kernels, by offset.
const std::vector<TlsVariable>& tls_variables();

/// A `__device__` or `__constant__` variable, or any other one outside of functions.
struct Variable {
  std::string name;    ///< demangled; "" where there is none
  AddressRange range;  ///< Where it lies.
};

/// The variable that holds the address, in whatever module; an empty range: none does.
AddressRange variable_at(const void* address);

/// What the module with the kernels may write: its variables.
AddressRange variables_range();

/// The variable that holds the address, or the nearest one, in what the module with the kernels may write; also for
/// addresses in the 16 MiB behind it, which an index is more likely to have come to than a pointer.
Variable variable_near(const void* address);

/// The mangled name of the function at an address; "" where unknown.
std::string function_symbol(const void* code);

/// A demangled function name without return type and parameters; what does not demangle comes back as it is.
std::string short_function_name(const std::string& symbol);

/// The mangled name's prefix that all static variables inside this function have.
std::string static_variable_prefix(const std::string& function_symbol);

}  // namespace warpbook::emulator
