/// \file
/// Text by fmt, whose code is compiled in text.cpp alone: it is much, and the emulator links no library for it.
#pragma once

#include <fmt/core.h>

#include <string>

namespace warpbook::emulator {

/// What `formatted` calls.
std::string format_values(fmt::string_view text, fmt::format_args values);

/// As `fmt::format`.
template <class... Values> std::string formatted(fmt::format_string<const Values&...> text, const Values&... values) {
  return format_values(text, fmt::make_format_args(values...));
}

}  // namespace warpbook::emulator
