// The rules of chapter 6 that run on the host: PyTorch's indices, which kernel's conditions hold, what a case takes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"

namespace warpbook::chapter6 {
namespace {

std::vector<int> sources(const Axis& axis) {
  std::vector<int> result;
  for (int o = 0; o < axis.out; ++o) result.push_back(axis.source(o));
  return result;
}

std::vector<int> first_outputs(const Axis& axis) {
  std::vector<int> result;
  for (int i = 0; i <= axis.in; ++i) result.push_back(axis.first_output(i));
  return result;
}

std::string refusal_of(const std::string& parameters) {
  try {
    const UpsampleCase made(Parameters::parse(parameters));
    return {};
  } catch (const BadInput& problem) {
    return problem.what();
  }
}

}  // namespace

TEST_CASE("an output shows the input that PyTorch's rule names") {
  CHECK(sources(make_axis(3, 6, 0)) == std::vector<int>{0, 0, 1, 1, 2, 2});
  CHECK(sources(make_axis(5, 3, 0)) == std::vector<int>{0, 1, 3});
  CHECK(sources(make_axis(4, 7, 0)) == std::vector<int>{0, 0, 1, 1, 2, 2, 3});
  // A given scale counts, and not the sizes: 4 becomes floor(4 * 1.6) = 6, but the step is 1 / 1.6.
  CHECK(sources(make_axis(4, 6, 1.6)) == std::vector<int>{0, 0, 1, 1, 2, 3});
  CHECK(sources(make_axis(4, 6, 0)) == std::vector<int>{0, 0, 1, 2, 2, 3});
  // Where the size stays, so do the inputs.
  CHECK(sources(make_axis(2, 2, 1.3)) == std::vector<int>{0, 1});
  // The last input takes what would lie behind it.
  CHECK(sources(make_axis(2, 6, 2)) == std::vector<int>{0, 0, 1, 1, 1, 1});
  // In float, 1 / 49 * 49 is below 1; in double it would be too, but at another place.
  const Axis axis = make_axis(49, 98, 0);
  CHECK(axis.source(97) == 48);
}

TEST_CASE("an input's outputs are those that PyTorch's backward rule names") {
  CHECK(first_outputs(make_axis(3, 6, 0)) == std::vector<int>{0, 2, 4, 6});
  CHECK(first_outputs(make_axis(5, 3, 0)) == std::vector<int>{0, 1, 2, 2, 3, 3});  // The third and fifth have none.
  CHECK(first_outputs(make_axis(4, 6, 1.6)) == std::vector<int>{0, 2, 4, 5, 6});
}

TEST_CASE("the kernels' rules and the reference's agree") {
  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  Dice dice(seed);
  for (int k = 0; k < 2000; ++k) {
    const std::int64_t in = dice.log_uniform(1, 3000);
    const std::int64_t out = dice.log_uniform(1, 3000);
    const double scale = dice.one_in(2) ? 0 : static_cast<double>(dice.log_uniform(1, 1000)) / 100;
    INFO(in << " to " << out << " scale " << scale);
    const Axis axis = make_axis(in, out, scale);
    bool equal = true;
    for (std::int64_t o = 0; o < out; ++o) {
      equal = equal && axis.source(static_cast<int>(o)) == source_on_host(o, in, out, scale);
      equal = equal && axis.source(static_cast<int>(o)) >= 0;
    }
    for (std::int64_t i = 0; i <= in; ++i) {
      equal = equal && axis.first_output(static_cast<int>(i)) == first_output_on_host(i, in, out, scale);
    }
    CHECK(equal);
  }
}

TEST_CASE("doubled images are known by sizes and by steps") {
  const auto doubled = [](std::int64_t in, std::int64_t out, double scale) {
    return is_two_by_two(make_images({.batch = 1,
                                      .channels = 1,
                                      .in_height = in,
                                      .in_width = in,
                                      .out_height = out,
                                      .out_width = out,
                                      .scale_height = scale,
                                      .scale_width = scale}));
  };
  CHECK(doubled(7, 14, 0));
  CHECK(doubled(7, 14, 2));
  CHECK_FALSE(doubled(7, 14, 2.1));  // floor(7 * 2.1) is 14 too, but the step is another.
  CHECK_FALSE(doubled(7, 15, 0));
  CHECK_FALSE(doubled(7, 21, 3));
}

TEST_CASE("an input has no more outputs than most_outputs says") {
  CHECK(most_outputs(make_axis(10, 5, 0.5)) == 1);
  CHECK(most_outputs(make_axis(10, 15, 1.5)) == 2);
  CHECK(most_outputs(make_axis(10, 20, 2)) == 2);
  CHECK(most_outputs(make_axis(100, 333, 0)) == 4);
  CHECK(most_outputs(make_axis(10, 40, 4)) == 4);
  CHECK(most_outputs(make_axis(10, 41, 4.01)) == 5);
  CHECK(most_outputs(make_axis(3, 6, 100)) == 6);
  CHECK(most_outputs(make_axis(2 << 20, 2 << 20, 0)) == std::numeric_limits<int>::max());

  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  Dice dice(seed);
  const auto check = [](std::int64_t in, std::int64_t out, double scale) {
    INFO(in << " to " << out << " scale " << scale);
    const Axis axis = make_axis(in, out, scale);
    const int bound = most_outputs(axis);
    int most = 0;
    for (int i = 0; i < axis.in; ++i) most = std::max(most, axis.first_output(i + 1) - axis.first_output(i));
    CHECK(most <= bound);
  };
  for (int k = 0; k < 1000; ++k) {
    const std::int64_t in = dice.log_uniform(1, 3000);
    check(in, dice.log_uniform(1, 8 * in), dice.one_in(2) ? 0 : static_cast<double>(dice.log_uniform(1, 400)) / 100);
  }
  // Where a product of the rule is rounded most.
  for (const double scale : {0.0, 1.1, 1.3, 1.7, 1.9999999, 2.0000002, 2.7, 3.0000002}) {
    check(1 << 18, 1 << 20, scale);
    check(1 << 20, 1 << 20, scale);
    check((1 << 19) - 1, (1 << 20) - 3, scale);
  }
}

TEST_CASE("sums of the data are exact in float") {
  // Four terms of 11 bits are 13 bits. 333 x 271 outputs of one input are 17 bits: 7 are left for each.
  CHECK(UpsampleCase(Parameters::parse("shape=1,1,4,4 dir=backward dtype=half")).value_bits() == 11);
  CHECK(UpsampleCase(Parameters::parse("shape=1,1,4,4 dir=backward dtype=bfloat16")).value_bits() == 8);
  CHECK(UpsampleCase(Parameters::parse("shape=1,1,4,4 dir=backward dtype=float")).value_bits() == 21);
  CHECK(UpsampleCase(Parameters::parse("shape=1,1,1,1 dir=backward dtype=half size=333,271")).value_bits() == 7);
}

TEST_CASE("traffic counts what must be read") {
  // Forward at half the size a quarter of the inputs is shown.
  CHECK(UpsampleCase(Parameters::parse("shape=1,1,8,8 dtype=float scale=0.5")).bytes_moved() == 4 * (16 + 16));
  CHECK(UpsampleCase(Parameters::parse("shape=2,3,8,8 dtype=half")).bytes_moved() == 6 * 2 * (64 + 256));
  CHECK(UpsampleCase(Parameters::parse("shape=2,3,8,8 dtype=half dir=backward")).bytes_moved() == 6 * 2 * (64 + 256));
}

TEST_CASE("a case of chapter 6 says what it does not take") {
  CHECK(refusal_of("shape=1,2,3,4").empty());
  CHECK(refusal_of("shape=0,2,3,4 size=5,6 scale=1.5,2 layout=nhwc dir=backward dtype=bfloat16 offset=3").empty());
  CHECK(refusal_of("shape=1,2,3") == "shape has 3 sizes; accepted are 4: N,C,H,W");
  CHECK(refusal_of("shape=1,2,0,4").starts_with("images of 0x4 to 0x8: heights and widths must be 1 to"));
  CHECK(refusal_of("shape=1,2,3,4 scale=0.1").starts_with("images of 3x4 to 0x0"));
  CHECK(refusal_of("shape=-1,2,3,4") == "shape=-1,2,3,4 has a negative size");
  CHECK(refusal_of("shape=1,2,3,4 dir=up") == "dir=up is unknown; accepted are forward, backward");
  CHECK(refusal_of("shape=1,2,3,4 dtype=int8") == "dtype=int8 is unknown; accepted are float, half, bfloat16");
  CHECK(refusal_of("shape=1,2,3,4 layout=chwn") == "layout=chwn is unknown; accepted are nchw, nhwc");
  CHECK(refusal_of("shape=1,2,3,4 scale=x") == "scale=x must be one or two numbers above 0");
  CHECK(refusal_of("shape=1,2,3,4 scale=-1") == "scale=-1 must be one or two numbers above 0");
  CHECK(refusal_of("shape=1,2,3,4 size=5") == "size has 1 numbers; accepted are 2: the output's H,W");
  CHECK(refusal_of("shape=1,2,3,4 offset=256") == "offset=256 must be 0 to 255 elements");
  CHECK(refusal_of("shape=4000000000,4000000000,3,4").ends_with("has 2^59 elements or more"));
}

TEST_CASE("a case of chapter 6 is made again by its text") {
  for (const std::string text :
       {"shape=1,2,3,4 dir=forward dtype=half", "shape=1,2,3,4 dir=backward dtype=float layout=nhwc size=7,9 offset=1",
        "shape=1,2,3,4 dir=backward dtype=bfloat16 size=4,6 scale=1.5"}) {
    CHECK(UpsampleCase(Parameters::parse(text)).parameters() == text);
  }
}

}  // namespace warpbook::chapter6
