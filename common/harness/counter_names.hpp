/// \file
/// Short names for the counters that stories are about, beside Nsight Compute's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/harness/results.hpp"

namespace warpbook {

/// A counter that the emulator has, or a ratio of two, that a step may name. Of each, less is better.
struct CounterName {
  std::string_view name;     ///< "sectors/request".
  std::string_view counter;  ///< Nsight Compute's name.
  std::string_view per;      ///< What it is divided by, by Nsight Compute's name; empty: nothing.
};

/// All of them.
std::span<const CounterName> counter_names();

/// The one of a short name; nullptr where there is none.
const CounterName* find_counter(std::string_view name);

/// Its value in a step's counters; nothing where the step did not count it, or has none of what it is divided by.
std::optional<double> value_of(const CounterName& name, const StepResult& step);

}  // namespace warpbook
