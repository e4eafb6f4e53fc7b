#include "chapters/chapter5_index_add/index_add_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "chapters/chapter5_index_add/host_numbers.hpp"

namespace warpbook::chapter5 {
namespace {

struct TypeName {
  const char* name;
  ElementType type;
  int digits;  // Of the significand; 0: an integer.
};

constexpr TypeName kTypes[] = {
    {"half", ElementType::float16, 11},   {"bfloat16", ElementType::bfloat16, 8}, {"float", ElementType::float32, 24},
    {"double", ElementType::float64, 53}, {"int8", ElementType::int8, 0},         {"uint8", ElementType::uint8, 0},
    {"int16", ElementType::int16, 0},     {"int32", ElementType::int32, 0},       {"int64", ElementType::int64, 0}};

std::string type_names() {
  std::string names;
  for (const TypeName& t : kTypes) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return names;
}

const TypeName& type_named(const std::string& dtype) {
  for (const TypeName& t : kTypes) {
    if (dtype == t.name) return t;
  }
  throw BadInput(fmt::format("dtype={} is unknown; accepted are {}", dtype, type_names()));
}

const TypeName& description(ElementType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return t.type == type; });
}

std::string choice(const Parameters& parameters, const std::string& key, const std::vector<std::string>& accepted) {
  const std::string given = parameters.has(key) ? parameters.word(key) : accepted.front();
  if (std::find(accepted.begin(), accepted.end(), given) == accepted.end()) {
    throw BadInput(fmt::format("{}={} is unknown; accepted are {}", key, given, fmt::join(accepted, ", ")));
  }
  return given;
}

const std::vector<std::string> kDraws = {"uniform", "zipf", "distinct", "same", "ends"};
const std::vector<std::string> kDstLayouts = {"contiguous", "reversed", "gaps"};
const std::vector<std::string> kSrcLayouts = {"contiguous", "reversed", "gaps", "broadcast"};

// SplitMix64's finaliser: neighbouring numbers become unrelated ones. Source: S. Vigna, public domain.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The view of a shape in a layout.
TensorView laid_out(const std::vector<std::int64_t>& shape, const std::string& layout) {
  TensorView view = contiguous_view(static_cast<int>(shape.size()), shape.data());
  if (layout == "reversed") {  // The first dimension is the fastest.
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      view.strides[d] = stride;
      stride *= std::max<std::int64_t>(1, shape[d]);
    }
  } else if (layout == "gaps") {  // As if every dimension were one longer, and every second element taken.
    std::int64_t stride = 2;
    for (std::size_t d = shape.size(); d-- > 0;) {
      view.strides[d] = stride;
      stride *= shape[d] + 1;
    }
  } else if (layout == "broadcast") {  // The same value along the last dimension.
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      view.strides[d] = d + 1 == shape.size() ? 0 : stride;
      if (d + 1 < shape.size()) stride *= std::max<std::int64_t>(1, shape[d]);
    }
  }
  return view;
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
  const auto inside = [&](std::int64_t row) { return row >= 0 && row < rows; };
  const auto entries = static_cast<std::int64_t>(index.size());
  groups.entry.reserve(index.size());
  if (rows <= 4 * entries) {  // Few enough to count.
    std::vector<std::int64_t> next(static_cast<std::size_t>(rows) + 1);
    for (const std::int64_t row : index) {
      if (inside(row)) ++next[static_cast<std::size_t>(row) + 1];
    }
    for (std::size_t r = 1; r < next.size(); ++r) next[r] += next[r - 1];
    groups.entry.resize(static_cast<std::size_t>(next.back()));
    for (std::int64_t e = 0; e < entries; ++e) {
      const std::int64_t row = index[static_cast<std::size_t>(e)];
      if (inside(row)) groups.entry[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] = e;
    }
  } else {
    for (std::int64_t e = 0; e < entries; ++e) {
      if (inside(index[static_cast<std::size_t>(e)])) groups.entry.push_back(e);
    }
    const auto key = [&](std::int64_t e) { return std::pair(index[static_cast<std::size_t>(e)], e); };
    std::sort(groups.entry.begin(), groups.entry.end(),
              [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  }
  const auto row_of = [&](std::size_t i) { return index[static_cast<std::size_t>(groups.entry[i])]; };
  for (std::size_t i = 0; i < groups.entry.size(); ++i) {
    if (i == 0 || row_of(i) != row_of(i - 1)) groups.begin.push_back(i);
  }
  groups.begin.push_back(groups.entry.size());
  return groups;
}

std::vector<std::int64_t> read_index(std::span<const std::byte> bytes, int index_bytes) {
  std::vector<std::int64_t> index(bytes.size() / static_cast<std::size_t>(index_bytes));
  for (std::size_t e = 0; e < index.size(); ++e) {
    std::int32_t narrow = 0;
    if (index_bytes == 8) {
      std::memcpy(&index[e], bytes.data() + e * 8, 8);
    } else {
      std::memcpy(&narrow, bytes.data() + e * 4, 4);
      index[e] = narrow;
    }
  }
  return index;
}

/// Adds all entries to dst, in double or in whole numbers that wrap around. A piece of a row is one thread's, which
/// adds up its entries in their order.
template <class C>
void add_all(const IndexAddProblem& p, const std::vector<std::int64_t>& index, std::span<const std::byte> src,
             std::span<std::byte> dst, typename C::Number alpha) {
  constexpr std::int64_t kWidth = sizeof(typename C::Bits);
  constexpr std::int64_t kMostInPiece = 512;
  const Groups groups = group_by_row(index, p.rows());
  const auto count = static_cast<std::int64_t>(groups.size());
  TensorView dst_row = p.dst;
  TensorView src_row = p.src;
  dst_row.sizes[p.dim] = src_row.sizes[p.dim] = 1;
  const std::int64_t n = p.row_elements();
  std::vector<std::pair<std::int64_t, std::int64_t>> places(static_cast<std::size_t>(n));  // In dst and src.
  parallel_for(n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      places[static_cast<std::size_t>(i)] = {dst_row.offset_of(i), src_row.offset_of(i)};
    }
  });
  const std::int64_t piece = std::clamp<std::int64_t>(n * count / 256, 1, kMostInPiece);
  const std::int64_t pieces = (n + piece - 1) / piece;
  parallel_for(pieces * count, [&](std::int64_t first, std::int64_t last) {
    std::array<typename C::Number, kMostInPiece> sums;
    for (std::int64_t item = first; item < last; ++item) {
      const std::int64_t begin = item / count * piece;  // Rows that are neighbours may share cache lines.
      const std::int64_t end = std::min(n, begin + piece);
      const auto group = static_cast<std::size_t>(item % count);
      const std::int64_t row = index[static_cast<std::size_t>(groups.entry[groups.begin[group]])];
      std::byte* const to = dst.data() + row * p.dst.strides[p.dim] * kWidth;
      for (std::int64_t i = begin; i < end; ++i) {
        sums[static_cast<std::size_t>(i - begin)] = load<C>(to + places[static_cast<std::size_t>(i)].first * kWidth);
      }
      for (std::size_t e = groups.begin[group]; e < groups.begin[group + 1]; ++e) {
        const std::byte* const from = src.data() + groups.entry[e] * p.src.strides[p.dim] * kWidth;
        for (std::int64_t i = begin; i < end; ++i) {
          sums[static_cast<std::size_t>(i - begin)] +=
              alpha * load<C>(from + places[static_cast<std::size_t>(i)].second * kWidth);
        }
      }
      for (std::int64_t i = begin; i < end; ++i) {
        std::byte* const at = to + places[static_cast<std::size_t>(i)].first * kWidth;
        // What stays the same keeps its bits: -0.0 too.
        if (load<C>(at) != sums[static_cast<std::size_t>(i - begin)]) {
          store<C>(at, sums[static_cast<std::size_t>(i - begin)]);
        }
      }
    }
  });
}

}  // namespace

IndexAddCase::IndexAddCase(const Parameters& parameters) {
  std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::int64_t dim = parameters.integer("dim", 0);
  const std::int64_t count = parameters.integer("count", -1);
  dtype_ = parameters.has("dtype") ? parameters.word("dtype") : "float";
  const std::string index_type = choice(parameters, "index", {"int64", "int32"});
  draw_ = choice(parameters, "draw", kDraws);
  dst_layout_ = choice(parameters, "dst", kDstLayouts);
  src_layout_ = choice(parameters, "src", kSrcLayouts);
  real_ = choice(parameters, "values", {"exact", "real"}) == "real";
  alpha_ = parameters.has("alpha") ? parameters.word("alpha") : "1";
  offset_ = parameters.integer("offset", 0);
  outside_ = parameters.integer("outside", 0);
  parameters.refuse_unknown();

  problem_.type = type_named(dtype_).type;
  problem_.index_bytes = index_type == "int64" ? 8 : 4;
  if (shape.empty() || shape.size() > static_cast<std::size_t>(kMaxViewDims)) {
    throw BadInput(fmt::format("shape has {} dimensions; accepted are 1 to {}", shape.size(), kMaxViewDims));
  }
  const std::string shape_text = fmt::format("{}", fmt::join(shape, ","));
  std::int64_t most = std::int64_t{1} << 40U;
  for (const std::int64_t size : shape) {
    if (size < 0) throw BadInput(fmt::format("shape={} has a negative size", shape_text));
    if (size + 2 > most) throw BadInput(fmt::format("shape={} has more than 2^40 elements", shape_text));
    most /= size + 2;
  }
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
    throw BadInput(fmt::format("shape={}: int32 cannot name all rows", shape_text));
  }
  if (draw_ == "distinct" && count > rows) {
    throw BadInput(fmt::format("draw=distinct: {} entries cannot name different ones of {} rows", count, rows));
  }
  const char* const first = alpha_.data();
  const char* const last = first + alpha_.size();
  if (const auto [end, error] = std::from_chars(first, last, problem_.alpha);
      error != std::errc{} || end != last || !std::isfinite(problem_.alpha)) {
    throw BadInput(fmt::format("alpha={} is no number", alpha_));
  }
  if (std::fabs(problem_.alpha) < 0x1p63) problem_.alpha_integer = static_cast<std::int64_t>(problem_.alpha);
  if (type_named(dtype_).digits == 0 && static_cast<double>(problem_.alpha_integer) != problem_.alpha) {
    throw BadInput(fmt::format("alpha={} must be a whole number of 64 bits for {}", alpha_, dtype_));
  }
  if (offset_ < 0 || offset_ > 255) throw BadInput(fmt::format("offset={} must be 0 to 255 elements", offset_));
  problem_.alignment = alignment_of(static_cast<std::uintptr_t>(offset_ * element_bytes(problem_.type)));
  if (outside_ < 0 || outside_ > count) throw BadInput(fmt::format("outside={} must be 0 to count", outside_));
  if (const char* reason = refuse_problem(problem_)) throw BadInput(reason);
  choose_values();
  refuse_overflow();
}

/// Values are of random sign, so n of them add up to some sqrt(n) of the largest; 8 times as much is never seen.
void IndexAddCase::refuse_overflow() const {
  if (description(problem_.type).digits == 0) return;  // Whole numbers wrap around.
  const auto terms = static_cast<double>(most_terms_);
  const double value = real_ ? 1 : static_cast<double>(largest_) / 16;
  const double sum = value * (1 + std::min(terms, 8 * std::sqrt(terms)) * std::fabs(problem_.alpha));
  const double most = problem_.type == ElementType::float16   ? 65504
                      : problem_.type == ElementType::float64 ? std::numeric_limits<double>::max()
                                                              : std::numeric_limits<float>::max() / 2;
  if (std::max(sum, std::fabs(problem_.alpha)) > most)
    throw BadInput(fmt::format("alpha={}: sums do not fit {}", alpha_, dtype_));
}

/// Counts what the index names, and finds the largest values whose sums stay exact.
void IndexAddCase::choose_values() {
  const Groups groups = group_by_row(index(0), problem_.rows());
  distinct_ = static_cast<std::int64_t>(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) most_terms_ = std::max(most_terms_, groups.terms(g));
  const TypeName& type = description(problem_.type);
  if (type.digits == 0) return;

  // In sixteenths, the sum of all terms' magnitudes has to fit the significand. Only factors that keep them whole, or
  // halve them, leave products exact.
  const double factor = std::fabs(problem_.alpha);
  const bool exact_factor = factor == 0.5 || factor == 1 || factor == 2;
  const std::int64_t weight = (factor == 1 ? 1 : 2) * (most_terms_ + 1);
  const auto room = [&](int digits) { return (std::int64_t{1} << std::min(digits, 40)) / weight; };
  constexpr std::int64_t kMost = 100;
  if (type.digits < 24 && weight > (std::int64_t{1} << type.digits) / (real_ || !exact_factor ? 8 : 1)) {
    wide_ = true;
    largest_ = std::min<std::int64_t>(3, std::max<std::int64_t>(1, room(24)));
    exact_ = !real_ && exact_factor && room(24) >= 1;
  } else {
    largest_ = std::clamp<std::int64_t>(room(type.digits), 1, kMost);
    exact_ = !real_ && exact_factor && room(type.digits) >= 1;
  }
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

std::string IndexAddCase::title() const {
  const auto sizes = [](const TensorView& v) {
    return fmt::format("{}", fmt::join(v.sizes.data(), v.sizes.data() + v.dims, "x"));
  };
  std::string text =
      fmt::format("{} += {}  dim {}  {}  {}", sizes(problem_.dst), sizes(problem_.src), problem_.dim, draw_, dtype_);
  if (problem_.index_bytes == 4) text += "  int32";
  if (dst_layout_ != "contiguous") text += "  dst " + dst_layout_;
  if (src_layout_ != "contiguous") text += "  src " + src_layout_;
  if (alpha_ != "1") text += "  alpha " + alpha_;
  if (real_) text += "  real";
  if (offset_ != 0) text += fmt::format("  offset {}", offset_);
  if (outside_ != 0) text += fmt::format("  {} outside", outside_);
  return text;
}

std::string IndexAddCase::parameters() const {
  const auto& dst = problem_.dst;
  std::string text =
      fmt::format("shape={} dim={} count={} dtype={}", fmt::join(dst.sizes.data(), dst.sizes.data() + dst.dims, ","),
                  problem_.dim, problem_.entries(), dtype_);
  if (problem_.index_bytes == 4) text += " index=int32";
  if (draw_ != "uniform") text += " draw=" + draw_;
  if (dst_layout_ != "contiguous") text += " dst=" + dst_layout_;
  if (src_layout_ != "contiguous") text += " src=" + src_layout_;
  if (alpha_ != "1") text += " alpha=" + alpha_;
  if (real_) text += " values=real";
  if (offset_ != 0) text += fmt::format(" offset={}", offset_);
  if (outside_ != 0) text += fmt::format(" outside={}", outside_);
  return text;
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
    const std::vector<std::int64_t> values = index(seed);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto narrow = static_cast<std::int32_t>(values[i]);
      if (problem_.index_bytes == 8) {
        std::memcpy(bytes.data() + i * 8, &values[i], 8);
      } else {
        std::memcpy(bytes.data() + i * 4, &narrow, 4);
      }
    }
    return;
  }
  with_codec(problem_.type, [&]<class C>(C) {
    using Bits = typename C::Bits;
    constexpr std::size_t kWidth = sizeof(Bits);
    // Exact values: multiples of 1/16 up to the largest, of either sign.
    const auto sizes = static_cast<std::uint64_t>(largest_);
    std::vector<Bits> exact(2 * sizes);
    for (std::uint64_t i = 0; i < sizes; ++i) {
      const double value = static_cast<double>(i + 1) / 16;
      exact[i] = C::store(static_cast<typename C::Number>(value));
      if constexpr (!std::is_integral_v<typename C::Number>) exact[sizes + i] = C::store(-value);
    }
    const bool whole = std::is_integral_v<typename C::Number>;
    parallel_for(static_cast<std::int64_t>(bytes.size() / kWidth), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint64_t random = mix(seed ^ static_cast<std::uint64_t>(i));
        std::byte* const place = bytes.data() + static_cast<std::size_t>(i) * kWidth;
        if (whole) {
          std::memcpy(place, &random, kWidth);
        } else if (real_) {
          store<C>(place, static_cast<typename C::Number>(static_cast<double>(random >> 11U) * 0x1p-52 - 1));
        } else {
          const std::uint64_t size = ((random >> 32U) * sizes) >> 32U;
          std::memcpy(place, &exact[(random & 1U) * sizes + size], kWidth);
        }
      }
    });
  });
}

void IndexAddCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  if (problem_.empty() || expected.empty()) return;
  const std::vector<std::int64_t> index = read_index(inputs[0], problem_.index_bytes);
  with_codec(problem_.type, [&]<class C>(C) {
    if constexpr (std::is_integral_v<typename C::Number>) {
      add_all<C>(problem_, index, inputs[1], expected, static_cast<std::uint64_t>(problem_.alpha_integer));
    } else {
      add_all<C>(problem_, index, inputs[1], expected, problem_.alpha);
    }
  });
}

/// How far an element may be from the reference. n + 1 terms added in any order in a type of unit roundoff u, each
/// product rounded once, are off by at most (n + 2) u times the sum of the terms' magnitudes; the reference is itself
/// rounded once. Steps that sum in float round once more at the end.
double IndexAddCase::bound(double expected) const {
  if (exact_) return 0;
  const auto terms = static_cast<double>(most_terms_);
  const double magnitude = (real_ ? 1 : static_cast<double>(largest_) / 16) * (1 + terms * std::fabs(problem_.alpha));
  const double narrow_unit = std::ldexp(1.0, -description(problem_.type).digits);
  const double unit = wide_ ? std::ldexp(1.0, -24) : narrow_unit;
  return (terms + 2) * unit * magnitude + 2 * narrow_unit * std::fabs(expected);
}

Difference IndexAddCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  return with_codec(problem_.type, [&]<class C>(C) -> Difference {
    constexpr std::size_t kWidth = sizeof(typename C::Bits);
    if constexpr (std::is_integral_v<typename C::Number>) {
      return compare_bits(expected, actual, kWidth,
                          [](const std::byte* p) { return fmt::format("{}", static_cast<std::int64_t>(load<C>(p))); });
    } else {
      Difference result;
      for (std::size_t i = 0; i < expected.size(); i += kWidth) {
        const double want = load<C>(&expected[i]);
        const double got = load<C>(&actual[i]);
        if (std::fabs(got - want) <= bound(want)) continue;  // False for NaN.
        if (result.count++ == 0) {
          result.first = static_cast<std::int64_t>(i / kWidth);
          result.expected = fmt::format("{}", want);
          result.actual = fmt::format("{}", got);
        }
      }
      return result;
    }
  });
}

std::string IndexAddCase::coordinate(std::int64_t element) const {
  const TensorView& dst = problem_.dst;
  std::vector<int> order(static_cast<std::size_t>(dst.dims));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return dst.strides[static_cast<std::size_t>(a)] > dst.strides[static_cast<std::size_t>(b)];
  });
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
  return fmt::format(
      "shape=N,N,...  sizes of dst, 1 to {} of them\n"
      "dim=D          the dimension along which the index counts (default: 0)\n"
      "count=N        entries of the index; src has this size along dim\n"
      "dtype=T        {} (default: float)\n"
      "index=T        int64 or int32 (default: int64)\n"
      "draw=D         how the index is drawn: {} (default: uniform)\n"
      "dst=L          how dst lies: {} (default: contiguous)\n"
      "src=L          how src lies: {} (default: contiguous)\n"
      "alpha=X        the factor (default: 1)\n"
      "values=V       exact: sums have no rounding; real: from -1 to 1, compared with a bound (default: exact)\n"
      "offset=N       all arrays begin N elements behind a 256-byte boundary (default: 0)\n"
      "outside=N      so many entries name no row (default: 0)",
      kMaxViewDims, type_names(), fmt::join(kDraws, ", "), fmt::join(kDstLayouts, ", "), fmt::join(kSrcLayouts, ", "));
}

}  // namespace warpbook::chapter5
