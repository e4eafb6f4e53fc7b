#include "common/harness/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/harness/interrupt.hpp"

namespace warpbook {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw OutputError("cannot write " + path + ": " + std::strerror(error));
}

/// Where the contents really go: what a symbolic link points at, there or not, so that the link stays one.
std::string resolved(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  if (!error) return target.string();
  target = path;
  for (int links = 0; access(target.c_str(), F_OK) != 0 && std::filesystem::is_symlink(target, error); ++links) {
    if (links == kMostLinks) fail(path, ELOOP);
    target = target.parent_path() / std::filesystem::read_symlink(target, error);  // An absolute one replaces it.
  }
  return target.string();
}

/// True for what cannot be replaced by renaming: a terminal, a pipe, /dev/null.
bool is_special(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// A file's descriptor, and its name while it is not yet in place.
class Descriptor {
public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { static_cast<void>(close()); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  int close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor < 0 ? 0 : ::close(descriptor);
  }

private:
  int descriptor_;
};

/// Writes all of it. \return 0, or errno.
int write_all(int descriptor, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Creates a file of a name that is not taken, in the same directory, with the rights of the one it is to replace.
/// `name` gets the name.
int create_beside(const std::string& path, std::string& name) {
  name = path + ".partial-XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor >= 0) {
    const mode_t mask = umask(0);  // mkstemp gives 0600; an ordinary file gets what the user's mask says.
    umask(mask);
    struct stat old{};
    static_cast<void>(fchmod(descriptor, stat(path.c_str(), &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask));
  }
  return descriptor;
}

/// Writes beside, then renames. \param durable waits until the disk has it: a full one may show only then.
void replace(const std::string& path, const std::string& target, std::string_view contents, bool durable) {
  std::string name;
  Descriptor file(create_beside(target, name));
  if (file.get() < 0) fail(path, errno);
  int error = write_all(file.get(), contents);
  if (error == 0 && durable && fsync(file.get()) != 0) error = errno;
  if (file.close() != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(name.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(name.c_str());
    fail(path, error);
  }
}

}  // namespace

void check_writable(const std::string& path) {
  const std::string target = resolved(path);
  struct stat status{};
  if (stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    if (access(target.c_str(), W_OK) != 0) fail(path, errno);
    if (!S_ISREG(status.st_mode)) return;
  }
  std::string name;
  const Descriptor file(create_beside(target, name));
  if (file.get() < 0) fail(path, errno);
  unlink(name.c_str());
}

void write_file(const std::string& path, std::string_view contents) {
  const std::string target = resolved(path);
  if (is_special(target)) {
    const Descriptor file(open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) fail(path, errno);
    if (const int error = write_all(file.get(), contents); error != 0) fail(path, error);
    return;
  }
  replace(path, target, contents, true);
}

void KeptFile::keep(const std::function<std::string()>& contents) {
  const NoSuddenEnd until_written;
  try {
    const std::string target = resolved(path_);
    if (is_special(target)) return;
    if (!kept_ && access(target.c_str(), F_OK) == 0) {
      before_ = fmt::format("{}.before-{}", target, getpid());
      if (link(target.c_str(), before_.c_str()) != 0) {
        before_.clear();
        return;  // It could not be brought back.
      }
    }
    replace(path_, target, contents(), false);
    kept_ = true;
  } catch (const OutputError&) {
    if (kept_ || before_.empty()) return;
    unlink(before_.c_str());
    before_.clear();
  }
}

void KeptFile::finish(std::string_view contents) {
  const NoSuddenEnd until_written;
  const std::string before = std::exchange(before_, "");
  try {
    write_file(path_, contents);
  } catch (const OutputError&) {
    if (!before.empty()) static_cast<void>(std::rename(before.c_str(), resolved(path_).c_str()));
    throw;
  }
  if (!before.empty()) unlink(before.c_str());
}

}  // namespace warpbook
