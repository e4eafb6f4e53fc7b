/// \file
/// Regular expressions that people type.
#pragma once

#include <cstddef>
#include <regex>
#include <string>

namespace warpbook {

/// The library's parser calls itself for each bracket, so a long one may end the program.
inline constexpr std::size_t kLongestExpression = 1000;

/// An expression whose search takes polynomial time, where the library can: "(a*)*b" alone keeps the others busy for
/// years. \throws std::regex_error, also for what is longer than `kLongestExpression`
inline std::regex make_expression(const std::string& text, std::regex::flag_type grammar) {
  if (text.size() > kLongestExpression) throw std::regex_error(std::regex_constants::error_space);
#ifdef __GLIBCXX__
  grammar |= std::regex_constants::__polynomial;
#endif
  return std::regex(text, grammar);
}

}  // namespace warpbook
