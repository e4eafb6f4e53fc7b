#include "chapters/chapter5_index_add/index_add_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

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

// ---- Narrow floating types on the host, by their bits.

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const int exponent = (bits >> 10U) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13U));
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : std::ldexp(static_cast<float>(fraction | 0x400U), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

/// Rounds to nearest, ties to even.
std::uint16_t half_from(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < std::ldexp(1.0, -14)) return static_cast<std::uint16_t>(sign | std::lrint(std::ldexp(magnitude, 24)));
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);           // 0.5 to 1.
  const auto scaled = static_cast<int>(std::lrint(fraction * 2048));  // 1024 to 2048: may carry into the exponent.
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + scaled));
}

std::uint16_t bfloat16_from(double value) {
  // Through float to odd, so that rounding twice is rounding once.
  float nearest = static_cast<float>(value);
  if (std::isnan(value)) return 0x7fc0;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (static_cast<double>(nearest) != value) {
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
    bits |= 1;
  }
  bits += 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>(bits >> 16U);
}

/// Calls `f(T{})` with a host type of the element's size and meaning; half and bfloat16 as uint16 with `narrow` set.
template <class F> void with_host_type(ElementType type, F&& f) {
  switch (type) {
  case ElementType::float32:
    return f(float{});
  case ElementType::float64:
    return f(double{});
  case ElementType::int8:
    return f(std::int8_t{});
  case ElementType::uint8:
    return f(std::uint8_t{});
  case ElementType::int16:
    return f(std::int16_t{});
  case ElementType::int32:
    return f(std::int32_t{});
  case ElementType::int64:
    return f(std::int64_t{});
  default:
    return f(std::uint16_t{});
  }
}

/// An element as a double.
double value_at(ElementType type, const std::byte* p) {
  double result = 0;
  with_host_type(type, [&]<class T>(T bits) {
    std::memcpy(&bits, p, sizeof(T));
    if (type == ElementType::float16) {
      result = half_to_float(static_cast<std::uint16_t>(bits));
    } else if (type == ElementType::bfloat16) {
      result = bfloat16_to_float(static_cast<std::uint16_t>(bits));
    } else {
      result = static_cast<double>(bits);
    }
  });
  return result;
}

void store(ElementType type, std::byte* p, double value) {
  if (type == ElementType::float16 || type == ElementType::bfloat16) {
    const std::uint16_t bits = type == ElementType::float16 ? half_from(value) : bfloat16_from(value);
    std::memcpy(p, &bits, 2);
  } else if (type == ElementType::float32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(p, &narrow, 4);
  } else {
    std::memcpy(p, &value, 8);
  }
}

/// Adds all entries, in double or in whole numbers that wrap around.
template <class Value> struct Adder {
  const IndexAddProblem& p;
  std::vector<std::int64_t> index;
  Value alpha;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;  // Of a row's elements, in dst and src.

  Adder(const IndexAddProblem& problem, std::span<const std::byte> index_bytes, Value factor)
      : p(problem), index(static_cast<std::size_t>(problem.entries())), alpha(factor) {
    for (std::size_t e = 0; e < index.size(); ++e) {
      if (p.index_bytes == 8) {
        std::memcpy(&index[e], index_bytes.data() + e * 8, 8);
      } else {
        std::int32_t narrow = 0;
        std::memcpy(&narrow, index_bytes.data() + e * 4, 4);
        index[e] = narrow;
      }
    }
    TensorView dst_row = p.dst;
    TensorView src_row = p.src;
    dst_row.sizes[p.dim] = src_row.sizes[p.dim] = 1;
    const std::int64_t n = p.row_elements();
    places.resize(static_cast<std::size_t>(n));
    parallel_for(n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        places[static_cast<std::size_t>(i)] = {dst_row.offset_of(i), src_row.offset_of(i)};
      }
    });
  }

  /// `load(offset)` is src's element, `sums` dst's. A part of the rows is one thread's, or a part of each row's
  /// elements where the rows are few; either way a sum gets its entries in their order.
  template <class Load> void add(Value* sums, Load&& load) const {
    constexpr std::int64_t kParts = 64;
    const bool by_rows = p.rows() >= 4 * kParts;
    parallel_for(by_rows ? kParts : static_cast<std::int64_t>(places.size()),
                 [&](std::int64_t begin, std::int64_t end) {
                   const auto row_begin = by_rows ? p.rows() * begin / kParts : 0;
                   const auto row_end = by_rows ? p.rows() * end / kParts : p.rows();
                   for (std::size_t e = 0; e < index.size(); ++e) {
                     if (index[e] < row_begin || index[e] >= row_end) continue;
                     const std::int64_t to = index[e] * p.dst.strides[p.dim];
                     const std::int64_t from = static_cast<std::int64_t>(e) * p.src.strides[p.dim];
                     const std::int64_t last = by_rows ? static_cast<std::int64_t>(places.size()) : end;
                     for (std::int64_t i = by_rows ? 0 : begin; i < last; ++i) {
                       const auto& [dst, src] = places[static_cast<std::size_t>(i)];
                       sums[to + dst] += alpha * load(from + src);
                     }
                   }
                 });
  }
};

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
  problem_.alpha_integer = static_cast<std::int64_t>(problem_.alpha);
  if (type_named(dtype_).digits == 0 && static_cast<double>(problem_.alpha_integer) != problem_.alpha) {
    throw BadInput(fmt::format("alpha={} must be a whole number for {}", alpha_, dtype_));
  }
  if (offset_ < 0 || offset_ > 255) throw BadInput(fmt::format("offset={} must be 0 to 255 elements", offset_));
  if (outside_ < 0 || outside_ > count) throw BadInput(fmt::format("outside={} must be 0 to count", outside_));
  if (const char* reason = refuse_problem(problem_)) throw BadInput(reason);
  choose_values();
}

/// Counts what the index names, and finds the largest values whose sums stay exact.
void IndexAddCase::choose_values() {
  std::vector<std::int64_t> rows = index(0);
  std::erase_if(rows, [&](std::int64_t row) { return row < 0 || row >= problem_.rows(); });
  std::sort(rows.begin(), rows.end());
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end] == rows[begin]) ++end;
    most_terms_ = std::max(most_terms_, static_cast<std::int64_t>(end - begin));
    ++distinct_;
    begin = end;
  }
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
  const int width = element_bytes(problem_.type);
  const bool integer = description(problem_.type).digits == 0;
  parallel_for(static_cast<std::int64_t>(bytes.size()) / width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t random = mix(seed ^ static_cast<std::uint64_t>(i));
      std::byte* const place = bytes.data() + i * width;
      if (integer) {
        std::memcpy(place, &random, static_cast<std::size_t>(width));
      } else if (real_) {
        store(problem_.type, place, static_cast<double>(random >> 11U) * 0x1p-52 - 1);
      } else {
        const auto size = 1 + static_cast<std::int64_t>((random >> 8U) % static_cast<std::uint64_t>(largest_));
        store(problem_.type, place, static_cast<double>((random & 1) != 0 ? size : -size) / 16);
      }
    }
  });
}

void IndexAddCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  if (problem_.empty() || expected.empty()) return;
  const int width = element_bytes(problem_.type);
  const auto count = static_cast<std::int64_t>(expected.size()) / width;
  const std::span<const std::byte> src = inputs[1];
  const ElementType type = problem_.type;
  const auto sum_all = [&]<class Value>(Value alpha, auto&& load, auto&& keep) {
    std::vector<Value> sums(static_cast<std::size_t>(count));
    parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] = load(expected.data() + i * width);
    });
    Adder<Value>(problem_, inputs[0], alpha).add(sums.data(), [&](std::int64_t i) {
      return load(src.data() + i * width);
    });
    parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) keep(expected.data() + i * width, sums[static_cast<std::size_t>(i)]);
    });
  };
  if (description(type).digits == 0) {
    sum_all(
        static_cast<std::uint64_t>(problem_.alpha_integer),
        [&](const std::byte* p) {
          std::uint64_t value = 0;
          std::memcpy(&value, p, static_cast<std::size_t>(width));  // The bits above do not matter: sums wrap around.
          return value;
        },
        [&](std::byte* p, std::uint64_t sum) { std::memcpy(p, &sum, static_cast<std::size_t>(width)); });
  } else {
    sum_all(
        problem_.alpha, [&](const std::byte* p) { return value_at(type, p); },
        [&](std::byte* p, double sum) {
          // What nothing was added to keeps its bits: -0.0 too.
          if (value_at(type, p) != sum) store(type, p, sum);
        });
  }
}

/// How far an element may be from the reference. n + 1 terms added in any order in a type of unit roundoff u, each
/// product rounded once, are off by at most (n + 2) u times the sum of the terms' magnitudes; the reference is itself
/// rounded once. Steps that sum in float round once more at the end.
double IndexAddCase::bound(double expected) const {
  if (exact_) return 0;
  const auto terms = static_cast<double>(most_terms_);
  const double magnitude = 1 + terms * std::fabs(problem_.alpha);
  const double narrow_unit = std::ldexp(1.0, -description(problem_.type).digits);
  const double unit = wide_ ? std::ldexp(1.0, -24) : narrow_unit;
  return (terms + 2) * unit * magnitude + 2 * narrow_unit * std::fabs(expected);
}

Difference IndexAddCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  const ElementType type = problem_.type;
  const int width = element_bytes(type);
  if (description(type).digits == 0) {
    return compare_bits(expected, actual, width, [&](const std::byte* p) {
      std::string text;
      with_host_type(type, [&]<class T>(T value) {
        std::memcpy(&value, p, sizeof(T));
        text = fmt::format("{}", static_cast<std::int64_t>(value));
      });
      return text;
    });
  }
  Difference result;
  for (std::size_t i = 0; i < expected.size(); i += static_cast<std::size_t>(width)) {
    const double want = value_at(type, &expected[i]);
    const double got = value_at(type, &actual[i]);
    if (std::fabs(got - want) <= bound(want)) continue;  // False for NaN.
    if (result.count++ == 0) {
      result.first = static_cast<std::int64_t>(i) / width;
      result.expected = fmt::format("{}", want);
      result.actual = fmt::format("{}", got);
    }
  }
  return result;
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
