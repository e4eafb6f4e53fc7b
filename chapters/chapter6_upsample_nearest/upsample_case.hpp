/// \file
/// An upsampling problem as the harness sees it: its parameters as text, its data, its reference.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>
#include <vector>

#include "chapters/chapter6_upsample_nearest/upsample_nearest.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/float_elements.hpp"

namespace warpbook::chapter6 {

using Type = FloatType;

/// One case of chapter 6. Results are compared bit for bit. Backward adds small integers times a power of two, whose
/// sums are exact in float, whatever the order; a sum kept in half or bfloat16 is rounded at every step, and shows.
class UpsampleCase final : public Case {
public:
  /// Reads `shape`, `dir`, `dtype`, `layout`, `size`, `scale` and `offset`. \throws BadInput with one line.
  explicit UpsampleCase(const Parameters& parameters);

  const UpsampleNearest& problem() const { return problem_; }
  /// The problem as kernels see it, with the arrays' alignment.
  Images images() const;
  bool backward() const { return backward_; }
  Type type() const { return type_; }
  int element_bytes() const { return bytes_of(type_); }

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override { return {backward_ ? array("dy", true) : array("x", false)}; }
  BufferLayout output() const override { return backward_ ? array("dx", false) : array("y", true); }
  std::int64_t bytes_moved() const override;
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const override;
  std::string coordinate(std::int64_t element) const override;

  /// Significant bits of the values that backward adds.
  int value_bits() const;

private:
  const char* direction() const { return backward_ ? "backward" : "forward"; }
  /// The array of the images that forward writes, or of those that it reads.
  BufferLayout array(const char* name, bool is_output) const;

  UpsampleNearest problem_;
  bool backward_ = false;
  Type type_ = Type::float32;
  std::string scale_text_;
  std::int64_t offset_ = 0;  // Elements that both arrays begin behind a 256-byte boundary.
};

std::string upsample_case_help();

/// PyTorch's rules, written down a second time for the reference: the input that output o shows, and the first output
/// that belongs to input i.
std::int64_t source_on_host(std::int64_t o, std::int64_t in, std::int64_t out, double scale);
std::int64_t first_output_on_host(std::int64_t i, std::int64_t in, std::int64_t out, double scale);

}  // namespace warpbook::chapter6
