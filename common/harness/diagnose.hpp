/// \file
/// What a wrong output looks like, in words.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/harness/chapter.hpp"

namespace warpbook {

/// A wrong output, with what is needed to judge it.
struct Evidence {
  const Case& problem;                                 ///< The case.
  std::span<const std::span<const std::byte>> inputs;  ///< What the inputs held.
  std::span<const std::byte> expected;                 ///< The reference's output.
  std::span<const std::byte> actual;                   ///< The step's output.
  /// What the output held before the launch; empty where that was the complement of `expected`.
  std::span<const std::byte> initial;
  const Difference& difference;  ///< Between the two.
};

/// The likely cause; empty where the output gives no hint.
std::string diagnose(const Evidence& evidence);

}  // namespace warpbook
