// The rules of chapter 2 that run on the host: how wide a movement can be, which blocks of memory a view touches, how
// tiles are cut, and what of all that the cases make.

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "chapters/chapter2_strided/library/tile_plan.hpp"
#include "chapters/chapter2_strided/strided_case.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/chapter2_problems.hpp"

namespace warpbook::chapter2 {
namespace {

/// An address that is only looked at.
void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

int movement(const TensorView& view, int element_bytes, int view_alignment = 16, int alignment = 16) {
  return movement_bytes(collapsed({view, element_bytes, false, view_alignment, alignment}));
}

std::string message_of(const std::string& parameters) {
  try {
    StridedCase{Parameters::parse(parameters)};
  } catch (const BadInput& problem) {
    return problem.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the reference moves") {
  // Not by its own rules: the example written out, both ways.
  std::array<std::uint8_t, 31> array{};
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<std::uint8_t>(i);
  const TensorView example = make_view({2, 4, 2}, {16, 4, 2});
  std::array<std::uint8_t, 16> result{};
  move_on_host({example, 1, false}, reinterpret_cast<const std::byte*>(array.data()),
               reinterpret_cast<std::byte*>(result.data()));
  CHECK(result == std::array<std::uint8_t, 16>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});

  const TensorView transposed = make_view({2, 3}, {1, 2}, 1);
  const std::array<std::uint16_t, 6> values = {10, 11, 12, 20, 21, 22};
  std::array<std::uint16_t, 8> into = {99, 99, 99, 99, 99, 99, 99, 99};
  move_on_host({transposed, 2, true}, reinterpret_cast<const std::byte*>(values.data()),
               reinterpret_cast<std::byte*>(into.data()));
  CHECK(into == std::array<std::uint16_t, 8>{99, 10, 20, 11, 21, 12, 22, 99});
}

TEST_CASE("words are as wide as sizes, strides and addresses allow") {
  CHECK(movement(make_view({64, 64}, {128, 1}), 4) == 16);
  CHECK(movement(make_view({64, 62}, {128, 1}), 4) == 8);  // Rows of 248 bytes.
  CHECK(movement(make_view({64, 61}, {128, 1}), 4) == 4);
  CHECK(movement(make_view({64, 64}, {126, 1}), 4) == 8);  // Rows 504 bytes apart.
  CHECK(movement(make_view({64, 64}, {127, 1}), 4) == 4);
  CHECK(movement(make_view({64, 64}, {127, 1}), 1) == 1);
  CHECK(movement(make_view({64, 64}, {130, 1}), 1) == 2);
  CHECK(movement(make_view({64, 64}, {128, 1}), 4, 8) == 8);      // The view begins 8 bytes behind a word's begin,
  CHECK(movement(make_view({64, 64}, {128, 1}), 4, 16, 4) == 4);  // or the other array 4.
  CHECK(movement(make_view({64, 64}, {128, 2}), 4) == 4);         // Only runs can be moved as they are.
  CHECK(movement(make_view({64, 64}, {1, 64}), 2) == 2);
  CHECK(movement(make_view({8, 64, 64}, {0, 128, 1}), 2) == 16);  // A broadcast keeps no alignment from being.
  CHECK(movement(make_view({64, 8}, {128, 1}), 16) == 16);
  // Dimensions that merge make longer runs: 3 x 4 x 5 bytes and nothing of 4 in any of them.
  CHECK(movement(make_view({3, 4, 5}, {20, 5, 1}), 1) == 4);
}

TEST_CASE("elements become words") {
  const Prepared p =
      prepare_collapsed({make_view({5, 6, 64}, {1024, 128, 1}, 8), 2, false}, address(256), address(512));
  CHECK(reinterpret_cast<std::uintptr_t>(p.src) == 256 + 16);
  CHECK(reinterpret_cast<std::uintptr_t>(p.dst) == 512);
  const Prepared q =
      prepare_simplified({make_view({5, 6, 64}, {1024, 128, 1}, 8), 2, false}, address(256), address(512));
  CHECK(q.src == p.src);
  CHECK(q.dst == p.dst);
  CHECK(q.problem.element_bytes == 16);
  CHECK(q.problem.view.dims == 3);
  CHECK(q.problem.view.sizes[2] == 8);
  CHECK(q.problem.view.strides[0] == 128);
  CHECK(q.problem.view.strides[1] == 16);
  // A row of one word is no dimension any more.
  const StridedProblem r = simplified({make_view({50, 4}, {16, 1}), 4, false});
  CHECK(r.element_bytes == 16);
  CHECK(r.view.dims == 1);
  CHECK(r.view.sizes[0] == 50);
  CHECK(r.view.strides[0] == 4);
}

TEST_CASE("an address is aligned to a power of two up to 16") {
  CHECK(alignment_of(0) == 16);
  CHECK(alignment_of(32) == 16);
  CHECK(alignment_of(24) == 8);
  CHECK(alignment_of(6) == 2);
  CHECK(alignment_of(7) == 1);
  // A case's arrays begin `shift` elements behind a boundary, and its view `offset` further.
  const StridedCase moved(Parameters::parse("shape=4,5 strides=8,1 offset=3 shift=2 dtype=half"));
  CHECK(moved.problem().alignment == 4);
  CHECK(moved.problem().view_alignment == 2);
}

TEST_CASE("a result falls into whole packs and its ends") {
  const StridedProblem nine{make_view({9}, {2}), 2, false};
  const auto packs = packs_of<std::uint32_t>({nine, nullptr, static_cast<std::byte*>(address(256 + 6))}, 2);
  CHECK(packs.head == 1);
  CHECK(packs.count == 4);
  CHECK(packs.ends == 1);
  CHECK(packs.end(0, 2) == 0);
  // Four halves before the first whole word of 16 bytes, and four behind the last.
  const StridedProblem sixteen{make_view({16}, {2}), 2, false};
  const auto words = packs_of<std::uint32_t>({sixteen, nullptr, static_cast<std::byte*>(address(256 + 8))}, 8);
  CHECK(words.head == 4);
  CHECK(words.count == 1);
  CHECK(words.ends == 8);
  CHECK(words.end(3, 8) == 3);
  CHECK(words.end(4, 8) == 12);
  // Fewer elements than stand before a word.
  const StridedProblem one{make_view({1}, {2}), 1, false};
  CHECK(packs_of<std::uint32_t>({one, nullptr, static_cast<std::byte*>(address(256 + 5))}, 4).head == 1);
}

TEST_CASE("the view's offset belongs to its own side") {
  const StridedProblem into{make_view({3}, {2}, 5), 4, true};
  const Prepared p = prepare(into, address(1024), address(2048));
  CHECK(reinterpret_cast<std::uintptr_t>(p.src) == 1024);
  CHECK(reinterpret_cast<std::uintptr_t>(p.dst) == 2048 + 20);
  CHECK(p.problem.view.offset == 0);
}

TEST_CASE("blocks of 64 bytes that a view touches") {
  const auto blocks = [](const TensorView& view, int bytes, std::int64_t first = 0) {
    return touched_blocks({view, bytes, false}, first, 64);
  };
  CHECK(blocks(make_view({}, {}), 4) == 1);
  CHECK(blocks(make_view({0}, {1}), 4) == 0);
  CHECK(blocks(make_view({16}, {1}), 4) == 1);
  CHECK(blocks(make_view({16}, {1}, 1), 4) == 2);
  CHECK(blocks(make_view({16}, {1}), 4, 4) == 2);
  CHECK(blocks(make_view({16}, {2}), 4) == 2);
  CHECK(blocks(make_view({16}, {16}), 4) == 16);  // A step of 64 bytes: each element its own block,
  CHECK(blocks(make_view({16}, {64}), 4) == 16);  // and of 256 no more.
  CHECK(blocks(make_view({16}, {15}), 4) == 15);  // 15 x 60 bytes = 900: blocks 0 to 14.
  CHECK(blocks(make_view({16}, {17}), 4) == 16);
  CHECK(blocks(make_view({100, 16}, {0, 1}), 4) == 1);  // A broadcast reads nothing more.
  CHECK(blocks(make_view({8, 8}, {1, 8}), 4) == 4);     // Nor does another order.
  CHECK(blocks(make_view({4, 16}, {64, 1}), 4) == 4);
  CHECK(blocks(make_view({4, 17}, {64, 1}), 4) == 8);
  CHECK(blocks(make_view({1 << 20, 1 << 10}, {1 << 10, 1}), 4) == std::int64_t{1} << 26);
}

TEST_CASE("the blocks touched are those of the elements") {
  Dice dice(test_seed());
  for (int i = 0; i < 2000; ++i) {
    const TensorView view = random_view(dice, 2000);
    const StridedProblem p{view, 1 << dice.uniform(0, 4), false};
    const std::int64_t first = dice.uniform(0, 255) * p.element_bytes;
    std::set<std::int64_t> touched;
    for (std::int64_t e = 0; e < p.count(); ++e) touched.insert((first + view.offset_of(e) * p.element_bytes) / 64);
    INFO(case_text(view, "?", false, 0));
    REQUIRE(touched_blocks(p, first, 64) == static_cast<std::int64_t>(touched.size()));
  }
}

TEST_CASE("a plan of tiles deals every dimension once, the fast ones to their side") {
  const auto dims_of = [](const Space& space) {
    Numbers sizes;
    for (int k = 0; k < space.dims; ++k) sizes.push_back(space.dimension[static_cast<std::size_t>(k)].size);
    return sizes;
  };
  // A transposed slice: the source is fast along its first dimension, the destination along its last.
  TilePlan plan = plan_tiles({make_view({7, 100, 200}, {50000, 1, 150}), 4, false}, 64);
  CHECK(dims_of(plan.along_src).front() == 100);
  CHECK(dims_of(plan.along_dst).front() == 200);
  // Into the same view: the sides change places.
  plan = plan_tiles({make_view({7, 100, 200}, {50000, 1, 150}), 4, true}, 64);
  CHECK(dims_of(plan.along_src).front() == 200);
  CHECK(dims_of(plan.along_dst).front() == 100);
  // Short dimensions are counted through together; one that both sides want goes to the shorter.
  plan = plan_tiles({make_view({34, 10000, 3}, {1, 34, 340000}), 2, false}, 64);
  CHECK(dims_of(plan.along_src) == Numbers{34});
  CHECK(dims_of(plan.along_dst) == Numbers{3, 10000});

  Dice dice(test_seed());
  for (int i = 0; i < 2000; ++i) {
    StridedProblem p{random_view(dice, 3000), 4, dice.one_in(2)};
    if (p.count() == 0) continue;
    p.view = collapse(p.view).view;
    const TilePlan random = plan_tiles(p, dice.one_in(2) ? 64 : 32);
    std::int64_t count = random.along_src.count * random.along_dst.count * random.batches;
    REQUIRE(count == p.count());
    REQUIRE(random.along_src.dims + random.along_dst.dims + random.others == p.view.dims);
  }
}

TEST_CASE("a case says what is wrong with it in one line") {
  CHECK(message_of("shape=2,4,2 strides=16,4,2").empty());
  CHECK(message_of("shape=2,3 strides=1") == "shape has 2 sizes and strides has 1; accepted are as many of both");
  CHECK(message_of("shape=2 strides=-1").find("negative ones are no views") != std::string::npos);
  CHECK(message_of("shape=-2 strides=1").find("sizes are 0 or more") != std::string::npos);
  CHECK(message_of("shape=2 strides=1 offset=-1").find("offset is 0 or more") != std::string::npos);
  CHECK(message_of("shape=2 strides=1 dtype=quarter").find("accepted are int8, half") != std::string::npos);
  CHECK(message_of("shape=2,2 strides=0,1 into=1").find("only read") != std::string::npos);
  CHECK(message_of("shape=2 strides=1 into=2") == "into=2 must be 0 (read the view) or 1 (write it)");
  CHECK(message_of("shape=2 strides=1 shift=256") == "shift=256 must be 0 to 255 elements");
  CHECK(message_of("shape=2 strides=9223372036854775807").find("2^63 bytes") != std::string::npos);
  CHECK_FALSE(message_of("shape=2").empty());
  CHECK_FALSE(message_of("shape=2 strides=1 stride=1").empty());
  const std::string ones = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  CHECK(message_of("shape=" + ones + " strides=" + ones).empty());
  CHECK(message_of("shape=" + ones + ",1 strides=" + ones + ",1") == "shape has 26 dimensions; accepted are 0 to 25");
}

TEST_CASE("a case makes itself again from its parameters") {
  for (const std::string text :
       {"shape=2,4,2 strides=16,4,2 dtype=float name=the_example", "shape= strides= dtype=int8",
        "shape=7,5 strides=100,3 offset=9 dtype=half into=1 shift=3"}) {
    const StridedCase c{Parameters::parse(text)};
    CHECK(c.parameters() == text);
    CHECK(StridedCase{Parameters::parse(c.parameters())}.title() == c.title());
  }
  const StridedCase read{Parameters::parse("shape=7,5 strides=100,3 offset=9 dtype=half")};
  CHECK(read.inputs()[0].elements == 9 + 6 * 100 + 4 * 3 + 1);
  CHECK(read.output().elements == 35);
  CHECK(read.bytes_moved() == 35 * 2 + 64 * 10);  // Seven rows 200 bytes apart; three of them lie in two blocks.
  CHECK(read.coordinate(34) == "[6, 4]");
  CHECK_FALSE(read.updates_output());
  const StridedCase into{Parameters::parse("shape=7,5 strides=100,3 offset=9 dtype=half into=1")};
  CHECK(into.inputs()[0].elements == 35);
  CHECK(into.output().elements == 9 + 6 * 100 + 4 * 3 + 1);
  CHECK(into.updates_output());
}

}  // namespace warpbook::chapter2
