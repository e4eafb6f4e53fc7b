// The rules of chapter 1 that run on the host: how arrays are cut into packs, how values are rounded, what a case
// takes.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "chapters/chapter1_elementwise/edges.hpp"
#include "chapters/chapter1_elementwise/elementwise_case.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"

namespace warpbook::chapter1 {
namespace {

/// Requires what `Cut` promises of two inputs: every element once, the output's packs aligned, and no access to an
/// input outside of it.
void check_cut(std::int64_t count, int width, const Placement& z, const Placement (&x)[2]) {
  INFO("count " << count << " width " << width << " z " << z.address << " x " << x[0].address << " y " << x[1].address);
  const Cut<2> c = cut<2>(count, width, z, x);
  REQUIRE(c.head >= 0);
  REQUIRE(c.packs >= 0);
  REQUIRE(c.edge >= c.head);
  CHECK(c.edge + c.packs * width == count);
  CHECK(c.edge < 4 * width);  // A block has a thread for each.
  if (c.packs == 0) return;
  const auto pack_bytes = [&](const Placement& p) { return static_cast<std::uintptr_t>(width * p.element_bytes); };
  const auto at_head = [&](const Placement& p) {
    return p.address + static_cast<std::uintptr_t>(c.head * p.element_bytes);
  };
  CHECK(at_head(z) % pack_bytes(z) == 0);
  for (int i = 0; i < 2; ++i) {
    const std::uintptr_t begin = x[i].address;
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(count * x[i].element_bytes);
    const auto shift = static_cast<std::uintptr_t>(c.shift_bytes[i]);
    const std::uintptr_t first = at_head(x[i]) - shift;
    CHECK(first % pack_bytes(x[i]) == 0);
    CHECK(shift < pack_bytes(x[i]));
    CHECK(first >= begin);
    const std::uintptr_t words = static_cast<std::uintptr_t>(c.packs) + (shift == 0 ? 0 : 1);
    CHECK(first + words * pack_bytes(x[i]) <= end);
  }
}

double rounded(Type type, double value) {
  std::byte bytes[4] = {};
  encode(type, value, bytes);
  return decode(type, bytes);
}

std::string refusal_of(const std::string& parameters) {
  try {
    const ElementwiseCase made(Parameters::parse(parameters));
    return {};
  } catch (const BadInput& problem) {
    return problem.what();
  }
}

}  // namespace

TEST_CASE("aligned arrays are packs and a tail") {
  const Placement x[2] = {{4096, 4}, {8192, 4}};
  const Cut<2> c = cut<2>(1003, 4, {1024, 4}, x);
  CHECK(c.packs == 250);
  CHECK(c.head == 0);
  CHECK(c.edge == 3);
  CHECK_FALSE(c.shifted());
}

TEST_CASE("arrays displaced alike get a head") {
  // Three floats up to the boundary, then 250 packs, no tail.
  const Placement x[2] = {{4096 + 4, 4}, {8192 + 4, 4}};
  const Cut<2> c = cut<2>(1003, 4, {1024 + 4, 4}, x);
  CHECK(c.packs == 250);
  CHECK(c.head == 3);
  CHECK(c.edge == 3);
  CHECK_FALSE(c.shifted());
}

TEST_CASE("an input displaced otherwise is shifted") {
  // z is aligned. The pack of y before element 0 begins before y, so the first pack of all goes to the head; the last
  // goes to the tail, because the word behind it may end outside.
  const Placement x[2] = {{4096, 4}, {8192 + 8, 4}};
  const Cut<2> c = cut<2>(1000, 4, {1024, 4}, x);
  CHECK(c.shift_bytes[0] == 0);
  CHECK(c.shift_bytes[1] == 8);
  CHECK(c.head == 4);
  CHECK(c.packs == 248);
  CHECK(c.edge == 8);
  CHECK(c.shifted());
}

TEST_CASE("a pack of mixed types has the same elements of each") {
  // Four elements: 8 bytes of half, 16 of float.
  const Placement x[2] = {{4096 + 2, 2}, {8192, 4}};
  const Cut<2> c = cut<2>(1000, 4, {1024, 4}, x);
  CHECK(c.shift_bytes[0] == 2);
  CHECK(c.shift_bytes[1] == 0);
}

TEST_CASE("every cut keeps its promises") {
  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  Dice dice(seed);
  for (int i = 0; i < 5000; ++i) {
    const auto bytes = [&] { return static_cast<int>(1 << dice.uniform(0, 4)); };
    const int sizes[3] = {bytes(), bytes(), bytes()};
    const int width = 16 / std::max({sizes[0], sizes[1], sizes[2]});
    const auto place = [&](int size) {
      return Placement{static_cast<std::uintptr_t>(4096 + size * dice.uniform(0, 40)), size};
    };
    const Placement x[2] = {place(sizes[1]), place(sizes[2])};
    check_cut(dice.one_in(2) ? dice.uniform(1, 70) : dice.log_uniform(1, 100'000), width, place(sizes[0]), x);
  }
}

TEST_CASE("the reference rounds as IEEE says") {
  // Floats: the host's own conversion is the judge.
  Dice dice(test_seed());
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(dice.bits())) * 0x1p-63,
                                    static_cast<int>(dice.uniform(-160, 130)));
    const auto expected = static_cast<double>(static_cast<float>(value));
    INFO(value);
    CHECK(std::bit_cast<std::uint64_t>(rounded(Type::float32, value)) == std::bit_cast<std::uint64_t>(expected));
  }
  // Halves: 11 significant bits, ties to even, 2^-24 the least, 65504 the largest.
  CHECK(rounded(Type::half, 2049) == 2048);
  CHECK(rounded(Type::half, 2051) == 2052);
  CHECK(rounded(Type::half, 2049.0001) == 2050);
  CHECK(rounded(Type::half, 65519.9) == 65504);
  CHECK(std::isinf(rounded(Type::half, 65520)));
  CHECK(rounded(Type::half, 0x1p-24) == 0x1p-24);
  CHECK(rounded(Type::half, 0x1p-25) == 0);
  CHECK(rounded(Type::half, 0x1.001p-25) == 0x1p-24);
  CHECK(rounded(Type::half, 0x1.ffep-15) == 0x1p-14);  // Up into the normal numbers.
  CHECK(std::signbit(rounded(Type::half, -0.0)));
  CHECK(std::isnan(rounded(Type::half, std::numeric_limits<double>::quiet_NaN())));
  // bfloat16: 8 significant bits.
  CHECK(rounded(Type::bfloat16, 257) == 256);
  CHECK(rounded(Type::bfloat16, 259) == 260);
  CHECK(rounded(Type::bfloat16, -0x1.01p100) == -0x1p100);
  // All halves are values of their own.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    std::byte element[2];
    std::memcpy(element, &bits, 2);
    const double value = decode(Type::half, element);
    encode(Type::half, value, element);
    std::uint16_t again = 0;
    std::memcpy(&again, element, 2);
    CHECK(again == bits);
  }
}

TEST_CASE("a result may lie as far off as the operation's roundings, no further, and is never NaN") {
  const ElementwiseCase scale(Parameters::parse("n=3 op=scale dtype=half"));
  const ElementwiseCase product(Parameters::parse("n=3 op=mul dtype=half"));
  using Halves = std::vector<std::uint16_t>;
  const auto differing = [](const ElementwiseCase& c, const Halves& expected, const Halves& actual) {
    return c.compare(std::as_bytes(std::span(expected)), std::as_bytes(std::span(actual))).count;
  };
  const Halves one = {0x3c00, 0x0000, 0xbc00};
  CHECK(differing(scale, one, {0x3c01, 0x8001, 0xbbff}) == 0);
  CHECK(differing(scale, one, {0x3c02, 0x0000, 0xbc00}) == 1);
  CHECK(differing(scale, one, {0x3c00, 0x7e00, 0x3c00}) == 2);  // NaN, and the wrong sign.
  CHECK(differing(product, one, one) == 0);
  CHECK(differing(product, one, {0x3c01, 0x0000, 0xbc00}) == 1);
}

TEST_CASE("a case says what it does not take") {
  CHECK(refusal_of("n=5").empty());
  CHECK(refusal_of("n=5 op=fma dtype=bfloat16 offset=1,2,3,4").empty());
  CHECK(refusal_of("op=mul") == "n is missing: the number of elements");
  CHECK(refusal_of("n=-1").starts_with("n=-1 must be 0 to"));
  CHECK(refusal_of("n=5 op=div") == "op=div is unknown; accepted are mul, scale, fma");
  CHECK(refusal_of("n=5 dtype=int8") == "dtype=int8 is unknown; accepted are float, half, bfloat16, mixed");
  CHECK(refusal_of("n=5 op=fma dtype=mixed") == "dtype=mixed goes with op=mul and op=scale only");
  CHECK(refusal_of("n=5 offset=1,2") ==
        "offset=1,2 has 2 numbers; accepted are one for all arrays, or 3: of the output, "
        "then of each input");
  CHECK(refusal_of("n=5 offset=256") == "offset=256 must be 0 to 255 elements");
  CHECK_FALSE(refusal_of("n=5 shape=3").empty());
}

TEST_CASE("a case's text makes it again") {
  for (const std::string text : {"n=5 op=mul dtype=half", "n=7 op=scale dtype=mixed offset=3,1",
                                 "n=0 op=fma dtype=float offset=1", "n=9 op=mul dtype=mixed offset=0,1,2"}) {
    CHECK(ElementwiseCase(Parameters::parse(text)).parameters() == text);
  }
}

}  // namespace warpbook::chapter1
