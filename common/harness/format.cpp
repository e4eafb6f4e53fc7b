#include "common/harness/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace warpbook {

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
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

}  // namespace warpbook
