/// \file
/// Reproducible random numbers for the tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace warpbook {

/// The seed of all random problems: what WARPBOOK_TEST_SEED says, or 2026.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("WARPBOOK_TEST_SEED");
  return text == nullptr ? 2026 : std::strtoull(text, nullptr, 0);
}

/// How many random problems a test draws: what WARPBOOK_TEST_CASES says (see scripts/fuzz.sh), or its usual number.
inline int random_case_count(int usual) {
  const char* text = std::getenv("WARPBOOK_TEST_CASES");
  return text == nullptr ? usual : static_cast<int>(std::strtol(text, nullptr, 10));
}

/// True where scripts/fuzz.sh draws problems: then a test leaves out its own, which every run of the suite tries.
inline bool fuzzing() { return std::getenv("WARPBOOK_TEST_CASES") != nullptr; }

/// How often a step has to have run: `usual` in a test, once in a thousand problems of scripts/fuzz.sh.
inline int least_runs(int usual, std::size_t cases) { return fuzzing() ? static_cast<int>(cases / 1000) : usual; }

/// Draws numbers and shapes. The same seed gives the same ones with every standard library.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  /// 64 random bits.
  std::uint64_t bits() { return engine_(); }
  /// One of lo to hi.
  std::int64_t uniform(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  /// One of lo to hi, each order of magnitude as likely as another. lo >= 1.
  std::int64_t log_uniform(std::int64_t lo, std::int64_t hi) {
    const double share = static_cast<double>(engine_() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
    const double value =
        static_cast<double>(lo) * std::pow(static_cast<double>(hi + 1) / static_cast<double>(lo), share);
    return std::clamp(static_cast<std::int64_t>(value), lo, hi);
  }
  /// True in one of n draws.
  bool one_in(std::int64_t n) { return uniform(1, n) == 1; }
  /// One of the values.
  template <class T> T pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(uniform(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  /// A random order of 0 to rank - 1.
  std::vector<int> permutation(int rank) {
    std::vector<int> order(static_cast<std::size_t>(rank));
    for (int d = 0; d < rank; ++d) order[static_cast<std::size_t>(d)] = d;
    for (int d = rank - 1; d > 0; --d)
      std::swap(order[static_cast<std::size_t>(d)], order[static_cast<std::size_t>(uniform(0, d))]);
    return order;
  }
  /// `rank` log-uniform sizes of `least` or more with at most `most` elements together, in random order.
  std::vector<std::int64_t> shape(int rank, std::int64_t least, std::int64_t most) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank));
    for (int d = 0; d < rank; ++d) {
      const auto others = static_cast<std::int64_t>(std::pow(static_cast<double>(least), rank - 1 - d));
      sizes[static_cast<std::size_t>(d)] = log_uniform(least, std::max(least, most / others));
      most = std::max<std::int64_t>(1, most / sizes[static_cast<std::size_t>(d)]);
    }
    const std::vector<int> order = permutation(rank);
    std::vector<std::int64_t> shuffled(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) shuffled[d] = sizes[static_cast<std::size_t>(order[d])];
    return shuffled;
  }

private:
  std::mt19937_64 engine_;
};

}  // namespace warpbook
