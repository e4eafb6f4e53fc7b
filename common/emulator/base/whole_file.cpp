#include "common/emulator/base/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace warpbook::emulator {
namespace {

bool failed = false;

}  // namespace

bool every_file_written() { return !failed; }

void write_whole(const char* variable, const std::string& path, const std::string& text) {
  struct stat status{};
  const bool exists = stat(path.c_str(), &status) == 0;
  struct stat link_status{};
  const bool link = lstat(path.c_str(), &link_status) == 0 && S_ISLNK(link_status.st_mode);
  const bool direct = (exists && !S_ISREG(status.st_mode)) || link;  // A link stays one.
  const std::string beside = direct ? path : path + ".partial-" + std::to_string(getpid());
  errno = 0;
  std::ofstream file(beside);
  file << text;
  file.close();
  const bool written = static_cast<bool>(file) && (direct || std::rename(beside.c_str(), path.c_str()) == 0);
  if (written) return;
  failed = true;
  const int error = errno;
  if (!direct) std::remove(beside.c_str());
  std::fprintf(stderr, "%s: cannot write \"%s\"%s%s\n", variable, path.c_str(), error == 0 ? "" : ": ",
               error == 0 ? "" : std::strerror(error));
}

}  // namespace warpbook::emulator
