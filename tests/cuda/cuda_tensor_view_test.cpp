// Views: where their elements lie, which dimensions merge, what is refused.

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "common/cuda/tensor_view.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

using Numbers = std::vector<std::int64_t>;

TensorView make_view(const Numbers& sizes, const Numbers& strides, std::int64_t offset = 0) {
  TensorView view;
  view.dims = static_cast<int>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    view.sizes[d] = sizes[d];
    view.strides[d] = strides[d];
  }
  view.offset = offset;
  return view;
}

Numbers sizes_of(const TensorView& v) { return {v.sizes.begin(), v.sizes.begin() + v.dims}; }
Numbers strides_of(const TensorView& v) { return {v.strides.begin(), v.strides.begin() + v.dims}; }

void check_collapsed(const TensorView& view, const Numbers& sizes, const Numbers& strides, int excluded = -1,
                     int excluded_at = -1) {
  const CollapsedView c = collapse(view, excluded);
  CHECK(sizes_of(c.view) == sizes);
  CHECK(strides_of(c.view) == strides);
  CHECK(c.view.offset == view.offset);
  CHECK(c.excluded == excluded_at);
}

/// Every element's place, in order.
Numbers places(const TensorView& view) {
  Numbers result;
  for (std::int64_t i = 0; i < view.count(); ++i) result.push_back(view.offset_of(i));
  return result;
}

std::int64_t uniform(std::mt19937_64& engine, std::int64_t lo, std::int64_t hi) {
  return lo + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(hi - lo + 1));
}

}  // namespace

TEST_CASE("element [1][3][1] of [:, :, 0:3:2] lies at offset 30") {
  // A tensor of shape (2, 4, 4) is contiguous: strides (16, 4, 1). Taking every second element along the last dimension
  // doubles its stride and halves its size. 1 * 16 + 3 * 4 + 1 * 2 = 30: index times stride, not size times stride.
  const std::int64_t shape[] = {2, 4, 4};
  const TensorView a = contiguous_view(3, shape);
  CHECK(strides_of(a) == Numbers{16, 4, 1});
  const TensorView b = make_view({2, 4, 2}, {16, 4, 2});
  CHECK(b.count() == 16);
  CHECK(b.offset_of(1 * 8 + 3 * 2 + 1) == 30);
  CHECK(b.reach() == 30);
  CHECK(places(b) == Numbers{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
}

TEST_CASE("dimensions merge where one whole inner dimension is a step of the outer one") {
  check_collapsed(make_view({2, 4, 4}, {16, 4, 1}), {32}, {1});
  check_collapsed(make_view({2, 4, 2}, {16, 4, 2}), {16}, {2});  // 4 = 2 x 2 and 16 = 4 x 4: one row of step 2.
  check_collapsed(make_view({2, 4, 3}, {16, 4, 1}), {8, 3}, {4, 1});
  check_collapsed(make_view({2, 3, 4}, {16, 4, 1}), {2, 12}, {16, 1});
  check_collapsed(make_view({4, 2}, {1, 4}), {4, 2}, {1, 4});
  check_collapsed(make_view({2, 3, 4}, {1, 8, 2}), {2, 12}, {1, 2});
  // The article's line, size[i] x stride[i] = stride[i], would merge neither.
  check_collapsed(make_view({5, 3}, {3, 1}), {15}, {1});
}

TEST_CASE("dimensions of size 1 go, whatever their stride") {
  check_collapsed(make_view({}, {}), {}, {});
  check_collapsed(make_view({1, 1}, {7, 9}), {}, {});
  check_collapsed(make_view({1, 5}, {99, 1}), {5}, {1});
  check_collapsed(make_view({5, 1}, {1, 99}), {5}, {1});
  check_collapsed(make_view({4, 1, 5}, {5, 99, 1}), {20}, {1});
  check_collapsed(make_view({4, 1, 5}, {6, 99, 1}, 11), {4, 5}, {6, 1});
}

TEST_CASE("broadcast dimensions merge with each other alone") {
  check_collapsed(make_view({4, 5}, {0, 0}), {20}, {0});
  check_collapsed(make_view({4, 5, 6}, {0, 6, 1}), {4, 30}, {0, 1});
  check_collapsed(make_view({4, 5, 6}, {5, 1, 0}), {20, 6}, {1, 0});
}

TEST_CASE("overlapping windows merge by the same rule or not at all") {
  check_collapsed(make_view({6, 3}, {1, 1}), {6, 3}, {1, 1});
  check_collapsed(make_view({2, 3, 4}, {3, 1, 1}), {6, 4}, {1, 1});
}

TEST_CASE("the excluded dimension stays by itself") {
  const TensorView whole = make_view({2, 3, 4, 5, 6}, {360, 120, 30, 6, 1});
  check_collapsed(whole, {2, 360}, {360, 1}, 0, 0);
  check_collapsed(whole, {2, 3, 120}, {360, 120, 1}, 1, 1);
  check_collapsed(whole, {6, 4, 30}, {120, 30, 1}, 2, 1);
  check_collapsed(whole, {24, 5, 6}, {30, 6, 1}, 3, 1);
  check_collapsed(whole, {120, 6}, {6, 1}, 4, 1);
  // Of size 1 too, and next to others of size 1.
  check_collapsed(make_view({1, 4, 5}, {20, 5, 1}), {1, 20}, {20, 1}, 0, 0);
  check_collapsed(make_view({4, 1, 5}, {5, 5, 1}), {4, 1, 5}, {5, 5, 1}, 1, 1);
  check_collapsed(make_view({4, 5, 1}, {5, 1, 1}), {20, 1}, {1, 1}, 2, 1);
  check_collapsed(make_view({1, 4, 1, 5}, {9, 5, 9, 1}), {4, 5}, {5, 1}, 3, 1);
  check_collapsed(make_view({7}, {1}), {7}, {1}, 0, 0);
}

TEST_CASE("an empty view stays as it is") {
  check_collapsed(make_view({3, 0, 5}, {5, 5, 1}), {3, 0, 5}, {5, 5, 1});
  check_collapsed(make_view({3, 0, 5}, {5, 5, 1}), {3, 0, 5}, {5, 5, 1}, 2, 2);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(make_view({most, most, 0}, {1, 1, 1}).count() == 0);
}

TEST_CASE("a collapsed view shows the same elements in the same order, in the fewest dimensions") {
  std::mt19937_64 engine(2026);
  for (int i = 0; i < 4000; ++i) {
    TensorView view;
    view.dims = static_cast<int>(uniform(engine, 0, 6));
    view.offset = uniform(engine, 0, 9);
    std::int64_t dense = 1;
    for (int d = view.dims - 1; d >= 0; --d) {  // Often what would merge; else a step, a broadcast, an overlap.
      view.sizes[d] = uniform(engine, 1, 4);
      const std::int64_t kind = uniform(engine, 0, 5);
      view.strides[d] = kind == 0 ? 0 : kind == 1 ? uniform(engine, 1, 9) : kind == 2 ? dense * 2 : dense;
      dense = view.strides[d] * view.sizes[d];
    }
    const int excluded = view.dims == 0 ? -1 : static_cast<int>(uniform(engine, -1, view.dims - 1));
    const CollapsedView c = collapse(view, excluded);
    REQUIRE(places(c.view) == places(view));
    if (excluded >= 0) {
      REQUIRE(c.view.sizes[c.excluded] == view.sizes[excluded]);
      REQUIRE(c.view.strides[c.excluded] == view.strides[excluded]);
    }
    for (int d = 0; d < c.view.dims; ++d) {
      REQUIRE((d == c.excluded || c.view.sizes[d] > 1));
      if (d > 0 && d != c.excluded && d - 1 != c.excluded) {
        REQUIRE(c.view.strides[d - 1] != c.view.sizes[d] * c.view.strides[d]);
      }
    }
  }
}

TEST_CASE("25 dimensions of no use become one") {
  TensorView view;
  view.dims = kMaxViewDims;
  view.sizes.fill(1);
  view.strides.fill(3);
  view.sizes[0] = 2;
  view.sizes[24] = 3;
  view.strides[0] = 3;
  view.strides[24] = 1;
  REQUIRE(refuse_view(view, 4) == nullptr);
  check_collapsed(view, {6}, {1});
}

TEST_CASE("32 bits are enough where sizes and strides allow it") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(fits_32_bits(make_view({kMost}, {1})));
  CHECK_FALSE(fits_32_bits(make_view({kMost + 1}, {1})));
  CHECK_FALSE(fits_32_bits(make_view({kMost}, {1}), 1));
  CHECK_FALSE(fits_32_bits(make_view({kMost + 1}, {0})));  // Many elements of a small array.
  CHECK(fits_32_bits(make_view({2}, {kMost})));
  CHECK_FALSE(fits_32_bits(make_view({2}, {kMost + 1})));  // Two elements of a large one.
  CHECK_FALSE(fits_32_bits(make_view({3, 2}, {kMost / 2, 2})));
  CHECK(fits_32_bits(make_view({4}, {1}, std::int64_t{1} << 40)));  // The offset is added to the pointer beforehand.
}

TEST_CASE("what is no view is refused with its reason") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(refuse_view(make_view({}, {}), 4) == nullptr);
  CHECK(refuse_view(make_view({2, 0}, {most, most}), 16) == nullptr);
  CHECK(refuse_view(make_view({most, 0}, {1, 1}), 4) == nullptr);
  CHECK(refuse_view(make_view({most, most}, {0, 0}), 1) != nullptr);  // The copy is too large.
  CHECK(refuse_view(make_view({-1}, {1}), 4) != nullptr);
  CHECK(refuse_view(make_view({-1, 0}, {1, 1}), 4) != nullptr);
  CHECK(refuse_view(make_view({4}, {-1}), 4) != nullptr);
  CHECK(refuse_view(make_view({4}, {1}, -1), 4) != nullptr);
  CHECK(refuse_view(make_view({2}, {most - 1}), 1) == nullptr);
  CHECK(refuse_view(make_view({2}, {most}), 1) != nullptr);
  CHECK(refuse_view(make_view({2}, {most / 4 - 1}), 4) == nullptr);
  CHECK(refuse_view(make_view({2}, {most / 4}), 4) != nullptr);
  CHECK(refuse_view(make_view({2}, {1}, most - 2), 1) == nullptr);
  CHECK(refuse_view(make_view({2}, {1}, most - 1), 1) != nullptr);
  CHECK(refuse_view(make_view({1}, {most}), 16) == nullptr);  // The stride of a single element is never taken.
  TensorView view;
  view.dims = kMaxViewDims + 1;
  CHECK(refuse_view(view, 4) != nullptr);
  view.dims = -1;
  CHECK(refuse_view(view, 4) != nullptr);
}

TEST_CASE("a view that may show an element twice is told") {
  CHECK(surely_distinct(make_view({2, 3}, {3, 1})));
  CHECK(surely_distinct(make_view({3, 2}, {1, 3})));
  CHECK(surely_distinct(make_view({4, 1}, {2, 0})));
  CHECK(surely_distinct(make_view({0, 5}, {0, 0})));
  CHECK(surely_distinct(make_view({}, {})));
  CHECK_FALSE(surely_distinct(make_view({2, 3}, {0, 1})));
  CHECK_FALSE(surely_distinct(make_view({2, 3}, {2, 1})));
  CHECK_FALSE(surely_distinct(make_view({2, 3}, {3, 2})));  // 0 2 4 3 5 7: distinct, but only a search finds out.
  std::mt19937_64 engine(7);
  for (int i = 0; i < 2000; ++i) {
    TensorView view;
    view.dims = static_cast<int>(uniform(engine, 0, 4));
    for (int d = 0; d < view.dims; ++d) {
      view.sizes[d] = uniform(engine, 1, 4);
      view.strides[d] = uniform(engine, 0, 40);
    }
    if (!surely_distinct(view)) continue;
    const Numbers all = places(view);
    REQUIRE(std::set<std::int64_t>(all.begin(), all.end()).size() == all.size());
  }
}

}  // namespace warpbook
