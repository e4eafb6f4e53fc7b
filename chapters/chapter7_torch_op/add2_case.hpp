/// \file
/// c = a + b as the harness sees it, for the exercises on what an operator's kernel and its launcher must stand.
#pragma once

#include <cuda_fp16.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/chapter.hpp"

namespace warpbook::chapter7 {

/// `n` elements, none at all among them, float or half. The numbers have all digits of their type, and a sum is rounded
/// once, so the result must be right bit for bit.
class Add2Case final : public Case {
public:
  /// Reads `n`, `dtype` and `offset`, which is one number for all arrays or three for c, a and b. \throws BadInput with
  /// one line.
  explicit Add2Case(const Parameters& parameters);

  std::int64_t count() const { return count_; }
  bool half() const { return half_; }

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override;
  BufferLayout output() const override;
  std::int64_t bytes_moved() const override;
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  std::string coordinate(std::int64_t element) const override;

private:
  std::string offsets_text(const char* before) const;
  BufferLayout layout_of(const char* name, std::int64_t offset) const;
  int element_bytes() const { return half_ ? 2 : 4; }

  std::int64_t count_;
  bool half_ = false;
  std::array<std::int64_t, 3> offset_{};  // Elements that c, a and b begin behind a 256-byte boundary.
};

}  // namespace warpbook::chapter7
