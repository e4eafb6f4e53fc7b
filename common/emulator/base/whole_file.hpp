/// \file
/// Files that the environment asks for, written when the program ends.
#pragma once

#include <string>

namespace warpbook::emulator {

/// Writes beside, then renames, so that nobody finds half a file; a terminal or a pipe is written directly. Where that
/// fails, the variable that named the file is told on the error output, and what was there stays.
void write_whole(const char* variable, const std::string& path, const std::string& text);

/// False once one could not be.
bool every_file_written();

}  // namespace warpbook::emulator
