/// \file
/// An elementwise problem as the harness sees it: its parameters as text, its data, its reference, what counts as
/// equal.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/float_elements.hpp"

namespace warpbook::chapter1 {

enum class Operation {
  multiply,      ///< z = x * y.
  scale,         ///< z = x * s, where s lies in device memory.
  multiply_add,  ///< z = x * y + w.
};

using Type = FloatType;

/// One case of chapter 1.
class ElementwiseCase final : public Case {
public:
  /// Reads `n`, `op`, `dtype` and `offset`. \throws BadInput with one line.
  explicit ElementwiseCase(const Parameters& parameters);

  Operation operation() const { return operation_; }
  /// The output's type, and that of x. They differ in mixed cases: a float from a half (times a float).
  Type output_type() const { return output_type_; }
  Type first_type() const { return first_type_; }
  bool mixed() const { return output_type_ != first_type_; }
  std::int64_t count() const { return count_; }
  /// True where all arrays begin at multiples of 16 bytes.
  bool aligned() const;

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override;
  BufferLayout output() const override;
  std::int64_t bytes_moved() const override;
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  /// By units in the last place of the reference, see `tolerance_ulps`. A NaN never passes.
  Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const override;

  /// How many representable values a result may lie from the exact result rounded once: 0 where the operation rounds
  /// once, 1 where it rounds twice, or where its float64 reference does (the float multiply-add).
  int tolerance_ulps() const;

private:
  // Of array number k: the inputs in their order, then the output.
  Type type(std::size_t array) const;
  std::size_t array_count() const { return operation_ == Operation::multiply_add ? 4 : 3; }
  std::size_t offset_count() const { return operation_ == Operation::scale ? 2 : array_count(); }
  std::string offsets_text() const;

  Operation operation_ = Operation::multiply;
  Type output_type_ = Type::float32;
  Type first_type_ = Type::float32;
  std::string dtype_;
  std::int64_t count_ = 0;
  std::array<std::int64_t, 4> offset_{};  // Elements: of the output first, then of x, y, w.
};

std::string elementwise_case_help();

}  // namespace warpbook::chapter1
