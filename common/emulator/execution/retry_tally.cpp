#include "common/emulator/execution/retry_tally.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace warpbook::emulator {

thread_local constinit RetryTally retry_tally;

void RetryTally::add(double before, double after) {
  ++additions;
  if (before == after) {
    ++unchanged;
    return;
  }
  const double step = after - before;
  if (!std::isfinite(step)) return;
  steps += step;
  squares += step * step;
  // The lowest bit that is set in it.
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(step), &exponent), 52));
  const double lowest = std::ldexp(1.0, exponent - 52 + std::countr_zero(static_cast<std::uint64_t>(digits)));
  unit = unit == 0 ? lowest : std::min(unit, lowest);
}

void RetryTally::merge(const RetryTally& other) {
  additions += other.additions;
  unchanged += other.unchanged;
  steps += other.steps;
  squares += other.squares;
  exchanges += other.exchanges;
  failed += other.failed;
  if (other.unit != 0) unit = unit == 0 ? other.unit : std::min(unit, other.unit);
}

}  // namespace warpbook::emulator
