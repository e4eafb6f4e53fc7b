#include "chapters/chapter5_index_add/index_add_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/harness/float_elements.hpp"
#include "common/harness/format.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter5 {
namespace {

constexpr Choice<ElementType> kTypes[] = {
    {"half", ElementType::float16},   {"bfloat16", ElementType::bfloat16}, {"float", ElementType::float32},
    {"double", ElementType::float64}, {"int8", ElementType::int8},         {"uint8", ElementType::uint8},
    {"int16", ElementType::int16},    {"int32", ElementType::int32},       {"int64", ElementType::int64}};
constexpr Choice<int> kIndexTypes[] = {{"int64", 8}, {"int32", 4}};
const std::vector<std::string> kDraws = {"uniform", "zipf", "distinct", "same", "ends"};
const std::vector<std::string> kDstLayouts = {"contiguous", "reversed", "gaps"};
const std::vector<std::string> kSrcLayouts = {"contiguous", "reversed", "gaps", "broadcast"};

bool is_integer(ElementType type) { return type >= ElementType::int8; }

/// The layout of a type with a fraction.
FloatType float_type(ElementType type) {
  return type == ElementType::float16    ? FloatType::half
         : type == ElementType::bfloat16 ? FloatType::bfloat16
         : type == ElementType::float64  ? FloatType::float64
                                         : FloatType::float32;
}

/// The element at p as the reference's Number: a double, or 64 bits that wrap around.
template <class Number> Number load(ElementType type, const std::byte* p) {
  if constexpr (std::is_same_v<Number, double>) return decode(float_type(type), p);
  return static_cast<Number>(load_integer(p, element_bytes(type)));
}

/// Writes the element at p; a double is rounded to nearest.
template <class Number> void store(ElementType type, std::byte* p, Number value) {
  if constexpr (std::is_same_v<Number, double>) {
    encode(float_type(type), value, p);
  } else {
    store_integer(p, element_bytes(type), static_cast<std::int64_t>(value));
  }
}

/// The view of a shape in a layout.
TensorView laid_out(const std::vector<std::int64_t>& shape, const std::string& layout) {
  TensorView view = contiguous_view(static_cast<int>(shape.size()), shape.data());
  if (layout == "contiguous") return view;
  std::int64_t stride = layout == "gaps" ? 2 : 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t d = layout == "reversed" ? k : shape.size() - 1 - k;  // Reversed: the first is the fastest.
    const bool repeats = layout == "broadcast" && k == 0;  // The same value along the last dimension.
    view.strides[d] = repeats ? 0 : stride;
    // Gaps are as if every dimension were one longer, and every second element taken.
    if (!repeats) stride *= layout == "gaps" ? shape[d] + 1 : std::max<std::int64_t>(1, shape[d]);
  }
  return view;
}

/// A view's sizes.
std::string joined(const TensorView& v, const char* separator) {
  return fmt::format("{}", fmt::join(v.sizes.data(), v.sizes.data() + v.dims, separator));
}

/// Elements of the array that holds a view.
std::int64_t elements_of(const TensorView& view) { return view.count() == 0 ? 0 : view.reach() + 1; }

/// The entries that name a row, by rows: those of one row lie together, in their own order.
struct Groups {
  std::vector<std::int64_t> entry;
  std::vector<std::size_t> begin;  // Of each group in `entry`, and the end of the last.

  std::size_t size() const { return begin.size() - 1; }
  std::int64_t terms(std::size_t group) const { return static_cast<std::int64_t>(begin[group + 1] - begin[group]); }
};

Groups group_by_row(const std::vector<std::int64_t>& index, std::int64_t rows) {
  Groups groups;
  const auto row_of = [&](std::int64_t entry) { return index[static_cast<std::size_t>(entry)]; };
  for (std::int64_t e = 0; e < static_cast<std::int64_t>(index.size()); ++e) {
    if (row_of(e) >= 0 && row_of(e) < rows) groups.entry.push_back(e);
  }
  if (rows <= 4 * static_cast<std::int64_t>(index.size())) {  // Few enough to count.
    std::vector<std::size_t> next(static_cast<std::size_t>(rows) + 1);
    for (const std::int64_t e : groups.entry) ++next[static_cast<std::size_t>(row_of(e)) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::int64_t> sorted(groups.entry.size());
    for (const std::int64_t e : groups.entry) sorted[next[static_cast<std::size_t>(row_of(e))]++] = e;
    groups.entry = std::move(sorted);
  } else {
    std::ranges::sort(groups.entry, {}, [&](std::int64_t e) { return std::pair(row_of(e), e); });
  }
  for (std::size_t i = 0; i < groups.entry.size(); ++i) {
    if (i == 0 || row_of(groups.entry[i]) != row_of(groups.entry[i - 1])) groups.begin.push_back(i);
  }
  groups.begin.push_back(groups.entry.size());
  return groups;
}

/// Adds all entries to dst, in double or in whole numbers that wrap around. A piece of a row is one thread's, which
/// adds up its entries in their order.
template <class Number>
void add_all(const IndexAddProblem& p, const std::vector<std::int64_t>& index, std::span<const std::byte> src,
             std::span<std::byte> dst, Number alpha) {
  const std::int64_t width = element_bytes(p.type);
  constexpr std::int64_t kMostInPiece = 512;
  const Groups groups = group_by_row(index, p.rows());
  const auto count = static_cast<std::int64_t>(groups.size());
  TensorView dst_row = p.dst;
  TensorView src_row = p.src;
  dst_row.sizes[p.dim] = src_row.sizes[p.dim] = 1;
  const std::int64_t n = p.row_elements();
  std::vector<std::pair<std::int64_t, std::int64_t>> places(static_cast<std::size_t>(n));  // In dst and src, in bytes.
  parallel_each(n, [&](std::int64_t i) {
    places[static_cast<std::size_t>(i)] = {dst_row.offset_of(i) * width, src_row.offset_of(i) * width};
  });
  const std::int64_t piece = std::clamp<std::int64_t>(n * count / 256, 1, kMostInPiece);
  const std::int64_t pieces = (n + piece - 1) / piece;
  parallel_each(pieces * count, [&](std::int64_t item) {
    const std::int64_t begin = item / count * piece;  // Rows that are neighbours may share cache lines.
    const std::span here(places.data() + begin, static_cast<std::size_t>(std::min(piece, n - begin)));
    const auto group = static_cast<std::size_t>(item % count);
    const std::int64_t row = index[static_cast<std::size_t>(groups.entry[groups.begin[group]])];
    std::byte* const to = dst.data() + row * p.dst.strides[p.dim] * width;
    std::array<Number, kMostInPiece> sums;
    for (std::size_t i = 0; i < here.size(); ++i) sums[i] = load<Number>(p.type, to + here[i].first);
    for (std::size_t e = groups.begin[group]; e < groups.begin[group + 1]; ++e) {
      const std::byte* const from = src.data() + groups.entry[e] * p.src.strides[p.dim] * width;
      for (std::size_t i = 0; i < here.size(); ++i) sums[i] += alpha * load<Number>(p.type, from + here[i].second);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {  // What stays the same keeps its bits: -0.0 too.
      std::byte* const at = to + here[i].first;
      if (load<Number>(p.type, at) != sums[i]) store(p.type, at, sums[i]);
    }
  });
}

}  // namespace

IndexAddCase::IndexAddCase(const Parameters& parameters) {
  std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::int64_t dim = parameters.integer("dim", 0);
  const std::int64_t count = parameters.integer("count", -1);
  problem_.type = parameters.choice("dtype", kTypes, ElementType::float32);
  problem_.index_bytes = parameters.choice("index", kIndexTypes, 8);
  draw_ = parameters.one_of("draw", kDraws);
  dst_layout_ = parameters.one_of("dst", kDstLayouts);
  src_layout_ = parameters.one_of("src", kSrcLayouts);
  real_ = parameters.one_of("values", {"exact", "real"}) == "real";
  alpha_ = parameters.word("alpha", "1");
  offset_ = parameters.offset();
  outside_ = parameters.integer("outside", 0);
  parameters.refuse_unknown();

  if (shape.empty() || shape.size() > static_cast<std::size_t>(kMaxViewDims)) {
    throw BadInput(fmt::format("shape has {} dimensions; accepted are 1 to {}", shape.size(), kMaxViewDims));
  }
  check_sizes(shape, shape, std::int64_t{1} << 40U, "more than 2^40 elements", 2);
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) {
    throw BadInput(fmt::format("dim={} is none of the shape's {} dimensions, counted from 0", dim, shape.size()));
  }
  if (count < 0 || count > (std::int64_t{1} << 30U)) {
    throw BadInput(fmt::format("count={}: the number of entries is needed, 0 to 2^30", count));
  }
  problem_.dim = static_cast<int>(dim);
  const std::int64_t rows = shape[static_cast<std::size_t>(dim)];
  problem_.dst = laid_out(shape, dst_layout_);
  shape[static_cast<std::size_t>(dim)] = count;
  problem_.src = laid_out(shape, src_layout_);
  if (rows == 0 && count > outside_) throw BadInput("a dimension of size 0 takes no entries: count must be 0");
  if (problem_.index_bytes == 4 && rows > std::numeric_limits<std::int32_t>::max()) {
    throw BadInput(fmt::format("shape={}: int32 cannot name all rows", joined(problem_.dst, ",")));
  }
  if (draw_ == "distinct" && count > rows) {
    throw BadInput(fmt::format("draw=distinct: {} entries cannot name different ones of {} rows", count, rows));
  }
  const std::optional<double> alpha = parse_number(alpha_);
  if (!alpha) throw BadInput(fmt::format("alpha={} is no number", alpha_));
  problem_.alpha = *alpha;
  if (std::fabs(problem_.alpha) < 0x1p63) problem_.alpha_integer = static_cast<std::int64_t>(problem_.alpha);
  if (is_integer(problem_.type) && static_cast<double>(problem_.alpha_integer) != problem_.alpha) {
    throw BadInput(fmt::format("alpha={} must be a whole number of 64 bits for {}", alpha_, dtype()));
  }
  problem_.alignment = alignment_of(static_cast<std::uintptr_t>(output().offset_bytes));
  if (outside_ < 0 || outside_ > count) throw BadInput(fmt::format("outside={} must be 0 to count", outside_));
  if (const char* reason = refuse_problem(problem_)) throw BadInput(reason);
  choose_values();
  refuse_overflow();
}

/// Values are of random sign, so n of them add up to some sqrt(n) of the largest; 8 times as much is never seen.
void IndexAddCase::refuse_overflow() const {
  if (is_integer(problem_.type)) return;  // Whole numbers wrap around.
  const auto terms = static_cast<double>(most_terms_);
  const double value = real_ ? 1 : static_cast<double>(largest_) / 16;
  const double sum = value * (1 + std::min(terms, 8 * std::sqrt(terms)) * std::fabs(problem_.alpha));
  const double most = problem_.type == ElementType::float16   ? 65504
                      : problem_.type == ElementType::float64 ? std::numeric_limits<double>::max()
                                                              : std::numeric_limits<float>::max() / 2;
  if (std::max(sum, std::fabs(problem_.alpha)) > most)
    throw BadInput(fmt::format("alpha={}: sums do not fit {}", alpha_, dtype()));
}

const char* IndexAddCase::dtype() const { return name_of(kTypes, problem_.type); }

/// Counts what the index names, and finds the largest values whose sums stay exact.
void IndexAddCase::choose_values() {
  const Groups groups = group_by_row(index(0), problem_.rows());
  distinct_ = static_cast<std::int64_t>(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) most_terms_ = std::max(most_terms_, groups.terms(g));
  if (is_integer(problem_.type)) return;
  const int digits = significand_bits(float_type(problem_.type));

  // In sixteenths, the sum of all terms' magnitudes has to fit the significand. Only factors that keep them whole, or
  // halve them, leave products exact.
  const double factor = std::fabs(problem_.alpha);
  const bool exact_factor = factor == 0.5 || factor == 1 || factor == 2;
  const std::int64_t weight = (factor == 1 ? 1 : 2) * (most_terms_ + 1);
  const bool rounds = real_ || !exact_factor;
  wide_ = digits < 24 && weight > (std::int64_t{1} << digits) / (rounds ? 8 : 1);
  const std::int64_t room = (std::int64_t{1} << std::min(wide_ ? 24 : digits, 40)) / weight;
  largest_ = std::clamp<std::int64_t>(room, 1, wide_ ? 3 : 100);
  exact_ = !rounds && room >= 1;
}

std::uint64_t IndexAddCase::outside() const {
  return outside_ == 0 ? 0 : static_cast<std::uint64_t>(bad_position(outside_ - 1)) + 1;
}

std::vector<std::int64_t> IndexAddCase::index(std::uint64_t seed) const {
  const std::int64_t rows = problem_.rows();
  const std::int64_t entries = problem_.entries();
  std::vector<std::int64_t> result(static_cast<std::size_t>(entries));
  const auto draw = [&](std::int64_t i) { return mix(0x5eed + static_cast<std::uint64_t>(i)); };
  // A factor without a common divisor with the rows scatters neighbours, each to a place of its own.
  std::int64_t spread = 7919;
  while (rows > 0 && std::gcd(spread, rows) != 1) ++spread;
  // The seed turns the rows round, all by the same number: how often each is named depends on the case alone.
  const std::int64_t turn = rows > 0 && draw_ != "ends" ? static_cast<std::int64_t>(mix(seed) % rows) : 0;
  for (std::int64_t i = 0; rows > 0 && i < entries; ++i) {
    std::int64_t row = 0;
    if (draw_ == "uniform") {
      row = static_cast<std::int64_t>(draw(i) % static_cast<std::uint64_t>(rows));
    } else if (draw_ == "zipf") {  // Row number k about in proportion to 1 / k: the logarithm is uniform.
      const double share = static_cast<double>(draw(i) >> 11U) / static_cast<double>(std::uint64_t{1} << 53U);
      const double rank = std::exp(share * std::log(static_cast<double>(rows) + 1));
      row = std::clamp<std::int64_t>(static_cast<std::int64_t>(rank) - 1, 0, rows - 1) * spread % rows;
    } else if (draw_ == "distinct") {
      row = i * spread % rows;
    } else if (draw_ == "ends") {
      row = draw(i) % 2 == 0 ? 0 : rows - 1;
    }
    result[static_cast<std::size_t>(i)] = (row + turn) % rows;
  }
  const std::int64_t lowest = problem_.index_bytes == 8 ? INT64_MIN : INT32_MIN;
  const std::int64_t highest = problem_.index_bytes == 8 ? INT64_MAX : INT32_MAX;
  const std::int64_t bad[] = {rows, -1, lowest, highest};
  for (std::int64_t i = 0; i < outside_; ++i) result[static_cast<std::size_t>(bad_position(i))] = bad[i % 4];
  return result;
}

std::string IndexAddCase::unusual(const char* before, const char* between) const {
  std::string text;
  const auto add = [&](const char* key, const std::string& value, const char* usual) {
    if (value != usual) text += fmt::format("{}{}{}{}", before, key, between, value);
  };
  add("dst", dst_layout_, "contiguous");
  add("src", src_layout_, "contiguous");
  add("alpha", alpha_, "1");
  return text;
}

std::string IndexAddCase::title() const {
  return fmt::format("{} += {}  dim {}  {}  {}{}{}{}{}{}", joined(problem_.dst, "x"), joined(problem_.src, "x"),
                     problem_.dim, draw_, dtype(), problem_.index_bytes == 4 ? "  int32" : "", unusual("  ", " "),
                     real_ ? "  real" : "", if_any("  offset ", offset_),
                     outside_ == 0 ? "" : fmt::format("  {} outside", outside_));
}

std::string IndexAddCase::parameters() const {
  return fmt::format("shape={} dim={} count={} dtype={}{}{}{}{}{}{}", joined(problem_.dst, ","), problem_.dim,
                     problem_.entries(), dtype(), problem_.index_bytes == 4 ? " index=int32" : "",
                     draw_ == "uniform" ? "" : " draw=" + draw_, unusual(" ", "="), real_ ? " values=real" : "",
                     if_any(" offset=", offset_), if_any(" outside=", outside_));
}

std::vector<BufferLayout> IndexAddCase::inputs() const {
  const int bytes = element_bytes(problem_.type);
  return {{"index", problem_.entries(), problem_.index_bytes, offset_ * problem_.index_bytes},
          {"src", elements_of(problem_.src), bytes, offset_ * bytes}};
}

BufferLayout IndexAddCase::output() const {
  const int bytes = element_bytes(problem_.type);
  return {"dst", elements_of(problem_.dst), bytes, offset_ * bytes};
}

std::int64_t IndexAddCase::bytes_moved() const {
  const std::int64_t row = problem_.row_elements() * element_bytes(problem_.type);
  // A broadcast dimension is read once.
  const std::int64_t src = std::min(elements_of(problem_.src) * element_bytes(problem_.type), problem_.entries() * row);
  return src + problem_.entries() * problem_.index_bytes + 2 * distinct_ * row;
}

std::int64_t IndexAddCase::scratch_bytes() const {
  return kOutsideBytes + static_cast<std::int64_t>(step_workspace_bytes(problem_));
}

void IndexAddCase::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  if (array == 0) {
    const int width = problem_.index_bytes;
    std::byte* place = bytes.data();
    for (const std::int64_t row : index(seed)) store_integer(std::exchange(place, place + width), width, row);
    return;
  }
  if (is_integer(problem_.type)) return fill_with_random_bits(seed, bytes);
  const std::int64_t width = element_bytes(problem_.type);
  parallel_each(static_cast<std::int64_t>(bytes.size()) / width, [&](std::int64_t i) {
    const std::uint64_t random = mix(seed ^ static_cast<std::uint64_t>(i));
    double value = static_cast<double>(random >> 11U) * 0x1p-52 - 1;
    if (!real_) {  // Multiples of 1/16 up to the largest, of either sign.
      const std::uint64_t size = ((random >> 32U) * static_cast<std::uint64_t>(largest_)) >> 32U;
      value = static_cast<double>(size + 1) / ((random & 1U) == 0 ? 16 : -16);
    }
    store(problem_.type, bytes.data() + i * width, value);
  });
}

void IndexAddCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  if (problem_.empty() || expected.empty()) return;
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem_.entries()));
  for (std::size_t e = 0; e < index.size(); ++e) {
    index[e] = load_integer(inputs[0].data() + e * problem_.index_bytes, problem_.index_bytes);
  }
  if (is_integer(problem_.type)) {
    add_all(problem_, index, inputs[1], expected, static_cast<std::uint64_t>(problem_.alpha_integer));
  } else {
    add_all(problem_, index, inputs[1], expected, problem_.alpha);
  }
}

/// How far an element may be from the reference. n + 1 terms added in any order in a type of unit roundoff u, each
/// product rounded once, are off by at most (n + 2) u times the sum of the terms' magnitudes; the reference is itself
/// rounded once. Steps that sum in float round once more at the end.
double IndexAddCase::bound(double expected) const {
  if (exact_) return 0;
  const auto terms = static_cast<double>(most_terms_);
  const double magnitude = (real_ ? 1 : static_cast<double>(largest_) / 16) * (1 + terms * std::fabs(problem_.alpha));
  const double narrow_unit = std::ldexp(1.0, -significand_bits(float_type(problem_.type)));
  const double unit = wide_ ? std::ldexp(1.0, -24) : narrow_unit;
  return (terms + 2) * unit * magnitude + 2 * narrow_unit * std::fabs(expected);
}

Difference IndexAddCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  const ElementType type = problem_.type;
  const int width = element_bytes(type);
  if (is_integer(type)) {
    return compare_bits(expected, actual, width, [&](const std::byte* p) {
      const std::int64_t value = load_integer(p, width);
      return fmt::format("{}", type == ElementType::uint8 ? value & 0xff : value);
    });
  }
  const auto value = [&](const std::byte* p) { return load<double>(type, p); };
  return compare_elements(
      expected, actual, width,
      [&](const std::byte* want, const std::byte* got) {  // False for NaN.
        return std::fabs(value(got) - value(want)) <= bound(value(want));
      },
      [&](const std::byte* p) { return fmt::format("{}", value(p)); });
}

std::string IndexAddCase::coordinate(std::int64_t element) const {
  const TensorView& dst = problem_.dst;
  std::vector<int> order(static_cast<std::size_t>(dst.dims));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater{}, [&](int d) { return dst.strides[d]; });
  std::vector<std::int64_t> coordinate(order.size());
  std::int64_t rest = element;
  for (const int d : order) {
    const auto at = static_cast<std::size_t>(d);
    coordinate[at] = dst.strides[at] == 0 ? 0 : std::min(rest / dst.strides[at], dst.sizes[at] - 1);
    rest -= coordinate[at] * dst.strides[at];
  }
  if (rest != 0) return fmt::format("between the elements, {} behind the first", element);
  return fmt::format("[{}]", fmt::join(coordinate, ", "));
}

std::string index_add_case_help() {
  return fmt::format(R"(shape=N,N,...  sizes of dst, 1 to {} of them
dim=D          the dimension along which the index counts (default: 0)
count=N        entries of the index; src has this size along dim
dtype=T        {} (default: float)
index=T        int64 or int32 (default: int64)
draw=D         how the index is drawn: {} (default: uniform)
dst=L          how dst lies: {} (default: contiguous)
src=L          how src lies: {} (default: contiguous)
alpha=X        the factor (default: 1)
values=V       exact: sums have no rounding; real: from -1 to 1, compared with a bound (default: exact)
offset=N       all arrays begin N elements behind a 256-byte boundary (default: 0)
outside=N      so many entries name no row (default: 0))",
                     kMaxViewDims, fmt::join(names_of(kTypes), ", "), fmt::join(kDraws, ", "),
                     fmt::join(kDstLayouts, ", "), fmt::join(kSrcLayouts, ", "));
}

}  // namespace warpbook::chapter5
