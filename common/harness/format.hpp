/// \file
/// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpbook {

/// "1,234,567".
std::string format_count(std::int64_t count);
/// "408.8 us", "1.234 ms".
std::string format_seconds(double seconds);
/// "128 MiB", "1.5 GiB", "12 B".
std::string format_bytes(std::int64_t bytes);
/// "4.21 TB/s" (powers of ten, as vendors count).
std::string format_bandwidth(double bytes_per_second);
/// "1 element", "3 elements".
std::string format_quantity(std::int64_t count, std::string_view noun);
/// "v2a   index_type"; of a step whose version is its name, as an aside's is, that once.
std::string format_step(std::string_view version, std::string_view name);
/// `before` and the value, of what a text names only where it is there: "" for 0 and for an empty text.
std::string if_any(std::string_view before, std::int64_t value);
std::string if_any(std::string_view before, const std::string& value);  ///< The same of a text.
/// The text on one line: line breaks become spaces, and what a terminal would not show becomes "\x1b".
std::string one_line(std::string_view text);

}  // namespace warpbook
