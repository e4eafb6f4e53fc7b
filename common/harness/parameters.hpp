/// \file
/// A case's parameters as text: "shape=31,17,63,129 perm=3,1,0,2 dtype=half".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpbook {

/// Input that cannot be accepted: one line that says what was wrong and what is accepted. Ends a program with status 2.
class BadInput : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A word that a key accepts, and what it stands for.
template <class T> using Choice = std::pair<const char*, T>;

/// The word that stands for `value`, which is one of the choices.
template <class T, std::size_t n> const char* name_of(const Choice<T> (&choices)[n], T value) {
  for (const auto& [name, choice] : choices) {
    if (choice == value) return name;
  }
  return "?";
}

/// The words of all choices.
template <class T, std::size_t n> std::vector<std::string> names_of(const Choice<T> (&choices)[n]) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) names.emplace_back(name);
  return names;
}

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
  /// The same from `least` to `most`, which messages call `accepted`: "0 to 2^40". \throws BadInput when beyond.
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                       const std::string& accepted) const;
  /// How many elements arrays begin behind a 256-byte boundary: 0 to 255, or 0 where the key is not given. \throws
  /// BadInput
  std::int64_t offset(const std::string& key = "offset") const;
  /// One word. \throws BadInput when missing.
  std::string word(const std::string& key) const;
  /// One word, or `fallback` where the key is not given.
  std::string word(const std::string& key, const std::string& fallback) const;
  /// One of the accepted words, or the first of them where the key is not given. \throws BadInput for another.
  std::string one_of(const std::string& key, const std::vector<std::string>& accepted) const;
  /// What the word stands for, or `fallback` where the key is not given. \throws BadInput for an unknown word.
  template <class T, std::size_t n>
  T choice(const std::string& key, const Choice<T> (&choices)[n], const T& fallback) const {
    if (!has(key)) return fallback;
    const std::string given = one_of(key, names_of(choices));
    for (const auto& [name, choice] : choices) {
      if (given == name) return choice;
    }
    return fallback;
  }
  /// \throws BadInput naming the first key that no accessor asked for, with the keys that were asked for.
  void refuse_unknown() const;

private:
  std::map<std::string, std::string> values_;
  mutable std::vector<std::string> known_;
};

/// The finite number that the whole text is; nothing where it is none.
std::optional<double> parse_number(std::string_view text);

/// \throws BadInput, naming the shape, where one of `sizes` is negative, or where their product, each counted as `more`
/// greater, is above `most`, which the message calls `too_much`.
void check_sizes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& sizes, std::int64_t most,
                 const char* too_much, std::int64_t more = 0);

}  // namespace warpbook
