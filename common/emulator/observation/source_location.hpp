/// \file
/// From a code address to the line of source it came from.
#pragma once

#include <string>

namespace warpbook::emulator {

/// "file:line" of the instruction before a return address; "" where the program carries no line tables. Of inlined code
/// the line that the program's author wrote is given, not the one in the emulator's headers or the system's. Files
/// below the current directory are named relative to it. Takes a lock; the first call reads the program's debug
/// information.
std::string source_location(const void* return_address);

/// The same of the code that runs, or that its thread was at last; where that is a function of a library, the line that
/// calls it.
std::string calling_location(const void* pc);

}  // namespace warpbook::emulator
