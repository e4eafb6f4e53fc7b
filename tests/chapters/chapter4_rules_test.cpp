// What chapter 4 says of its cases: their data, their references, their bounds; and how problems are divided.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chapters/chapter4_atomic_add/sums_case.hpp"
#include "common/harness/case_data.hpp"
#include "tests/catch.hpp"

namespace warpbook::chapter4 {
namespace {

std::size_t no_scratch(const ScatterProblem&) { return 0; }

SumsCase make(const std::string& text) { return {Parameters::parse(text), {no_scratch, 0}}; }

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(make(text));
  } catch (const BadInput& error) {
    return error.what();
  }
  return {};
}

std::vector<std::int64_t> indices(const SumsCase& c, std::uint64_t seed) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(c.scatter().count));
  c.fill(1, seed, std::as_writable_bytes(std::span(index)));
  return index;
}

std::vector<float> values(const SumsCase& c, std::uint64_t seed) {
  std::vector<float> value(static_cast<std::size_t>(c.scatter().count));
  c.fill(0, seed, std::as_writable_bytes(std::span(value)));
  return value;
}

}  // namespace

TEST_CASE("chapter 4 refuses bad cases in one line") {
  CHECK(refusal("dtype=double") == "dtype=double is unknown; accepted are half, bfloat16, float");
  CHECK(refusal("skew=even") == "skew=even is unknown; accepted are uniform, zipf, head, same, sorted, stray");
  CHECK(refusal("index=int16") == "index=int16 is unknown; accepted are int32, int64");
  CHECK(refusal("problem=max") == "problem=max is unknown; accepted are scatter, inner");
  CHECK(refusal("count=-1") == "count=-1 must be 0 to 2^40");
  CHECK(refusal("places=-1") == "places=-1 must be 0 to 2^40");
  CHECK(refusal("offset=256") == "offset=256 must be 0 to 255 elements");
  CHECK(refusal("places=2147483648 index=int32").find("needs index=int64") != std::string::npos);
  CHECK(refusal("problem=inner places=4").find("places") != std::string::npos);  // It has one.
  CHECK(refusal("count=0 places=0").empty());
}

TEST_CASE("a case's parameters make it again") {
  for (const std::string text : {"count=100 places=7 skew=head dtype=half index=int32 offset=3",
                                 "problem=inner count=12 dtype=bfloat16", "count=0 places=0"}) {
    const SumsCase c = make(text);
    CHECK(make(c.parameters()).parameters() == c.parameters());
    CHECK(make(c.parameters()).title() == c.title());
  }
}

TEST_CASE("values are whole units of both signs, and differ with the seed") {
  const SumsCase c = make("count=10000 places=100 dtype=float");
  const std::vector<float> value = values(c, 1);
  std::map<float, int> seen;
  for (const float x : value) ++seen[x * 16];
  CHECK(seen.size() == 6);
  for (const auto& [units, times] : seen) {
    CHECK(units == std::round(units));
    CHECK(std::abs(times - 10000 / 6) < 250);
  }
  CHECK(values(c, 2) != value);
  CHECK(values(c, 1) == value);
}

TEST_CASE("indices are spread as their names say") {
  constexpr int kCount = 200'000;
  const auto hits = [](const std::string& skew, int places) {
    const SumsCase c = make("count=200000 places=" + std::to_string(places) + " skew=" + skew);
    std::vector<int> seen(static_cast<std::size_t>(places));
    for (const std::int64_t i : indices(c, 5)) ++seen.at(static_cast<std::size_t>(i));
    return seen;
  };
  SECTION("uniform") {
    for (const int n : hits("uniform", 10)) CHECK(std::abs(n - kCount / 10) < 1000);
  }
  SECTION("head: rank k at place k - 1") {
    const std::vector<int> seen = hits("head", 1000);
    const double harmonic = 7.4855;
    for (const int rank : {1, 2, 3, 10, 100}) {
      const double expected = kCount / harmonic / rank;
      CHECK(std::abs(seen[static_cast<std::size_t>(rank - 1)] - expected) < 6 * std::sqrt(expected));
    }
  }
  SECTION("zipf: the same, spread") {
    std::vector<int> head = hits("head", 1000);
    std::vector<int> zipf = hits("zipf", 1000);
    CHECK(head != zipf);
    std::sort(head.begin(), head.end());
    std::sort(zipf.begin(), zipf.end());
    CHECK(head == zipf);
  }
  SECTION("same") { CHECK(hits("same", 9)[4] == kCount); }
  SECTION("sorted") {
    const SumsCase c = make("count=200000 places=77 skew=sorted");
    const std::vector<std::int64_t> index = indices(c, 5);
    CHECK(std::is_sorted(index.begin(), index.end()));
    CHECK(index.front() == 0);
    CHECK(index.back() == 76);
  }
  SECTION("stray") {
    const SumsCase c = make("count=200000 places=77 skew=stray");
    const std::vector<std::int64_t> index = indices(c, 5);
    const auto outside = std::count_if(index.begin(), index.end(), [](std::int64_t i) { return i < 0 || i >= 77; });
    CHECK(std::abs(static_cast<double>(outside) - kCount / 7.0) < 1000);
  }
}

TEST_CASE("an accumulator holds a case's partial sums, or the case says that it does not") {
  CHECK(largest_partial_sum(10, 3) == 30);       // All of them together.
  CHECK(largest_partial_sum(10'000, 1) == 700);  // 7 standard deviations.
  CHECK(make("count=16777216 places=65536 dtype=half").exact_in(11));
  CHECK(make("count=16777216 places=65536 dtype=bfloat16").exact_in(8));
  CHECK(make("count=16777216 places=256 dtype=half").exact_in(11));
  CHECK_FALSE(make("count=16777216 places=256 dtype=bfloat16").exact_in(8));
  CHECK_FALSE(make("count=16777216 places=1 dtype=half").exact_in(11));
  CHECK_FALSE(make("count=16777216 places=65536 skew=zipf dtype=half").exact_in(11));
  CHECK(make("problem=inner count=65536 dtype=half").exact_in(11));
  CHECK_FALSE(make("problem=inner count=33554432 dtype=half").exact_in(11));
  for (const char* skew : {"uniform", "zipf", "head", "same", "sorted"}) {
    CHECK(make(std::string("count=16777216 places=16777216 dtype=float skew=") + skew).exact_in(24));
  }
  CHECK(make("problem=inner count=33554432 dtype=float").exact_in(24));

  // And it is so: partial sums in the data's own order, in reverse, and interleaved.
  const SumsCase c = make("count=262144 places=4 dtype=half");
  REQUIRE(c.exact_in(11));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<__half> value(262144);
    c.fill(0, seed, std::as_writable_bytes(std::span(value)));
    const std::vector<std::int64_t> index = indices(c, seed + 100);
    for (const std::size_t step : {std::size_t{1}, std::size_t{262143}, std::size_t{4097}}) {
      double sum[4] = {};
      double most = 0;
      for (std::size_t i = 0, at = 0; i < value.size(); ++i, at = (at + step) % value.size()) {
        double& s = sum[index[at]];
        s += static_cast<double>(__half2float(value[at])) * 16;
        most = std::max(most, std::abs(s));
      }
      CHECK(most <= 2048);
    }
  }
}

TEST_CASE("the reference is the sum, rounded once; indices outside are left out") {
  const SumsCase c = make("count=4 places=3 dtype=half");
  const std::vector<__half> value = {__float2half(1), __float2half(2048), __float2half(0.5F), __float2half(4)};
  const std::vector<std::int64_t> index = {2, 2, -1, 3};
  std::vector<__half> dst = {__float2half(7), __float2half(-1), __float2half(2)};
  const std::vector<std::span<const std::byte>> inputs = {std::as_bytes(std::span(value)),
                                                          std::as_bytes(std::span(index))};
  c.reference(inputs, std::as_writable_bytes(std::span(dst)));
  CHECK(__half2float(dst[0]) == 7);
  CHECK(__half2float(dst[1]) == -1);
  CHECK(__half2float(dst[2]) == 2052);  // 2051 lies between 2050 and 2052; a tie goes to the even one.

  const SumsCase inner = make("problem=inner count=2 dtype=float");
  const std::vector<float> a = {3, 5};
  std::vector<float> total = {100};
  const std::vector<std::span<const std::byte>> both = {std::as_bytes(std::span(a)), std::as_bytes(std::span(a))};
  inner.reference(both, std::as_writable_bytes(std::span(total)));
  CHECK(total[0] == 134);
}

TEST_CASE("a comparison takes zeros of both signs for equal, and never NaN") {
  const SumsCase c = make("count=4 places=3 dtype=float");
  const auto count = [&](std::vector<float> expected, std::vector<float> actual) {
    return c.compare(std::as_bytes(std::span(expected)), std::as_bytes(std::span(actual))).count;
  };
  CHECK(count({1, 0, 2}, {1, -0.0F, 2}) == 0);
  CHECK(count({1, 0, 2}, {1, 0.0625F, 2}) == 1);
  CHECK(count({1, NAN, 2}, {1, NAN, 2}) == 1);
  CHECK(count({1, 0, 2}, {NAN, 0, 2}) == 1);
}

TEST_CASE("a sum that stands still is told apart") {
  const SumsCase c = make("count=4 places=2 dtype=half");
  const std::vector<__half> expected = {__float2half(200), __float2half(1)};
  const std::vector<__half> actual = {__float2half(128), __float2half(1)};  // 2048 units of 1/16.
  const std::string cause = c.likely_cause({}, std::as_bytes(std::span(expected)), std::as_bytes(std::span(actual)));
  CHECK(cause.find("stands at 128") != std::string::npos);
}

}  // namespace warpbook::chapter4
