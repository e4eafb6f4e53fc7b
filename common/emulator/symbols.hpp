/// \file
/// What the symbol tables of the running program say of its kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace warpbook::emulator {

/// Where a variable lies in the program's thread-local storage.
struct TlsVariable {
  std::string symbol;  ///< mangled
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The thread-local variables of the program, by offset.
const std::vector<TlsVariable>& tls_variables();

/// The mangled name of the function at an address; "" where unknown.
std::string function_symbol(const void* code);

/// A demangled function name without return type and parameters; what does not demangle comes back as it is.
std::string short_function_name(const std::string& symbol);

/// The mangled name's prefix that all static variables inside this function have.
std::string static_variable_prefix(const std::string& function_symbol);

}  // namespace warpbook::emulator
