#include "chapters/chapter4_atomic_add/sums_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/harness/draw.hpp"
#include "common/harness/format.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter4 {
namespace {

constexpr int kWideAmplitude = 3;  // Where the accumulators hold it.
constexpr int kFirstContent = 3;   // The output begins with -3 to 3 units.

constexpr Choice<ElementType> kTypes[] = {
    {"half", ElementType::half}, {"bfloat16", ElementType::bfloat16}, {"float", ElementType::float32}};
constexpr Choice<Skew> kSkews[] = {{"uniform", Skew::uniform}, {"zipf", Skew::zipf},     {"head", Skew::head},
                                   {"same", Skew::same},       {"sorted", Skew::sorted}, {"stray", Skew::stray}};
constexpr Choice<int> kIndexTypes[] = {{"int32", 4}, {"int64", 8}};
constexpr Choice<bool> kProblems[] = {{"scatter", false}, {"inner", true}};

}  // namespace

double largest_partial_sum(double terms, int amplitude) {
  double squares = 0;
  for (int k = 1; k <= amplitude; ++k) squares += static_cast<double>(k) * k / amplitude;
  return std::min(terms * amplitude, 7 * std::sqrt(terms * squares));
}

SumsCase::SumsCase(const Parameters& parameters, Scratch scratch) : scratch_(scratch) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  inner_ = parameters.choice("problem", kProblems, false);
  type_ = parameters.choice("dtype", kTypes, inner_ ? ElementType::half : ElementType::float32);
  count_ = parameters.integer("count", 1 << 20, 0, kMost, "0 to 2^40");
  if (!inner_) {
    places_ = parameters.integer("places", 65536, 0, kMost, "0 to 2^40");
    skew_ = parameters.choice("skew", kSkews, Skew::uniform);
    index_bytes_ = parameters.choice("index", kIndexTypes, 8);
  }
  offset_ = parameters.offset();
  parameters.refuse_unknown();

  if (index_bytes_ == 4 && places_ > INT32_MAX) {
    throw BadInput(fmt::format("places={} needs index=int64; int32 reaches 2^31 - 1 places", places_));
  }
  amplitude_ = kWideAmplitude;
  if (!exact_in(significand_bits(type_))) amplitude_ = 1;
}

double SumsCase::most_terms() const {
  const auto count = static_cast<double>(count_);
  if (inner_) return count;
  const auto places = static_cast<double>(std::max<std::int64_t>(places_, 1));
  double mean = count / places;
  if (skew_ == Skew::zipf || skew_ == Skew::head) mean = count / harmonic(std::max<std::int64_t>(places_, 1));
  if (skew_ == Skew::same) return count;
  // A binomial's tail (Bernstein's inequality), over all places: below 1e-12.
  const double tail = 28 + std::log(places);
  return std::min(count, std::ceil(mean + std::sqrt(2 * mean * tail) + tail));
}

bool SumsCase::exact_in(int bits) const {
  const int amplitude = inner_ ? amplitude_ * amplitude_ : amplitude_;
  return largest_partial_sum(most_terms(), amplitude) + kFirstContent <= std::ldexp(1.0, bits);
}

const char* SumsCase::refuse_narrow_sums() const {
  if (exact_in(significand_bits(type_))) return nullptr;
  return type_ == ElementType::half       ? "sums in half round here: beyond 2048 units a half has no room for 1"
         : type_ == ElementType::bfloat16 ? "sums in bfloat16 round here: beyond 256 units a bfloat16 has no room for 1"
                                          : "sums in float round here: beyond 2^24 units a float has no room for 1";
}

std::string SumsCase::title() const {
  const std::string behind = if_any("  offset ", offset_);
  if (inner_) return fmt::format("inner product of {}  {}{}", format_count(count_), name_of(kTypes, type_), behind);
  return fmt::format("scatter_add {} -> {}  {}  {}  {}{}", format_count(count_), format_count(places_),
                     name_of(kSkews, skew_), name_of(kTypes, type_), name_of(kIndexTypes, index_bytes_), behind);
}

std::string SumsCase::parameters() const {
  const std::string behind = if_any(" offset=", offset_);
  if (inner_) return fmt::format("problem=inner count={} dtype={}{}", count_, name_of(kTypes, type_), behind);
  return fmt::format("count={} places={} skew={} dtype={} index={}{}", count_, places_, name_of(kSkews, skew_),
                     name_of(kTypes, type_), name_of(kIndexTypes, index_bytes_), behind);
}

std::vector<BufferLayout> SumsCase::inputs() const {
  const int bytes = element_bytes(type_);
  if (inner_) return {{"a", count_, bytes, offset_bytes()}, {"b", count_, bytes, offset_bytes()}};
  return {{"value", count_, bytes, offset_bytes()}, {"index", count_, index_bytes_, 0}};
}

BufferLayout SumsCase::output() const { return {"dst", places_, element_bytes(type_), offset_bytes()}; }

std::int64_t SumsCase::scratch_bytes() const {
  return static_cast<std::int64_t>(inner_ ? scratch_.inner : scratch_.scatter(scatter()));
}

std::int64_t SumsCase::bytes_moved() const {
  const std::int64_t bytes = element_bytes(type_);
  if (inner_) return 2 * count_ * bytes;
  return count_ * (bytes + index_bytes_) + 2 * std::min(places_, count_) * bytes;
}

double SumsCase::load(std::span<const std::byte> elements, std::int64_t i) const {
  return decode(float_type(type_), elements.data() + i * element_bytes(type_));
}

void SumsCase::store(std::span<std::byte> elements, std::int64_t i, double value) const {
  encode(float_type(type_), value, elements.data() + i * element_bytes(type_));
}

void SumsCase::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  if (!inner_ && array == 1) {
    const std::int64_t stride = places_ > 0 ? stride_over(places_) : 1;
    parallel_each(count_, [&](std::int64_t i) {
      store_integer(bytes.data() + i * index_bytes_, index_bytes_, index_at(seed, i, stride));
    });
  } else if (array < inputs().size()) {
    parallel_each(count_, [&](std::int64_t i) {
      Draw draw(seed, i);
      const auto units = static_cast<double>(1 + draw.below(amplitude_));
      store(bytes, i, (draw.bits() & 1) != 0 ? units * kUnit : -units * kUnit);
    });
  } else {
    parallel_each(places_, [&](std::int64_t i) {
      const auto units = static_cast<double>(Draw(seed, i).below(2 * kFirstContent + 1) - kFirstContent);
      store(bytes, i, units * sum_unit());
    });
  }
}

std::int64_t SumsCase::index_at(std::uint64_t seed, std::int64_t i, std::int64_t stride) const {
  if (places_ == 0) return 0;
  Draw draw(seed, i);
  switch (skew_) {
  case Skew::zipf:
    return product_modulo(zipf_rank(draw, places_), stride, places_);
  case Skew::head:
    return zipf_rank(draw, places_) - 1;
  case Skew::same:
    return places_ / 2;
  case Skew::sorted: {
    const double share = static_cast<double>(i) / static_cast<double>(count_);
    return std::min(static_cast<std::int64_t>(share * static_cast<double>(places_)), places_ - 1);
  }
  case Skew::stray:
    if (draw.below(7) == 0) {
      // The last one is inside if its upper half is lost.
      const std::int64_t beyond = index_bytes_ == 8 ? (std::int64_t{1} << 32) + draw.below(places_) : -1;
      const std::int64_t outside[] = {-1, places_, places_ + 1, INT32_MIN, INT32_MAX, -places_, beyond};
      const std::int64_t stray = outside[draw.below(7)];
      return stray >= 0 && stray < places_ ? -1 : stray;
    }
    [[fallthrough]];
  default:
    return draw.below(places_);
  }
}

void SumsCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  std::vector<double> sums(static_cast<std::size_t>(places_));
  for (std::int64_t i = 0; i < count_; ++i) {
    if (inner_) {
      sums[0] += load(inputs[0], i) * load(inputs[1], i);
      continue;
    }
    const std::int64_t place = load_integer(inputs[1].data() + i * index_bytes_, index_bytes_);
    if (place >= 0 && place < places_) sums[static_cast<std::size_t>(place)] += load(inputs[0], i);
  }
  parallel_each(places_,
                [&](std::int64_t p) { store(expected, p, load(expected, p) + sums[static_cast<std::size_t>(p)]); });
}

Difference SumsCase::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  const auto value = [type = float_type(type_)](const std::byte* element) { return decode(type, element); };
  return compare_elements(
      expected, actual, element_bytes(type_),
      [&](const std::byte* want, const std::byte* got) { return value(want) == value(got); },  // Not so for NaN.
      [&](const std::byte* element) { return fmt::format("{:g}", value(element)); });
}

std::string SumsCase::likely_cause(std::span<const std::span<const std::byte>> /*inputs*/,
                                   std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  if (type_ == ElementType::float32) return {};
  const double full = std::ldexp(sum_unit(), significand_bits(type_));
  for (std::int64_t p = 0; p < places_; ++p) {
    const double got = std::abs(load(actual, p));
    if (got == full && std::abs(load(expected, p)) != full) {
      return fmt::format("a sum stands at {:g}, where adding one more unit changes nothing: was it added up in {}?",
                         got, name_of(kTypes, type_));
    }
  }
  return {};
}

std::string sums_case_help() {
  return R"(problem  scatter (dst[index[i]] += value[i]) or inner (dst[0] += a[i] * b[i]); left out: scatter
count    values, or products: 0 to 2^40; left out: 1048576
places   elements of dst, 0 to 2^40; left out: 65536 (scatter only)
skew     uniform, zipf (rank k as often as 1/k), head (the same, rank k at place k - 1), same (one place), sorted,
         stray (one index in seven outside); left out: uniform (scatter only)
dtype    half, bfloat16, float; left out: float, for inner half
index    int32 or int64; left out: int64 (scatter only)
offset   elements that values and dst begin behind a 256-byte boundary, 0 to 255; left out: 0
example  count=16777216 places=256 skew=zipf dtype=half
)";
}

}  // namespace warpbook::chapter4
