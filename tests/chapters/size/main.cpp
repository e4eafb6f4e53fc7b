/// \file
/// Take-away headers beyond 2^31 elements and 4 GiB: `size [--elements N]`. N, the least number of elements of the
/// largest array of each check, is 2^31 + 2^20 where it is left out; smaller ones try the program itself.
///
/// Exit status: 0 all right; 1 a result is wrong; 2 bad arguments; 3 no device; checks for which memory does not
/// suffice are named, and make the status 3, too.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "common/cuda/error.hpp"
#include "common/harness/format.hpp"
#include "tests/chapters/size/checks.hpp"

namespace warpbook::size {
namespace {

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for free memory");
  return free;
}

/// \return the exit status.
int run_check(const Check& c, std::int64_t least) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  try {
    outcome = c.run(least);
  } catch (const CudaError& error) {
    fmt::print("{}  {:<48} {}\n", c.chapter, c.name, error.what());
    if (error.code() != cudaErrorMemoryAllocation) return 1;
    fmt::print("   not checked: {} are free\n", format_bytes(static_cast<std::int64_t>(free_bytes())));
    return 3;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const bool right = outcome.wrong == 0 && outcome.wrong_samples == 0;
  fmt::print("{}  {:<48} {:>11} {:>9} {:>7} {:>11} {:>7} {:>6.1f} s  {}\n", c.chapter, c.name, outcome.elements,
             format_bytes(outcome.bytes), outcome.wrong, outcome.sampled, outcome.wrong_samples, seconds.count(),
             right ? "right" : "WRONG");
  if (outcome.first >= 0) fmt::print("   the first wrong element is {}\n", outcome.first);
  std::fflush(stdout);
  return right ? 0 : 1;
}

int run(std::int64_t least) {
  fmt::print("ch header: check {:<38} {:>11} {:>9} {:>7} {:>11} {:>7}\n", "", "elements", "bytes", "wrong",
             "on the CPU", "wrong");
  int status = 0;
  for (const auto& checks : {elementwise_checks(), movement_checks(), sum_checks(), upsample_checks()}) {
    for (const Check& c : checks) {
      const int of_check = run_check(c, least);
      if (of_check == 1 || status == 0) status = of_check;
    }
  }
  return status;
}

}  // namespace
}  // namespace warpbook::size

int main(int argc, char** argv) {
  std::int64_t least = (std::int64_t{1} << 31U) + (std::int64_t{1} << 20U);
  const std::string_view option = argc == 3 ? argv[1] : "";
  const std::string_view number = argc == 3 ? argv[2] : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), least);
  const bool bad_number = argc == 3 && (error != std::errc() || end != number.data() + number.size());
  if ((argc != 1 && option != "--elements") || bad_number || least < 10'000) {
    std::fprintf(stderr, "size: accepted is --elements N, 10000 or more\n");
    return 2;
  }
  try {
    return warpbook::size::run(least);
  } catch (const warpbook::CudaError& failure) {
    std::fprintf(stderr, "size: %s\n", failure.what());
    return 3;
  }
}
