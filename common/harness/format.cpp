#include "common/harness/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace warpbook {
namespace {

/// How many bytes the character has that the text begins with; 0 for a control character, and for what is no UTF-8.
std::size_t shown_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool longer_than_needed = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  const bool control = first == 0xc2 && second < 0xa0;
  return longer_than_needed || no_character || control ? 0 : bytes;
}

}  // namespace

std::string format_count(std::int64_t count) {
  const std::string digits = fmt::format("{}", count);
  const std::size_t sign = count < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.{}f} us", seconds * 1e6, seconds < 99.995e-6 ? 2 : 1);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f} {}", value, whole || value >= 100 ? 0 : 1, kUnits[unit]);
}

std::string format_bandwidth(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.2f} TB/s", bytes_per_second * 1e-12);
  return fmt::format("{:.1f} GB/s", bytes_per_second * 1e-9);
}

std::string format_quantity(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string format_step(std::string_view version, std::string_view name) {
  return version == name ? std::string(name) : fmt::format("{:<5} {}", version, name);
}

std::string if_any(std::string_view before, std::int64_t value) {
  return value == 0 ? "" : fmt::format("{}{}", before, value);
}

std::string if_any(std::string_view before, const std::string& value) {
  return value.empty() ? "" : std::string(before) + value;
}

std::string one_line(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\n' || c == '\r' || c == '\t' || c == ' ') {
      if (!result.empty() && result.back() != ' ') result += ' ';
      text.remove_prefix(1);
      continue;
    }
    const std::size_t bytes = shown_bytes(text);
    if (bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

}  // namespace warpbook
