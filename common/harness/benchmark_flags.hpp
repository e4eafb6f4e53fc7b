/// \file
/// Google Benchmark's flags. It lets unknown ones pass and exits by itself over a bad value, so they are checked first.
#pragma once

#include <string>
#include <vector>

#include "common/harness/options.hpp"

namespace warpbook {

/// Checks flags that begin with "--benchmark_", and takes into `options` what they say.
/// \throws BadInput for an unknown flag, one that makes no sense where the harness makes the samples, or a bad value.
void check_benchmark_flags(const std::vector<std::string>& flags, Options& options);

/// "--benchmark_filter=REGEX --benchmark_...": for messages.
std::string accepted_benchmark_flags();

}  // namespace warpbook
