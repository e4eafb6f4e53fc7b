/// \file
/// What additions without an instruction of their own did to their sums: those to 2 bytes are loops of compare and
/// swap.
#pragma once

#include <cstdint>

namespace warpbook::emulator {

/// What additions to 2 bytes did to their sums. A try of a loop does not fail where the word is again as it was seen,
/// which sums that move up and down by the same few steps often are.
struct RetryTally {
  std::uint64_t additions = 0;  ///< All of them.
  std::uint64_t unchanged = 0;  ///< Those that left the sum as it was: of nothing, or to a sum too large for it.
  double steps = 0;             ///< What sums changed by, added up.
  double squares = 0;           ///< The squares of that.
  std::uint64_t exchanges = 0;  ///< Compares and swaps of the program, wherever.
  std::uint64_t failed = 0;     ///< Those that found something else.
  double unit = 0;              ///< the largest power of two that all changes are multiples of; 0 before the first

  /// One addition more, that made `after` of `before`.
  void add(double before, double after);
  /// Those of another worker, or of another block.
  void merge(const RetryTally& other);
};

/// What the running block did.
extern thread_local constinit RetryTally retry_tally __attribute__((tls_model("initial-exec")));

}  // namespace warpbook::emulator
