/// \file
/// What ends a run early: Ctrl-C, a time limit's SIGTERM, a terminal that is gone, a reader that is gone (`| head`), a
/// limit of CPU time. Each asks the run to end soon and to write what it has.
#pragma once

#include <stdexcept>

namespace warpbook {

/// Thrown where long work notices that it was interrupted.
class Interrupted : public std::runtime_error {
public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Catches SIGINT, SIGTERM, SIGHUP (unless `nohup` did), SIGPIPE and SIGXCPU from now on. A second Ctrl-C, a second or
/// more after the first, ends the program at once.
void catch_interrupts();

/// True once one of them came after `catch_interrupts`.
bool interrupted() noexcept;

/// \throws Interrupted once one of them came.
void throw_if_interrupted();

/// While one lives, a second Ctrl-C waits.
class NoSuddenEnd {
public:
  NoSuddenEnd() noexcept;
  ~NoSuddenEnd();
  NoSuddenEnd(const NoSuddenEnd&) = delete;
  NoSuddenEnd& operator=(const NoSuddenEnd&) = delete;
};

}  // namespace warpbook
