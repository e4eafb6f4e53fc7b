/// \file
/// A case of chapter 4 as the harness sees it: its parameters as text, its data, its reference.
///
/// Values are small whole numbers of a unit, of either sign, drawn independently. So a partial sum is exact in an
/// accumulator whose bits hold it, in any order of the additions. Whether they do follows from how many values may meet
/// at a place (`largest_partial_sum`). A step whose accumulator is too narrow for a case refuses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "chapters/chapter4_atomic_add/sums.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/float_elements.hpp"

namespace warpbook::chapter4 {

enum class Skew {
  uniform,
  zipf,    ///< The place of rank k is drawn with a probability proportional to 1 / k; ranks are spread over the places.
  head,    ///< The same, rank k at place k - 1.
  same,    ///< All values go to one place.
  sorted,  ///< Ascending, as many values a place.
  stray,   ///< Uniform, but one index in seven is outside.
};

/// The type as the harness names it.
constexpr FloatType float_type(ElementType type) {
  return type == ElementType::half       ? FloatType::half
         : type == ElementType::bfloat16 ? FloatType::bfloat16
                                         : FloatType::float32;
}
constexpr int significand_bits(ElementType type) { return warpbook::significand_bits(float_type(type)); }
inline constexpr int kFloatBits = 24;

/// No partial sum of `terms` values of 1 to `amplitude` units and random sign is larger, in any order that does not
/// depend on the values: not than all of them together, and with a probability below 4 exp(-49/2) = 1e-10 not than 7
/// standard deviations (Levy's and Hoeffding's inequalities).
double largest_partial_sum(double terms, int amplitude);

/// One case of chapter 4.
class SumsCase final : public Case {
public:
  /// Says how much scratch memory the steps take.
  struct Scratch {
    std::size_t (*scatter)(const ScatterProblem&);
    std::size_t inner;
  };

  /// Reads the parameters that `sums_case_help` tells of. \throws BadInput with one line.
  SumsCase(const Parameters& parameters, Scratch scratch);

  bool is_inner() const { return inner_; }
  ScatterProblem scatter() const { return {type_, index_bytes_, count_, places_}; }
  InnerProblem inner() const { return {type_, count_, static_cast<int>(std::gcd<std::int64_t>(16, offset_bytes()))}; }
  ElementType type() const { return type_; }

  /// True where an accumulator of so many bits holds every partial sum.
  bool exact_in(int bits) const;
  /// Why sums in the element's type cannot be verified; nullptr where they can.
  const char* refuse_narrow_sums() const;

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override;
  BufferLayout output() const override;
  std::int64_t scratch_bytes() const override;
  std::int64_t bytes_moved() const override;
  bool updates_output() const override { return true; }
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const override;
  std::string likely_cause(std::span<const std::span<const std::byte>> inputs, std::span<const std::byte> expected,
                           std::span<const std::byte> actual) const override;

private:
  std::int64_t offset_bytes() const { return offset_ * element_bytes(type_); }
  double most_terms() const;
  double sum_unit() const { return inner_ ? kUnit * kUnit : kUnit; }
  double load(std::span<const std::byte> elements, std::int64_t i) const;
  void store(std::span<std::byte> elements, std::int64_t i, double value) const;
  /// Index number i. `stride` is what ranks are spread over the places by.
  std::int64_t index_at(std::uint64_t seed, std::int64_t i, std::int64_t stride) const;

  static constexpr double kUnit = 0.0625;  // Of the values; half holds a million of them.

  bool inner_ = false;
  ElementType type_ = ElementType::float32;
  int index_bytes_ = 8;
  std::int64_t count_ = 0;
  std::int64_t places_ = 1;
  Skew skew_ = Skew::uniform;
  std::int64_t offset_ = 0;  // Elements that values and output begin behind a 256-byte boundary.
  int amplitude_ = 1;        // Values are 1 to amplitude units.
  Scratch scratch_;
};

std::string sums_case_help();

}  // namespace warpbook::chapter4
