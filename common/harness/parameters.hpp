/// \file
/// A case's parameters as text: "shape=31,17,63,129 perm=3,1,0,2 dtype=half".
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace warpbook {

/// Input that cannot be accepted: one line that says what was wrong and what is accepted. Ends a program with status 2.
class BadInput : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Keys and values of one case. Every accessor marks its key as known; `refuse_unknown` then names what is left.
class Parameters {
public:
  /// Parses "key=value key=value". \throws BadInput for a word without '=', an empty or a repeated key.
  static Parameters parse(std::string_view text);

  /// True where the key was given.
  bool has(const std::string& key) const;
  /// A comma-separated list of integers (may be empty: "shape="). \throws BadInput when missing, malformed or beyond
  /// 64 bits.
  std::vector<std::int64_t> integers(const std::string& key) const;
  /// One integer, or `fallback` where the key is not given. \throws BadInput when malformed.
  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  /// One word. \throws BadInput when missing.
  std::string word(const std::string& key) const;
  /// \throws BadInput naming the first key that no accessor asked for, with the keys that were asked for.
  void refuse_unknown() const;

private:
  std::map<std::string, std::string> values_;
  mutable std::vector<std::string> known_;
};

}  // namespace warpbook
