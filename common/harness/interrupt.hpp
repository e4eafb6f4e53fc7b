/// \file
/// Ctrl-C, or a time limit's SIGTERM: the first asks the run to end soon and write what it has; the second ends the
/// program at once.
#pragma once

#include <stdexcept>

namespace warpbook {

/// Thrown where long work notices that it was interrupted.
class Interrupted : public std::runtime_error {
public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Catches SIGINT and SIGTERM from now on.
void catch_interrupts();

/// True once one of them came after `catch_interrupts`.
bool interrupted() noexcept;

/// \throws Interrupted once one of them came.
void throw_if_interrupted();

}  // namespace warpbook
