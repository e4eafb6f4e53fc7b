/// \file
/// Result files: written beside their place, then renamed, so that a reader never finds half of one.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace warpbook {

/// A file could not be written: one line. Ends a program with status 4.
class OutputError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Finds out whether `write_file` would succeed, without touching the file. For before a long run. \throws OutputError
void check_writable(const std::string& path);

/// Writes the whole file, or leaves what was there. A path that is no ordinary file, such as /dev/stdout, is written
/// directly. \throws OutputError
void write_file(const std::string& path, std::string_view contents);

}  // namespace warpbook
