// The rules of chapter 3 that run on the host: merging dimensions, the size of a movement, and division by
// multiplication.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "chapters/chapter3_permute/permute.hpp"
#include "chapters/chapter3_permute/permute_case.hpp"
#include "common/cuda/fast_division.cuh"
#include "tests/catch.hpp"
#include "tests/chapters/chapter3_problems.hpp"

namespace warpbook::chapter3 {
namespace {

using Sizes = std::vector<std::int64_t>;
using Order = std::vector<int>;

Sizes shape_of(const PermuteProblem& p) { return {p.shape.begin(), p.shape.begin() + p.rank}; }
Order order_of(const PermuteProblem& p) { return {p.permutation.begin(), p.permutation.begin() + p.rank}; }

/// Requires that `merged` turns the one into the other.
void check_merged(const Sizes& shape, const Order& permutation, const Sizes& merged_shape, const Order& merged_order) {
  const PermuteProblem p = make_problem(shape, permutation, 2);
  INFO(describe(p));
  const PermuteProblem m = merged(p);
  CHECK(shape_of(m) == merged_shape);
  CHECK(order_of(m) == merged_order);
  CHECK(m.element_bytes == 2);
  CHECK(m.count() == p.count());
}

/// What a problem makes of bytes 0, 1, 2, ... (mixed, so that no two neighbours are alike).
std::vector<std::byte> moved(const PermuteProblem& p) {
  const auto bytes = static_cast<std::size_t>(p.count() * p.element_bytes);
  std::vector<std::byte> src(bytes);
  for (std::size_t i = 0; i < bytes; ++i) src[i] = static_cast<std::byte>((i * 2654435761U) >> 13);
  std::vector<std::byte> dst(bytes);
  permute_on_host(p, src.data(), dst.data());
  return dst;
}

/// The widest movement of a problem in arrays that begin at `src` and `dst`.
int movement_bytes_at(PermuteProblem p, std::uintptr_t src, std::uintptr_t dst) {
  p.alignment = alignment_of(reinterpret_cast<const void*>(src), reinterpret_cast<const void*>(dst));
  return movement_bytes(p);
}

}  // namespace

TEST_CASE("the reference permutes") {
  // Not by its own rules: two small matrices written out, and a cycle of three dimensions.
  const std::array<std::uint8_t, 6> matrix = {0, 1, 2, 3, 4, 5};
  std::array<std::uint8_t, 6> transposed{};
  permute_on_host(make_problem({2, 3}, {1, 0}, 1), reinterpret_cast<const std::byte*>(matrix.data()),
                  reinterpret_cast<std::byte*>(transposed.data()));
  CHECK(transposed == std::array<std::uint8_t, 6>{0, 3, 1, 4, 2, 5});

  std::array<std::uint16_t, 24> src{};
  std::array<std::uint16_t, 24> dst{};
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::uint16_t>(i);
  permute_on_host(make_problem({2, 3, 4}, {2, 0, 1}, 2), reinterpret_cast<const std::byte*>(src.data()),
                  reinterpret_cast<std::byte*>(dst.data()));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) CHECK(dst[(k * 2 + i) * 3 + j] == src[(i * 3 + j) * 4 + k]);
    }
  }
}

TEST_CASE("merging drops dimensions of one element") {
  check_merged({}, {}, {}, {});
  check_merged({1}, {0}, {}, {});
  check_merged({1, 1, 1, 1, 1, 1, 1, 1}, {7, 3, 1, 0, 2, 6, 5, 4}, {}, {});
  check_merged({5, 1}, {1, 0}, {5}, {0});
  check_merged({1, 5}, {1, 0}, {5}, {0});
  check_merged({1, 5, 7}, {2, 1, 0}, {5, 7}, {1, 0});
  check_merged({5, 1, 7}, {2, 1, 0}, {5, 7}, {1, 0});
  check_merged({5, 7, 1}, {2, 1, 0}, {5, 7}, {1, 0});
}

TEST_CASE("merging joins neighbours that stay neighbours") {
  check_merged({5}, {0}, {5}, {0});
  check_merged({2, 3, 4}, {0, 1, 2}, {24}, {0});
  check_merged({2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 4, 5, 6, 7}, {362880}, {0});
  check_merged({2, 3}, {1, 0}, {2, 3}, {1, 0});
  check_merged({2, 3, 4}, {0, 2, 1}, {2, 3, 4}, {0, 2, 1});
  check_merged({2, 3, 4}, {1, 2, 0}, {2, 12}, {1, 0});
  check_merged({2, 3, 4}, {2, 0, 1}, {6, 4}, {1, 0});
  check_merged({2, 3, 4}, {2, 1, 0}, {2, 3, 4}, {2, 1, 0});
  check_merged({2, 3, 4, 5}, {2, 3, 0, 1}, {6, 20}, {1, 0});
  check_merged({2, 3, 4, 5}, {0, 1, 3, 2}, {6, 4, 5}, {0, 2, 1});
  check_merged({2, 3, 4, 5}, {0, 3, 1, 2}, {2, 12, 5}, {0, 2, 1});
  check_merged({2, 3, 4, 5}, {3, 1, 2, 0}, {2, 12, 5}, {2, 1, 0});
  check_merged({2, 3, 4, 5}, {0, 2, 1, 3}, {2, 3, 4, 5}, {0, 2, 1, 3});
}

TEST_CASE("a dimension of one element keeps nobody apart") {
  // Between two neighbours, wherever it goes.
  check_merged({2, 1, 3}, {0, 1, 2}, {6}, {0});
  check_merged({2, 1, 3}, {1, 0, 2}, {6}, {0});
  check_merged({2, 1, 3}, {0, 2, 1}, {6}, {0});
  check_merged({2, 1, 3, 4}, {3, 0, 1, 2}, {6, 4}, {1, 0});
  check_merged({2, 1, 3, 4}, {1, 3, 0, 2}, {6, 4}, {1, 0});
  check_merged({2, 1, 3, 4}, {0, 3, 1, 2}, {2, 3, 4}, {0, 2, 1});
  // In the output between two that are neighbours in the input.
  check_merged({2, 3, 1}, {0, 2, 1}, {6}, {0});
  check_merged({1, 2, 3, 4}, {1, 0, 3, 2}, {2, 3, 4}, {0, 2, 1});
  check_merged({4, 2, 3, 1}, {1, 3, 2, 0}, {4, 6}, {1, 0});
  // At the input's begin, which no run may take for its own.
  check_merged({1, 2, 3}, {1, 0, 2}, {6}, {0});
  check_merged({1, 1, 2, 3}, {2, 1, 3, 0}, {6}, {0});
  check_merged({1, 2, 1, 3}, {3, 2, 1, 0}, {2, 3}, {1, 0});
}

TEST_CASE("an empty tensor stays empty") {
  CHECK(merged(make_problem({0}, {0}, 4)).count() == 0);
  CHECK(merged(make_problem({3, 0, 5}, {2, 0, 1}, 4)).count() == 0);
  CHECK(merged(make_problem({1, 0, 1}, {2, 0, 1}, 4)).count() == 0);
}

TEST_CASE("a merged problem moves the same, in the fewest dimensions") {
  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  Dice dice(seed);
  for (int i = 0; i < 4000; ++i) {
    PermuteProblem p;
    p.rank = static_cast<int>(dice.uniform(0, kMaxRank));
    p.element_bytes = 1 << dice.uniform(0, 4);
    const Order permutation = dice.permutation(p.rank);
    for (int d = 0; d < p.rank; ++d) {
      p.shape[d] = p.rank > 5 ? dice.uniform(1, 3) : dice.uniform(1, 5);
      p.permutation[d] = permutation[static_cast<std::size_t>(d)];
    }
    if (dice.one_in(2)) {  // Long runs are rare among random orders: rotate the identity instead.
      const int by = p.rank == 0 ? 0 : static_cast<int>(dice.uniform(0, p.rank - 1));
      for (int d = 0; d < p.rank; ++d) p.permutation[d] = (d + by) % p.rank;
    }

    INFO(describe(p));
    const PermuteProblem m = merged(p);
    bool fewest = true;
    for (int d = 0; d < m.rank; ++d) {
      fewest = fewest && m.shape[d] > 1 && (d == 0 || m.permutation[d] != m.permutation[d - 1] + 1);
    }
    REQUIRE(fewest);
    REQUIRE(m.rank <= p.rank);
    REQUIRE(moved(m) == moved(p));
    const PermuteProblem again = merged(m);
    REQUIRE(shape_of(again) == shape_of(m));
    REQUIRE(order_of(again) == order_of(m));
  }
}

TEST_CASE("a movement is as wide as row and alignment allow") {
  const auto bytes_of = [](const Sizes& shape, const Order& order, int element_bytes, std::uintptr_t src,
                           std::uintptr_t dst) {
    return movement_bytes_at(make_problem(shape, order, element_bytes), src, dst);
  };
  const Order swap = {1, 0, 2};
  SECTION("the row's bytes") {
    CHECK(bytes_of({4, 4, 8}, swap, 2, 256, 512) == 16);
    CHECK(bytes_of({4, 4, 12}, swap, 2, 256, 512) == 8);
    CHECK(bytes_of({4, 4, 6}, swap, 2, 256, 512) == 4);
    CHECK(bytes_of({4, 4, 7}, swap, 2, 256, 512) == 2);
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256, 512) == 16);
    CHECK(bytes_of({4, 4, 15}, swap, 1, 256, 512) == 1);
    CHECK(bytes_of({4, 4, 2}, swap, 1, 256, 512) == 2);
    CHECK(bytes_of({4, 4, 1}, swap, 8, 256, 512) == 8);
    CHECK(bytes_of({4, 4, 2}, swap, 8, 256, 512) == 16);
    CHECK(bytes_of({4, 4, 3}, swap, 16, 256, 512) == 16);
  }
  SECTION("both addresses") {
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256 + 8, 512) == 8);
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256, 512 + 8) == 8);
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256 + 4, 512 + 8) == 4);
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256 + 2, 512 + 2) == 2);
    CHECK(bytes_of({4, 4, 16}, swap, 1, 256 + 1, 512 + 1) == 1);
    CHECK(bytes_of({4, 4, 16}, swap, 4, 256 + 4, 512 + 4) == 4);
    CHECK(bytes_of({4, 4, 16}, swap, 16, 256 + 16, 512 + 16) == 16);
  }
  SECTION("the last dimension must stay last") {
    CHECK(bytes_of({4, 16}, {1, 0}, 2, 256, 512) == 2);
    CHECK(bytes_of({4, 4, 16}, {0, 2, 1}, 1, 256, 512) == 1);
    CHECK(bytes_of({}, {}, 4, 256, 512) == 4);
    CHECK(bytes_of({64}, {0}, 1, 256, 512) == 16);  // The identity keeps it.
  }
}

TEST_CASE("a problem in wider elements moves the same") {
  const PermuteProblem p = make_problem({4, 3, 16}, {1, 0, 2}, 2);
  SECTION("the last dimension shrinks") {
    const PermuteProblem wide = with_elements_of(p, 16);
    CHECK(wide.element_bytes == 16);
    CHECK(shape_of(wide) == Sizes{4, 3, 2});
    CHECK(order_of(wide) == Order{1, 0, 2});
    CHECK(shape_of(with_elements_of(p, 2)) == Sizes{4, 3, 16});
  }
  SECTION("and is dropped where one element is left") {
    const PermuteProblem wide = with_elements_of(make_problem({4, 3, 8}, {1, 0, 2}, 2), 16);
    CHECK(shape_of(wide) == Sizes{4, 3});
    CHECK(order_of(wide) == Order{1, 0});
  }
  SECTION("random problems") {
    const std::uint64_t seed = test_seed();
    INFO("WARPBOOK_TEST_SEED=" << seed);
    Dice dice(seed + 1);
    int widened = 0;
    for (int i = 0; i < 2000; ++i) {
      const int rank = static_cast<int>(dice.uniform(1, 6));
      Sizes shape(static_cast<std::size_t>(rank));
      for (std::int64_t& size : shape) size = dice.uniform(1, 4);
      shape.back() = dice.uniform(1, 64);
      Order order = dice.permutation(rank - 1);
      order.push_back(rank - 1);
      const PermuteProblem q = merged(make_problem(shape, order, 1 << dice.uniform(0, 4)));
      const std::uintptr_t element = static_cast<std::uintptr_t>(q.element_bytes);
      const std::uintptr_t src =
          256 + element * static_cast<std::uintptr_t>(dice.pick<std::int64_t>({0, 0, 0, 1, 2, 8}));
      const std::uintptr_t dst =
          512 + element * static_cast<std::uintptr_t>(dice.pick<std::int64_t>({0, 0, 0, 1, 2, 8}));
      INFO(describe(q) << " src=" << src << " dst=" << dst);
      const int bytes = movement_bytes_at(q, src, dst);
      if (!keeps_last_dimension(q)) {  // It was of size 1, and is gone.
        REQUIRE(bytes == q.element_bytes);
        continue;
      }
      const std::int64_t row_bytes = q.shape[q.rank - 1] * q.element_bytes;
      const auto allowed = [&](int b) {
        return b <= 16 && row_bytes % b == 0 && src % static_cast<std::uintptr_t>(b) == 0 &&
               dst % static_cast<std::uintptr_t>(b) == 0;
      };
      REQUIRE(allowed(bytes));
      REQUIRE_FALSE(allowed(2 * bytes));
      const PermuteProblem wide = with_elements_of(q, bytes);
      REQUIRE(wide.count() * wide.element_bytes == q.count() * q.element_bytes);
      REQUIRE(moved(wide) == moved(q));
      widened += bytes > q.element_bytes ? 1 : 0;
    }
    CHECK(widened > 500);
  }
}

TEST_CASE("a batch of transposed matrices is recognised after merging") {
  const auto matrices_of = [](const Sizes& shape, const Order& order) {
    BatchTranspose m{.batch = -1, .rows = -1, .columns = -1};
    const char* reason = as_batch_transpose(make_problem(shape, order, 4), m);
    CHECK((reason == nullptr) == (m.batch != -1));
    return Sizes{m.batch, m.rows, m.columns};
  };
  const Sizes none = {-1, -1, -1};
  CHECK(matrices_of({3, 5}, {1, 0}) == Sizes{1, 3, 5});
  CHECK(matrices_of({2, 3, 5}, {0, 2, 1}) == Sizes{2, 3, 5});
  CHECK(matrices_of({1, 3, 5}, {0, 2, 1}) == Sizes{1, 3, 5});
  CHECK(matrices_of({2, 3, 5, 7}, {0, 2, 3, 1}) == Sizes{2, 3, 35});  // NCHW to NHWC
  CHECK(matrices_of({2, 3, 5, 7}, {0, 3, 1, 2}) == Sizes{2, 15, 7});  // and back
  CHECK(matrices_of({2, 3, 5, 7}, {2, 3, 0, 1}) == Sizes{1, 6, 35});
  CHECK(matrices_of({2, 3, 5, 7}, {0, 1, 3, 2}) == Sizes{6, 5, 7});
  CHECK(matrices_of({2, 1, 5, 1, 7}, {0, 4, 3, 2, 1}) == Sizes{2, 5, 7});
  CHECK(matrices_of({}, {}) == none);
  CHECK(matrices_of({5}, {0}) == none);
  CHECK(matrices_of({3, 5}, {0, 1}) == none);
  CHECK(matrices_of({1, 5}, {1, 0}) == none);  // A row is its own transpose.
  CHECK(matrices_of({2, 3, 5}, {1, 0, 2}) == none);
  CHECK(matrices_of({2, 3, 5}, {2, 1, 0}) == none);
  CHECK(matrices_of({2, 3, 5, 7}, {0, 2, 1, 3}) == none);
}

namespace {

/// Compares FastDivisor with / and %: `n` below half of T's range, as it is documented.
template <class T> class DivisorCheck {
public:
  static constexpr T kMost = std::numeric_limits<T>::max() / 2;

  void divide(T n, T d) {
    const auto [quotient, remainder] = FastDivisor<T>(d).divide(n);
    const auto [plain_quotient, plain_remainder] = PlainDivisor<T>(d).divide(n);
    ++divisions_;
    if (quotient == n / d && remainder == n % d && plain_quotient == n / d && plain_remainder == n % d) return;
    if (first_wrong_.empty()) first_wrong_ = std::to_string(n) + " / " + std::to_string(d);
  }

  /// Divides what lies around multiples of d, and around the ends.
  void around_multiples(T d, Dice& dice) {
    const T multiples = kMost / d;
    for (const T k : {T{0}, T{1}, T{2}, T(multiples / 2), T(multiples - (multiples > 0 ? 1 : 0)), multiples,
                      T(dice.bits() % (multiples + T{1}))}) {
      for (const T n : {T(k * d - 1), T(k * d), T(k * d + 1)}) {
        if (n <= kMost) divide(n, d);
      }
    }
    for (const T n : {T{0}, T{1}, T(kMost - 1), kMost, T(dice.bits() % kMost)}) divide(n, d);
  }

  void run(std::uint64_t seed) {
    Dice dice(seed);
    for (T d = 1; d <= 1000; ++d) around_multiples(d, dice);
    for (int bit = 1; bit < std::numeric_limits<T>::digits; ++bit) {
      const T power = T{1} << bit;
      around_multiples(T(power - 1), dice);
      around_multiples(power, dice);
      if (power < kMost) around_multiples(T(power + 1), dice);
    }
    for (int i = 0; i < 200'000; ++i) {
      const T d = T((dice.bits() & kMost) >> dice.uniform(0, std::numeric_limits<T>::digits - 2));
      around_multiples(d == 0 ? T{1} : d, dice);
    }
    CHECK(first_wrong_ == "");
    CHECK(divisions_ > 1'000'000);
  }

private:
  std::string first_wrong_;
  std::int64_t divisions_ = 0;
};

}  // namespace

TEST_CASE("fast division is division") {
  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  SECTION("32 bits") { DivisorCheck<std::uint32_t>().run(seed + 2); }
  SECTION("64 bits") { DivisorCheck<std::uint64_t>().run(seed + 3); }
  SECTION("32 bits, every small number") {
    std::int64_t wrong = 0;
    for (std::uint32_t d = 1; d <= 600; ++d) {
      const FastDivisor<std::uint32_t> divisor(d);
      for (std::uint32_t n = 0; n <= 5000; ++n) {
        const auto [quotient, remainder] = divisor.divide(n);
        wrong += quotient == n / d && remainder == n % d ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace warpbook::chapter3
