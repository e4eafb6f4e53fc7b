/// \file
/// What a check of a header on a large array is, and what comes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpbook::size {

/// What came of a check.
struct Outcome {
  std::int64_t elements = 0;  ///< Of the largest array.
  std::int64_t bytes = 0;     ///< Of that array.
  std::int64_t wrong = 0;     ///< As the device found them, of all.
  std::int64_t first = -1;
  std::int64_t sampled = 0;  ///< Compared on the host.
  std::int64_t wrong_samples = 0;
};

/// A header's check: `run` is given the least number of elements.
struct Check {
  const char* chapter;
  std::string name;
  Outcome (*run)(std::int64_t least);
};

std::vector<Check> elementwise_checks();
std::vector<Check> movement_checks();
std::vector<Check> sum_checks();
std::vector<Check> upsample_checks();

}  // namespace warpbook::size
