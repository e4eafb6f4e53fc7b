#include "common/harness/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace warpbook {
namespace {

std::int64_t parse_integer(const std::string& key, std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars is given the end.
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    throw BadInput(key + ": '" + std::string(text) + "' does not fit 64 bits");
  }
  if (error != std::errc() || stopped != end) {
    throw BadInput(key + ": '" + std::string(text) + "' is no integer");
  }
  return value;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Parameters Parameters::parse(std::string_view text) {
  Parameters result;
  std::size_t position = 0;
  while (true) {
    while (position < text.size() && is_space(text[position])) ++position;
    if (position == text.size()) break;
    std::size_t end = position;
    while (end < text.size() && !is_space(text[end])) ++end;
    const std::string_view word = text.substr(position, end - position);
    position = end;

    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      throw BadInput("'" + std::string(word) + "' is no key=value (a case is written as key=value key=value)");
    }
    const std::string key(word.substr(0, equals));
    if (key.empty()) throw BadInput("'" + std::string(word) + "' has no key before '='");
    if (!result.values_.emplace(key, word.substr(equals + 1)).second) {
      throw BadInput(key + " is given twice");
    }
  }
  return result;
}

bool Parameters::has(const std::string& key) const {
  known_.push_back(key);
  return values_.contains(key);
}

std::vector<std::int64_t> Parameters::integers(const std::string& key) const {
  const std::string text = word(key);
  std::vector<std::int64_t> result;
  if (text.empty()) return result;
  const std::string_view all = text;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = all.find(',', begin);
    result.push_back(parse_integer(key, all.substr(begin, comma - begin)));
    if (comma == std::string_view::npos) return result;
    begin = comma + 1;
  }
}

std::int64_t Parameters::integer(const std::string& key, std::int64_t fallback) const {
  if (!has(key)) return fallback;
  return parse_integer(key, values_.at(key));
}

std::int64_t Parameters::integer(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                                 const std::string& accepted) const {
  const std::int64_t value = integer(key, fallback);
  if (value < least || value > most) throw BadInput(fmt::format("{}={} must be {}", key, value, accepted));
  return value;
}

std::int64_t Parameters::offset(const std::string& key) const { return integer(key, 0, 0, 255, "0 to 255 elements"); }

std::string Parameters::word(const std::string& key) const {
  if (!has(key)) throw BadInput(key + "= is missing");
  return values_.at(key);
}

std::string Parameters::word(const std::string& key, const std::string& fallback) const {
  return has(key) ? values_.at(key) : fallback;
}

std::string Parameters::one_of(const std::string& key, const std::vector<std::string>& accepted) const {
  const std::string given = word(key, accepted.front());
  if (std::find(accepted.begin(), accepted.end(), given) == accepted.end()) {
    throw BadInput(fmt::format("{}={} is unknown; accepted are {}", key, given, fmt::join(accepted, ", ")));
  }
  return given;
}

void Parameters::refuse_unknown() const {
  for (const auto& [key, value] : values_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string accepted;
    std::vector<std::string> listed;
    for (const std::string& known : known_) {
      if (std::find(listed.begin(), listed.end(), known) != listed.end()) continue;
      accepted += (listed.empty() ? "" : ", ") + known;
      listed.push_back(known);
    }
    throw BadInput(fmt::format("unknown key '{}' (accepted: {})", key, accepted));
  }
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars is given the end.
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

void check_sizes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& sizes, std::int64_t most,
                 const char* too_much, std::int64_t more) {
  for (const std::int64_t size : sizes) {
    if (size < 0) throw BadInput(fmt::format("shape={} has a negative size", fmt::join(shape, ",")));
    if (size > most - more) throw BadInput(fmt::format("shape={} has {}", fmt::join(shape, ","), too_much));
    most /= std::max<std::int64_t>(size + more, 1);
  }
}

}  // namespace warpbook
