/// \file
/// Result files: written beside their place, then renamed, so that a reader never finds half of one.
#pragma once

#include <functional>
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

/// A file that a long run writes again and again, so that it has what was done whatever ends the program. What was
/// there before stays beside it, as PATH.before-NUMBER, until the run is over.
class KeptFile {
public:
  /// \param path where it is to be.
  explicit KeptFile(std::string path) : path_(std::move(path)) {}

  /// Writes what there is so far. Does nothing where the path is no ordinary file, or where it cannot be written now:
  /// `finish` tells. \param contents makes them, if they are wanted.
  void keep(const std::function<std::string()>& contents);
  /// Writes the whole, or brings back what was there before the run. \throws OutputError
  void finish(std::string_view contents);

private:
  std::string path_;
  std::string before_;  // Where that lies; empty: there is none.
  bool kept_ = false;
};

}  // namespace warpbook
