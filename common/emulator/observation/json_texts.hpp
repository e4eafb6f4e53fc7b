/// \file
/// What WARPBOOK_COUNTERS and WARPBOOK_REPORTS ask for, as JSON.
#pragma once

#include <span>
#include <string>

#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/observation/findings.hpp"

namespace warpbook::emulator {

/// An array of launches with their counters.
std::string launches_as_json(std::span<const LaunchReport> launches);

/// {"mistakes": [{"kind", "severity", "place", "other_place", "count", "text"}]}
std::string findings_as_json(std::span<const Told> told);

}  // namespace warpbook::emulator
