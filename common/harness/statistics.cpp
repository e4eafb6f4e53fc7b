#include "common/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace warpbook {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarize(std::span<const double> seconds) {
  if (seconds.empty()) return {};
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  return {.median = quantile(sorted, 0.5),
          .p25 = quantile(sorted, 0.25),
          .p75 = quantile(sorted, 0.75),
          .min = sorted.front(),
          .samples = static_cast<int>(sorted.size())};
}

double median_uncertainty(std::span<const double> seconds) {
  constexpr std::size_t kLeastSamples = 6;  // All of 5 lie on one side of the true median more often than in 5%.
  constexpr double kDeviations = 1.96;      // Of the normal distribution, which is near enough to the binomial one.
  const std::size_t count = seconds.size();
  if (count < kLeastSamples) return 1;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  const double n = static_cast<double>(count);
  const auto below = static_cast<std::size_t>(std::max(0.0, (n - kDeviations * std::sqrt(n)) / 2 - 1));
  const double median = quantile(sorted, 0.5);
  return median > 0 ? (sorted[count - 1 - below] - sorted[below]) / 2 / median : 0;
}

bool equal(const Summary& a, const Summary& b) {
  if (std::abs(a.median - b.median) < kEqualShare * std::min(a.median, b.median)) return true;
  return a.p25 <= b.p75 && b.p25 <= a.p75;
}

bool never_slower(const Summary& a, const Summary& b) { return a.median <= b.median || equal(a, b); }

}  // namespace warpbook
